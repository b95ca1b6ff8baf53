"""The inventory as a table for people and as plain data for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ultracluster.local.inventory import Inventory, Resource

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["as_data", "as_tables"]

_ID_WIDTH = 38
_MISSING = "does not stand: its service does not know it"


def as_data(inventory: Inventory) -> dict[str, Any]:
    """The inventory as JSON-ready data."""
    return asdict(inventory)


def as_tables(inventory: Inventory) -> Group:
    """One table per stack, then what has been retained from stacks that are gone.

    What has nothing to tell but that it stands is counted; `as_data` lists everything with its logical id.
    """
    from rich import box
    from rich.console import Group
    from rich.table import Table

    def table(title: str, resources: Iterable[Resource]) -> Group:
        drawn = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
        drawn.add_column("type", no_wrap=True)
        drawn.add_column("id", no_wrap=True, overflow="ellipsis", max_width=_ID_WIDTH)
        drawn.add_column("what stands", overflow="fold")
        plain: Counter[str] = Counter()
        for item in sorted(resources, key=lambda item: (item.type_name, item.logical_id)):
            kind = item.type_name.removeprefix("AWS::")
            if item.stands and not item.details:
                plain[kind] += 1
            else:
                what = _words(item.details) if item.stands else f"{item.logical_id} {_MISSING}"
                drawn.add_row(kind, item.physical_id, what)
        also = ", ".join(f"{count} {kind}" for kind, count in plain.items())
        return Group(drawn, *([f"and {also}\n"] if also else []))

    parts: list[Any] = [
        table(f"{stack.name}: {stack.status} in {stack.region}, {len(stack.resources)} resources", stack.resources)
        for stack in inventory.stacks
    ]
    if inventory.retained:
        parts.append(
            table(f"retained: {len(inventory.retained)} resources that no stack owns any more", inventory.retained)
        )
    return Group(*(parts or ["nothing stands"]))


def _words(details: Mapping[str, Any]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in details.items())
