"""The programs of a node as one file that Python runs: the same sources and facts give the same bytes.

`python -m ultracluster.plan.node_program OUT` writes it.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ultracluster.plan.node_facts import node_facts
from ultracluster.values import dataclass

__all__ = ["FILE_NAME", "INSTALLED_AT", "NodeProgram", "node_program"]

FILE_NAME = "ultracluster-node"
INSTALLED_AT = f"/opt/ultracluster/{FILE_NAME}"

_SOURCE = Path(__file__).parents[1] / "node"
_SHEBANG = b"#!/usr/bin/env python3\n"
_MAIN = "import sys\n\nfrom node.__main__ import main\n\nsys.exit(main())\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest time that a ZIP file can name
_KINDS = (".py", ".service", ".timer", ".json")  # not what interpreters, desktops and editors leave behind
_FILE_MODE = 0o100644
_UNIX = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProgram:
    """The file.

    Attributes:
        data: its bytes.
        sha256: their digest in hexadecimal, which a node checks before it runs them.
        file_name: its name on a node.
    """

    data: bytes
    sha256: str
    file_name: str = FILE_NAME


@cache
def node_program() -> NodeProgram:
    """Pack the programs; nothing in it depends on the time, the machine or the order of a folder."""
    buffer = io.BytesIO(_SHEBANG)
    buffer.seek(0, io.SEEK_END)
    with zipfile.ZipFile(buffer, "a", compression=zipfile.ZIP_STORED) as archive:
        for name, data in _entries():
            entry = zipfile.ZipInfo(name, date_time=_EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = _FILE_MODE << 16
            archive.writestr(entry, data)
    data = buffer.getvalue()
    return NodeProgram(data=data, sha256=hashlib.sha256(data).hexdigest())


def _entries() -> Iterator[tuple[str, bytes]]:
    yield "__main__.py", _MAIN.encode()
    files = [file for file in _SOURCE.rglob("*") if file.is_file() and file.suffix in _KINDS]
    for file in sorted(files, key=lambda file: file.relative_to(_SOURCE).as_posix()):
        # A checkout may turn line ends; the bytes must not depend on it.
        yield f"node/{file.relative_to(_SOURCE).as_posix()}", file.read_bytes().replace(b"\r\n", b"\n")
    # One file per section: a program reads what it needs and has no memory to spare for the rest.
    for section, facts in sorted(node_facts().items()):
        yield f"node/facts/{section}.json", json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()


def main() -> None:
    """Write the file whose path is the first argument."""
    out = Path(sys.argv[1])
    out.write_bytes(node_program().data)
    out.chmod(0o755)
    print(node_program().sha256)


if __name__ == "__main__":
    main()
