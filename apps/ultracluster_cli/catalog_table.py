"""The overview of `ultracluster catalog`: one line per type, as many columns as the terminal has room for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from ultracluster.facts.instances import InstanceType, catalog_as_of
from ultracluster_cli.catalog_queries import accelerator_short_name, ways_to_buy, zones_in
from ultracluster_cli.output import console

__all__ = ["print_types"]

# Where the price is looked up when no Region was asked for.
PRICE_REGION = "us-east-1"
PURCHASE_SHORT = {"on-demand": "od", "spot": "spot", "capacity-block": "cb"}
UNLIMITED = 10_000
NOTHING = "-"
UNKNOWN = "?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column.

    Attributes:
        title: the head of the column; names the unit.
        cell: the text for a type.
        rank: columns with a high rank are left out first when there is no room.
        right: whether it holds numbers.
    """

    title: str
    cell: Callable[[InstanceType], str]
    rank: int
    right: bool = True


def print_types(types: Sequence[InstanceType], *, region: str | None) -> None:
    """Print the table and, below it, what the numbers are."""
    if not types:
        click.echo(f"no type matches{_where_nothing(region)}", err=True)
        return
    screen = console()
    columns = _columns(region)
    if all(_price(facts, region) == NOTHING for facts in types):
        columns = [column for column in columns if column.title != "USD/h"]
    shown = _fitting(screen, columns, types)
    screen.print(_table(shown, types))
    left_out = [column.title.replace("\n", " ") for column in columns if column not in shown]
    screen.print()
    screen.print(" ".join(_remarks(types, shown, region, left_out)), style="dim")


def _where_nothing(region: str | None) -> str:
    return f" in {region}; a Region without a record proves nothing, ask the account" if region else ""


def _columns(region: str | None) -> list[Column]:
    columns = [
        Column(title="Type", cell=lambda facts: facts.name, rank=0, right=False),
        Column(title="Accelerators", cell=_accelerators, rank=0, right=False),
        Column(title="vCPU", cell=lambda facts: str(facts.vcpus), rank=3),
        Column(title="Memory\nGiB", cell=lambda facts: f"{facts.memory_gib:g}", rank=5),
        Column(title="NVMe\nTB", cell=_nvme, rank=7),
        Column(title="Scale-up\nGB/s", cell=lambda facts: _number(facts.scale_up_gbytes_per_s_per_accelerator), rank=4),
        Column(title="EFA", cell=_efa, rank=1),
        Column(title="EFA\nGbps", cell=lambda facts: _number(facts.efa_bandwidth_gbps or None), rank=1),
        Column(title="EFA\ngen", cell=lambda facts: facts.efa_generation or NOTHING, rank=6, right=False),
        Column(title="To buy", cell=lambda facts: _purchase(facts, region), rank=2, right=False),
        Column(title="USD/h", cell=lambda facts: _price(facts, region), rank=1),
    ]
    if region is not None:
        columns.append(Column(title="Zones", cell=lambda facts: _zones(facts, region), rank=1, right=False))
    return columns


def _accelerators(facts: InstanceType) -> str:
    if not facts.accelerator_name:
        return NOTHING
    memory = f"{facts.accelerator_memory_gib_each:.0f} GiB"
    return f"{facts.accelerator_count} x {accelerator_short_name(facts)} {memory}"


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:g}"


def _nvme(facts: InstanceType) -> str:
    gigabytes = sum(disks.count * disks.size_gb for disks in facts.nvme_disks)
    return f"{gigabytes / 1000:.1f}" if gigabytes else NOTHING


def _efa(facts: InstanceType) -> str:
    if not facts.supports_efa:
        return NOTHING
    return UNKNOWN if facts.max_efa_interfaces is None else str(facts.max_efa_interfaces)


def _purchase(facts: InstanceType, region: str | None) -> str:
    return " ".join(PURCHASE_SHORT[option] for option in ways_to_buy(facts, region)) or NOTHING


def _zones(facts: InstanceType, region: str) -> str:
    return " ".join(zones_in(facts, region)) or NOTHING


def _price(facts: InstanceType, region: str | None) -> str:
    price = facts.on_demand_usd_per_hour.get(region or PRICE_REGION)
    return NOTHING if price is None else f"{price:.2f}"


def _fitting(screen: Console, columns: list[Column], types: Sequence[InstanceType]) -> list[Column]:
    """Leave out columns, the least important first, until what is left needs no shortening."""
    shown = list(columns)
    unlimited = screen.options.update(width=UNLIMITED, max_width=UNLIMITED)
    while len(shown) > 1 and Measurement.get(screen, unlimited, _table(shown, types)).maximum > screen.width:
        shown.remove(max(shown, key=lambda column: column.rank))
    return shown


def _table(columns: list[Column], types: Sequence[InstanceType]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for column in columns:
        style = "bold cyan" if column.title == "Type" else None
        table.add_column(
            column.title, justify="right" if column.right else "left", style=style, no_wrap=True, vertical="bottom"
        )
    for number, facts in enumerate(types):
        following = types[number + 1] if number + 1 < len(types) else None
        table.add_row(
            *(column.cell(facts) for column in columns),
            end_section=following is not None and _class(following) != _class(facts),
        )
    return table


def _class(facts: InstanceType) -> str:
    return re.split(r"\d", facts.family, maxsplit=1)[0]


def _remarks(
    types: Sequence[InstanceType], columns: list[Column], region: str | None, left_out: list[str]
) -> list[str]:
    titles = {column.title for column in columns}
    place = region or PRICE_REGION
    dates = sorted(
        {facts.price_as_of for facts in types if facts.price_as_of and place in facts.on_demand_usd_per_hour}
    )
    lines = [f"{len(types)} {'type' if len(types) == 1 else 'types'} of the catalogue of {catalog_as_of()}."]
    if "Scale-up\nGB/s" in titles:
        lines.append("Scale-up: per accelerator, both directions added.")
    if any(_efa(facts) == UNKNOWN for facts in types):
        lines.append("EFA ?: sources disagree.")
    if "To buy" in titles:
        lines.append("od: On-Demand, cb: Capacity Block.")
    if "USD/h" in titles:
        lines.append(f"USD/h: On-Demand, Linux, {place}, as of {' and '.join(dates)}; no quote.")
    if region:
        lines.append("Zones on record; a missing one proves nothing.")
    if left_out:
        lines.append(f"No room for: {', '.join(left_out)}.")
    return lines
