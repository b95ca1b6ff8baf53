"""`commands.md`: every command with its arguments and options, as `--help` has them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from reference_pages.markdown import code, page, prose, section, table
from ultracluster_cli.main import main

__all__ = ["commands_page"]

_INTRO = """
Results go to standard output, findings and progress to standard error. `--format json` gives the result as JSON
wherever it is offered.

| exit status | meaning |
|---|---|
| 0 | clean; warnings alone do not count |
| 1 | findings |
| 2 | bad usage, or a file that cannot be read |
"""


def commands_page() -> str:
    """The page."""
    root = click.Context(main, info_name="ultracluster")
    return page("Commands", _INTRO, *(_section(command, context) for command, context in _commands(main, root)))


def _commands(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """All commands below a group, in the order of the help text."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            raise LookupError(f"{context.command_path} lists {name}, and has no such command")
        inner = click.Context(command, info_name=name, parent=context)
        yield command, inner
        if isinstance(command, click.Group):
            yield from _commands(command, inner)


def _section(command: click.Command, context: click.Context) -> str:
    paragraphs = [prose(text) for text in (command.help or "").split("\n\n")]
    usage = "\n".join(["```text", f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}", "```"])
    options = [_option(option, context) for option in command.get_params(context) if isinstance(option, click.Option)]
    rows = [row for row in options if row[0] != code("--help")]
    listing = table(("Option", "Meaning", "Default"), rows) if rows else ""
    return section(context.command_path, *paragraphs, usage, listing)


def _option(option: click.Option, context: click.Context) -> tuple[str, str, str]:
    names = " / ".join([max(option.opts, key=len), *option.secondary_opts])
    value = "" if option.is_flag or option.count else f" {option.make_metavar(context)}"
    help_text = (option.help or "").partition("  [default:")[0]
    repeat = " Can be repeated." if option.multiple and "repeated" not in help_text else ""
    return code(names + value), prose(help_text) + repeat, _default(option)


def _default(option: click.Option) -> str:
    written = (option.help or "").partition("  [default: ")[2].rstrip("]")
    if written:
        return prose(written)
    if not option.show_default or option.default is None or option.default is False:
        return ""
    if option.is_flag:
        return code(option.opts[-1] if option.default else option.secondary_opts[-1])
    return code(option.default)
