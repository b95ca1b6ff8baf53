"""`ultracluster-node PROGRAM ...`: run one of the programs of a node.

Only the chosen program is imported: the one that watches for notices has 15 MB for everything.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from . import NodeError
from .host import Node

TYPE_CHECKING = False  # that of `typing` would load it, half a megabyte for the program that watches
if TYPE_CHECKING:
    import argparse
    from typing import Any

PROGRAMS = (
    *("boot", "tune", "scratch", "lustre", "mounts", "stage"),
    *("fabric", "health", "watch", "topology", "metrics", "agent"),
)
_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a program; the exit status is 0 (good), 1 (a finding or a failure) or 2 (bad usage or settings)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help"):
        _help()
        return 0 if words else _USAGE
    if words[0] not in PROGRAMS:
        print(f"ultracluster-node: no program {words[0]!r}; one of {', '.join(PROGRAMS)}", file=sys.stderr)
        return _USAGE
    program = importlib.import_module(f".{words[0]}", __package__)
    node = Node(program=words[0])
    try:
        # A service has no options, and none of what reads them; else a program has `arguments` and `run`.
        serves = len(words) == 1 and hasattr(program, "serve")
        status: int = program.serve(node) if serves else program.run(_parsed(program, words), node)
    except NodeError as error:
        node.say(str(error))
        return 1
    return status


def _parsed(program: Any, words: list[str]) -> argparse.Namespace:  # noqa: ANN401 - a module with our protocol
    import argparse

    parser = argparse.ArgumentParser(prog=f"ultracluster-node {words[0]}", description=program.SUMMARY)
    program.arguments(parser)
    return parser.parse_args(words[1:])


def _help() -> None:
    print("usage: ultracluster-node PROGRAM [-h] ...\n\nprograms:")
    for name in PROGRAMS:
        print(f"  {name:<9} {importlib.import_module(f'.{name}', __package__).SUMMARY}")


if __name__ == "__main__":
    sys.exit(main())
