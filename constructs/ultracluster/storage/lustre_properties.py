"""The properties of a Lustre file system in a template, from its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_fsx as fsx

if TYPE_CHECKING:
    from ultracluster.plan.lustre import LustrePlan

__all__ = ["lustre_configuration"]

_Lustre = fsx.CfnFileSystem.LustreConfigurationProperty


def lustre_configuration(plan: LustrePlan, *, log_destination: str | None) -> _Lustre:
    """The Lustre part of the file system.

    Backups that are off are left out instead of written as 0: with a 0 in the template every change of tags also
    updates the backups, which the service refuses on a linked file system.

    Args:
        plan: what was decided.
        log_destination: ARN of the log group, when events are logged.
    """
    return _Lustre(
        deployment_type=plan.deployment_type,
        per_unit_storage_throughput=plan.throughput_mbps_per_tib,
        throughput_capacity=plan.throughput_capacity_mbps,
        data_read_cache_configuration=_read_cache(plan),
        drive_cache_type=plan.drive_cache,
        metadata_configuration=_metadata(plan),
        efa_enabled=True if plan.efa else None,
        data_compression_type=plan.compression,
        log_configuration=_logs(plan, log_destination),
        automatic_backup_retention_days=plan.backups.retention_days,
        daily_automatic_backup_start_time=plan.backups.start_time,
        copy_tags_to_backups=True if plan.backups.copy_tags else None,
        weekly_maintenance_start_time=plan.maintenance_start_time,
    )


def _read_cache(plan: LustrePlan) -> fsx.CfnFileSystem.DataReadCacheConfigurationProperty | None:
    if plan.read_cache is None:
        return None
    return fsx.CfnFileSystem.DataReadCacheConfigurationProperty(
        sizing_mode=plan.read_cache.mode, size_gib=plan.read_cache.size_gib
    )


def _metadata(plan: LustrePlan) -> fsx.CfnFileSystem.MetadataConfigurationProperty | None:
    if plan.metadata is None:
        return None
    return fsx.CfnFileSystem.MetadataConfigurationProperty(mode=plan.metadata.mode, iops=plan.metadata.written_iops)


def _logs(plan: LustrePlan, destination: str | None) -> fsx.CfnFileSystem.LogConfigurationProperty | None:
    if plan.log_level is None:
        return None
    return fsx.CfnFileSystem.LogConfigurationProperty(level=plan.log_level, destination=destination)
