"""A cluster plan in the making: plans by their index in the file, and every finding so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, TypeVar

from ultracluster.findings import Finding, FindingsError
from ultracluster.plan.cluster_rules import mounted_by
from ultracluster.plan.names import auto_scaling_group_name
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from ultracluster.facts.instances import InstanceType
    from ultracluster.plan.alarms import AlarmPlan
    from ultracluster.plan.buckets import BucketPlan
    from ultracluster.plan.fleet import FleetPlan
    from ultracluster.plan.home import HomePlan
    from ultracluster.plan.lustre_request import LustrePlan
    from ultracluster.plan.network import NetworkPlan
    from ultracluster.plan.user_data import UserDataPlan
    from ultracluster.spec.parts import ClusterParts

__all__ = ["ClusterDraft"]


class _Plan(Protocol):
    @property
    def warnings(self) -> tuple[Finding, ...]: ...


Planned = TypeVar("Planned", bound=_Plan)


@dataclass(slots=True, kw_only=True)
class ClusterDraft:
    """Plans by their index in the file, and everything found on the way.

    Attributes:
        parts: what is planned.
        base_dir: the folder that paths start from.
        now: the time to hold ends against.
        findings: every finding so far, warnings included.
        scripts: text of the users' scripts by fleet.
        alarms: alarms by the subject that they watch.
    """

    parts: ClusterParts
    base_dir: Path
    now: datetime | None
    findings: list[Finding] = field(default_factory=list)
    catalog: Mapping[str, InstanceType] | None = None
    fleets: dict[int, FleetPlan] = field(default_factory=dict)
    scripts: dict[int, str] = field(default_factory=dict)
    network: NetworkPlan | None = None
    lustre: dict[int, LustrePlan] = field(default_factory=dict)
    home: HomePlan | None = None
    buckets: dict[int, BucketPlan] = field(default_factory=dict)
    user_data: dict[int, list[UserDataPlan]] = field(default_factory=dict)
    alarms: dict[str, tuple[AlarmPlan, ...]] = field(default_factory=dict)

    @property
    def network_zones(self) -> tuple[str, ...]:
        """Zones of the network; empty when it cannot be read."""
        return () if self.parts.network is None else self.parts.network.availability_zones

    @property
    def name(self) -> str:
        """Name of the cluster, or a stand-in when it is faulty."""
        return self.parts.name or "cluster"

    def attempt(self, make: Callable[[], Planned]) -> Planned | None:
        """A plan, or None when it is faulty; the findings are kept either way."""
        try:
            plan = make()
        except FindingsError as error:
            self.findings += error.findings
            return None
        self.findings += plan.warnings
        return plan

    def mounting(self, name: str) -> list[int]:
        """Readable fleets that mount a file system."""
        return [index for index, fleet in self.parts.fleets.items() if name in mounted_by(fleet, self.parts)]

    def group(self, fleet: FleetPlan) -> str:
        """Name of the Auto Scaling group of a fleet."""
        return auto_scaling_group_name(self.name, fleet.name)
