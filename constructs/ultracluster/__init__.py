"""Infrastructure for training large models on AWS, as AWS CDK constructs.

Everything public is imported from here: `from ultracluster import ClusterNetwork, TrainingFleet`. Names are loaded on
first use, so that the pure half (facts, plan, checks) starts without the CDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ultracluster.facts.image_versions import ImageVersions, image_versions
    from ultracluster.facts.instance_record import catalog_with_records
    from ultracluster.facts.instances import InstanceType, catalog, instance_type
    from ultracluster.findings import Finding, FindingsError, Severity
    from ultracluster.fleet.training_fleet import TrainingFleet
    from ultracluster.image.tuned_image import TunedImage
    from ultracluster.network.cluster_network import ClusterNetwork
    from ultracluster.observability.cluster_dashboard import ClusterDashboard
    from ultracluster.observability.fleet_alarms import FleetAlarms
    from ultracluster.observability.lustre_alarms import LustreAlarms
    from ultracluster.observability.notification_topic import NotificationTopic
    from ultracluster.observability.spend_budget import SpendBudget
    from ultracluster.placement.efa_placement_group import EfaPlacementGroup
    from ultracluster.plan.buckets import ArchivedPrefix, BucketPurpose, Transition
    from ultracluster.plan.capacity import CapacityBlock, OnDemand, Reservation, Spot
    from ultracluster.plan.cluster import ClusterPlan, plan_cluster
    from ultracluster.plan.home import AccessPoint
    from ultracluster.plan.image_distribution import ImageRegion, ImageRetention
    from ultracluster.plan.images import Al2023, Ami, Dlami, SsmImage, Ubuntu
    from ultracluster.plan.lustre import CheckpointLoad
    from ultracluster.plan.lustre_deployments import (
        IntelligentTiering,
        Persistent1,
        Persistent2,
        ReadCache,
        Scratch1,
        Scratch2,
    )
    from ultracluster.plan.network_interfaces import InterfaceLayout, NetworkInterface
    from ultracluster.plan.placement import ExistingPlacementGroup, NoPlacement
    from ultracluster.plan.volumes import RootVolume
    from ultracluster.policy.check import check_template
    from ultracluster.policy.plugin import UltraClusterChecks
    from ultracluster.spec.loader import load_cluster
    from ultracluster.spot.spot_training_fleet import SpotTrainingFleet
    from ultracluster.storage.bucket_access import BucketAccess
    from ultracluster.storage.cluster_key import ClusterKey
    from ultracluster.storage.data_repository import DataRepository
    from ultracluster.storage.lustre_file_system import LustreFileSystem
    from ultracluster.storage.shared_home import SharedHome
    from ultracluster.storage.training_bucket import TrainingBucket

__version__ = "0.1.0"

_MODULES = {
    "AccessPoint": "plan.home",
    "Al2023": "plan.images",
    "Ami": "plan.images",
    "ArchivedPrefix": "plan.buckets",
    "BucketAccess": "storage.bucket_access",
    "BucketPurpose": "plan.buckets",
    "CapacityBlock": "plan.capacity",
    "CheckpointLoad": "plan.lustre",
    "ClusterDashboard": "observability.cluster_dashboard",
    "ClusterKey": "storage.cluster_key",
    "ClusterNetwork": "network.cluster_network",
    "ClusterPlan": "plan.cluster",
    "DataRepository": "storage.data_repository",
    "Dlami": "plan.images",
    "EfaPlacementGroup": "placement.efa_placement_group",
    "ExistingPlacementGroup": "plan.placement",
    "Finding": "findings",
    "FindingsError": "findings",
    "FleetAlarms": "observability.fleet_alarms",
    "ImageRegion": "plan.image_distribution",
    "ImageRetention": "plan.image_distribution",
    "ImageVersions": "facts.image_versions",
    "InstanceType": "facts.instances",
    "IntelligentTiering": "plan.lustre_deployments",
    "InterfaceLayout": "plan.network_interfaces",
    "LustreAlarms": "observability.lustre_alarms",
    "LustreFileSystem": "storage.lustre_file_system",
    "NetworkInterface": "plan.network_interfaces",
    "NoPlacement": "plan.placement",
    "NotificationTopic": "observability.notification_topic",
    "OnDemand": "plan.capacity",
    "Persistent1": "plan.lustre_deployments",
    "Persistent2": "plan.lustre_deployments",
    "ReadCache": "plan.lustre_deployments",
    "Reservation": "plan.capacity",
    "RootVolume": "plan.volumes",
    "Scratch1": "plan.lustre_deployments",
    "Scratch2": "plan.lustre_deployments",
    "Severity": "findings",
    "SharedHome": "storage.shared_home",
    "SpendBudget": "observability.spend_budget",
    "Spot": "plan.capacity",
    "SpotTrainingFleet": "spot.spot_training_fleet",
    "SsmImage": "plan.images",
    "TrainingBucket": "storage.training_bucket",
    "TrainingFleet": "fleet.training_fleet",
    "Transition": "plan.buckets",
    "TunedImage": "image.tuned_image",
    "Ubuntu": "plan.images",
    "UltraClusterChecks": "policy.plugin",
    "catalog": "facts.instances",
    "catalog_with_records": "facts.instance_record",
    "check_template": "policy.check",
    "image_versions": "facts.image_versions",
    "instance_type": "facts.instances",
    "load_cluster": "spec.loader",
    "plan_cluster": "plan.cluster",
}

__all__ = [
    "AccessPoint",
    "Al2023",
    "Ami",
    "ArchivedPrefix",
    "BucketAccess",
    "BucketPurpose",
    "CapacityBlock",
    "CheckpointLoad",
    "ClusterDashboard",
    "ClusterKey",
    "ClusterNetwork",
    "ClusterPlan",
    "DataRepository",
    "Dlami",
    "EfaPlacementGroup",
    "ExistingPlacementGroup",
    "Finding",
    "FindingsError",
    "FleetAlarms",
    "ImageRegion",
    "ImageRetention",
    "ImageVersions",
    "InstanceType",
    "IntelligentTiering",
    "InterfaceLayout",
    "LustreAlarms",
    "LustreFileSystem",
    "NetworkInterface",
    "NoPlacement",
    "NotificationTopic",
    "OnDemand",
    "Persistent1",
    "Persistent2",
    "ReadCache",
    "Reservation",
    "RootVolume",
    "Scratch1",
    "Scratch2",
    "Severity",
    "SharedHome",
    "SpendBudget",
    "Spot",
    "SpotTrainingFleet",
    "SsmImage",
    "TrainingBucket",
    "TrainingFleet",
    "Transition",
    "TunedImage",
    "Ubuntu",
    "UltraClusterChecks",
    "catalog",
    "catalog_with_records",
    "check_template",
    "image_versions",
    "instance_type",
    "load_cluster",
    "plan_cluster",
]


def __getattr__(name: str) -> object:
    """Load a public name on first use (PEP 562)."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(__all__)
