"""UC-LUS-001 to 008, 014 and 015: the shape of a Lustre file system."""

from __future__ import annotations

import pytest

from support.policy import assert_finds, assert_not_judged, assert_passes, judged
from support.storage import NOTHING, UNKNOWN, lustre, own_ids, scratch, template
from ultracluster.policy.check import check_template

AUTOMATIC = {"MetadataConfiguration": {"Mode": "AUTOMATIC"}}
EFA = {"EfaEnabled": True, **AUTOMATIC}
P1 = {"DeploymentType": "PERSISTENT_1", "PerUnitStorageThroughput": 100}
HDD = {"DeploymentType": "PERSISTENT_1", "PerUnitStorageThroughput": 12, "DriveCacheType": "NONE"}


def provisioned(iops):
    return {"MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": iops}}


def tiering(settings=None, **properties):
    written = {
        "PerUnitStorageThroughput": None,
        "ThroughputCapacity": 4000,
        "DataReadCacheConfiguration": {"SizingMode": "NO_CACHE"},
        **provisioned(6000),
        **(settings or {}),
    }
    return lustre(written, **{"StorageType": "INTELLIGENT_TIERING", "StorageCapacity": None, **properties})


PASSING = {
    "persistent 2": lustre(),
    "numbers as text": lustre({"PerUnitStorageThroughput": "250"}, StorageCapacity="2400"),
    "over the limit of Windows": lustre(StorageCapacity=460800),
    "2.12 without metadata": lustre(FileSystemTypeVersion="2.12"),
    "default version with metadata": lustre(AUTOMATIC, FileSystemTypeVersion=None),
    "default version": lustre(FileSystemTypeVersion=None),
    "version as a number": lustre(FileSystemTypeVersion=2.15),
    "automatic metadata": lustre(AUTOMATIC),
    "metadata rate": lustre(provisioned(12000), StorageCapacity=12000),
    "efa": lustre(EFA, StorageCapacity=19200),
    "efa off": lustre({"EfaEnabled": False}),
    "scratch 2": scratch(),
    "scratch 1": scratch({"DeploymentType": "SCRATCH_1"}, StorageCapacity=3600),
    "persistent 1": lustre(P1),
    "hdd": lustre(HDD, StorageType="HDD", StorageCapacity=6000),
    "hdd with cache": lustre(
        {**HDD, "PerUnitStorageThroughput": 40, "DriveCacheType": "READ"}, StorageType="HDD", StorageCapacity=1800
    ),
    "tiering": tiering(),
    "tiering 1000": tiering({"ThroughputCapacity": 1000}),
    "tiering with efa": tiering({"EfaEnabled": True, "ThroughputCapacity": 8000}),
    "tiering with a sized cache": tiering(
        {"DataReadCacheConfiguration": {"SizingMode": "USER_PROVISIONED", "SizeGiB": 1000}}
    ),
    "import path of a scratch system": scratch({"ImportPath": "s3://demo-bucket/in"}),
    "restored": lustre(
        {"DeploymentType": None, "PerUnitStorageThroughput": None}, BackupId="backup-1", StorageCapacity=None
    ),
    "no value": lustre({"ImportPath": NOTHING, "EfaEnabled": NOTHING}),
    "of another kind": {
        "Type": "AWS::FSx::FileSystem",
        "Properties": {"FileSystemType": "WINDOWS", "StorageCapacity": 33},
    },
}


@pytest.mark.parametrize("file_system", PASSING.values(), ids=PASSING)
def test_what_is_right(file_system):
    assert own_ids(template(Files=file_system)) == set()


FAULTS = {
    "off the grid": ("UC-LUS-001", lustre(StorageCapacity=3600), "StorageCapacity: 3600"),
    "off the grid of scratch 2": ("UC-LUS-001", scratch(StorageCapacity=3000), "SCRATCH_2 grid"),
    "off the grid of scratch 1": (
        "UC-LUS-001",
        scratch({"DeploymentType": "SCRATCH_1"}, StorageCapacity=4800),
        "n x 3600",
    ),
    "negative": ("UC-LUS-001", lustre(StorageCapacity=-2400), "-2400"),
    "no capacity": ("UC-LUS-001", lustre(StorageCapacity=None), "is missing"),
    "off the grid of hdd": ("UC-LUS-001", lustre(HDD, StorageType="HDD", StorageCapacity=1200), "n x 6000"),
    "no tier": ("UC-LUS-002", lustre({"PerUnitStorageThroughput": None}), "125, 250, 500 or 1000"),
    "wrong tier": ("UC-LUS-002", lustre({"PerUnitStorageThroughput": 200}), "200 is not a tier"),
    "tier of scratch": ("UC-LUS-002", scratch({"PerUnitStorageThroughput": 200}), "fixed tier"),
    "tier of hdd": (
        "UC-LUS-002",
        lustre({**HDD, "PerUnitStorageThroughput": 50}, StorageType="HDD", StorageCapacity=6000),
        "12 or 40",
    ),
    "hdd on persistent 2": ("UC-LUS-003", lustre({"DriveCacheType": "NONE"}, StorageType="HDD"), "StorageType: HDD"),
    "hdd without a drive cache": (
        "UC-LUS-003",
        lustre({**HDD, "DriveCacheType": None}, StorageType="HDD", StorageCapacity=6000),
        "DriveCacheType: absent",
    ),
    "hdd with another drive cache": (
        "UC-LUS-003",
        lustre({**HDD, "DriveCacheType": "WRITE"}, StorageType="HDD", StorageCapacity=6000),
        "NONE or READ",
    ),
    "import path": ("UC-LUS-004", lustre({"ImportPath": "s3://demo-bucket/in"}), "ImportPath"),
    "export path": ("UC-LUS-004", lustre({"ExportPath": "s3://demo-bucket/out"}), "ExportPath"),
    "import policy": ("UC-LUS-004", lustre({"AutoImportPolicy": "NEW"}), "AutoImportPolicy"),
    "chunk size": ("UC-LUS-004", lustre({"ImportedFileChunkSize": 1024}), "ImportedFileChunkSize"),
    "2.10 on persistent 2": ("UC-LUS-005", lustre(FileSystemTypeVersion="2.10"), "2.10 is none of 2.12, 2.15"),
    "2.12 with metadata": ("UC-LUS-005", lustre(AUTOMATIC, FileSystemTypeVersion="2.12"), "metadata configuration"),
    "2.12 with tiering": ("UC-LUS-005", tiering(FileSystemTypeVersion="2.12"), "2.12"),
    "no version": ("UC-LUS-006", scratch(FileSystemTypeVersion=None), "left out, and the default 2.10"),
    "2.10": ("UC-LUS-006", lustre(P1, FileSystemTypeVersion="2.10"), "FileSystemTypeVersion: 2.10"),
    "efa on persistent 1": ("UC-LUS-007", lustre({**P1, "EfaEnabled": True}), "PERSISTENT_1"),
    "efa on scratch": ("UC-LUS-007", scratch({"EfaEnabled": "true"}), "SCRATCH_2"),
    "efa without metadata": ("UC-LUS-007", lustre({"EfaEnabled": True}, StorageCapacity=19200), "without Metadata"),
    "efa off its step": (
        "UC-LUS-008",
        lustre(EFA, StorageCapacity=2400),
        "step of an EFA-enabled file system at tier 250",
    ),
    "tiering with a capacity": ("UC-LUS-014", tiering(StorageCapacity=1200), "StorageCapacity: 1200"),
    "tiering with a tier": ("UC-LUS-014", tiering({"PerUnitStorageThroughput": 250}), "PerUnitStorageThroughput: 250"),
    "tiering off the grid": ("UC-LUS-014", tiering({"ThroughputCapacity": 3000}), "ThroughputCapacity: 3000"),
    "tiering without a throughput": (
        "UC-LUS-014",
        tiering({"ThroughputCapacity": None}),
        "ThroughputCapacity: is missing",
    ),
    "tiering without a cache": (
        "UC-LUS-014",
        tiering({"DataReadCacheConfiguration": None}),
        "DataReadCacheConfiguration",
    ),
    "tiering with efa at 2000": ("UC-LUS-014", tiering({"EfaEnabled": True, "ThroughputCapacity": 2000}), "EFA"),
    "a sized cache without a size": (
        "UC-LUS-014",
        tiering({"DataReadCacheConfiguration": {"SizingMode": "USER_PROVISIONED", "SizeGiB": 1}}),
        "SizeGiB: 1 GiB is out of range",
    ),
    "tiering on persistent 1": (
        "UC-LUS-014",
        tiering({"DeploymentType": "PERSISTENT_1", "MetadataConfiguration": None}),
        "Deploy",
    ),
    "throughput without tiering": ("UC-LUS-014", lustre({"ThroughputCapacity": 4000}), "ThroughputCapacity"),
    "metadata rate": ("UC-LUS-015", lustre(provisioned(5000)), "5000 is none of"),
    "metadata rate below": (
        "UC-LUS-015",
        lustre(provisioned(1500), StorageCapacity=12000),
        "Iops: 1500 is below 12000",
    ),
    "rate with automatic": (
        "UC-LUS-015",
        lustre({"MetadataConfiguration": {"Mode": "AUTOMATIC", "Iops": 6000}}),
        "AUTO",
    ),
    "metadata on persistent 1": ("UC-LUS-015", lustre({**P1, **AUTOMATIC}), "no metadata configuration"),
}


@pytest.mark.parametrize(("rule_id", "file_system", "place"), FAULTS.values(), ids=FAULTS)
def test_what_is_wrong(rule_id, file_system, place):
    found = template(Files=file_system)
    assert_finds(rule_id, found, place=place)
    assert own_ids(found) == {rule_id}


UNKNOWNS = {
    "UC-LUS-001": lustre(StorageCapacity=UNKNOWN),
    "UC-LUS-002": lustre({"PerUnitStorageThroughput": UNKNOWN}),
    "UC-LUS-003": lustre(StorageType=UNKNOWN),
    "UC-LUS-004": lustre({"DeploymentType": UNKNOWN, "ImportPath": "s3://demo-bucket/in"}),
    "UC-LUS-005": lustre(FileSystemTypeVersion=UNKNOWN),
    "UC-LUS-006": lustre(FileSystemTypeVersion=UNKNOWN),
    "UC-LUS-007": lustre({"EfaEnabled": UNKNOWN}),
    "UC-LUS-008": lustre(EFA, StorageCapacity=UNKNOWN),
    "UC-LUS-014": tiering({"ThroughputCapacity": UNKNOWN}),
    "UC-LUS-015": lustre(provisioned(UNKNOWN)),
}


@pytest.mark.parametrize(("rule_id", "file_system"), UNKNOWNS.items(), ids=UNKNOWNS)
def test_what_cannot_be_known(rule_id, file_system):
    assert_not_judged(rule_id, template(Files=file_system))


def test_a_drive_cache_before_ssd_is_not_judged():
    assert_not_judged("UC-LUS-003", template(Files=lustre({**P1, "DriveCacheType": "NONE"})))


def test_a_type_that_nobody_knows_is_not_judged():
    assert_not_judged("UC-LUS-001", template(Files=lustre({"DeploymentType": "PERSISTENT_9"})))


def test_one_open_property_does_not_hide_another_fault():
    found = template(Files=tiering({"ThroughputCapacity": UNKNOWN}, StorageCapacity=1200))
    assert_finds("UC-LUS-014", found, place="StorageCapacity")
    assert "UC-LUS-014" in judged(found).not_judged


def test_a_wrong_rate_is_found_without_the_capacity():
    assert_finds("UC-LUS-015", template(Files=lustre(provisioned(5000), StorageCapacity=UNKNOWN)), place="5000")
    assert_not_judged("UC-LUS-015", template(Files=lustre(provisioned(6000), StorageCapacity=UNKNOWN)))


def test_a_wrong_tier_of_a_restored_system():
    assert_finds(
        "UC-LUS-002",
        template(Files=lustre({"PerUnitStorageThroughput": 7}, BackupId="backup-1", StorageType="SSD")),
        place="7",
    )


def test_a_capacity_is_reported_once():
    found = check_template(template(Files=lustre(EFA, StorageCapacity=3600)))
    assert [each.rule_id for each in found.findings if each.property_path == "StorageCapacity"] == ["UC-LUS-008"]


NEWER = {"Newer": {"Fn::Equals": [{"Ref": "Unknown"}, "newer"]}}


def either(yes, no):
    return {"Fn::If": ["Newer", yes, no]}


CONDITIONAL = {
    "UC-LUS-001": lustre(
        {"DeploymentType": either("PERSISTENT_2", "SCRATCH_1"), "PerUnitStorageThroughput": either(250, NOTHING)},
        StorageCapacity=either(4800, 3600),
    ),
    "UC-LUS-002": lustre(
        {"DeploymentType": either("PERSISTENT_2", "PERSISTENT_1"), "PerUnitStorageThroughput": either(1000, 50)}
    ),
    "UC-LUS-005": lustre(
        {"DeploymentType": either("PERSISTENT_2", "PERSISTENT_1"), "PerUnitStorageThroughput": either(250, 100)},
        FileSystemTypeVersion=either("2.15", "2.12"),
    ),
    "UC-LUS-007": lustre(
        {"EfaEnabled": either(True, False), "MetadataConfiguration": either({"Mode": "AUTOMATIC"}, NOTHING)},
        StorageCapacity=19200,
    ),
    "UC-LUS-008": lustre(
        {**AUTOMATIC, "EfaEnabled": either(True, NOTHING), "PerUnitStorageThroughput": either(1000, 125)},
        StorageCapacity=4800,
    ),
    "UC-LUS-015": lustre(
        {"MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": either(12000, 1500)}},
        StorageCapacity=either(12000, 1200),
    ),
}


@pytest.mark.parametrize(("rule_id", "file_system"), CONDITIONAL.items(), ids=CONDITIONAL)
def test_two_properties_under_one_condition(rule_id, file_system):
    found = template(conditions=NEWER, Files=file_system)
    assert_passes(rule_id, found)
