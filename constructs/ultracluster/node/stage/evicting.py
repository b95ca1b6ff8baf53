"""Take staged data sets away by the age of their last use, never one that a job holds."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from ..host import Node, NodeError
from .shelf import Slot, discard, read, slots
from .units import shown


@dataclass
class Eviction:
    """What came of it.

    Attributes:
        evicted: data sets that are gone, or would be.
        in_use: data sets that would have gone, but somebody holds them.
        freed_bytes: size of the evicted ones.
        free_bytes: of the file system, after it.
    """

    evicted: list[str] = field(default_factory=list)
    in_use: list[str] = field(default_factory=list)
    freed_bytes: int = 0
    free_bytes: int = 0


def candidates(folder: Path) -> list[Slot]:
    """The data set at a path, or those directly below it, the one whose last use is longest ago first.

    Raises:
        NodeError: nothing was staged there.
    """
    below = slots(folder)
    itself = [slot for slot in slots(folder.parent) if slot.target == folder]
    if not below and not itself:
        raise NodeError(f"nothing was staged at {folder}; only data sets that `stage copy` made are evicted")
    return sorted(below or itself, key=Slot.last_used)


def evict(
    node: Node, folder: Path, *, older_than: float | None, to_free: int | None, dry_run: bool = False
) -> Eviction:
    """Evict data sets.

    Args:
        node: the node.
        folder: a data set, or a folder with some.
        older_than: those whose last use is so many seconds ago; None for any age.
        to_free: stop when so many bytes of the file system are free; None to evict all of that age.
        dry_run: only say what would go.
    """
    done = Eviction(free_bytes=_free(folder))
    for slot in candidates(folder):
        if to_free is not None and done.free_bytes >= to_free:
            break
        if older_than is not None and time.time() - slot.last_used() < older_than:
            continue
        _evict(node, slot, done, dry_run=dry_run)
    return done


def _evict(node: Node, slot: Slot, done: Eviction, *, dry_run: bool) -> None:
    size = staged_bytes(slot)
    with slot.leased(alone=True) as lease:
        if lease is None:
            done.in_use.append(str(slot.target))
            return
        if not dry_run:
            discard(slot)
            node.say(f"evicted {slot.target}: {shown(size)}")
    done.evicted.append(str(slot.target))
    done.freed_bytes += size
    done.free_bytes = done.free_bytes + size if dry_run else _free(slot.target.parent)


def staged_bytes(slot: Slot) -> int:
    """Size of the files that a journal knows."""
    return sum(int(known[0]) for known in read(slot.journal)[1].values())


def _free(folder: Path) -> int:
    usage = os.statvfs(folder if folder.exists() else folder.parent)
    return usage.f_bavail * usage.f_frsize
