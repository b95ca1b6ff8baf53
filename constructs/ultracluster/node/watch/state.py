"""What is known of the notices, in one file: it survives a restart of the watcher, and anybody may read it.

`/run/ultracluster/notice.json` is there only while a notice stands. Times named `deadline` are seconds of the kernel's
monotonic clock, which all processes of a boot share and which no correction of the time of day moves.
"""

from __future__ import annotations

import json
from pathlib import Path

from ..files import read_text, write_atomically
from ..host import Node

TYPE_CHECKING = False  # that of `typing` would load it, half a megabyte for the program that watches
if TYPE_CHECKING:
    from typing import Any

FILE = "/run/ultracluster/notice.json"
PROGRESS = "/run/ultracluster/handled"


class State:
    """The notices that stand, and the processes that were signalled.

    Attributes:
        notices: id to `kind`, `leaving`, `completes`, `ends` (seconds since 1970 or None), `deadline`, `handled`.
        signalled: key of a process to the id of the notice for which it was signalled.
    """

    def __init__(self, node: Node) -> None:
        self._path = node.path(FILE)
        try:
            found = json.loads(read_text(self._path, "{}"))
        except ValueError:
            found = {}
        self.notices: dict[str, dict[str, Any]] = found.get("notices", {})
        self.signalled: dict[str, str] = found.get("signalled", {})

    def save(self) -> None:
        """Write it; without a notice there is no file."""
        if self.notices:
            write_atomically(self._path, json.dumps({"notices": self.notices, "signalled": self.signalled}) + "\n")
        else:
            self._path.unlink(missing_ok=True)

    @property
    def leaving(self) -> bool:
        """Whether the node goes away."""
        return any(notice["leaving"] for notice in self.notices.values())

    def forget(self, name: str) -> None:
        """Drop a notice, and that processes were signalled for it."""
        self.notices.pop(name, None)
        self.signalled = {key: notice for key, notice in self.signalled.items() if notice != name}


def hooks_of(name: str, notice: dict[str, Any]) -> str:
    """The hooks that a notice runs: those of one departure are shared, whatever gave notice of it."""
    return "hooks leaving" if notice["leaving"] else f"hooks {name}"


def progress_file(node: Node, name: str) -> Path:
    """Where the handling of a notice keeps how far it got."""
    plain = "".join(letter if letter.isalnum() or letter in ".-" else "_" for letter in name)
    return node.path(f"{PROGRESS}/{plain}.json")
