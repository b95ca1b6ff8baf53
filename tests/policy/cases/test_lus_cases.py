"""Fault cases C22 to C25, C27 to C30 and C45 as templates of others: FSx for Lustre."""

from __future__ import annotations

import pytest

from support.policy import assert_finds
from support.storage import own_ids

TEMPLATE = """
Resources:
  Files:
    Type: AWS::FSx::FileSystem
    DeletionPolicy: Retain
    UpdateReplacePolicy: Retain
    Properties:
      FileSystemType: LUSTRE
      {top}
      SubnetIds: [subnet-0123456789abcdef0]
      SecurityGroupIds: [sg-0123456789abcdef0]
      LustreConfiguration: {{{settings}}}
"""
PERSISTENT = "DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: 250"


def files(capacity=1200, settings=PERSISTENT, version='"2.15"', storage=None):
    rows = [f"StorageCapacity: {capacity}", f"FileSystemTypeVersion: {version}" if version else ""]
    rows.append(f"StorageType: {storage}" if storage else "")
    return TEMPLATE.format(top="\n      ".join(row for row in rows if row), settings=settings)


@pytest.mark.parametrize("capacity", [3600, 3000])
@pytest.mark.parametrize("settings", [PERSISTENT, "DeploymentType: SCRATCH_2"])
def test_c22_capacity_off_the_grid(capacity, settings):
    found = files(capacity, settings)
    assert_finds("UC-LUS-001", found, place=f"StorageCapacity: {capacity} is not on the")
    assert own_ids(found) == {"UC-LUS-001"}


@pytest.mark.parametrize(
    ("capacity", "settings"),
    [(1200, PERSISTENT), (2400, PERSISTENT), (4800, PERSISTENT), (3600, "DeploymentType: SCRATCH_1")],
)
def test_c22_capacity_on_the_grid(capacity, settings):
    assert own_ids(files(capacity, settings)) == set()


def test_c23_no_throughput_tier():
    found = files(settings="DeploymentType: PERSISTENT_2, DataCompressionType: LZ4")
    assert_finds("UC-LUS-002", found, place="PERSISTENT_2 with SSD has 125, 250, 500 or 1000 MB/s per TiB")
    assert own_ids(found) == {"UC-LUS-002"}


def test_c24_a_link_inside_the_file_system():
    found = files(settings=f"{PERSISTENT}, ImportPath: 's3://demo-bucket/in', ExportPath: 's3://demo-bucket/in'")
    assert_finds("UC-LUS-004", found, place="LustreConfiguration.ImportPath")
    assert_finds("UC-LUS-004", found, place="LustreConfiguration.ExportPath")
    assert own_ids(found) == {"UC-LUS-004"}


LINK = """
  Link:
    Type: AWS::FSx::DataRepositoryAssociation
    Properties: {FileSystemId: !Ref Files, FileSystemPath: /data, DataRepositoryPath: 's3://demo-bucket/data'}
"""
P1 = "DeploymentType: PERSISTENT_1, PerUnitStorageThroughput: 100"


def test_c25_an_association_with_the_default_version():
    for settings in (P1, "DeploymentType: SCRATCH_2"):
        found = files(settings=settings, version=None) + LINK
        assert_finds("UC-DRA-001", found, place="Link FileSystemId: Files: server version 2.10 has no")
        assert_finds("UC-LUS-006", found, place="FileSystemTypeVersion: left out, and the default 2.10")
        assert own_ids(found) == {"UC-DRA-001", "UC-LUS-006"}
        assert own_ids(files(settings=settings, version='"2.12"') + LINK) == set()


def test_c25_an_association_on_scratch_1():
    found = files(settings="DeploymentType: SCRATCH_1") + LINK
    assert_finds("UC-DRA-001", found, place="SCRATCH_1 has no data repository associations")
    assert own_ids(found) == {"UC-DRA-001"}


METADATA = "MetadataConfiguration: {Mode: AUTOMATIC}"


def test_c27_efa_that_is_quietly_lost():
    found = files(settings=f"{P1}, EfaEnabled: true")
    assert_finds("UC-LUS-007", found, place="EfaEnabled: PERSISTENT_1 with SSD does not serve EFA")
    assert own_ids(found) == {"UC-LUS-007"}


def test_c27_efa_below_its_step():
    found = files(2400, f"{PERSISTENT}, EfaEnabled: true, {METADATA}")
    assert_finds("UC-LUS-008", found, place="StorageCapacity: 2400 is not a multiple of 19200")
    assert own_ids(found) == {"UC-LUS-008"}
    assert own_ids(files(19200, f"{PERSISTENT}, EfaEnabled: true, {METADATA}")) == set()


GROUPS = """
  Servers:
    Type: AWS::EC2::SecurityGroup
    Properties:
      GroupDescription: files
      SecurityGroupIngress: [{{IpProtocol: tcp, FromPort: 988, ToPort: 988, SourceSecurityGroupId: !Ref Clients}}{more}]
  Clients: {{Type: AWS::EC2::SecurityGroup, Properties: {{GroupDescription: nodes}}}}
  Self:
    Type: AWS::EC2::SecurityGroupIngress
    Properties:
      {{GroupId: !Ref Servers, IpProtocol: tcp, FromPort: {first}, ToPort: 1023, SourceSecurityGroupId: !Ref Servers}}
"""


def test_c28_port_988_only():
    attached = files().replace("[sg-0123456789abcdef0]", "[!GetAtt Servers.GroupId]")
    found = attached + GROUPS.format(more="", first=988)
    assert_finds("UC-LUS-009", found, place="Servers : no rule for TCP 1018-1023 from Clients, which")
    assert own_ids(found) == {"UC-LUS-009"}
    rest = ", {IpProtocol: tcp, FromPort: 1018, ToPort: 1023, SourceSecurityGroupId: !Ref Clients}"
    assert own_ids(attached + GROUPS.format(more=rest, first=988)) == set()
    older = rest.replace("1018", "1021")
    assert own_ids(attached + GROUPS.format(more=older, first=988)) == {"UC-LUS-009"}
    assert_finds("UC-LUS-009", attached + GROUPS.format(more=rest, first=1018), place="TCP 988 from itself")


def test_c29_al2023_against_an_old_server():
    found = files(settings="DeploymentType: SCRATCH_2", version=None)
    assert_finds("UC-LUS-006", found, place="clients of version 2.15 (AL2023) cannot reach it")
    assert own_ids(found) == {"UC-LUS-006"}


@pytest.mark.parametrize(
    ("capacity", "settings", "rule_id", "place"),
    [
        (1200, f"{PERSISTENT}, DriveCacheType: NONE", "UC-LUS-003", "StorageType: HDD does not exist"),
        (6000, f"{P1[:-3]}50, DriveCacheType: NONE", "UC-LUS-002", "50 is not a tier of PERSISTENT_1 with HDD"),
        (1200, f"{P1[:-3]}12, DriveCacheType: NONE", "UC-LUS-001", "StorageCapacity: 1200 is not on the"),
    ],
)
def test_c30_hdd(capacity, settings, rule_id, place):
    found = files(capacity, settings, storage="HDD")
    assert_finds(rule_id, found, place=place)
    assert own_ids(found) == {rule_id}


def test_c30_hdd_with_a_drive_cache():
    assert own_ids(files(6000, f"{P1[:-3]}12, DriveCacheType: READ", storage="HDD")) == set()
    assert own_ids(files(6000, f"{P1[:-3]}12", storage="HDD")) == {"UC-LUS-003"}


def test_c45_a_valid_size_beyond_the_limit_of_windows():
    assert own_ids(files(460800)) == set()
    limited = "Parameters: {Size: {Type: Number, Default: 460800, MaxValue: 460800}}\n" + files("!Ref Size")
    assert own_ids(limited) == set()
