"""The network: one block of the VPC per zone, subnets that never move, and whether the nodes' addresses fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ultracluster.findings import Finding
    from ultracluster.plan.decision import Decision

__all__ = [
    "ExistingNetwork",
    "ExistingSubnet",
    "NetworkPlan",
    "NetworkRequest",
    "ZonePlan",
    "check_availability_zones",
    "check_network",
    "plan_network",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingSubnet:
    """A subnet that exists already."""

    subnet_id: str
    availability_zone: str
    route_table_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingNetwork:
    """A VPC that exists already."""

    vpc_id: str
    vpc_cidr: str
    subnets: tuple[ExistingSubnet, ...]
    storage_subnets: tuple[ExistingSubnet, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRequest:
    """What is asked of the network."""

    availability_zones: tuple[str, ...]
    vpc_cidr: str = "10.0.0.0/16"
    region: str | None = None
    addresses_by_zone: Mapping[str, int] = field(default_factory=dict)
    nat_gateways: int = 1
    interface_endpoints: tuple[str, ...] | None = None
    existing: ExistingNetwork | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonePlan:
    """The subnets of one zone; the blocks are `None` in an existing network, the ids `None` in a new one."""

    name: str
    public_cidr: str | None
    fleet_cidr: str | None
    storage_cidr: str | None
    fleet_subnet_id: str | None = None
    storage_subnet_id: str | None = None
    has_nat_gateway: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """The network as decided."""

    vpc_cidr: str
    zones: tuple[ZonePlan, ...]
    nat_gateways: int
    interface_endpoints: tuple[str, ...] | None
    existing: ExistingNetwork | None
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]


def check_availability_zones(zones: tuple[str, ...], *, region: str | None, subject: str) -> tuple[Finding, ...]:
    """All faults of a list of zone names."""
    raise NotImplementedError


def check_network(request: NetworkRequest, *, subject: str) -> tuple[Finding, ...]:
    """All faults of a network request."""
    raise NotImplementedError


def plan_network(request: NetworkRequest, *, subject: str) -> NetworkPlan:
    """Cut the VPC into blocks, or take the existing subnets."""
    raise NotImplementedError
