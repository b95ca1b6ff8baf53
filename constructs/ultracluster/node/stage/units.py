"""Sizes and durations as people write them."""

from __future__ import annotations

import argparse
import re

_KIB = 1024
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_DURATIONS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def size(text: str) -> int:
    """Bytes of `500G`, `1.5TiB` or `1048576`; units are powers of 1024.

    Raises:
        argparse.ArgumentTypeError: it is none of these.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; give one like 500G or 1.5T")
    return int(float(found.group(1)) * _SIZES[found.group(2)])


def duration(text: str) -> float:
    """Seconds of `90s`, `30m`, `12h` or `7d`.

    Raises:
        argparse.ArgumentTypeError: it is none of these.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip().lower())
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; give one like 12h or 7d")
    return float(found.group(1)) * _DURATIONS[found.group(2)]


def shown(count: float) -> str:
    """A size for people: `1.5 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < _KIB:
            return f"{count:.1f} {unit}" if unit != "B" else f"{count:.0f} B"
        count /= _KIB
    return f"{count:.1f} TiB"
