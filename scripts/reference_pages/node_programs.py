"""`node-programs.md`: the programs of a node with their options, as `--help` has them."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator

from reference_pages.markdown import code, page, prose, section, table
from ultracluster.node.__main__ import PROGRAMS

__all__ = ["node_programs_page"]

_INTRO = """
`/opt/ultracluster/ultracluster-node PROGRAM ...` on every node, as root. Systemd units call the same programs.

| exit status | meaning |
|---|---|
| 0 | good |
| 1 | a finding or a failure, told in one line |
| 2 | bad usage or settings |
"""


def node_programs_page() -> str:
    """The page."""
    return page("Programs of a node", _INTRO, *(text for name in PROGRAMS for text in _program(name)))


def _program(name: str) -> Iterator[str]:
    module = importlib.import_module(f"ultracluster.node.{name}")
    parser = argparse.ArgumentParser(prog=f"ultracluster-node {name}", description=module.SUMMARY)
    module.arguments(parser)
    yield from _sections(parser, module.SUMMARY, 2)


def _sections(parser: argparse.ArgumentParser, summary: str, level: int) -> Iterator[str]:
    options = [action for action in parser._actions if not isinstance(action, _NOT_SHOWN)]
    rows = [(_names(action), prose(_help(action))) for action in options if action.help != argparse.SUPPRESS]
    listing = table(("Argument", "Meaning"), rows) if rows else ""
    said = summary[:1].upper() + summary[1:]
    yield section(parser.prog, prose(said) + ("" if said.endswith(".") else "."), listing, level=level)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, inner in action.choices.items():
                yield from _sections(inner, helps.get(name, ""), level + 1)


_NOT_SHOWN = (argparse._HelpAction, argparse._SubParsersAction)


def _names(action: argparse.Action) -> str:
    if not action.option_strings:
        return code(action.metavar or action.dest)
    value = ""
    if action.nargs != 0:
        value = " " + ("|".join(map(str, action.choices)) if action.choices else action.metavar or action.dest.upper())
    return code(max(action.option_strings, key=len) + value)


def _help(action: argparse.Action) -> str:
    return action.help % {"default": action.default} if action.help else ""
