"""`ultracluster rules`: the registry behind every finding, as a list, one rule explained, or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ultracluster.facts.rules import RuleFacts, rule_registry
from ultracluster.findings import Severity
from ultracluster_cli.output import SEVERITY_COLOURS, console, format_option, print_json

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["rules"]

# Below this width the stages would leave too little room for the titles.
WIDE = 100


@click.command(short_help="List the rules behind the findings, or explain one.")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--area", metavar="AREA", help="Only rules of one area, for example NIC for UC-NIC-004.")
@click.option("--severity", type=click.Choice([str(level) for level in Severity]), help="Only rules of this severity.")
@click.option("--stage", metavar="STAGE", help="Only rules that can be judged there, for example file or plan.")
@format_option()
def rules(
    *, ids: tuple[str, ...], area: str | None, severity: str | None, stage: str | None, output_format: str
) -> None:
    """List the rules behind the findings; with an ID explain why it exists, what passes, what fails, and the fix.

    Fatal: the service refuses it. Error: almost always wrong. Warning: legal, but wasteful or fragile.
    """
    registry = rule_registry()
    _check_choice("--area", area, sorted({_area(rule) for rule in registry}))
    _check_choice("--stage", stage, sorted({name for rule in registry.values() for name in rule.stages}))
    chosen = [_named(name) for name in dict.fromkeys(ids)] or list(registry.values())
    chosen = [
        rule
        for rule in chosen
        if (area is None or _area(rule.rule_id).lower() == area.lower())
        and severity in {None, rule.severity}
        and (stage is None or stage.lower() in rule.stages)
    ]
    if output_format == "json":
        print_json(chosen)
    elif ids:
        _explain(chosen)
    else:
        _list(chosen)


def _area(rule_id: str) -> str:
    return rule_id.split("-")[1]


def _check_choice(option: str, value: str | None, choices: list[str]) -> None:
    if value is not None and value.lower() not in {choice.lower() for choice in choices}:
        raise click.BadParameter(f"{value!r} is not one of {', '.join(choices)}", param_hint=option)


def _named(name: str) -> RuleFacts:
    registry = rule_registry()
    found = registry.get(name.strip("[]").upper())
    if found is not None:
        return found
    from difflib import get_close_matches

    near = get_close_matches(name.upper(), registry, n=3, cutoff=0.8)
    hint = f"did you mean {', '.join(near)}?" if near else "see `ultracluster rules` for all"
    raise click.BadParameter(f"there is no rule {name!r}; {hint}", param_hint="ID")


def _list(chosen: Sequence[RuleFacts]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    screen = console()
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("Id", style="bold cyan", no_wrap=True)
    table.add_column("Severity", no_wrap=True)
    table.add_column("Title")
    wide = screen.width >= WIDE
    if wide:
        table.add_column("Judged at", no_wrap=True, style="dim")
    for number, rule in enumerate(chosen):
        following = chosen[number + 1] if number + 1 < len(chosen) else rule
        table.add_row(
            rule.rule_id,
            _severity(rule.severity),
            rule.title,
            *([", ".join(rule.stages)] if wide else []),
            end_section=_area(following.rule_id) != _area(rule.rule_id),
        )
    screen.print(table)
    screen.print()
    count = f"{len(chosen)} rule{'s' if len(chosen) != 1 else ''}"
    screen.print(f"{count}. Explain one: ultracluster rules ID", style="dim")


def _severity(severity: Severity) -> Text:
    from rich.text import Text

    return Text(str(severity), style=SEVERITY_COLOURS[severity])


def _explain(chosen: Sequence[RuleFacts]) -> None:
    from rich.table import Table
    from rich.text import Text

    screen = console()
    for number, rule in enumerate(chosen):
        if number:
            screen.print()
        title = Text(rule.rule_id, style="bold cyan")
        screen.print(title.append(f"  {rule.title}", style="bold default"))
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        table.add_row("Severity", _severity(rule.severity))
        table.add_row("Judged at", ", ".join(rule.stages))
        for label in ("why", "passes", "fails", "fix", "source"):
            table.add_row(label.capitalize(), Text(getattr(rule, label)))
        screen.print(table)
