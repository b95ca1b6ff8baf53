"""A group whose sub-commands are imported when they run, and which turns findings into lines and an exit status."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """Sub-commands by name, each with the place of its function and the line that help shows.

    Args:
        lazy: name to (`module:attribute`, one line of help); help lists them in this order.
    """

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:  # noqa: ANN401 - handed on
        super().__init__(*args, **kwargs)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names, without loading anything."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import one sub-command."""
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """The list in the help text, from the lines given here."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._lazy.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the sub-command; a wrong name is answered with the nearest ones."""
        name = args[0]
        if name not in self._lazy and not name.startswith("-"):
            ctx.fail(f"No such command {name!r}.{_did_you_mean(name, list(self._lazy))}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - whatever the sub-command returns
        """Run the sub-command; findings that it raises are printed, and decide the exit status."""
        try:
            return super().invoke(ctx)
        except ValueError as error:
            from ultracluster.findings import FindingsError
            from ultracluster_cli.output import exit_status, print_findings

            if not isinstance(error, FindingsError):
                raise
            print_findings(error.findings)
            ctx.exit(exit_status(error.findings))


def _did_you_mean(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=2, cutoff=0.6)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else f" There are {', '.join(known)}."
