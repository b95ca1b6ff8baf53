"""The EC2 vCPU quotas that a cluster needs when every fleet is at its largest, summed over the fleets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import TYPE_CHECKING

from ultracluster.facts.quotas import QUOTA_SERVICE, quota_console_url, quota_name
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.plan.capacity_options import Spot
    from ultracluster.plan.fleet import FleetPlan

__all__ = ["QuotaPlan", "plan_quotas"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaPlan:
    """One quota to ask for.

    Attributes:
        code: the code in Service Quotas.
        name: its name in the console; empty when it is not on record.
        service_code: the service under which it is kept.
        vcpus: vCPUs that the fleets below take together. Other instances in the account come on top.
        fleets: names of the fleets that count against it.
        console_url: where it is asked for; None when the address is not known.
    """

    code: str
    name: str
    service_code: str
    vcpus: int
    fleets: tuple[str, ...]
    console_url: str | None


def plan_quotas(fleets: Mapping[str, FleetPlan], *, region: str) -> tuple[QuotaPlan, ...]:
    """The quotas of all fleets together; Capacity Blocks need none.

    Args:
        fleets: the fleets by name.
        region: Region of the cluster; quotas are kept per Region.
    """
    vcpus: dict[str, int] = {}
    users: dict[str, list[str]] = {}
    for name, fleet in fleets.items():
        for code, count in _needs(fleet):
            vcpus[code] = vcpus.get(code, 0) + count
            users.setdefault(code, []).append(name)
    return tuple(
        QuotaPlan(
            code=code,
            name=quota_name(code),
            service_code=QUOTA_SERVICE,
            vcpus=count,
            fleets=tuple(users[code]),
            console_url=quota_console_url(code, region=region),
        )
        for code, count in vcpus.items()
    )


def _needs(fleet: FleetPlan) -> Iterator[tuple[str, int]]:
    """Code and vCPUs; a Spot fleet with On-Demand instances in it needs both of its family's quotas."""
    spot = fleet.capacity.spot
    on_demand = 0 if spot is None else _on_demand_nodes(spot, fleet.max_count)
    each = max(facts.vcpus for facts in fleet.instance_types)
    if fleet.quota_code is not None and on_demand < fleet.max_count:
        yield fleet.quota_code, (fleet.max_count - on_demand) * each
    code = fleet.instance_types[0].quota_on_demand
    if on_demand and code is not None:
        yield code, on_demand * each


def _on_demand_nodes(spot: Spot, nodes: int) -> int:
    """On-Demand instances of a Spot fleet at its largest: the base, and a share of the rest rounded up."""
    base = min(spot.on_demand_base_count, nodes)
    return base + ceil((nodes - base) * spot.on_demand_percentage_above_base / 100)
