"""What is known about one instance type: plain, frozen records without CDK objects, tokens or decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from ultracluster.values import dataclass

__all__ = [
    "Disputed",
    "InstanceType",
    "InterfaceKind",
    "NetworkCard",
    "NvmeDisk",
    "Source",
    "UltraServer",
]

InterfaceKind = Literal["interface", "efa", "efa-only"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkCard:
    """One network card of a type.

    Attributes:
        index: NetworkCardIndex.
        interface_types: the values InterfaceType may have on this card; one without `efa` and `efa-only` is ENA only.
        max_interfaces: device indexes run from 0 to one less than this; None when AWS publishes no number for the card.
        peak_gbps: the rate that EC2 states for the card in Gbps (ENA); None when unknown.
    """

    index: int
    interface_types: tuple[str, ...]
    max_interfaces: int | None
    peak_gbps: float | None

    @property
    def carries_efa(self) -> bool:
        """Whether an EFA device, with or without an IP address, can sit on this card."""
        return "efa" in self.interface_types or "efa-only" in self.interface_types


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmeDisk:
    """Local NVMe disks of one size.

    Attributes:
        count: how many.
        size_gb: size of each in GB (powers of ten).
    """

    count: int
    size_gb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UltraServer:
    """An UltraServer that is built from the type.

    Attributes:
        type: the name under which it is bought.
        instances: instances in one.
        accelerators: accelerators in one.
    """

    type: str
    instances: int
    accelerators: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a fact comes from.

    Attributes:
        key: the name that the rows use.
        title: the document or data set.
        as_of: its date, or the date on which it was read, as YYYY, YYYY-MM or YYYY-MM-DD.
        url: its address, when it has one.
        package: the released package or revision that holds it, when it is data.
        secondary: True when it was read in a copy and not at the publisher.
        note: what to keep in mind.
    """

    key: str
    title: str
    as_of: str
    url: str | None = None
    package: str | None = None
    secondary: bool = False
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disputed:
    """A fact on which the sources disagree.

    Attributes:
        field: the field of the row.
        others: the values that were not taken, each with the key of its source.
        why: why the value of the row was taken.
    """

    field: str
    others: tuple[tuple[object, str], ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """The facts of one EC2 instance type.

    Every value has a source: `sources` maps the name of a field to keys of `instances.sources()`. None means that
    AWS publishes nothing, or that it does not apply; it never means "no". Equality compares everything, the hash only
    the name.

    Attributes:
        name: the EC2 name, for example `p5.48xlarge`.
        family: the part before the dot.
        vendor: who makes the accelerators: `nvidia` or `aws` (Trainium, Inferentia).
        architecture: of the processor, and so of the image.
        cpu_manufacturer: maker of the processor.
        vcpus: virtual processors, the unit of the EC2 quotas.
        physical_cores: cores when threads per core is left alone.
        threads_per_core: threads of each.
        memory_gib: main memory in GiB.
        accelerator_name: product name; empty for a type without accelerators.
        accelerator_count: GPUs or Neuron devices in one instance.
        accelerator_memory_gib_each: memory that software can use on one, in GiB.
        hbm_bandwidth_tbps_each: memory bandwidth of one in TB/s.
        dense_bf16_tflops_each: peak of one without sparsity in TFLOPS, likewise FP8 and FP4; None where unsupported.
        scale_up_interconnect: what joins the accelerators inside the instance; None for PCIe only or a single one.
        scale_up_gbytes_per_s_per_accelerator: its rate per accelerator in GB/s, both directions added.
        network_bandwidth_gbps: network rate of the instance in Gbps, as AWS names it.
        network_performance: the text the API prints for it.
        efa_bandwidth_gbps: what EFA can carry in Gbps; divide by 8 for GB/s; 0 without EFA.
        max_network_interfaces: interfaces that can be attached in all.
        network_cards: one entry per card, in order of the index.
        max_efa_interfaces: EFA devices in all; 0 without EFA, None where the sources disagree.
        efa_generation: `v1` to `v4`; informative, decide on the cards.
        efa_only_supported: whether any card takes `efa-only`.
        efa_on_card0: whether card 0 carries EFA.
        gpudirect_rdma: whether EFA reaches accelerator memory directly.
        nitro_version: generation of the Nitro card.
        documented_layouts: interface lists that AWS documents and that do not follow from the cards, by layout name
            (`max-bandwidth`, `min-ip`); entries are (card, device, kind), the primary interface first.
        nvme_disks: local disks.
        ebs_bandwidth_mbps_baseline: EBS rate that is always there, in Mbps.
        ebs_bandwidth_mbps_max: EBS rate in bursts, in Mbps.
        application_clocks_mhz: highest `memory` and `graphics` clock in MHz, where AWS documents one.
        os_controls_c_states: whether the operating system may set C-states.
        placement_group_strategies: strategies that the type takes; empty when unpublished.
        purchase_options: out of `on-demand`, `spot`, `capacity-block`.
        placement_group_with_capacity_block: whether a Capacity Block launch may name a placement group.
        capacity_block_regions: Regions in which Capacity Blocks are sold.
        capacity_block_local_zones: Local Zones in which they are sold.
        offered_az_ids: Region to zone ids with an offering on record; a missing Region proves nothing.
        on_demand_usd_per_hour: Region to USD per hour (Linux); a dated snapshot, never a quote.
        price_as_of: date of the prices; None without prices.
        quota_on_demand: code of the On-Demand vCPU quota (service `ec2`); None when unknown.
        quota_spot: code of the Spot vCPU quota.
        fsx_lustre_efa_client: whether it can mount an EFA-enabled Lustre file system over EFA.
        fsx_lustre_default_efa_interfaces: EFA interfaces that the FSx client set-up uses unless told otherwise.
        fsx_gpudirect_storage_client: whether GPUDirect Storage works with it.
        sagemaker_hyperpod: whether HyperPod offers it.
        sagemaker_training_job: whether training jobs offer it.
        pcs_capacity_block: whether AWS PCS names it for Capacity Blocks; None when open: warn, do not refuse.
        ultraservers: UltraServers made of it.
        notes: what else to know.
        disputed: fields on which sources disagree.
        confidence: `high`, `medium` or `low` by group: `api`, `accelerator`, `gpudirect_rdma`, `scale_up`,
            `efa_generation`.
        sources: field to the keys of its sources.
    """

    name: str
    family: str
    vendor: str
    architecture: str
    vcpus: int
    physical_cores: int
    threads_per_core: int
    memory_gib: float
    network_cards: tuple[NetworkCard, ...]
    max_network_interfaces: int
    cpu_manufacturer: str = ""
    accelerator_name: str = ""
    accelerator_count: int = 0
    accelerator_memory_gib_each: float = 0
    hbm_bandwidth_tbps_each: float | None = None
    dense_bf16_tflops_each: float | None = None
    dense_fp8_tflops_each: float | None = None
    dense_fp4_tflops_each: float | None = None
    scale_up_interconnect: str | None = None
    scale_up_gbytes_per_s_per_accelerator: float | None = None
    network_bandwidth_gbps: float | None = None
    network_performance: str = ""
    efa_bandwidth_gbps: float = 0
    max_efa_interfaces: int | None = 0
    efa_generation: str | None = None
    efa_only_supported: bool = False
    efa_on_card0: bool = False
    gpudirect_rdma: bool | None = None
    nitro_version: int | None = None
    documented_layouts: Mapping[str, tuple[tuple[int, int, str], ...]] = field(default_factory=dict)
    nvme_disks: tuple[NvmeDisk, ...] = ()
    ebs_bandwidth_mbps_baseline: int | None = None
    ebs_bandwidth_mbps_max: int | None = None
    application_clocks_mhz: Mapping[str, int] | None = None
    os_controls_c_states: bool | None = None
    placement_group_strategies: tuple[str, ...] = ()
    purchase_options: tuple[str, ...] = ()
    placement_group_with_capacity_block: bool | None = None
    capacity_block_regions: tuple[str, ...] = ()
    capacity_block_local_zones: tuple[str, ...] = ()
    offered_az_ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    on_demand_usd_per_hour: Mapping[str, float] = field(default_factory=dict)
    price_as_of: str | None = None
    quota_on_demand: str | None = None
    quota_spot: str | None = None
    fsx_lustre_efa_client: bool = False
    fsx_lustre_default_efa_interfaces: int | None = None
    fsx_gpudirect_storage_client: bool = False
    sagemaker_hyperpod: bool | None = None
    sagemaker_training_job: bool | None = None
    pcs_capacity_block: bool | None = None
    ultraservers: tuple[UltraServer, ...] = ()
    notes: tuple[str, ...] = ()
    disputed: tuple[Disputed, ...] = ()
    confidence: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __hash__(self) -> int:
        """By name, because mappings have no hash."""
        return hash(self.name)

    @property
    def accelerator_memory_gib_total(self) -> float:
        """Accelerator memory of the instance in GiB."""
        return self.accelerator_count * self.accelerator_memory_gib_each

    @property
    def efa_cards(self) -> tuple[NetworkCard, ...]:
        """The cards on which an EFA device can sit."""
        return tuple(card for card in self.network_cards if card.carries_efa)

    @property
    def supports_efa(self) -> bool:
        """Whether the type has EFA at all; true also where its number is disputed (None)."""
        return self.max_efa_interfaces != 0 and bool(self.efa_cards)
