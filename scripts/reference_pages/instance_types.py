"""`instance-types.md`: the catalogue, a table per subject, with the sources and their dates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from reference_pages.markdown import bullets, code, page, prose, section, table
from ultracluster.facts.instances import InstanceType, Source, catalog, catalog_as_of, sources
from ultracluster.facts.quotas import quota_name
from ultracluster.findings import FindingsError
from ultracluster.plan.network_interfaces import InterfaceLayout, plan_network_interfaces

__all__ = ["instance_types_page"]

Columns = Mapping[str, Callable[[InstanceType], str]]
_OPEN = "?"


def instance_types_page() -> str:
    """The page."""
    types = tuple(catalog().values())
    intro = (
        f"The catalogue of {catalog_as_of()}: {len(types)} instance types with accelerators. "
        f"`ultracluster catalog TYPE` shows one with its network cards; `{_OPEN}` stands where nothing is published or "
        "sources disagree. A type that is missing here can be given to a cluster with `instance_type_records`."
    )
    subjects = (
        (
            "Accelerators",
            "Memory and rates are those of one accelerator; rates are peaks without sparsity.",
            _ACCELERATORS,
        ),
        ("Host", "", _HOST),
        (
            "Network",
            "EFA devices with their generation; addresses that a node takes from its subnet in each interface layout.",
            _NETWORK,
        ),
        ("To buy", _prices_note(), _PURCHASE),
        ("Storage and services", "", _SERVICES),
    )
    parts = [section(title, note, _table(types, columns)) for title, note, columns in subjects]
    parts += [section("vCPU quotas", _quotas(types)), section("Notes", *_notes(types))]
    return page("Instance types", intro, *parts, section("Sources", _sources()))


def _table(types: Sequence[InstanceType], columns: Columns) -> str:
    rows = ((code(facts.name), *(column(facts) for column in columns.values())) for facts in types)
    return table(("Type", *columns), rows)


def _number(value: float | None) -> str:
    return _OPEN if value is None else f"{value:g}"


def _yes(value: bool | None) -> str:  # noqa: FBT001 - a fact of the catalogue
    return _OPEN if value is None else "yes" if value else "no"


def _rates(facts: InstanceType) -> str:
    rates = (facts.dense_bf16_tflops_each, facts.dense_fp8_tflops_each, facts.dense_fp4_tflops_each)
    return " / ".join("-" if rate is None else f"{rate:g}" for rate in rates)


def _scale_up(facts: InstanceType) -> str:
    if facts.scale_up_interconnect is None:
        return "-"
    rate = facts.scale_up_gbytes_per_s_per_accelerator
    return facts.scale_up_interconnect + ("" if rate is None else f", {rate:g} GB/s")


def _disks(facts: InstanceType) -> str:
    return ", ".join(f"{disks.count} x {disks.size_gb} GB" for disks in facts.nvme_disks) or "-"


def _cards(facts: InstanceType) -> str:
    cards, with_efa = len(facts.network_cards), len(facts.efa_cards)
    return f"{cards}, {with_efa} with EFA" if 0 < with_efa < cards else str(cards)


def _efa(facts: InstanceType) -> str:
    if not facts.supports_efa:
        return "-"
    return f"{_number(facts.max_efa_interfaces)} ({facts.efa_generation or 'version ?'})"


def _efa_rate(facts: InstanceType) -> str:
    rate = facts.efa_bandwidth_gbps
    return f"{rate:g} Gbps, {rate / 8:g} GB/s" if rate else "-"


def _addresses(layout: InterfaceLayout) -> Callable[[InstanceType], str]:
    def column(facts: InstanceType) -> str:
        try:
            return str(plan_network_interfaces(facts, layout=layout, subject=facts.name).ip_count)
        except FindingsError:
            return "-"

    return column


def _price(facts: InstanceType) -> str:
    return ", ".join(f"{usd:g} ({region})" for region, usd in facts.on_demand_usd_per_hour.items()) or _OPEN


def _offers(option: str) -> Callable[[InstanceType], str]:
    return lambda facts: "yes" if option in facts.purchase_options else "no"


def _lustre(facts: InstanceType) -> str:
    if not facts.fsx_lustre_efa_client:
        return "TCP"
    count = facts.fsx_lustre_default_efa_interfaces
    return "EFA" + (f", {count} devices" if count else "")


_ACCELERATORS: Columns = {
    "Accelerators": lambda facts: f"{facts.accelerator_count} x {facts.accelerator_name}",
    "GiB": lambda facts: _number(facts.accelerator_memory_gib_each),
    "GiB in all": lambda facts: _number(facts.accelerator_memory_gib_total),
    "TB/s": lambda facts: _number(facts.hbm_bandwidth_tbps_each),
    "TFLOPS BF16 / FP8 / FP4": _rates,
    "Scale-up, both directions": _scale_up,
}
_HOST: Columns = {
    "vCPUs": lambda facts: str(facts.vcpus),
    "Processor": lambda facts: f"{facts.architecture}, {facts.cpu_manufacturer or _OPEN}",
    "Memory GiB": lambda facts: _number(facts.memory_gib),
    "Local NVMe": _disks,
    "EBS Mbps": lambda facts: _number(facts.ebs_bandwidth_mbps_max),
}
_NETWORK: Columns = {
    "Network": lambda facts: facts.network_performance,
    "Cards": _cards,
    "EFA devices": _efa,
    "EFA rate": _efa_rate,
    "GPUDirect RDMA": lambda facts: _yes(facts.gpudirect_rdma) if facts.supports_efa else "-",
    **{f"Addresses {layout.value}": _addresses(layout) for layout in InterfaceLayout},
}
_PURCHASE: Columns = {
    "USD per hour": _price,
    "On-Demand": _offers("on-demand"),
    "Spot": _offers("spot"),
    "Capacity Block": _offers("capacity-block"),
    "On-Demand quota": lambda facts: code(facts.quota_on_demand) if facts.quota_on_demand else "-",
    "Spot quota": lambda facts: code(facts.quota_spot) if facts.quota_spot else "-",
}
_SERVICES: Columns = {
    "Lustre client": _lustre,
    "GPUDirect Storage": lambda facts: _yes(facts.fsx_gpudirect_storage_client),
    "HyperPod": lambda facts: _yes(facts.sagemaker_hyperpod),
    "SageMaker training": lambda facts: _yes(facts.sagemaker_training_job),
    "Placement groups": lambda facts: ", ".join(facts.placement_group_strategies) or _OPEN,
}


def _prices_note() -> str:
    dates = sorted({facts.price_as_of for facts in catalog().values() if facts.price_as_of})
    keys = {
        key
        for facts in catalog().values()
        for key in facts.sources.get("on_demand_usd_per_hour", ())
        if facts.price_as_of
    }
    titles = "; ".join(prose(sources()[key].title) for key in sorted(keys))
    return (
        f"On-Demand prices for Linux of {', '.join(dates)} ({titles}): a snapshot, never a quote. Capacity Blocks and "
        "Spot have prices of their own. A Capacity Block counts against no vCPU quota."
    )


def _quotas(types: Sequence[InstanceType]) -> str:
    users: dict[str, list[str]] = {}
    for facts in types:
        for quota in (facts.quota_on_demand, facts.quota_spot):
            if quota:
                users.setdefault(quota, []).append(facts.family)
    rows = ((code(quota), quota_name(quota), ", ".join(dict.fromkeys(names))) for quota, names in sorted(users.items()))
    return table(("Code", "Name in Service Quotas", "Families"), rows)


def _notes(types: Sequence[InstanceType]) -> Iterator[str]:
    for facts in types:
        lines = [prose(note) for note in facts.notes]
        lines += [f"sources disagree on {code(dispute.field)}: {prose(dispute.why)}" for dispute in facts.disputed]
        if lines:
            yield f"{code(facts.name)}\n\n{bullets(lines)}"


def _sources() -> str:
    used = {key for facts in catalog().values() for keys in facts.sources.values() for key in keys}
    used |= {key for facts in catalog().values() for dispute in facts.disputed for _, key in dispute.others}
    rows = (_source(sources()[key]) for key in sorted(used & set(sources()) - {"derived", "none-published"}))
    return table(("Source", "As of", "Remarks"), rows)


def _source(source: Source) -> tuple[str, str, str]:
    title = f"[{prose(source.title)}]({source.url})" if source.url else prose(source.title)
    remarks = (source.package, "read in a copy" if source.secondary else None, source.note)
    return title, source.as_of, "; ".join(prose(remark) for remark in remarks if remark)
