"""A folder that looks like a node, with commands that note how they were called, for tests of the node's programs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ultracluster.node.host import Node
from ultracluster.node.imds import Imds
from ultracluster.plan.node_facts import node_facts


class FakeImds(Imds):
    """Metadata out of a dictionary: path below `latest/meta-data/` to value."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__("http://127.0.0.1:9")
        self.values = values

    def get(self, path: str) -> str | None:
        return self.values.get(path)


@dataclass
class Machine:
    """The folder, and what is in it.

    Attributes:
        root: what the programs take for `/`.
        metadata: what the metadata service says.
        settings: what stands in `/etc/ultracluster/node.json`.
        slept: pauses that the programs made, which cost no time here.
    """

    root: Path
    metadata: dict[str, str] = field(default_factory=lambda: {"instance-type": "p5.48xlarge"})
    settings: dict[str, Any] = field(default_factory=dict)
    slept: list[float] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.root / "stubs").mkdir(parents=True, exist_ok=True)
        self.state.mkdir(exist_ok=True)

    @property
    def state(self) -> Path:
        """Where commands remember things; `$STATE` in their bodies."""
        return self.root / "state"

    def command(self, name: str, body: str = "") -> None:
        """Put a command on the node's PATH: it notes its call, then does what the shell text says."""
        stub = self.root / "stubs" / name
        stub.write_text(f'#!/bin/bash\necho "{name} $*" >>"$STATE/calls"\n{body}\n')
        stub.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        """Commands that were called, with their arguments; paths as on a node."""
        log = self.state / "calls"
        return log.read_text().replace(str(self.root), "").splitlines() if log.exists() else []

    def called(self, start: str) -> list[str]:
        """The calls that begin with a text."""
        return [call for call in self.calls if call.startswith(start)]

    def write(self, path: str, text: str = "", *, mode: int = 0o644) -> Path:
        """Write a file of the node."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    def read(self, path: str) -> str:
        """Read a file of the node."""
        return (self.root / path.lstrip("/")).read_text()

    def node(self, **changes: Any) -> Node:
        """The node as the programs see it; commands beside the stubs are those of the shell and coreutils only."""
        environ = {
            "PATH": f"{self.root / 'stubs'}{os.pathsep}{self._basics()}",
            "STATE": str(self.state),
            "ROOT": str(self.root),
            **self.environ,
        }
        arguments: dict[str, Any] = {
            "root": self.root,
            "environ": environ,
            "settings": self.settings,
            "facts": dict(node_facts()),
            "imds": FakeImds(self.metadata),
            "sleep": self.slept.append,
        }
        return Node(**arguments | changes)

    def _basics(self) -> Path:
        """Harmless commands that the bodies of stubs may use; nothing that could touch this machine."""
        folder = self.root / "basics"
        if not folder.exists():
            folder.mkdir()
            for name in (
                "bash",
                "sh",
                "cat",
                "echo",
                "grep",
                "sed",
                "awk",
                "sleep",
                "touch",
                "rm",
                "env",
                "tail",
                "true",
            ):
                found = next((Path(part, name) for part in ("/bin", "/usr/bin") if Path(part, name).exists()), None)
                if found is not None:
                    (folder / name).symlink_to(found)
        return folder
