"""The plan of a cluster as a document of plain values: what `ultracluster plan --format json` prints.

The keys are a contract: they are named in `docs/reference/plan-document.md`, units stand in their names, and a key is
added but never renamed within one `format_version`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ultracluster.findings import Finding
    from ultracluster.plan.alarms import AlarmPlan
    from ultracluster.plan.buckets import BucketPlan
    from ultracluster.plan.cluster import ClusterPlan, FleetAttachments
    from ultracluster.plan.cost import FleetCost
    from ultracluster.plan.fleet import FleetPlan
    from ultracluster.plan.home import HomePlan
    from ultracluster.plan.lustre_request import LustrePlan
    from ultracluster.plan.network import NetworkPlan
    from ultracluster.plan.quotas import QuotaPlan

__all__ = ["FORMAT_VERSION", "cluster_document", "finding_rows", "plan_document"]

FORMAT_VERSION = 1

Document = dict[str, object]


def cluster_document(plan: ClusterPlan | None, findings: Iterable[Finding]) -> Document:
    """The whole document.

    Args:
        plan: what was decided; None when there are errors.
        findings: everything found, warnings included.
    """
    return {
        "format_version": FORMAT_VERSION,
        "findings": finding_rows(findings),
        "plan": None if plan is None else plan_document(plan),
    }


def finding_rows(findings: Iterable[Finding]) -> list[Document]:
    """One row per finding."""
    return [
        {
            "rule_id": found.rule_id,
            "severity": str(found.severity),
            "subject": found.subject,
            "message": found.message,
            "fix": found.fix,
        }
        for found in findings
    ]


def plan_document(plan: ClusterPlan) -> Document:
    """The decisions and figures of a plan."""
    fleets = [
        _fleet(fleet, joined, cost, plan.alarms.get(f"fleets[{index}]", ()))
        for index, (fleet, joined, cost) in enumerate(zip(plan.fleets, plan.attachments, plan.cost.fleets, strict=True))
    ]
    lustre = [_lustre(each, plan.alarms.get(f"storage.lustre[{index}]", ())) for index, each in enumerate(plan.lustre)]
    return {
        "name": plan.name,
        "region": plan.region,
        "account": plan.account,
        "network": _network(plan.network),
        "fleets": fleets,
        "lustre": lustre,
        "home": None if plan.home is None else _home(plan.home),
        "buckets": [_bucket(bucket) for bucket in plan.buckets],
        "existing_buckets": dict(plan.existing_buckets),
        "alarms": sum(map(len, plan.alarms.values())),
        "quotas": [_quota(quota) for quota in plan.quotas],
        "cost": {
            "usd_per_hour_min": plan.cost.usd_per_hour_min,
            "usd_per_hour_max": plan.cost.usd_per_hour_max,
            "not_included": list(plan.cost.not_included),
        },
        "decisions": [
            {"subject": each.subject, "value": each.value, "because": each.because} for each in plan.decisions
        ],
    }


def _quota(quota: QuotaPlan) -> Document:
    return {
        "service_code": quota.service_code,
        "code": quota.code,
        "name": quota.name,
        "vcpus": quota.vcpus,
        "fleets": list(quota.fleets),
        "console_url": quota.console_url,
    }


def _network(network: NetworkPlan) -> Document:
    return {
        "vpc_id": None if network.existing is None else network.existing.vpc_id,
        "vpc_cidr": network.vpc_cidr,
        "nat_gateways": network.nat_gateways,
        "zones": [
            {
                "name": zone.name,
                "fleet_cidr": zone.fleet_cidr,
                "storage_cidr": zone.storage_cidr,
                "public_cidr": zone.public_cidr,
                "fleet_subnet_id": zone.fleet_subnet_id,
                "storage_subnet_id": zone.storage_subnet_id,
            }
            for zone in network.zones
        ],
    }


def _fleet(fleet: FleetPlan, joined: FleetAttachments, cost: FleetCost, alarms: tuple[AlarmPlan, ...]) -> Document:
    return {
        "name": fleet.name,
        "auto_scaling_group_name": joined.auto_scaling_group_name,
        "instance_types": [facts.name for facts in fleet.instance_types],
        "availability_zones": list(fleet.availability_zones),
        "nodes_min": fleet.min_count,
        "nodes_max": fleet.max_count,
        **_figures(fleet),
        "launch_templates": [
            {
                "instance_types": [facts.name for facts in group.instance_types],
                "layout": str(group.interfaces.layout),
                "network_interfaces": len(group.interfaces.interfaces),
                "efa_interfaces": group.interfaces.efa_count,
                "ip_addresses": group.interfaces.ip_count,
            }
            for group in fleet.layouts
        ],
        "capacity": _capacity(fleet),
        "placement_group": {"create": fleet.placement.create, "existing_name": fleet.placement.existing_name},
        **_machine(fleet),
        "mounts": list(joined.mounts),
        "bucket_access": [
            {"bucket": access.bucket, "prefix": access.prefix, "write": access.write} for access in joined.bucket_access
        ],
        "user_data_bytes": joined.user_data_bytes,
        "alarms": [alarm.name for alarm in alarms],
        "cost": _cost(cost),
    }


def _figures(fleet: FleetPlan) -> Document:
    return {
        "accelerators": [facts.accelerator_name for facts in fleet.instance_types],
        "accelerators_per_node": [facts.accelerator_count for facts in fleet.instance_types],
        "accelerators_max": fleet.accelerators_max,
        "efa_interfaces_per_node": fleet.efa_count,
        "efa_gbytes_per_s_per_node": fleet.efa_gbytes_per_s_per_node,
        "efa_gbytes_per_s_max": fleet.efa_gbytes_per_s_per_node * fleet.max_count,
        "scale_up_interconnects": [facts.scale_up_interconnect for facts in fleet.instance_types],
        "scale_up_gbytes_per_s_per_accelerator": fleet.scale_up_gbytes_per_s_per_accelerator,
        "network_interfaces_max": fleet.network_interfaces_max,
        "ip_addresses_per_node": fleet.ip_addresses_per_node,
        "ip_addresses_max": fleet.ip_addresses_max,
        "vcpus_max": fleet.vcpus_max,
    }


def _machine(fleet: FleetPlan) -> Document:
    return {
        "image": {
            "os": fleet.image.os,
            "ssm_parameter": fleet.image.ssm_parameter,
            "ami_id": fleet.image.ami_id,
            "root_device_name": fleet.image.root_device_name,
        },
        "root_volume": {
            "size_gib": fleet.root_volume.size_gib,
            "iops": fleet.root_volume.iops,
            "throughput_mibps": fleet.root_volume.throughput_mibps,
        },
    }


def _cost(cost: FleetCost) -> Document:
    return {
        "usd_per_hour_each": cost.usd_per_hour_each,
        "usd_per_hour_min": cost.usd_per_hour_min,
        "usd_per_hour_max": cost.usd_per_hour_max,
        "price_region": cost.price_region,
        "price_as_of": cost.price_as_of,
        "note": cost.note,
    }


def _capacity(fleet: FleetPlan) -> Document:
    capacity = fleet.capacity
    return {
        "kind": capacity.kind,
        "reservation_id": capacity.reservation_id,
        "resource_group_arn": capacity.resource_group_arn,
        "size": capacity.size,
        "end": None if capacity.end is None else capacity.end.isoformat(),
        "scale_in_at": None if capacity.scale_in_at is None else capacity.scale_in_at.isoformat(),
        "quota_code": capacity.quota_code,
    }


def _lustre(lustre: LustrePlan, alarms: tuple[AlarmPlan, ...]) -> Document:
    speed = lustre.throughput
    return {
        "name": lustre.name,
        "deployment_type": lustre.deployment_type,
        "storage_type": lustre.storage_type,
        "capacity_gib": lustre.capacity_gib,
        "throughput_mbps_per_tib": lustre.throughput_mbps_per_tib,
        "throughput_capacity_mbps": lustre.throughput_capacity_mbps,
        "baseline_mbps": speed.baseline_mbps,
        "burst_mbps": speed.burst_mbps,
        "network_baseline_mbps": speed.network_baseline_mbps,
        "network_burst_mbps": speed.network_burst_mbps,
        "metadata_mode": None if lustre.metadata is None else lustre.metadata.mode,
        "metadata_iops": None if lustre.metadata is None else lustre.metadata.effective_iops,
        "efa": lustre.efa,
        "file_system_type_version": lustre.file_system_type_version,
        "compression": lustre.compression,
        "availability_zone": lustre.availability_zone,
        "mount_path": lustre.mount_path,
        "removal_policy": lustre.removal_policy,
        "data_repositories": [
            {
                "file_system_path": link.file_system_path,
                "bucket": link.bucket,
                "prefix": link.prefix,
                "auto_import": list(link.auto_import),
                "auto_export": list(link.auto_export),
            }
            for link in lustre.associations
        ],
        "alarms": [alarm.name for alarm in alarms],
    }


def _home(home: HomePlan) -> Document:
    return {
        "availability_zones": list(home.availability_zones),
        "throughput_mode": home.throughput_mode,
        "provisioned_throughput_mibps": home.provisioned_throughput_mibps,
        "backup": home.backup,
        "mount_path": home.mount_path,
        "removal_policy": home.removal_policy,
    }


def _bucket(bucket: BucketPlan) -> Document:
    return {
        "name": bucket.name,
        "purpose": str(bucket.purpose),
        "versioned": bucket.versioned,
        "transitions": [
            {"storage_class": each.storage_class, "after_days": each.after_days} for each in bucket.transitions
        ],
        "removal_policy": bucket.removal_policy,
    }
