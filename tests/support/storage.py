"""Small templates around file systems, for tests of rules."""

from __future__ import annotations

from typing import Any

from support.policy import judged

Body = dict[str, Any]
AREAS = ("LUS", "DRA", "EFS", "IMG")
RETAINED = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
UNKNOWN = {"Ref": "Unknown"}
"""A parameter without a default."""
NOTHING = {"Ref": "AWS::NoValue"}


def _written(properties: Body) -> Body:
    return {key: value for key, value in properties.items() if value is not None}


def lustre(settings: Body | None = None, *, attributes: Body | None = None, **properties: Any) -> Body:
    """A Lustre file system without a fault: PERSISTENT_2; `None` leaves a property or setting out."""
    configuration = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250, **(settings or {})}
    written = {
        "FileSystemType": "LUSTRE",
        "FileSystemTypeVersion": "2.15",
        "StorageCapacity": 1200,
        "SubnetIds": ["subnet-0123456789abcdef0"],
        "SecurityGroupIds": ["sg-0123456789abcdef0"],
        "LustreConfiguration": _written(configuration),
        **properties,
    }
    kept = RETAINED if attributes is None else attributes
    return {"Type": "AWS::FSx::FileSystem", **kept, "Properties": _written(written)}


def scratch(settings: Body | None = None, **properties: Any) -> Body:
    """A temporary Lustre file system without a fault."""
    configuration = {"DeploymentType": "SCRATCH_2", "PerUnitStorageThroughput": None, **(settings or {})}
    return lustre(configuration, attributes={}, **properties)


def security_group(*ingress: Body, **properties: Any) -> Body:
    """A security group with inline ingress rules."""
    written = {"GroupDescription": "files", "SecurityGroupIngress": list(ingress) or None, **properties}
    return {"Type": "AWS::EC2::SecurityGroup", "Properties": _written(written)}


def tcp(first: int, last: int | None = None, **peer: Any) -> Body:
    """A rule for TCP ports."""
    return {"IpProtocol": "tcp", "FromPort": first, "ToPort": first if last is None else last, **peer}


def rule_for(group: str, rule: Body, *, way: str = "Ingress", peer: str | None = None) -> Body:
    """A rule as a resource of its own, for a group and from (or to) another one or itself."""
    key = "SourceSecurityGroupId" if way == "Ingress" else "DestinationSecurityGroupId"
    other = {} if peer is None else {key: {"Fn::GetAtt": [peer, "GroupId"]}}
    properties = {"GroupId": {"Fn::GetAtt": [group, "GroupId"]}, **rule, **other}
    return {"Type": f"AWS::EC2::SecurityGroup{way}", "Properties": properties}


def all_traffic(*pairs: tuple[str, str]) -> dict[str, Body]:
    """Rules for all traffic from the first group of each pair to the second, on both sides."""
    rules: dict[str, Body] = {}
    for one, other in pairs:
        rules[f"{one}To{other}"] = rule_for(one, {"IpProtocol": "-1"}, way="Egress", peer=other)
        rules[f"{other}From{one}"] = rule_for(other, {"IpProtocol": -1}, peer=one)
    return rules


def template(parameters: Body | None = None, conditions: Body | None = None, **resources: Body) -> Body:
    """A template; it always has the parameter of `UNKNOWN`."""
    declared = {"Unknown": {"Type": "String"}, **(parameters or {})}
    sections = {"Parameters": declared, "Conditions": conditions, "Resources": resources}
    return {name: body for name, body in sections.items() if body}


def own_ids(*templates: Any, is_app: bool = False) -> set[str]:
    """Ids of the areas that these tests are about."""
    return {found for found in judged(*templates, is_app=is_app).ids if found.split("-")[1] in AREAS}
