"""Output of nccl-tests and nccom-test, and what a collective is held to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..results import Result, UnreadableError, Verdicts

__all__ = ["Row", "floor_for", "judge", "parse_nccl", "parse_nccom"]

# What mpirun and srun put before each line.
_PREFIX = re.compile(r"^(?:\[\d+,\d+\]<std(?:out|err)>:\s?|\d+:\s)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_HALF = 4  # time, algorithm bandwidth, bus bandwidth, wrong values: once out of place, once in place
_NCCOM_FIELDS = 6
_GIB = 2**30
_BITS = 8


@dataclass(frozen=True)
class Row:
    """One message size.

    Attributes:
        size: in bytes.
        gbytes_per_s: bus bandwidth, out of place.
        wrong: values that came out wrong; 0 where nobody looked.
    """

    size: int
    gbytes_per_s: float
    wrong: int = 0


def parse_nccl(text: str) -> tuple[Row, ...]:
    """Rows of nccl-tests.

    Raises:
        UnreadableError: there is no row.
    """
    rows = []
    for line in text.splitlines():
        words = _PREFIX.sub("", line).split()
        half = words[-2 * _HALF : -_HALF]
        if len(words) > 2 * _HALF + 2 and words[0].isdigit() and all(map(_NUMBER.fullmatch, half[:3])):
            wrong = int(float(half[3])) if _NUMBER.fullmatch(half[3]) else 0
            rows.append(Row(int(words[0]), float(half[2]), wrong))
    if not rows:
        raise UnreadableError("the output of nccl-tests has no result")
    return tuple(rows)


def parse_nccom(text: str) -> tuple[Row, ...]:
    """Rows of nccom-test.

    Raises:
        UnreadableError: there is no row.
    """
    rows = []
    for line in text.splitlines():
        words = line.split()
        if len(words) == _NCCOM_FIELDS and words[0].isdigit() and _NUMBER.fullmatch(words[-1]):
            rows.append(Row(int(words[0]), float(words[-1])))
    if not rows:
        raise UnreadableError("the output of nccom-test has no result")
    return tuple(rows)


def floor_for(facts: Mapping[str, Any], collective: str, nodes: int) -> float | None:
    """Share of the line rate that a collective over so many nodes is held to; None where nothing is known.

    Args:
        facts: section `collectives` of the facts.
        collective: `all_reduce` or `alltoall`.
        nodes: number of nodes.
    """
    for row in facts["floors"]:
        least, most = row["nodes"]
        if row["collective"] == collective and least <= nodes <= (most or nodes):
            return float(row["of_line"])
    return None


def judge(
    rows: Sequence[Row],
    *,
    collective: str,
    nodes: int,
    kind: Mapping[str, Any],
    facts: Mapping[str, Any],
    verdicts: Verdicts,
) -> Result:
    """Hold a measurement to its floor.

    Small messages never reach the line rate, so only the largest one counts, and only from a size on.

    Args:
        rows: of one run.
        collective: `all_reduce` or `alltoall`.
        nodes: number of nodes that took part.
        kind: record of their type.
        facts: section `collectives` of the facts.
        verdicts: makes the result.
    """
    wrong = sum(row.wrong for row in rows)
    if wrong:
        return verdicts.failed("collective", "collective_wrong", f"{collective}: {wrong} values came out wrong", wrong)
    largest = max(rows, key=lambda row: row.size)
    line = float(kind.get("efa_gbps") or 0) / _BITS
    shown = f"{collective} over {nodes} nodes: {largest.gbytes_per_s:g} GB/s at {largest.size / _GIB:g} GiB"
    share = floor_for(facts, collective, nodes)
    if share is None or not line:
        return verdicts.passed("collective", f"{shown}; no floor is known", largest.gbytes_per_s)
    if largest.size < facts["least_message_gib"] * _GIB:
        message = f"{shown}, and the floor holds from {facts['least_message_gib']} GiB on; measure with larger messages"
        return verdicts.unknown("collective", message)
    floor = line * share
    against = f"{share:g} of the line rate of {line:g} GB/s is {floor:g}"
    if largest.gbytes_per_s < floor:
        return verdicts.failed("collective", "collective", f"{shown}; {against}", largest.gbytes_per_s)
    return verdicts.passed("collective", f"{shown}; {against}", largest.gbytes_per_s)
