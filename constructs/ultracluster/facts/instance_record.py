"""Facts of a type that the catalogue does not have, derived from an EC2 DescribeInstanceTypes record, without a call.

A record is one element of `InstanceTypes` as `aws ec2 describe-instance-types --instance-types TYPE` prints it. What
the API does not say (interconnect, peak rates, FSx support, prices) stays unknown; nothing is guessed. A record of a
type that the catalogue has brings its API fields up to date and leaves the others.

Errors raised: `FindingsError` with every fault of a record (UC-SPC-011) or of a file (UC-SPC-012).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ultracluster.facts.instance_type import InstanceType, NetworkCard, NvmeDisk
from ultracluster.facts.instances import api_fields, catalog, kept_fields
from ultracluster.facts.record_view import RecordView
from ultracluster.findings import Finding, finding, raise_if_errors

__all__ = ["catalog_with_records", "from_describe_instance_types"]

_RECORD = "UC-SPC-011"
_FILE = "UC-SPC-012"
_NAME = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")
_RATE = re.compile(r"(?:up to )?(?:(?P<times>\d+)x )?(?P<gbps>\d+(?:\.\d+)?) gigabit", re.IGNORECASE)
_INTERFACE_TYPES = ("interface", "efa", "efa-only")
_ARCHITECTURES = ("x86_64", "arm64")
_MIB_PER_GIB = 1024
# The record has none of these; a plan that needs one says that it is unknown.
_NOTE = "derived from a DescribeInstanceTypes record: interconnect, peak rates, FSx and SageMaker support are unknown"


def from_describe_instance_types(record: object, *, subject: str = "record") -> InstanceType:
    """The facts that follow from one DescribeInstanceTypes record.

    Args:
        record: the parsed JSON of one element of `InstanceTypes`.
        subject: what the findings call it, for example the file.

    Raises:
        FindingsError: the record is incomplete, has values of a wrong type, or contradicts itself; all faults at once.
    """
    facts, findings = _read(record, subject)
    raise_if_errors(findings)
    return InstanceType(**facts)


def catalog_with_records(
    paths: Iterable[Path], *, base: Mapping[str, InstanceType] | None = None
) -> Mapping[str, InstanceType]:
    """The catalogue, with the types of some files added or brought up to date.

    Args:
        paths: JSON files, each one record or a whole answer of DescribeInstanceTypes (`{"InstanceTypes": [...]}`).
        base: the types to start from; `catalog()` by default.

    Raises:
        FindingsError: a file cannot be read, or a record in it is wrong; all faults of all files at once.
    """
    known = dict(catalog() if base is None else base)
    findings: list[Finding] = []
    for path in paths:
        for subject, record in _records(path, findings):
            facts, faults = _read(record, subject)
            findings += faults
            if not faults:
                added = InstanceType(**facts)
                known[added.name] = _updated(known[added.name], added) if added.name in known else added
    raise_if_errors(findings)
    return known


def _records(path: Path, findings: list[Finding]) -> list[tuple[str, object]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        findings.append(finding(_FILE, str(path), f"cannot be read: {error.strerror}"))
        return []
    except (ValueError, RecursionError) as error:
        findings.append(finding(_FILE, str(path), f"is not JSON: {error}"))
        return []
    if not isinstance(document, dict) or "InstanceTypes" not in document:
        return [(str(path), document)]
    rows = document["InstanceTypes"]
    if not isinstance(rows, list) or not rows:
        findings.append(finding(_RECORD, f"{path}: InstanceTypes", "is not a list with at least one record"))
        return []
    return [(f"{path}: InstanceTypes[{index}]", row) for index, row in enumerate(rows)]


def _updated(known: InstanceType, added: InstanceType) -> InstanceType:
    fields = api_fields() - kept_fields(known.name)
    return replace(known, **{name: getattr(added, name) for name in sorted(fields)})


def _read(record: object, subject: str) -> tuple[dict[str, Any], list[Finding]]:
    findings: list[Finding] = []
    if record is None:
        findings.append(finding(_RECORD, subject, "null is not an object"))
    return _facts(RecordView(record, subject, findings, _RECORD)), findings


def _facts(view: RecordView) -> dict[str, Any]:
    name = view.text("InstanceType")
    if name and not _NAME.fullmatch(name):
        view.report(f"{name!r} is not the name of an instance type", key="InstanceType")
    family = name.partition(".")[0]
    return {
        "name": name,
        "family": family,
        **_processor(view),
        **_accelerators(view),
        **_network(view.child("NetworkInfo")),
        **_storage(view),
        "placement_group_strategies": tuple(sorted(view.child("PlacementGroupInfo").texts("SupportedStrategies"))),
        "purchase_options": tuple(sorted(view.texts("SupportedUsageClasses"))),
        **_quotas(family),
        "notes": (_NOTE,),
        "confidence": {"api": "high"},
        "sources": dict.fromkeys(sorted(api_fields()), ("record",)),
    }


def _processor(view: RecordView) -> dict[str, Any]:
    vcpu, processor = view.child("VCpuInfo"), view.child("ProcessorInfo")
    architectures = processor.texts("SupportedArchitectures")
    usable = [name for name in _ARCHITECTURES if name in architectures]
    if architectures and not usable:
        found = ", ".join(architectures)
        processor.report(f"{found} has neither of {' and '.join(_ARCHITECTURES)}", key="SupportedArchitectures")
    return {
        "vcpus": vcpu.integer("DefaultVCpus", minimum=1),
        "physical_cores": vcpu.integer("DefaultCores", minimum=1),
        "threads_per_core": vcpu.integer("DefaultThreadsPerCore", minimum=1),
        "memory_gib": _gib(view.child("MemoryInfo").integer("SizeInMiB", minimum=1)),
        "architecture": usable[0] if usable else "",
        "cpu_manufacturer": processor.text("Manufacturer", optional=True),
    }


def _gib(mib: int) -> float:
    gib = round(mib / _MIB_PER_GIB, 2)
    return int(gib) if gib.is_integer() else gib


def _accelerators(view: RecordView) -> dict[str, Any]:
    gpus = view.child("GpuInfo", optional=True).items("Gpus", optional=True)
    chips = view.child("NeuronInfo", optional=True).items("NeuronDevices", optional=True)
    others = view.child("InferenceAcceleratorInfo", optional=True).items("Accelerators", optional=True)
    devices = gpus or chips or others
    counts = [device.integer("Count") for device in devices]
    sizes = [device.child("MemoryInfo").integer("SizeInMiB") for device in devices]
    makers = ["AWS" if chips and not gpus else device.text("Manufacturer") for device in devices]
    names = [device.text("Name") for device in devices]
    if not devices:
        return {"vendor": ""}
    return {
        "vendor": makers[0].lower(),
        "accelerator_name": names[0] if names[0].startswith(makers[0]) else f"{makers[0]} {names[0]}",
        "accelerator_count": sum(counts),
        "accelerator_memory_gib_each": _gib(min(sizes)),
    }


def _network(view: RecordView) -> dict[str, Any]:
    cards = tuple(_card(row) for row in view.items("NetworkCards"))
    supported = view.flag("EfaSupported")
    most_efa = view.child("EfaInfo").integer("MaximumEfaInterfaces", minimum=1) if supported else 0
    performance = view.text("NetworkPerformance", optional=True)
    gbps = _gbps(performance)
    _check_cards(view, cards, most_efa)
    first = [card for card in cards if card.index == 0]
    return {
        "network_cards": tuple(sorted(cards, key=lambda card: card.index)),
        "max_network_interfaces": view.integer("MaximumNetworkInterfaces", minimum=1),
        "max_efa_interfaces": most_efa,
        "efa_only_supported": any("efa-only" in card.interface_types for card in cards),
        "efa_on_card0": any(card.carries_efa for card in first),
        "network_performance": performance,
        "network_bandwidth_gbps": gbps,
        "efa_bandwidth_gbps": (gbps or 0) if most_efa else 0,
    }


def _gbps(performance: str) -> float | None:
    """The rate in a text such as `3200 Gigabit`, `16x 200 Gigabit` or `Up to 12.5 Gigabit`; None for `High`."""
    match = _RATE.fullmatch(performance)
    if match is None:
        return None
    gbps = int(match["times"] or 1) * float(match["gbps"])
    return int(gbps) if gbps.is_integer() else gbps


def _card(view: RecordView) -> NetworkCard:
    types = view.texts("InterfaceTypes")
    strange = [name for name in types if name not in _INTERFACE_TYPES]
    if strange:
        view.report(f"{', '.join(strange)} is not one of {', '.join(_INTERFACE_TYPES)}", key="InterfaceTypes")
    peak = view.number("PeakBandwidthInGbps", optional=True)
    return NetworkCard(
        index=view.integer("NetworkCardIndex"),
        interface_types=types,
        max_interfaces=view.integer("MaximumNetworkInterfaces", minimum=1),
        peak_gbps=peak or None,
    )


def _check_cards(view: RecordView, cards: tuple[NetworkCard, ...], most_efa: int) -> None:
    indexes = [card.index for card in cards]
    if cards and sorted(indexes) != list(range(len(cards))):
        shown = ", ".join(map(str, indexes))
        view.report(f"indexes {shown} are not 0 to {len(cards) - 1}", key="NetworkCards")
    able = sum(card.carries_efa for card in cards)
    if cards and most_efa > able:
        message = f"{most_efa} is more than the {able} cards that carry EFA, and a card takes one EFA device"
        view.report(message, key="EfaInfo.MaximumEfaInterfaces")


def _storage(view: RecordView) -> dict[str, Any]:
    store = view.child("InstanceStorageInfo", optional=True)
    nvme = store.text("NvmeSupport", optional=True) in {"required", "supported"}
    disks = tuple(
        NvmeDisk(count=disk.integer("Count", minimum=1), size_gb=disk.integer("SizeInGB", minimum=1))
        for disk in store.items("Disks", optional=True)
    )
    ebs = view.child("EbsInfo", optional=True).child("EbsOptimizedInfo", optional=True)
    return {
        "nvme_disks": disks if nvme else (),
        "ebs_bandwidth_mbps_baseline": ebs.integer("BaselineBandwidthInMbps", optional=True) or None,
        "ebs_bandwidth_mbps_max": ebs.integer("MaximumBandwidthInMbps", optional=True) or None,
    }


def _quotas(family: str) -> dict[str, str]:
    """EC2 counts vCPUs per class of families (all P, all Trn), so a catalogued type of the class has the same codes."""
    for known in catalog().values():
        if _family_class(known.family) == _family_class(family) and known.quota_on_demand and known.quota_spot:
            return {"quota_on_demand": known.quota_on_demand, "quota_spot": known.quota_spot}
    return {}


def _family_class(family: str) -> str:
    return re.split(r"[^a-z]", family, maxsplit=1)[0]
