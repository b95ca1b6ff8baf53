"""Fault reports that rules on networks decide."""

from __future__ import annotations

from support.networks import group, group_id, hyperpod, made, only, subnet, tcp, template, vpc
from support.policy import assert_passes, judged

RANGE = {"Fn::GetAtt": ["Vpc", "CidrBlock"]}


def lustre(*rules):
    """A Lustre file system whose group has some rules."""
    files = made(
        "AWS::FSx::FileSystem",
        FileSystemType="LUSTRE",
        LustreConfiguration={"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250},
        StorageCapacity=1200,
        SubnetIds=[{"Ref": "Near"}],
        SecurityGroupIds=[group_id("Files")],
    )
    return template(Vpc=vpc(), Near=subnet(), Clients=group(), Files=group(*rules), FileSystem=files)


def test_c11_a_foreign_group_beside_an_own_one():
    itself = {
        f"Own{way}": made(
            f"AWS::EC2::SecurityGroup{way}", GroupId=group_id("Own"), IpProtocol="-1", **{peer: group_id("Own")}
        )
        for way, peer in (("Ingress", "SourceSecurityGroupId"), ("Egress", "DestinationSecurityGroupId"))
    }
    groups = (group_id("Own"), "sg-0123456789abcdef0")
    pod = hyperpod("Near", groups=groups, InstanceType="ml.trn1.32xlarge")
    found = template(Vpc=vpc(), Near=subnet(), Own=group(), Pod=pod, **itself)
    only("UC-NET-011", found, place="Pod VpcConfig.SecurityGroupIds[1]: sg-0123456789abcdef0 is made elsewhere")


def test_c28_a_lustre_group_that_is_open_to_everybody():
    found = lustre(tcp(988), tcp(1018, 1023))
    only(
        "UC-NET-010", found, place="Files SecurityGroupIngress[0].CidrIp: 0.0.0.0/0 may reach TCP 988, a port of Lustre"
    )
    clients = {"SourceSecurityGroupId": group_id("Clients")}
    assert_passes("UC-NET-010", lustre(tcp(988, **clients), tcp(1018, 1023, **clients)))


def test_c44_a_range_that_only_the_deployment_knows_has_a_verdict():
    found = lustre(tcp(988, CidrIp=RANGE))
    assert_passes("UC-NET-010", found)
    assert not {
        rule_id for rule_id in judged(found).not_judged if rule_id in ("UC-NET-002", "UC-NET-015", "UC-NET-006")
    }
