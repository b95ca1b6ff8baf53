"""UC-EFS-004: whoever mounts EFS with IAM or through an access point asks for TLS."""

from __future__ import annotations

import pytest

from support.policy import assert_finds, assert_not_judged, assert_passes
from support.storage import UNKNOWN, own_ids, template


def volume(tls=None, **authorization):
    mounted = {"FileSystemId": "fs-0123456789abcdef0"}
    mounted |= {"TransitEncryption": tls} if tls is not None else {}
    mounted |= {"AuthorizationConfig": authorization} if authorization else {}
    return mounted


def job(mounted):
    volumes = [{"Name": "tmp", "Host": {"SourcePath": "/tmp"}}, {"Name": "home", "EfsVolumeConfiguration": mounted}]
    return {
        "Type": "AWS::Batch::JobDefinition",
        "Properties": {"Type": "container", "ContainerProperties": {"Volumes": volumes}},
    }


def multinode(mounted):
    container = {"Volumes": [{"Name": "home", "EfsVolumeConfiguration": mounted}]}
    ranges = {"NodeRangeProperties": [{"TargetNodes": "0:", "Container": container}]}
    return {"Type": "AWS::Batch::JobDefinition", "Properties": {"Type": "multinode", "NodeProperties": ranges}}


def ecs_job(mounted):
    tasks = {"TaskProperties": [{"Volumes": [{"Name": "home", "EfsVolumeConfiguration": mounted}]}]}
    return {"Type": "AWS::Batch::JobDefinition", "Properties": {"Type": "container", "EcsProperties": tasks}}


def ecs_multinode(mounted):
    tasks = {"TaskProperties": [{"Volumes": [{"Name": "home", "EfsVolumeConfiguration": mounted}]}]}
    ranges = {"NodeRangeProperties": [{"TargetNodes": "0:", "EcsProperties": tasks}]}
    return {"Type": "AWS::Batch::JobDefinition", "Properties": {"Type": "multinode", "NodeProperties": ranges}}


def task(mounted):
    written = {("IAM" if key == "Iam" else key): value for key, value in mounted.get("AuthorizationConfig", {}).items()}
    mounted = {**mounted, "AuthorizationConfig": written} if written else mounted
    volumes = [{"Name": "home", "EFSVolumeConfiguration": mounted}]
    return {"Type": "AWS::ECS::TaskDefinition", "Properties": {"Volumes": volumes}}


KINDS = [job, multinode, ecs_job, ecs_multinode, task]


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize(
    "mounted",
    [volume(), volume("ENABLED", Iam="ENABLED"), volume("enabled", AccessPointId="fsap-1"), volume(Iam="DISABLED")],
)
def test_containers_with_tls(make, mounted):
    assert_passes("UC-EFS-004", template(Job=make(mounted)))


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize(
    ("mounted", "place"),
    [
        (volume(Iam="ENABLED"), "TransitEncryption: absent beside I"),
        (volume("DISABLED", Iam="enabled"), "TransitEncryption: DISABLED"),
        (volume(AccessPointId=UNKNOWN), "AccessPointId"),
    ],
)
def test_containers_without_tls(make, mounted, place):
    found = template(Job=make(mounted))
    assert_finds("UC-EFS-004", found, place=place)
    assert own_ids(found) == {"UC-EFS-004"}


@pytest.mark.parametrize("make", KINDS)
def test_containers_that_cannot_be_known(make):
    assert_not_judged("UC-EFS-004", template(Job=make(volume(UNKNOWN, Iam="ENABLED"))))
    assert_not_judged("UC-EFS-004", template(Job=make(volume(Iam=UNKNOWN))))


def test_authorization_and_tls_under_one_condition():
    iam, tls = {"Fn::If": ["Safe", "ENABLED", "DISABLED"]}, {"Fn::If": ["Safe", "ENABLED", "DISABLED"]}
    safe = {"Safe": {"Fn::Equals": [UNKNOWN, "safe"]}}
    assert_passes("UC-EFS-004", template(conditions=safe, Job=job(volume(tls, Iam=iam))))


def instance(*lines, kind="AWS::EC2::LaunchTemplate"):
    data = {"UserData": {"Fn::Base64": {"Fn::Sub": "\n".join(["#!/bin/bash", *lines])}}}
    properties = {"LaunchTemplateData": data} if kind == "AWS::EC2::LaunchTemplate" else data
    return {"Type": kind, "Properties": properties}


@pytest.mark.parametrize(
    "line",
    [
        "mount -t efs -o tls,iam fs-0123:/ /home/shared",
        "mount -o iam -o tls -t efs fs-0123:/ /home/shared",
        "mount -t efs fs-0123:/ /home/shared",
        "mount -t nfs4 -o iam fs-0123:/ /home/shared",
        'echo "fs-0123:/ /home/shared efs _netdev,tls,iam 0 0" >> /etc/fstab',
        "# mount -t efs -o iam fs-0123:/ /home/shared",
        "yum install -y amazon-efs-utils",
        "mount -t efs -o iam,tls,accesspoint=${Unknown} fs-0123:/ /home/shared",
    ],
)
def test_instances_with_tls(line):
    assert_passes("UC-EFS-004", template(Lt=instance(line)))


@pytest.mark.parametrize("kind", ["AWS::EC2::LaunchTemplate", "AWS::EC2::Instance"])
@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("mount -t efs -o iam fs-0123:/ /home/shared", "UserData: EFS is mounted with iam"),
        ("mount -t efs -o accesspoint=fsap-1,_netdev fs-0123:/ /home/shared", "accesspoint=fsap-1 but without tls"),
        ("mount.efs -o accesspoint=${Unknown} fs-0123:/ /home/shared", "accesspoint=..."),
        ("echo 'fs-0123:/ /home/shared efs _netdev,iam 0 0' >> /etc/fstab", "iam"),
    ],
)
def test_instances_without_tls(kind, line, place):
    found = template(Nodes=instance(line, kind=kind))
    assert_finds("UC-EFS-004", found, place=place)
    assert own_ids(found) == {"UC-EFS-004"}


@pytest.mark.parametrize(
    "line", ["mount -t efs -o iam,$OPTIONS fs-0123:/ /x", "mount -t efs -o iam,${Unknown} fs-0123:/ /x"]
)
def test_options_that_cannot_be_known(line):
    assert_not_judged("UC-EFS-004", template(Lt=instance(line)))
