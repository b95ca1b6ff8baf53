"""UC-DRA-001 to 005, 007 and 008: data repository associations of a file system."""

from __future__ import annotations

import pytest

from support.policy import assert_finds, assert_not_judged, assert_passes, judged
from support.storage import NOTHING, UNKNOWN, lustre, own_ids, scratch, template

P1 = {"DeploymentType": "PERSISTENT_1", "PerUnitStorageThroughput": 100}
BUCKET = {"Type": "AWS::S3::Bucket", "Properties": {}}


def link(path="/data", repository="s3://demo-bucket/data", *, after=None, file_system="Files", **more):
    """An association, made after another one."""
    where = {"Ref": file_system} if isinstance(file_system, str) and file_system[0].isupper() else file_system
    properties = {"FileSystemId": where, "FileSystemPath": path, "DataRepositoryPath": repository, **more}
    body = {
        "Type": "AWS::FSx::DataRepositoryAssociation",
        "Properties": {key: value for key, value in properties.items() if value is not None},
    }
    return body if after is None else {**body, "DependsOn": after}


def links(*paths, file_system="Files"):
    """Associations of these paths and prefixes, one after another."""
    return {
        f"L{at}": link(path, f"s3://demo-bucket/{at}", after=f"L{at - 1}" if at else None, file_system=file_system)
        for at, path in enumerate(paths)
    }


def sub(pattern):
    return {"Fn::Sub": pattern}


PASSING = {
    "one": {"L": link()},
    "root alone": {"L": link("/")},
    "three in order": links("/data", "/ckpt", "/logs"),
    "eight": links(*(f"/d{at}" for at in range(8))),
    "alike but not below": links("/data", "/data2"),
    "ordered by reference": {
        "A": link("/a", "s3://demo-bucket/a"),
        "B": link("/b", "s3://demo-bucket/b", Tags=[{"Key": "after", "Value": {"Ref": "A"}}]),
    },
    "ordered by way of another resource": {
        "A": link("/a", "s3://demo-bucket/a"),
        "Wait": {"Type": "AWS::CloudFormation::WaitConditionHandle", "DependsOn": ["A"]},
        "B": link("/b", "s3://demo-bucket/b", after="Wait"),
    },
    "events": {
        "L": link(S3={"AutoImportPolicy": {"Events": ["NEW", "CHANGED"]}, "AutoExportPolicy": {"Events": []}}),
    },
    "the bucket of the template": {"L": link(repository=sub("s3://${Data}/in")), "Data": BUCKET},
    "two buckets of the template": {
        "A": link("/a", sub("s3://${Data}")),
        "B": link("/b", {"Fn::Join": ["", ["s3://", {"Ref": "More"}, "/"]]}, after="A"),
        "Data": BUCKET,
        "More": BUCKET,
    },
}


@pytest.mark.parametrize("resources", PASSING.values(), ids=PASSING)
def test_what_is_right(resources):
    assert own_ids(template(Files=lustre(), **resources)) == set()


@pytest.mark.parametrize("file_system", [scratch(), lustre(P1), lustre(P1, FileSystemTypeVersion="2.12"), lustre()])
def test_file_systems_that_can_be_linked(file_system):
    assert_passes("UC-DRA-001", template(Files=file_system, L=link()))


TIERING = lustre(
    {
        "PerUnitStorageThroughput": None,
        "ThroughputCapacity": 4000,
        "DataReadCacheConfiguration": {"SizingMode": "NO_CACHE"},
        "MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 6000},
    },
    StorageType="INTELLIGENT_TIERING",
    StorageCapacity=None,
)


@pytest.mark.parametrize(
    ("file_system", "place", "also"),
    [
        (scratch({"DeploymentType": "SCRATCH_1"}), "FileSystemId: Files: SCRATCH_1", set()),
        (TIERING, "INTELLIGENT_TIERING", set()),
        (lustre(P1, FileSystemTypeVersion=None), "server version 2.10", {"UC-LUS-006"}),
        (scratch(FileSystemTypeVersion="2.10"), "server version 2.10", {"UC-LUS-006"}),
    ],
)
def test_file_systems_that_cannot_be_linked(file_system, place, also):
    found = template(Files=file_system, L=link())
    assert_finds("UC-DRA-001", found, place=place)
    assert own_ids(found) == {"UC-DRA-001"} | also


@pytest.mark.parametrize("where", [UNKNOWN, "fs-0123456789abcdef0", {"Fn::ImportValue": "files"}])
def test_a_file_system_of_elsewhere(where):
    found = template(L=link(file_system=where))
    assert_not_judged("UC-DRA-001", found)
    assert own_ids(found) == set()


FAULTS = {
    "nine": ("UC-DRA-002", links(*(f"/d{at}" for at in range(9))), "9 associations"),
    "below": ("UC-DRA-003", links("/data", "/data/raw"), "L1 FileSystemPath: '/data/raw' overlaps '/data'"),
    "above": ("UC-DRA-003", links("/data/raw", "/data/"), "overlaps"),
    "the same": ("UC-DRA-003", links("/data", "/data"), "overlaps"),
    "root and another": ("UC-DRA-003", links("/", "/ckpt"), "'/ckpt' overlaps '/'"),
    "no path": ("UC-DRA-003", links("data"), "'data' is not a directory"),
    "https": ("UC-DRA-004", {"L": link(repository="https://demo-bucket.s3.amazonaws.com/data")}, "is no S3 location"),
    "a bare name": ("UC-DRA-004", {"L": link(repository="demo-bucket/data")}, "is no S3 location"),
    "the same prefix": (
        "UC-DRA-004",
        {"A": link("/a"), "B": link("/b", after="A")},
        "DataRepositoryPath: s3://demo-bucket/data overlaps s3://demo-bucket/data, linked to /a",
    ),
    "a prefix below": (
        "UC-DRA-004",
        {"A": link("/a", "s3://demo-bucket/data/"), "B": link("/b", "s3://demo-bucket/data/raw", after="A")},
        "overlaps",
    ),
    "a prefix of one unknown bucket": (
        "UC-DRA-004",
        {"A": link("/a", sub("s3://${Unknown}")), "B": link("/b", sub("s3://${Unknown}/raw"), after="A")},
        "s3://${Unknown}/raw overlaps",
    ),
    "at once": (
        "UC-DRA-005",
        {"A": link("/a", "s3://demo-bucket/a"), "B": link("/b", "s3://demo-bucket/b")},
        "B : is made at the same time as A",
    ),
    "a broken chain": (
        "UC-DRA-005",
        {
            "A": link("/a", "s3://demo-bucket/a"),
            "B": link("/b", "s3://demo-bucket/b", after="A"),
            "C": link("/c", "s3://demo-bucket/c", after="A"),
        },
        "C : is made at the same time as B",
    ),
    "an unknown event": (
        "UC-DRA-008",
        {"L": link(S3={"AutoImportPolicy": {"Events": ["NEW_CHANGED"]}})},
        "S3.AutoImportPolicy.Events: NEW_CHANGED is no event",
    ),
    "an event twice": (
        "UC-DRA-008",
        {"L": link(S3={"AutoExportPolicy": {"Events": ["NEW", "NEW"]}})},
        "S3.AutoExportPolicy.Events: an event stands twice",
    ),
}


@pytest.mark.parametrize(("rule_id", "resources", "place"), FAULTS.values(), ids=FAULTS)
def test_what_is_wrong(rule_id, resources, place):
    found = template(Files=lustre(), **resources)
    assert_finds(rule_id, found, place=place)
    assert own_ids(found) == {rule_id}


@pytest.mark.parametrize("where", [UNKNOWN, "fs-0123456789abcdef0"])
@pytest.mark.parametrize("rule_id", ["UC-DRA-002", "UC-DRA-003", "UC-DRA-005"])
def test_associations_of_one_file_system_of_elsewhere(where, rule_id):
    paths = {
        "UC-DRA-002": [f"/d{at}" for at in range(9)],
        "UC-DRA-003": ["/data", "/data/raw"],
        "UC-DRA-005": ["/a", "/b"],
    }[rule_id]
    found = links(*paths, file_system=where)
    if rule_id == "UC-DRA-005":
        found = {name: {key: body[key] for key in ("Type", "Properties")} for name, body in found.items()}
    assert own_ids(template(**found)) == {rule_id}


def test_two_unknown_file_systems_do_not_meet():
    found = template({"Other": {"Type": "String"}}, A=link(file_system=UNKNOWN), B=link(file_system={"Ref": "Other"}))
    assert own_ids(found) == set()


@pytest.mark.parametrize("name", ["ImportPath", "ExportPath", "AutoImportPolicy", "ImportedFileChunkSize"])
def test_a_link_inside_beside_an_association(name):
    found = template(Files=scratch({name: "1024"}), L=link())
    assert_finds("UC-DRA-007", found, place=f"LustreConfiguration.{name}: a link inside")
    assert own_ids(found) == {"UC-DRA-007"}


def test_a_link_inside_without_an_association():
    assert_passes("UC-DRA-007", template(Files=scratch({"ImportPath": "s3://demo-bucket"})))
    assert own_ids(template(Files=lustre({"ImportPath": "s3://demo-bucket"}), L=link())) == {"UC-LUS-004"}


UNKNOWNS = {
    "UC-DRA-001": (scratch({"DeploymentType": UNKNOWN}), {"L": link()}),
    "UC-DRA-003": (lustre(), {"A": link(UNKNOWN), "B": link("/b", "s3://demo-bucket/b", after="A")}),
    "UC-DRA-004": (lustre(), {"L": link(repository=UNKNOWN)}),
    "UC-DRA-005": (
        lustre(),
        {"A": link("/a", "s3://demo-bucket/a"), "B": link("/b", "s3://demo-bucket/b", after=UNKNOWN)},
    ),
    "UC-DRA-007": (scratch({"DeploymentType": UNKNOWN, "ImportPath": "s3://demo-bucket"}), {"L": link()}),
    "UC-DRA-008": (lustre(), {"L": link(S3={"AutoImportPolicy": {"Events": UNKNOWN}})}),
}


@pytest.mark.parametrize(("rule_id", "resources"), UNKNOWNS.items(), ids=UNKNOWNS)
def test_what_cannot_be_known(rule_id, resources):
    assert_not_judged(rule_id, template(Files=resources[0], **resources[1]))


def test_two_buckets_that_may_be_one():
    found = {"A": link("/a", sub("s3://${Unknown}")), "B": link("/b", "s3://demo-bucket/raw", after="A")}
    assert_not_judged("UC-DRA-004", template(Files=lustre(), **found))


def test_an_open_prefix():
    assert_not_judged("UC-DRA-004", template(Files=lustre(), L=link(repository=sub("s3://demo-bucket/${Unknown}"))))


def test_one_open_event_does_not_hide_another():
    policies = {"AutoImportPolicy": {"Events": UNKNOWN}, "AutoExportPolicy": {"Events": ["ALL"]}}
    found = template(Files=lustre(), L=link(S3=policies))
    assert_finds("UC-DRA-008", found, place="AutoExportPolicy")
    assert "UC-DRA-008" in judged(found).not_judged


FIRST = {"First": {"Fn::Equals": [UNKNOWN, "first"]}, "Second": {"Fn::Not": [{"Condition": "First"}]}}


def test_associations_under_exclusive_conditions_do_not_meet():
    one, other = {**link(), "Condition": "First"}, {**link(), "Condition": "Second"}
    assert own_ids(template(conditions=FIRST, Files=lustre(), A=one, B=other)) == set()


def test_a_chain_over_an_association_that_is_not_there():
    middle = {**link("/b", "s3://demo-bucket/b", after="A"), "Condition": "First"}
    found = template(
        conditions=FIRST,
        Files=lustre(),
        A=link("/a", "s3://demo-bucket/a"),
        B=middle,
        C=link("/c", "s3://demo-bucket/c", after="B"),
    )
    assert own_ids(found) == {"UC-DRA-005"}


def test_paths_under_one_condition():
    one = {"Fn::If": ["First", "/a", "/b"]}
    other = {"Fn::If": ["First", "/b", "/a"]}
    found = {"A": link(one, "s3://demo-bucket/a"), "B": link(other, "s3://demo-bucket/b", after="A")}
    assert own_ids(template(conditions=FIRST, Files=lustre(), **found)) == set()


def test_kind_and_version_under_one_condition():
    kind = {"Fn::If": ["First", "SCRATCH_2", "PERSISTENT_2"]}
    tier = {"Fn::If": ["First", NOTHING, 250]}
    version = {"Fn::If": ["First", "2.15", NOTHING]}
    files = lustre({"DeploymentType": kind, "PerUnitStorageThroughput": tier}, FileSystemTypeVersion=version)
    assert own_ids(template(conditions=FIRST, Files=files, L=link())) == set()
