"""Rules on the shape of FSx for Lustre file systems."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.plan.lustre_deployments import DeploymentFields
from ultracluster.plan.lustre_shape import check_shape
from ultracluster.policy.graph.file_systems import FILE_SYSTEM, is_lustre
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import rule
from ultracluster.policy.view import Resource


@rule("UC-LUS-001", on=FILE_SYSTEM)
def capacity_on_the_grid(file_system: Resource) -> Iterator[Problem]:
    """The capacity is one that the deployment has."""
    if not is_lustre(file_system) or file_system.get("BackupId").exists:
        return
    settings = file_system.get("LustreConfiguration")
    storage_type = file_system.get("StorageType").text("SSD")
    capacity = file_system.get("StorageCapacity")
    if storage_type == "INTELLIGENT_TIERING" or not capacity.exists:
        return
    fields = DeploymentFields(
        deployment_type=settings["DeploymentType"].text("SCRATCH_1"),
        storage_type=storage_type,
        capacity_gib=capacity.integer(),
        # Only on HDD does the step depend on the tier; elsewhere an unknown tier is no obstacle.
        throughput_mbps_per_tib=settings["PerUnitStorageThroughput"].integer(None) if storage_type == "HDD" else None,
    )
    found = [each for each in check_shape(fields, "", "") if each.rule_id == "UC-LUS-001"]
    yield from from_findings(found, lambda _: capacity)
