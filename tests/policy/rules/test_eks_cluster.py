"""UC-EKS-014, 018 and 019: clusters, the way to their nodes, and pods."""

from __future__ import annotations

import json

import pytest

from support.fabric import entry
from support.orchestrators import (
    NONE,
    either,
    ids,
    launch_template,
    nodes,
    parameter,
    resource,
    switch,
    template,
)
from support.policy import assert_finds, assert_not_judged, assert_passes, judged

OWN = {"Fn::GetAtt": ["Eks", "ClusterSecurityGroupId"]}
EFA, PLANE = {"Ref": "Efa"}, {"Ref": "Plane"}


def cluster(**network):
    network = {"SubnetIds": ["subnet-0123456789abcdef0"], "EndpointPublicAccess": False, **network}
    config = {key: value for key, value in network.items() if value is not None}
    return resource("EKS::Cluster", RoleArn="arn:aws:iam::111122223333:role/eks", ResourcesVpcConfig=config)


def group(*ingress, **more):
    return resource(
        "EC2::SecurityGroup", GroupDescription="nodes", VpcId="vpc-1", SecurityGroupIngress=list(ingress), **more
    )


def rule(source, protocol="-1", **more):
    peer = {"CidrIp": source} if isinstance(source, str) else {"SourceSecurityGroupId": source}
    return {"IpProtocol": protocol, **peer, **more}


def itself(way="Ingress", key="SourceSecurityGroupId"):
    return resource(f"EC2::SecurityGroup{way}", GroupId=EFA, IpProtocol="-1", **{key: EFA})


# UC-EKS-014


def joined(groups, parameters=None, conditions=None, *, network=None, efa=None, data=None, name=None, **more):
    """A node group whose primary interface carries some groups, in a cluster of the same template."""
    data = data or {"NetworkInterfaces": [entry(0, 0, Groups=groups), entry(1, 1, Groups=[EFA])]}
    return template(
        {"Given": parameter("AWS::EC2::SecurityGroup::Id"), **(parameters or {})},
        conditions,
        Eks=cluster(**(network or {})),
        Efa=efa or group(),
        EfaIn=itself(),
        EfaOut=itself("Egress", "DestinationSecurityGroupId"),
        Lt=launch_template(InstanceType="p4d.24xlarge", **data),
        Nodes=nodes(ClusterName=name or {"Ref": "Eks"}),
        **more,
    )


def named(name):
    """As `joined`, with a cluster and a node group that are given the same name."""
    found = joined([EFA], {"Name": parameter()}, name=name)
    found["Resources"]["Eks"]["Properties"]["Name"] = name
    return found


SAID = "!Ref Efa without the cluster security group, and no rule lets the control plane in on TCP 10250"


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (joined([EFA]), "Lt LaunchTemplateData.NetworkInterfaces[0].Groups[0]: "),
        (named("train"), "Lt LaunchTemplateData.NetworkInterfaces[0].Groups[0]: "),
        (named({"Ref": "Name"}), "Lt LaunchTemplateData.NetworkInterfaces[0].Groups[0]: "),
        (joined(None, data={"SecurityGroupIds": [EFA]}), "Lt LaunchTemplateData.SecurityGroupIds[0]: "),
        (
            joined([EFA], network={"SecurityGroupIds": [PLANE]}, Plane=group(rule(EFA))),
            "NetworkInterfaces[0].Groups[0]",
        ),
        (joined([EFA], efa=group(rule(OWN, "tcp", FromPort=443, ToPort=443))), "Groups[0]"),
    ],
)
def test_nobody_lets_the_control_plane_in(found, place):
    assert_finds("UC-EKS-014", found, place=f"{place}")
    assert_finds("UC-EKS-014", found, place=SAID)
    assert ids("EKS", found) == {"UC-EKS-014"}


@pytest.mark.parametrize(
    "found",
    [
        joined([EFA, OWN]),
        joined(None, data={"SecurityGroupIds": [OWN]}),
        joined(None, data={"BlockDeviceMappings": []}),
        joined([EFA], efa=group(rule(OWN))),
        joined([EFA], efa=group(rule(OWN, "tcp", FromPort=1025, ToPort=65535))),
        joined([EFA], efa=group(rule("0.0.0.0/0", "tcp", FromPort=10250, ToPort=10250))),
        joined(
            [EFA],
            In=resource("EC2::SecurityGroupIngress", GroupId=EFA, IpProtocol="-1", SourceSecurityGroupId=OWN),
        ),
        joined([EFA], efa=group(rule({"Ref": "Plane"})), network={"SecurityGroupIds": [PLANE]}, Plane=group()),
        joined([EFA], network={"SecurityGroupIds": [EFA]}),
    ],
)
def test_the_control_plane_gets_in(found):
    assert_passes("UC-EKS-014", found)


@pytest.mark.parametrize(
    "found",
    [
        joined([{"Ref": "Given"}]),
        joined(["sg-0123456789abcdef0"]),
        joined([EFA], name="made-elsewhere"),
        joined([EFA], name={"Ref": "Given"}),
        joined([EFA], efa=group(rule("10.0.0.0/8"))),
        joined([EFA], efa=group(rule({"Ref": "Given"}))),
    ],
)
def test_a_way_that_is_not_known(found):
    assert_not_judged("UC-EKS-014", found)


@pytest.mark.parametrize(("groups", "expected"), [(([OWN], [EFA]), set()), (([EFA], [OWN]), {"UC-EKS-014"})])
def test_groups_and_rule_under_one_condition(groups, expected):
    parameters, conditions = switch()
    conditions["Small"] = {"Fn::Not": [{"Condition": "Big"}]}
    let_in = resource("EC2::SecurityGroupIngress", GroupId=EFA, IpProtocol="-1", SourceSecurityGroupId=OWN)
    let_in["Condition"] = "Small"
    found = joined(either("Big", *groups), parameters, conditions, In=let_in)
    assert ids("EKS", found) == expected


# UC-EKS-018


@pytest.mark.parametrize(
    ("network", "said"),
    [
        (
            {"EndpointPublicAccess": None},
            "Eks ResourcesVpcConfig.EndpointPublicAccess: true, the default, and no PublicAccessCidrs: the endpoint is",
        ),
        ({"EndpointPublicAccess": True, "EndpointPrivateAccess": True}, "EndpointPublicAccess: true, and no Public"),
        (
            {"EndpointPublicAccess": "true", "PublicAccessCidrs": ["203.0.113.0/24", "0.0.0.0/0"]},
            "ResourcesVpcConfig.PublicAccessCidrs[1]: 0.0.0.0/0: the endpoint is open to every address",
        ),
        ({"EndpointPublicAccess": True, "PublicAccessCidrs": ["::/0"]}, "PublicAccessCidrs[0]: ::/0"),
    ],
)
def test_an_open_endpoint(network, said):
    found = template(Eks=cluster(**network))
    assert_finds("UC-EKS-018", found, place=said)
    assert ids("EKS", found) == {"UC-EKS-018"}


@pytest.mark.parametrize("network", [{}, {"EndpointPublicAccess": True, "PublicAccessCidrs": ["203.0.113.0/24"]}])
def test_a_closed_endpoint(network):
    assert_passes("UC-EKS-018", template(Eks=cluster(**network)))


@pytest.mark.parametrize(
    "network",
    [
        {"EndpointPublicAccess": {"Ref": "Given"}},
        {"EndpointPublicAccess": True, "PublicAccessCidrs": [{"Ref": "Given"}]},
        {"EndpointPublicAccess": True, "PublicAccessCidrs": {"Ref": "Given"}},
    ],
)
def test_an_endpoint_that_is_not_known(network):
    assert_not_judged("UC-EKS-018", template({"Given": parameter()}, Eks=cluster(**network)))


@pytest.mark.parametrize(("public", "expected"), [((True, False), set()), ((False, True), {"UC-EKS-018"})])
def test_access_and_ranges_under_one_condition(public, expected):
    parameters, conditions = switch()
    network = {
        "EndpointPublicAccess": either("Big", *public),
        "PublicAccessCidrs": either("Big", ["203.0.113.0/24"], NONE),
    }
    assert ids("EKS", template(parameters, conditions, Eks=cluster(**network))) == expected


# UC-EKS-019


def pod(**limits):
    container = {"name": "train", "image": "train:1", "resources": {"limits": limits, "requests": limits}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"}, "spec": {"containers": [container]}}


def manifest(content):
    body = resource("X", Manifest=content, ClusterName="train")
    body["Type"] = "Custom::AWSCDK-EKS-KubernetesResource"
    return template({"Image": parameter()}, Pod=body)


def batch_pod(**limits):
    containers = [{"Image": "train:1", "Resources": {"Limits": limits}}]
    ranges = [{"TargetNodes": "0:", "EksProperties": {"PodProperties": {"Containers": containers}}}]
    node_properties = {"MainNode": 0, "NumNodes": 2, "NodeRangeProperties": ranges}
    job = resource("Batch::JobDefinition", Type="multinode", NodeProperties=node_properties, Timeout={})
    return template({"Pages": parameter()}, Job=job)


PAGES = {"hugepages-2Mi": "5120Mi"}
DEVICES = {"vpc.amazonaws.com/efa": 32, "nvidia.com/gpu": 8}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps([pod(**DEVICES)]),
        {"Fn::Join": ["", [json.dumps([pod(**DEVICES)])[:-1].replace("train:1", ""), "", "]"]]},
    ],
)
def test_efa_without_huge_pages(content):
    found = manifest(content)
    assert_finds("UC-EKS-019", found, place="Pod Manifest: container train asks for vpc.amazonaws.com/efa without huge")
    assert ids("EKS", found) == {"UC-EKS-019"}


def test_a_value_inside_the_manifest_is_no_obstacle():
    head, tail = json.dumps([pod(**DEVICES)]).split("train:1")
    assert_finds("UC-EKS-019", manifest({"Fn::Join": ["", [head, {"Ref": "Image"}, tail]]}), place="container train")


def test_batch_pods_without_huge_pages():
    found = batch_pod(**DEVICES)
    (said,) = judged(found).of("UC-EKS-019")
    assert said.endswith(
        "EksProperties.PodProperties.Containers[0].Resources: vpc.amazonaws.com/efa without huge pages"
    )


@pytest.mark.parametrize(
    "found",
    [
        manifest(json.dumps([pod(**DEVICES, **PAGES)])),
        manifest(json.dumps([pod(**{"nvidia.com/gpu": 8})])),
        manifest(json.dumps([{"kind": "ConfigMap", "data": {"text": "vpc.amazonaws.com/efa"}}])),
        batch_pod(**DEVICES, **PAGES),
        batch_pod(cpu="4"),
    ],
)
def test_pods_that_ask_for_both_or_none(found):
    assert_passes("UC-EKS-019", found)


@pytest.mark.parametrize(
    "found",
    [
        manifest({"Fn::Join": ["", ['[{"resources": {"limits": {"vpc.amazonaws.com/efa": 1}}},', {"Ref": "Image"}]]}),
        manifest({"Fn::Sub": "${Image}"}),
        manifest("[" * 100_000 + "vpc.amazonaws.com/efa"),
        batch_pod() | {"Resources": {"Job": resource("Batch::JobDefinition", EksProperties={"Ref": "Pages"})}},
    ],
)
def test_pods_that_are_not_known(found):
    assert_not_judged("UC-EKS-019", found)
