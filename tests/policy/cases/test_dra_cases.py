"""Fault case C26 as a template of others: data repository associations."""

from __future__ import annotations

from support.policy import assert_finds
from support.storage import own_ids

FILES = """
Resources:
  Files:
    Type: AWS::FSx::FileSystem
    DeletionPolicy: Retain
    UpdateReplacePolicy: Retain
    Properties:
      FileSystemType: LUSTRE
      StorageCapacity: 1200
      SubnetIds: [subnet-0123456789abcdef0]
      LustreConfiguration: {DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: 250}
"""


def link(name, path, after=None):
    depends = f"    DependsOn: {after}\n" if after else ""
    return (
        f"  {name}:\n    Type: AWS::FSx::DataRepositoryAssociation\n{depends}    Properties:\n"
        f"      FileSystemId: !Ref Files\n      FileSystemPath: {path}\n"
        f"      DataRepositoryPath: s3://demo-bucket/{name.lower()}\n"
    )


def test_c26_three_associations_at_once():
    found = FILES + link("Data", "/data") + link("Out", "/out") + link("Logs", "/logs")
    assert_finds("UC-DRA-005", found, place="Out : is made at the same time as Data")
    assert_finds("UC-DRA-005", found, place="Logs : is made at the same time as Data")
    assert own_ids(found) == {"UC-DRA-005"}


def test_c26_a_chain():
    assert own_ids(FILES + link("Data", "/data") + link("Out", "/out", "Data") + link("Logs", "/logs", "Out")) == set()


def test_c26_a_directory_inside_of_another():
    found = FILES + link("Data", "/data") + link("Raw", "/data/raw", "Data")
    assert_finds("UC-DRA-003", found, place="Raw FileSystemPath: '/data/raw' overlaps '/data'")
    assert own_ids(found) == {"UC-DRA-003"}
