"""Timing of whole processes, in alternating order, so that both sides meet the same machine."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence

__all__ = ["alternate", "seconds"]


def seconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Wall time of one run of a command, which must succeed."""
    start = time.perf_counter()
    subprocess.run(list(command), env=dict(environment), check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def alternate(
    first: Sequence[str], second: Sequence[str], *, runs: int, environment: Mapping[str, str]
) -> tuple[float, float]:
    """Medians of two commands whose runs alternate; one run of each before, unmeasured."""
    for command in (first, second):
        seconds(command, environment)
    pairs = [(seconds(first, environment), seconds(second, environment)) for _ in range(runs)]
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)
