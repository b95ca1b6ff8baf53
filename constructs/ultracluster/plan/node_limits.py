"""Limits of locked memory that a script sets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ultracluster.facts.node_environment import locked_memory_floor
from ultracluster.findings import Finding, finding

__all__ = ["check_locked_memory", "locked_memory_limits", "shown_bytes"]

_UNLIMITED = {"unlimited", "infinity", "infinite", "-1"}
_SUFFIXES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_KIB, _BYTE = 2**10, 1
_WORDS = ("memlock", "MEMLOCK", "ulimit")
_DAEMON_KEY = '"memlock"'
_DAEMON = re.compile(r"\"memlock\"\s*:\s*\{[^{}]*?\"(?:Soft|soft)\"\s*:\s*(?P<value>[^\s,}]+)")
# How limits are written, each with the unit of a bare number: limits.d, systemd, shells, docker run, daemon.json.
_FORMS = (
    (re.compile(r"(?:\bsoft|\bhard|-)\s+memlock\s+(?P<value>[^\s\"'\\;]+)"), _KIB),
    (re.compile(r"LimitMEMLOCK\s*=\s*[\"']?(?P<value>[^\s\"';\\]+)"), _BYTE),
    (re.compile(r"\bulimit\s+(?:-[HS]+\s+)*-[HS]*l\s+(?P<value>[^\s;&|)]+)"), _KIB),
    (re.compile(r"--ulimit[ =][\"']?memlock=(?P<value>[^\s\"':]+)"), _BYTE),
    (_DAEMON, _BYTE),
)


def locked_memory_limits(script: str) -> Iterator[tuple[str, int | None]]:
    """Every limit that a script sets: how it is written, and the bytes; those that are unlimited are left out.

    Yields:
        None for bytes that are not known, because the script puts a variable there.
    """
    lines = [line for line in script.split("\n") if any(word in line for word in _WORDS)]
    if not lines:
        return
    text = "\n".join(lines)
    for pattern, unit in _FORMS:
        # What is written over several lines needs them all.
        for found in pattern.finditer(script if pattern is _DAEMON and _DAEMON_KEY in text else text):
            value = found["value"].rstrip(",").split(":")[0]
            if value not in _UNLIMITED:
                yield " ".join(found[0].split()), _bytes(value, unit)


def _bytes(value: str, unit: int) -> int | None:
    found = re.fullmatch(r"(\d+)([KMGT]?)B?", value)
    if found is None:
        return None
    return int(found[1]) * (_SUFFIXES[found[2]] if found[2] else unit)


def check_locked_memory(written: str, size: int, *, subject: str) -> tuple[Finding, ...]:
    """UC-NOD-003 for a limit below the floor.

    Args:
        written: the limit as it is written.
        size: in bytes.
        subject: its path in the user's terms.
    """
    floor = locked_memory_floor()
    if size >= floor:
        return ()
    message = f"{written!r} locks {shown_bytes(size)}, EFA needs {shown_bytes(floor)} at least"
    return (finding("UC-NOD-003", subject, message),)


def shown_bytes(size: int) -> str:
    """A size in the largest unit that it fills."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size} bytes"
