"""One type of `ultracluster catalog` in detail: network cards, interface layouts, ways to buy, notes and sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ultracluster.facts.instances import InstanceType, NetworkCard, catalog_as_of, sources
from ultracluster.findings import FindingsError
from ultracluster.plan.network_interfaces import InterfaceLayout, NetworkInterface, plan_network_interfaces
from ultracluster_cli.catalog_queries import ranges, ways_to_buy
from ultracluster_cli.output import console

__all__ = ["print_type"]

LABEL_COLUMNS = 14
BITS_PER_BYTE = 8
BULLET = "-"
UNPUBLISHED = "unpublished"


def print_type(facts: InstanceType) -> None:
    """Print everything that is known about a type."""
    screen = console()
    title = Text(facts.name, style="bold cyan")
    title.append(f"  catalogue of {catalog_as_of()}", style="dim")
    screen.print(title)
    _section(screen, "", _machine(facts))
    _heading(screen, "Network cards")
    screen.print(_cards(facts.network_cards))
    _section(screen, "Interface layouts", _layouts(facts))
    _section(screen, "To buy", _purchase(facts))
    _section(screen, "Services", _services(facts))
    _section(screen, "Notes", [(BULLET, note) for note in facts.notes])
    _section(screen, "Sources disagree", _disputed(facts))
    _section(screen, "Sources (addresses: --format json)", _sources(facts))


def _heading(screen: Console, heading: str) -> None:
    screen.print()
    if heading:
        screen.print(heading, style="bold")


def _section(screen: Console, heading: str, rows: Iterable[tuple[str, str | Text]]) -> None:
    """Label and text in two columns; a row without text is left out, and so is a section without rows."""
    filled = [row for row in rows if row[1]]
    if not filled:
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    labelled = any(label != BULLET for label, _ in filled)
    table.add_column(style="dim", min_width=LABEL_COLUMNS if labelled else None, no_wrap=True)
    table.add_column(overflow="fold")
    for row in filled:
        table.add_row(*row)
    _heading(screen, heading)
    screen.print(table)


def _machine(facts: InstanceType) -> Iterator[tuple[str, str]]:
    yield "Accelerators", _accelerators(facts)
    yield "Peak, dense", _peaks(facts)
    yield "Scale-up", _scale_up(facts)
    cores = f"{facts.physical_cores} cores x {facts.threads_per_core}"
    yield (
        "Processor",
        f"{facts.vcpus} vCPU ({cores}), {facts.architecture}"
        + (f" ({facts.cpu_manufacturer})" if facts.cpu_manufacturer else ""),
    )
    yield "Memory", f"{facts.memory_gib:g} GiB"
    yield "Local NVMe", ", ".join(f"{disks.count} x {disks.size_gb} GB" for disks in facts.nvme_disks) or "none"
    yield "EBS", _ebs(facts)
    yield "Network", _network(facts)
    if facts.nitro_version is not None:
        yield "Nitro", f"v{facts.nitro_version}"


def _accelerators(facts: InstanceType) -> str:
    if not facts.accelerator_count:
        return "none"
    memory = f"{facts.accelerator_memory_gib_each:g} GiB each, {facts.accelerator_memory_gib_total:g} GiB in all"
    speed = f", {facts.hbm_bandwidth_tbps_each:g} TB/s" if facts.hbm_bandwidth_tbps_each else ""
    return f"{facts.accelerator_count} x {facts.accelerator_name}, {memory}{speed}"


def _peaks(facts: InstanceType) -> str:
    peaks = {
        "BF16": facts.dense_bf16_tflops_each,
        "FP8": facts.dense_fp8_tflops_each,
        "FP4": facts.dense_fp4_tflops_each,
    }
    known = [f"{name} {value:g}" for name, value in peaks.items() if value is not None]
    return f"{', '.join(known)} TFLOPS each" if known else ""


def _scale_up(facts: InstanceType) -> str:
    if facts.scale_up_interconnect is None:
        return "none" if facts.accelerator_count else ""
    rate = facts.scale_up_gbytes_per_s_per_accelerator
    return facts.scale_up_interconnect + (f", {rate:g} GB/s per accelerator (both directions)" if rate else "")


def _ebs(facts: InstanceType) -> str:
    base, most = facts.ebs_bandwidth_mbps_baseline, facts.ebs_bandwidth_mbps_max
    if base is None or most is None:
        return UNPUBLISHED
    return f"{base} Mbps" if base == most else f"{base} Mbps, {most} Mbps in bursts"


def _network(facts: InstanceType) -> str:
    if not facts.supports_efa:
        return f"{facts.network_performance}, no EFA"
    count = "device count disputed" if facts.max_efa_interfaces is None else f"{facts.max_efa_interfaces} devices"
    rate = f"{facts.efa_bandwidth_gbps:g} Gbps ({facts.efa_bandwidth_gbps / BITS_PER_BYTE:g} GB/s)"
    generation = f" {facts.efa_generation}" if facts.efa_generation else ""
    rdma = {True: "GPUDirect RDMA", False: "no GPUDirect RDMA", None: "GPUDirect RDMA unknown"}[facts.gpudirect_rdma]
    return f"EFA{generation}, {count}, {rate}, {rdma}"


def _cards(cards: tuple[NetworkCard, ...]) -> Table:
    groups: dict[tuple[tuple[str, ...], int | None, float | None], list[int]] = {}
    for card in cards:
        groups.setdefault((card.interface_types, card.max_interfaces, card.peak_gbps), []).append(card.index)
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for head in ("Cards", "Interface types", "Interfaces per card", "Gbps per card"):
        table.add_column(head)
    for (types, most, peak), indexes in groups.items():
        table.add_row(ranges(tuple(indexes)), ", ".join(types), _number(most), _number(peak))
    return table


def _number(value: float | None) -> str:
    return UNPUBLISHED if value is None else f"{value:g}"


def _layouts(facts: InstanceType) -> Iterator[tuple[str, str]]:
    for layout in InterfaceLayout:
        try:
            plan = plan_network_interfaces(facts, layout=layout, subject=facts.name)
        except FindingsError:
            continue  # not documented for this type
        addresses = f"{plan.ip_count} address{'es' if plan.ip_count > 1 else ''}"
        total = f"{len(plan.interfaces)} interfaces, {plan.efa_count} EFA, {addresses} per node"
        yield layout.value, f"{total}: {_entries(plan.interfaces)}"


def _entries(interfaces: tuple[NetworkInterface, ...]) -> str:
    """Cards with the same devices together: `card 0: interface at 0, efa-only at 1; cards 1-31: efa-only at 0`."""
    devices: dict[int, list[tuple[int, str]]] = {}
    for interface in interfaces:
        devices.setdefault(interface.card, []).append((interface.device, interface.kind))
    groups: dict[tuple[tuple[int, str], ...], list[int]] = {}
    for card, entries in sorted(devices.items()):
        groups.setdefault(tuple(sorted(entries)), []).append(card)
    return "; ".join(
        f"card{'s' if len(cards) > 1 else ''} {ranges(tuple(cards))}: "
        + ", ".join(f"{kind} at {device}" for device, kind in entries)
        for entries, cards in groups.items()
    )


def _purchase(facts: InstanceType) -> Iterator[tuple[str, str]]:
    yield "Options", ", ".join(ways_to_buy(facts, None))
    prices = [f"{usd:.2f} USD/h in {region}" for region, usd in facts.on_demand_usd_per_hour.items()]
    yield (
        "On-Demand",
        f"{', '.join(prices)} (Linux, as of {facts.price_as_of}; no quote)" if prices else "no price known",
    )
    codes = {"On-Demand": facts.quota_on_demand, "Spot": facts.quota_spot}
    quotas = [f"{code} ({name})" for name, code in codes.items() if code]
    yield "vCPU quotas", ", ".join(quotas)
    yield "Zones", "; ".join(f"{region} {_zones(zones)}" for region, zones in facts.offered_az_ids.items())
    yield "Blocks in", ", ".join((*facts.capacity_block_regions, *facts.capacity_block_local_zones))
    servers = [f"{server.type} ({server.instances} x {facts.name})" for server in facts.ultraservers]
    yield "UltraServers", ", ".join(servers)


def _zones(zones: Iterable[str]) -> str:
    return " ".join(zone.rpartition("-")[2] for zone in zones)


def _services(facts: InstanceType) -> Iterator[tuple[str, str]]:
    strategies = ", ".join(facts.placement_group_strategies) or "strategies unpublished"
    blocked = facts.placement_group_with_capacity_block is False
    yield "Placement", strategies + ("; no group with a Capacity Block" if blocked else "")
    lustre = "over EFA" if facts.fsx_lustre_efa_client else "over TCP"
    count = facts.fsx_lustre_default_efa_interfaces if facts.fsx_lustre_efa_client else None
    lustre += f", {count} EFA devices by default" if count else ""
    yield "FSx for Lustre", lustre + (", GPUDirect Storage" if facts.fsx_gpudirect_storage_client else "")
    answers: Mapping[str, bool | None] = {
        "HyperPod": facts.sagemaker_hyperpod,
        "training jobs": facts.sagemaker_training_job,
    }
    yield "SageMaker", ", ".join(name for name, answer in answers.items() if answer) or "no"


def _disputed(facts: InstanceType) -> Iterator[tuple[str, str]]:
    for dispute in facts.disputed:
        others = ", ".join(dict.fromkeys(_text(value) for value, _ in dispute.others))
        yield BULLET, f"{dispute.field}: {_text(getattr(facts, dispute.field))}, elsewhere {others}: {dispute.why}"


def _text(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "open", True: "yes", False: "no"}[value]
    if isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value):
        return ", ".join(value)
    return str(value) if isinstance(value, int | float | str) else "none" if not value else "as above"


def _sources(facts: InstanceType) -> Iterator[tuple[str, Text]]:
    """Date and title; on a terminal the title is a link."""
    known = sources()
    used = {key for keys in facts.sources.values() for key in keys}
    for key in sorted(used & set(known) - {"derived", "none-published"}, key=lambda key: known[key].title):
        source = known[key]
        title = Text(source.title, style=f"link {source.url}" if source.url else "")
        yield source.as_of, title.append(" (read in a copy)" if source.secondary else "", style="dim")
    if "record" in used:
        yield "", Text("DescribeInstanceTypes record given with --record")
