"""Small templates around networks, permissions and cost, for tests of rules."""

from __future__ import annotations

from typing import Any

from support.policy import judged
from ultracluster.policy.precedence import without_repeats

Body = dict[str, Any]
AREAS = ("NET", "IAM", "CST")
UNKNOWN = {"Ref": "Unknown"}
"""A parameter without a default."""
NOTHING = {"Ref": "AWS::NoValue"}
WORLD = "0.0.0.0/0"
TAGS = [{"Key": "project", "Value": "llm"}]


def made(kind: str, /, **properties: Any) -> Body:
    """A resource; `None` leaves a property out."""
    written = {key: value for key, value in properties.items() if value is not None}
    return {"Type": kind, "Properties": written}


def arn(name: str) -> Body:
    """The ARN of a resource."""
    return {"Fn::GetAtt": [name, "Arn"]}


def template(parameters: Body | None = None, conditions: Body | None = None, **resources: Body) -> Body:
    """A template; it always has the parameter of `UNKNOWN`."""
    declared = {"Unknown": {"Type": "String"}, **(parameters or {})}
    sections = {"Parameters": declared, "Conditions": conditions, "Resources": resources}
    return {name: body for name, body in sections.items() if body}


def own_ids(*templates: Any, is_app: bool = False) -> set[str]:
    """Ids of the areas that these tests are about."""
    return {found for found in judged(*templates, is_app=is_app).ids if found.split("-")[1] in AREAS}


def only(rule_id: str, *templates: Any, place: str, is_app: bool = False) -> None:
    """The rule finds one fault, with `place` in its place or message, and no other rule of these areas does."""
    outcome = judged(*templates, is_app=is_app)
    outcome.judged.faults = without_repeats(outcome.judged.faults)
    found = outcome.of(rule_id)
    assert [place in text for text in found] == [True], f"{rule_id} found {found}, expected one with {place!r}"
    assert {each for each in outcome.ids if each.split("-")[1] in AREAS} == {rule_id}


# Networks


def vpc(**properties: Any) -> Body:
    """A VPC that resolves names."""
    written = {"CidrBlock": "10.0.0.0/16", "EnableDnsSupport": True, "EnableDnsHostnames": True, **properties}
    return made("AWS::EC2::VPC", **written)


def subnet(vpc: Any = "Vpc", **properties: Any) -> Body:
    """A subnet of a VPC."""
    inside = {"Ref": vpc} if isinstance(vpc, str) and not vpc.startswith("vpc-") else vpc
    written = {"VpcId": inside, "CidrBlock": "10.0.0.0/20", "AvailabilityZone": "us-east-1a", **properties}
    return made("AWS::EC2::Subnet", **written)


def routed(name: str, gateway: Any = None, *, vpc: str = "Vpc", **route: Any) -> dict[str, Body]:
    """A route table `<name>Table` with its subnet, and a default route to an internet gateway when one is given."""
    table = f"{name}Table"
    resources = {
        table: made("AWS::EC2::RouteTable", VpcId={"Ref": vpc}),
        f"{name}Association": made(
            "AWS::EC2::SubnetRouteTableAssociation", SubnetId={"Ref": name}, RouteTableId={"Ref": table}
        ),
    }
    if gateway is not None:
        route = {"GatewayId": gateway, **route}
    if route:
        written = {"RouteTableId": {"Ref": table}, "DestinationCidrBlock": WORLD, **route}
        resources[f"{name}Route"] = made("AWS::EC2::Route", **written)
    return resources


def network(**more: Body) -> dict[str, Body]:
    """A VPC with a private subnet `Private` behind NAT and a public one `Public`."""
    return {
        "Vpc": vpc(),
        "Igw": made("AWS::EC2::InternetGateway"),
        "Private": subnet(),
        "Public": subnet(CidrBlock="10.0.16.0/20"),
        **routed("Private", NatGatewayId="nat-0123456789abcdef0"),
        **routed("Public", {"Ref": "Igw"}),
        **more,
    }


def group(*ingress: Body, **properties: Any) -> Body:
    """A security group of the VPC with inline ingress rules."""
    written = {"GroupDescription": "nodes", "VpcId": {"Ref": "Vpc"}, "SecurityGroupIngress": list(ingress) or None}
    return made("AWS::EC2::SecurityGroup", **{**written, **properties})


def tcp(first: int, last: int | None = None, **peer: Any) -> Body:
    """A rule for TCP ports, from everybody unless told otherwise."""
    return {"IpProtocol": "tcp", "FromPort": first, "ToPort": last or first, **(peer or {"CidrIp": WORLD})}


def group_id(name: str) -> Body:
    """The id of a security group."""
    return {"Fn::GetAtt": [name, "GroupId"]}


# Fleets


def launch_template(*groups: Any, entries: int = 1, **data: Any) -> Body:
    """A tagged launch template with interfaces that carry some groups."""
    interfaces = [{"DeviceIndex": at, "NetworkCardIndex": at, "Groups": list(groups)} for at in range(entries)]
    kinds = [{"ResourceType": kind, "Tags": TAGS} for kind in ("instance", "volume")]
    written = {"InstanceType": "p5.48xlarge", "NetworkInterfaces": interfaces, "TagSpecifications": kinds, **data}
    return made(
        "AWS::EC2::LaunchTemplate",
        LaunchTemplateData={key: value for key, value in written.items() if value is not None},
    )


def fleet(*subnets: Any, template: str = "Lt", **properties: Any) -> Body:
    """An Auto Scaling group in some subnets, by name or as they are."""
    named = [
        {"Ref": value} if isinstance(value, str) and not value.startswith("subnet-") else value for value in subnets
    ]
    written = {
        "MinSize": "0",
        "MaxSize": "4",
        "VPCZoneIdentifier": named or ["subnet-0123456789abcdef0"],
        "LaunchTemplate": {"LaunchTemplateId": {"Ref": template}, "Version": "1"},
    }
    return made("AWS::AutoScaling::AutoScalingGroup", **{**written, **properties})


def hyperpod(*subnets: str, groups: tuple[Any, ...] = (), **instance_group: Any) -> Body:
    """A HyperPod cluster."""
    body = {"InstanceGroupName": "workers", "InstanceType": "ml.p5.48xlarge", "InstanceCount": 2, **instance_group}
    network = {"Subnets": [{"Ref": name} for name in subnets], "SecurityGroupIds": list(groups)}
    return made("AWS::SageMaker::Cluster", InstanceGroups=[body], VpcConfig=network)


# Permissions


def allow(action: Any, resource: Any = "*", **more: Any) -> Body:
    """One statement."""
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def role(*statements: Body, **properties: Any) -> Body:
    """A role with inline statements."""
    inline = [{"PolicyName": "inline", "PolicyDocument": {"Statement": list(statements)}}] if statements else None
    return made("AWS::IAM::Role", AssumeRolePolicyDocument={}, Policies=inline, **properties)


def profile(name: Any = "Role", **properties: Any) -> Body:
    """An instance profile of a role."""
    return made("AWS::IAM::InstanceProfile", Roles=[{"Ref": name} if isinstance(name, str) else name], **properties)
