"""The text of `ultracluster plan`: one section per fleet and file system, figures first, then decisions with reasons.

On a wide screen the reason stands beside what it explains, on a narrow one below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ultracluster_cli.output import console
from ultracluster_cli.plan_figures import Row, fleet_rows, fleet_title, lustre_rows, lustre_title, money, number

if TYPE_CHECKING:
    from rich.console import Console

    from ultracluster.plan.cluster import ClusterPlan
    from ultracluster.plan.decision import Decision

__all__ = ["print_plan"]

WIDE = 100
"""From here on three columns are readable."""

LABEL_COLUMNS = 20


def print_plan(plan: ClusterPlan) -> None:
    """Print a plan to stdout."""
    screen = console()
    nodes = sum(fleet.max_count for fleet in plan.fleets)
    accelerators = sum(fleet.accelerators_max for fleet in plan.fleets)
    title = Text(plan.name, style="bold cyan")
    title.append(f"  {plan.region}", style="default")
    title.append(
        f"  at most {number(nodes)} node{'' if nodes == 1 else 's'} with {number(accelerators)} accelerators",
        style="dim",
    )
    screen.print(title)
    for index, (fleet, joined) in enumerate(zip(plan.fleets, plan.attachments, strict=True)):
        subject = f"fleets[{index}]"
        alarms = plan.alarms.get(subject, ())
        _section(screen, fleet_title(fleet), fleet_rows(fleet, joined, len(alarms)), _decided(plan, subject))
    for index, lustre in enumerate(plan.lustre):
        subject = f"storage.lustre[{index}]"
        alarms = plan.alarms.get(subject, ())
        _section(screen, lustre_title(lustre), lustre_rows(lustre, len(alarms)), _decided(plan, subject))
    if plan.home is not None:
        _section(screen, f"Home: EFS at {plan.home.mount_path}", (), _decided(plan, "storage.home"))
    for index, bucket in enumerate(plan.buckets):
        heading = f"Bucket {bucket.name}: {bucket.purpose}"
        _section(screen, heading, (), _decided(plan, f"storage.buckets[{index}]"))
    _section(screen, "Network", (), _decided(plan, "network"))
    _print_quotas(screen, plan)
    _print_cost(screen, plan)


def _decided(plan: ClusterPlan, subject: str) -> Iterator[Row]:
    """The decisions on a subject, each once, under the key that they are about."""
    told: set[tuple[str, str]] = set()
    for decision in plan.decisions:
        if decision.subject != subject and not decision.subject.startswith(f"{subject}."):
            continue
        row = _row(decision, subject)
        if (row.label, row.value) not in told:
            told.add((row.label, row.value))
            yield row


def _row(decision: Decision, subject: str) -> Row:
    label = decision.subject.removeprefix(subject).lstrip(".").replace("_", " ")
    return Row(label=label or "choice", value=decision.value, because=decision.because)


def _section(screen: Console, heading: str, figures: Iterable[Row], decisions: Iterable[Row]) -> None:
    screen.print()
    screen.print(Text(heading, style="bold"))
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(style="cyan", width=LABEL_COLUMNS, overflow="fold")
    table.add_column(ratio=4, overflow="fold")
    wide = screen.width >= WIDE
    if wide:
        table.add_column(ratio=5, style="dim", overflow="fold")
    for row in (*figures, *decisions):
        table.add_row(*_cells(row, wide=wide))
    screen.print(Padding(table, (0, 0, 0, 2)))


def _cells(row: Row, *, wide: bool) -> Sequence[str | Text]:
    if wide:
        return row.label, row.value, row.because
    value = Text(row.value)
    if row.because:
        value.append(f"\n{row.because}", style="dim")
    return row.label, value


def _print_quotas(screen: Console, plan: ClusterPlan) -> None:
    rows = [
        Row(
            label=quota.code,
            value=f"{number(quota.vcpus)} vCPU",
            because=f"{quota.name or 'vCPU quota'}, service {quota.service_code}, for {', '.join(quota.fleets)}",
        )
        for quota in plan.quotas
    ]
    none = Row(label="none", value="nothing to ask for", because="Capacity Blocks count against no vCPU quota")
    _section(screen, "Quotas to ask for, at the largest size", rows or [none], ())
    for quota in plan.quotas:
        if quota.console_url is not None:
            # In one piece whatever the width, so that it can be copied.
            screen.print(f"  {quota.console_url}", style="dim", soft_wrap=True)


def _print_cost(screen: Console, plan: ClusterPlan) -> None:
    rows = [
        Row(label=cost.fleet, value=money(cost.usd_per_hour_min, cost.usd_per_hour_max), because=cost.note)
        for cost in plan.cost.fleets
    ]
    if len(rows) > 1:
        total = money(plan.cost.usd_per_hour_min, plan.cost.usd_per_hour_max)
        rows.append(Row(label="together", value=total, because="the fleets above that have a figure"))
    rows.append(Row(label="not included", value=plan.cost.not_included[-1], because=""))
    _section(screen, "Cost per hour", rows, ())
