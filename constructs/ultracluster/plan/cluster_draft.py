"""A cluster plan in the making: every subject is planned as far as its parts can be read, and all findings are kept.

A fault in one part hides no fault of another: what cannot be planned is left out, and the rules between subjects are
judged over what could be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from ultracluster.findings import Finding, FindingsError, finding
from ultracluster.plan.alarms import AlarmPlan, FleetAlarmRequest, alarms_for_fleet, fleet_profile
from ultracluster.plan.bootstrap import BootstrapInputs, mount_of, user_data_requests
from ultracluster.plan.buckets import BucketPlan, check_bucket_links, plan_bucket
from ultracluster.plan.clients import storage_client
from ultracluster.plan.cluster_files import read_catalog, read_script
from ultracluster.plan.cluster_rules import HOME, as_written, check_parts, mounted_by
from ultracluster.plan.fleet import FleetPlan, check_fleets_together, plan_fleet
from ultracluster.plan.home import HomePlan, check_home_clients, plan_home
from ultracluster.plan.lustre import plan_lustre
from ultracluster.plan.lustre_alarms import alarms_for_lustre, lustre_alarm_request
from ultracluster.plan.lustre_clients import check_lustre_clients
from ultracluster.plan.names import alarm_prefix, auto_scaling_group_name, interruption_queue_names
from ultracluster.plan.network import NetworkPlan, plan_network
from ultracluster.plan.requests import (
    bucket_request,
    fleet_request,
    fleet_zones,
    home_request,
    lustre_request,
    network_request,
)
from ultracluster.plan.user_data import UserDataPlan, plan_user_data

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from ultracluster.facts.instances import InstanceType
    from ultracluster.plan.lustre_request import LustrePlan
    from ultracluster.plan.storage_client import StorageClient
    from ultracluster.spec.fleet import FleetSpec
    from ultracluster.spec.parts import ClusterParts

__all__ = ["ClusterDraft", "draft_cluster"]


class _Plan(Protocol):
    @property
    def warnings(self) -> tuple[Finding, ...]: ...


Planned = TypeVar("Planned", bound=_Plan)


def draft_cluster(parts: ClusterParts, *, base_dir: Path, now: datetime | None = None) -> ClusterDraft:
    """Plan what can be planned of a cluster file.

    Args:
        parts: its readable parts.
        base_dir: the folder that paths in it start from.
        now: the time to hold the ends of Capacity Blocks against; None judges no end as past.
    """
    draft = ClusterDraft(parts=parts, base_dir=base_dir, now=now)
    draft.findings += check_parts(parts)
    draft.plan_fleets()
    draft.plan_network()
    draft.plan_storage()
    draft.check_between()
    draft.plan_user_data()
    draft.plan_alarms()
    draft.findings = list(dict.fromkeys(draft.findings))
    return draft


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

    def attempt(self, make: Callable[[], Planned]) -> Planned | None:
        """A plan, or None when it is faulty; the findings are kept either way."""
        try:
            plan = make()
        except FindingsError as error:
            self.findings += error.findings
            return None
        self.findings += plan.warnings
        return plan

    def plan_fleets(self) -> None:
        """Every readable fleet, with its script."""
        self.catalog, faults = read_catalog(self.parts.instance_type_records, self.base_dir)
        self.findings += faults
        for index, fleet in self.parts.fleets.items():
            before = len(self.findings)
            plan = self._fleet(index, fleet)
            self.findings[before:] = [as_written(found, fleet, f"fleets[{index}]") for found in self.findings[before:]]
            if plan is not None:
                self.fleets[index] = plan
            if fleet.user_data is not None:
                script, faults = read_script(fleet.user_data, self.base_dir, subject=f"fleets[{index}].user_data")
                self.findings += faults
                self.scripts.update({} if script is None else {index: script})

    def _fleet(self, index: int, fleet: FleetSpec) -> FleetPlan | None:
        # A fleet without a zone is told of already; any zone will do to find its other faults.
        stand_in = (*self.network_zones, f"{self.parts.region or 'us-east-1'}a")[:1]
        request = fleet_request(
            fleet,
            availability_zones=fleet_zones(fleet, self.network_zones) or stand_in,
            region=self.parts.region,
            catalog=self.catalog,
            now=self.now,
        )
        return self.attempt(lambda: plan_fleet(request, subject=f"fleets[{index}]"))

    def plan_network(self) -> None:
        """The network, with room for the addresses of the fleets."""
        network = self.parts.network
        if network is None:
            return
        demand: dict[str, int] = {}
        for fleet in self.fleets.values():
            for zone in fleet.availability_zones:
                demand[zone] = demand.get(zone, 0) + fleet.ip_addresses_max
        known = {zone: count for zone, count in demand.items() if zone in network.availability_zones}
        request = network_request(network, region=self.parts.region, addresses_by_zone=known)
        self.network = self.attempt(lambda: plan_network(request, subject="network"))

    def plan_storage(self) -> None:
        """File systems and buckets."""
        for index in self.parts.lustre:
            self._plan_lustre(index)
        for index in self.parts.buckets:
            self._plan_bucket(index)
        home, zones = self.parts.home, self._home_zones()
        if home is not None and zones:
            request = home_request(home, availability_zones=zones)
            self.home = self.attempt(lambda: plan_home(request, subject="storage.home"))

    def _plan_lustre(self, index: int) -> None:
        lustre, subject = self.parts.lustre[index], f"storage.lustre[{index}]"
        zone = lustre.availability_zone or self._zone_of(lustre.name, subject)
        request = lustre_request(lustre, availability_zone=zone)
        plan = self.attempt(lambda: plan_lustre(request, subject=subject, region=self.parts.region))
        if plan is not None:
            self.lustre[index] = plan

    def _plan_bucket(self, index: int) -> None:
        bucket = self.parts.buckets[index]
        if bucket.bucket_name is None:
            request = bucket_request(bucket)
            plan = self.attempt(lambda: plan_bucket(request, subject=f"storage.buckets[{index}]"))
            self.buckets.update({} if plan is None else {index: plan})

    def _mounting(self, name: str) -> list[int]:
        """Readable fleets that mount a file system."""
        return [index for index, fleet in self.parts.fleets.items() if name in mounted_by(fleet, self.parts)]

    def _zone_of(self, name: str, subject: str) -> str | None:
        """The zone that the fleets of a file system share, or the only one of the network."""
        users = [fleet_zones(self.parts.fleets[index], self.network_zones) for index in self._mounting(name)]
        zones = list(dict.fromkeys(zone for each in users for zone in each))
        if not zones:
            zones = list(self.network_zones)
        if len(zones) > 1:
            message = f"no zone is named, and it could stand in {', '.join(zones)}"
            self.findings.append(
                finding("UC-SPC-015", subject, message, f"add availability_zone: {zones[0]}, or another")
            )
        return zones[0] if len(zones) == 1 else None

    def _home_zones(self) -> tuple[str, ...]:
        """Zones of the fleets that mount the shared home, else all zones of the network."""
        users = [self.fleets[index].availability_zones for index in self._mounting(HOME) if index in self.fleets]
        zones = tuple(dict.fromkeys(zone for each in users for zone in each))
        return zones or self.network_zones

    def clients_of(self, name: str) -> list[StorageClient]:
        """The planned fleets that mount a file system."""
        blocks = {zone.name: zone.fleet_cidr for zone in (self.network.zones if self.network is not None else ())}
        return [
            storage_client(
                fleet,
                subject=f"fleets[{index}]",
                cidrs=tuple(block for zone in fleet.availability_zones if (block := blocks.get(zone)) is not None),
            )
            for index, fleet in self.fleets.items()
            if index in self._mounting(name)
        ]

    def check_between(self) -> None:
        """The rules between fleets, file systems and buckets."""
        self.findings += check_fleets_together({f"fleets[{index}]": plan for index, plan in self.fleets.items()})
        blocks = {zone.name: zone.storage_cidr for zone in (self.network.zones if self.network is not None else ())}
        for index, lustre in self.lustre.items():
            cidr = blocks.get(lustre.availability_zone or "")
            subject = f"storage.lustre[{index}]"
            self.findings += check_lustre_clients(lustre, self.clients_of(lustre.name), subject=subject, cidr=cidr)
        if self.home is not None:
            self.findings += check_home_clients(self.home, self.clients_of(HOME), subject="storage.home")
        links = [
            (f"storage.lustre[{index}].data_repositories[{at}]", link)
            for index, entry in self.parts.lustre.items()
            for at, link in enumerate(lustre_request(entry, availability_zone=None).data_repositories)
        ]
        self.findings += check_bucket_links({plan.name: plan for plan in self.buckets.values()}, links)

    @property
    def _name(self) -> str:
        return self.parts.name or "cluster"

    @property
    def _namespace(self) -> str:
        watch = self.parts.observability
        return "UltraCluster" if watch is None else watch.metrics_namespace

    def _group(self, fleet: FleetPlan) -> str:
        return auto_scaling_group_name(self._name, fleet.name)

    def plan_user_data(self) -> None:
        """The user data of every planned fleet whose mounts are in order."""
        mounts = {plan.name: mount_of(plan) for plan in self.lustre.values()}
        if self.home is not None:
            mounts[HOME] = mount_of(self.home)
        for index, fleet in self.fleets.items():
            names = mounted_by(self.parts.fleets[index], self.parts)
            inputs = BootstrapInputs(
                auto_scaling_group_name=self._group(fleet),
                metrics_namespace=self._namespace,
                mounts=tuple({mounts[name].mount_path: mounts[name] for name in names if name in mounts}.values()),
                user_script=self.scripts.get(index),
            )
            subject = f"fleets[{index}]"
            self.user_data[index] = [
                plan
                for request in user_data_requests(fleet, inputs)
                if (plan := self.attempt(partial(plan_user_data, request, subject=subject))) is not None
            ]

    def plan_alarms(self) -> None:
        """The alarms of every planned fleet and Lustre file system."""
        watch = self.parts.observability
        percent = None if watch is None else watch.utilization_threshold_percent
        for index, fleet in self.fleets.items():
            queue, dead = interruption_queue_names(self._group(fleet)) if fleet.spot is not None else (None, None)
            request = FleetAlarmRequest(
                group_name=self._group(fleet),
                profile=fleet_profile(fleet, namespace=self._namespace),
                utilization_threshold_percent=percent,
                interruption_queue_name=queue,
                interruption_dead_letter_queue_name=dead,
            )
            self._alarms(f"fleets[{index}]", partial(alarms_for_fleet, request))
        for index, lustre in self.lustre.items():
            groups = tuple(self._group(self.fleets[at]) for at in self._mounting(lustre.name) if at in self.fleets)
            prefix = alarm_prefix(self._name, lustre.name)
            watched = lustre_alarm_request(lustre, name=prefix, client_groups=groups)
            self._alarms(f"storage.lustre[{index}]", partial(alarms_for_lustre, watched))

    def _alarms(self, subject: str, make: Callable[..., tuple[AlarmPlan, ...]]) -> None:
        try:
            self.alarms[subject] = make(subject=subject)
        except FindingsError as error:
            self.findings += error.findings
