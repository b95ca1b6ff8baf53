"""Rules on key, backups, logs, root squash, times and checkpoints."""

from __future__ import annotations

import pytest

from ultracluster.plan.lustre import (
    CheckpointLoad,
    DataRepositoryRequest,
    LustreRequest,
    Persistent1,
    Persistent2,
    Scratch2,
    check_lustre,
    plan_lustre,
)

SSD = Persistent2(capacity_gib=1200, throughput_mbps_per_tib=125)
SCRATCH = Scratch2(capacity_gib=1200)
LINK = DataRepositoryRequest(file_system_path="/data", bucket="data")
EXPORT = DataRepositoryRequest(file_system_path="/data", bucket="data", auto_export=("NEW", "CHANGED"))


def ids(deployment=SSD, **settings) -> list[str]:
    request = LustreRequest(name="fsx", deployment=deployment, **settings)
    return [each.rule_id for each in check_lustre(request, subject="x")]


@pytest.mark.parametrize(
    "settings",
    [
        {"customer_key": True},
        {"customer_key": True, "deployment": Persistent1(capacity_gib=1200, throughput_mbps_per_tib=50)},
        {"backup_retention_days": 0},
        {"backup_retention_days": 90, "backup_start_time": "23:59", "copy_tags_to_backups": True},
        {"copy_tags_to_backups": True},  # user-made backups take the tags as well
        {"maintenance_start_time": "7:04:30"},
        {"log_level": "DISABLED"},
        {"root_squash": "65534:65534", "no_squash_nids": ("10.0.1.6@tcp", "10.0.[2-10].[1-255]@tcp")},
        {"root_squash": "0:0"},
        {"compression": "NONE"},
        {"mount_path": "/scratch/fsx"},
    ],
    ids=repr,
)
def test_accepted(settings) -> None:
    assert ids(**settings) == []


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"deployment": SCRATCH, "customer_key": True}, ["UC-LUS-016"]),
        ({"backup_retention_days": 91}, ["UC-LUS-017"]),
        ({"backup_retention_days": -1}, ["UC-LUS-017"]),
        ({"deployment": SCRATCH, "backup_retention_days": 7}, ["UC-LUS-017"]),
        ({"backup_retention_days": 7, "data_repositories": (LINK,)}, ["UC-LUS-017"]),
        ({"backup_start_time": "04:30"}, ["UC-LUS-017"]),
        ({"backup_retention_days": 7, "backup_start_time": "4:30"}, ["UC-LUS-017"]),
        ({"copy_tags_to_backups": True, "data_repositories": (LINK,)}, ["UC-LUS-017"]),
        ({"log_level": "INFO"}, ["UC-LUS-022"]),
        ({"root_squash": "root:root"}, ["UC-LUS-023"]),
        ({"root_squash": "65534:0"}, ["UC-LUS-023"]),
        ({"root_squash": "4294967295:1"}, ["UC-LUS-023"]),
        ({"no_squash_nids": ("10.0.1.6@tcp",)}, ["UC-LUS-023"]),
        ({"root_squash": "1:1", "no_squash_nids": ("10.0.1.6",)}, ["UC-LUS-023"]),
        ({"root_squash": "1:1", "no_squash_nids": ("10.0.1.6@tcp",) * 65}, ["UC-LUS-023"]),
        ({"maintenance_start_time": "8:04:30"}, ["UC-STG-004"]),
        ({"maintenance_start_time": "1:24:00"}, ["UC-STG-004"]),
        ({"compression": "ZSTD"}, ["UC-STG-001"]),
        ({"removal_policy": "snapshot"}, ["UC-STG-001"]),
        ({"mount_path": "fsx"}, ["UC-STG-002"]),
        ({"mount_path": "/home"}, ["UC-STG-002"]),
        ({"mount_path": "/fs x"}, ["UC-STG-002"]),
    ],
    ids=repr,
)
def test_refused(settings, expected) -> None:
    assert ids(**settings) == expected


def test_all_faults_are_reported_together() -> None:
    found = ids(deployment=SCRATCH, customer_key=True, backup_retention_days=7, log_level="INFO", root_squash="root")
    assert sorted(found) == ["UC-LUS-016", "UC-LUS-017", "UC-LUS-022", "UC-LUS-023"]


def test_checkpoints_on_scratch_storage_want_a_copy() -> None:
    load = CheckpointLoad(size_gb=1, interval_minutes=60)
    assert ids(deployment=SCRATCH, checkpoints=load) == ["UC-LUS-024"]
    assert ids(deployment=SCRATCH, checkpoints=load, data_repositories=(EXPORT,)) == []
    assert ids(checkpoints=load) == []


def test_a_checkpoint_that_takes_too_long_is_a_warning_with_numbers() -> None:
    request = LustreRequest(name="fsx", deployment=SSD, checkpoints=CheckpointLoad(size_gb=980, interval_minutes=30))
    plan = plan_lustre(request, subject="x")
    (warning,) = plan.warnings
    assert warning.rule_id == "UC-LUS-025"
    assert "150 MB/s take 108.9 min of every 30 min" in warning.message  # 1200 GiB at tier 125


def test_defaults_follow_the_links() -> None:
    plain = plan_lustre(LustreRequest(name="fsx", deployment=SSD), subject="x")
    linked = plan_lustre(LustreRequest(name="fsx", deployment=SSD, data_repositories=(LINK,)), subject="x")
    assert plain.log_level is None
    assert linked.log_level == "WARN_ERROR"
    assert plain.backups.retention_days is None
    assert (plain.compression, plain.removal_policy, plain.file_system_type_version) == ("LZ4", "retain", "2.15")
