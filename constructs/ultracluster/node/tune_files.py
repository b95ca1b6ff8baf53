"""Steps that are files: a whole one, a block in another's file, lines, a key in a JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from . import NodeError
from .files import read_text, write_atomically
from .host import Node

__all__ = ["BlockStep", "FileStep", "LinesStep", "SettingsStep", "Step", "follow_up", "header", "is_running"]

_BEGIN, _END = "# ultracluster: begin", "# ultracluster: end"


class Step(Protocol):
    """One setting, or several that are set together."""

    rows: tuple[str, ...]

    @property
    def title(self) -> str:
        """What it is called in a line."""

    def drift(self) -> str | None:
        """How it differs from what it should be; None when all is right."""

    @property
    def after(self) -> tuple[str, ...]:
        """The command that makes a change of it count; empty for none. Steps in a row share it."""

    def apply(self) -> None:
        """Bring it into force, but for that command."""


def header(rows: Iterable[Mapping[str, Any]], mark: str = "#") -> str:
    """The first line of a file: who writes it, and which rows it is made of."""
    return f"{mark} ultracluster tune: {' '.join(row['id'] for row in rows)}\n"


def is_running(node: Node) -> bool:
    """Whether systemd runs here, which it does not while an image is built in a folder."""
    return node.path("/run/systemd/system").is_dir()


def follow_up(node: Node, command: Sequence[str]) -> None:
    """What makes a changed file count. systemd is told only where it runs.

    Raises:
        NodeError: the command failed.
    """
    if not command or (command[0] == "systemctl" and not is_running(node)):
        return
    # Restarts name a unit by each of its names; those that are unknown here are no fault.
    node.run(*command, timeout=300, check=command[:2] != ("systemctl", "try-restart"))


@dataclass
class FileStep:
    """A file that is ours alone.

    Attributes:
        node: the node.
        path: of the file.
        rows: ids of the rows in it.
        text: its content.
        after: the command that makes it count.
    """

    node: Node
    path: str
    rows: tuple[str, ...]
    text: str
    after: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What the step is called."""
        return self.path

    def drift(self) -> str | None:
        """How the file differs."""
        found = read_text(self.node.path(self.path), "")
        if found == self.text:
            return None
        return "differs" if found else "is missing"

    def apply(self) -> None:
        """Write it."""
        write_atomically(self.node.path(self.path), self.text)

    def forget(self) -> None:
        """Take it away again: it could not be made to count, and the next run has to see that."""
        self.node.path(self.path).unlink(missing_ok=True)


@dataclass
class BlockStep(FileStep):
    """A marked block at the end of a file that others own; none where the file says the same already."""

    def drift(self) -> str | None:
        """Whether a line of the block is nowhere in the file and in the folders beside it."""
        known = {" ".join(line.split()) for line in self._configuration().splitlines()}
        missing = [line for line in self.text.splitlines() if not line.startswith("#") and line not in known]
        return f"lacks {missing[0]!r}" if missing else None

    def _configuration(self) -> str:
        main = self.node.path(self.path)
        folders = [self.node.path("/etc/chrony.d"), main.with_name("conf.d"), main.with_name("sources.d")]
        files = [main, *(file for folder in folders if folder.is_dir() for file in sorted(folder.iterdir()))]
        return "\n".join(read_text(file, "") for file in files if file.is_file())

    def apply(self) -> None:
        """Put the block at the end, in place of an older one."""
        before = read_text(self.node.path(self.path), "")
        head, found, rest = before.partition(f"{_BEGIN}\n")
        tail = rest.partition(f"{_END}\n")[2] if found else ""
        if head and not head.endswith("\n"):
            head += "\n"
        write_atomically(self.node.path(self.path), f"{head}{tail}{_BEGIN}\n{self.text}{_END}\n")

    def forget(self) -> None:
        """Nothing: the file is that of others."""


@dataclass
class LinesStep:
    """Lines that a file has to have; others may stand beside them.

    Attributes:
        node: the node.
        path: of the file.
        rows: ids of the rows in it.
        lines: `NAME=value`.
    """

    node: Node
    path: str
    rows: tuple[str, ...]
    lines: Sequence[str]
    after = ()

    @property
    def title(self) -> str:
        """What the step is called."""
        return self.path

    def drift(self) -> str | None:
        """The first line that is missing."""
        known = read_text(self.node.path(self.path), "").splitlines()
        missing = [line for line in self.lines if line not in known]
        return f"lacks {missing[0]}" if missing else None

    def apply(self) -> None:
        """Add them, in place of other values of the same names."""
        names = {line.partition("=")[0] for line in self.lines}
        mark = "# ultracluster tune:"
        kept = [
            line
            for line in read_text(self.node.path(self.path), "").splitlines()
            if line.partition("=")[0] not in names and not line.startswith(mark)
        ]
        text = [f"{mark} {' '.join(self.rows)}", *self.lines, *kept]
        write_atomically(self.node.path(self.path), "\n".join(text) + "\n")


@dataclass
class SettingsStep:
    """A key of a JSON document that others write too.

    Attributes:
        node: the node.
        path: of the document.
        rows: ids of the rows in it.
        key: what is ours.
        wanted: entries below it that it has to have.
    """

    node: Node
    path: str
    rows: tuple[str, ...]
    key: str
    wanted: Mapping[str, Any]
    after = ()

    @property
    def title(self) -> str:
        """What the step is called."""
        return f"{self.path} {self.key}"

    def drift(self) -> str | None:
        """The first entry that differs."""
        found = self._read().get(self.key, {})
        wrong = [name for name, value in self.wanted.items() if found.get(name) != value]
        return f"lacks {wrong[0]}" if wrong else None

    def apply(self) -> None:
        """Put the entries in; the runtime reads them when it starts the next time."""
        document = self._read()
        document[self.key] = {**document.get(self.key, {}), **self.wanted}
        write_atomically(self.node.path(self.path), json.dumps(document, indent=2) + "\n")

    def _read(self) -> dict[str, Any]:
        try:
            return dict(json.loads(read_text(self.node.path(self.path), "") or "{}"))
        except ValueError as error:
            raise NodeError(f"{self.path} is no JSON ({error}); repair it") from error
