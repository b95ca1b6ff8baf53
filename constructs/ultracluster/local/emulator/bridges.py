"""Providers for types that MiniStack has an API for but no CloudFormation handler: they are made through that API.

So `DescribeNatGateways`, `DescribeFlowLogs`, `DescribeSecurityGroupRules` and the like show what a stack made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ultracluster.local.emulator import records
from ultracluster.local.emulator.internals import OURS, handlers, part
from ultracluster.local.emulator.wire import call

__all__ = ["register_bridges"]

Properties = Mapping[str, Any]
Made = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Bridge:
    """How one type is made and removed.

    Attributes:
        create: gets (name, properties), returns the physical id and the attributes.
        remove: gets (physical id, properties).
    """

    create: Callable[[str, Properties], Made]
    remove: Callable[[str, Properties], None]


def _tags(kind: str, properties: Properties) -> list[dict[str, Any]]:
    tags = [{"Key": tag["Key"], "Value": tag["Value"]} for tag in properties.get("Tags", ())]
    return [{"ResourceType": kind, "Tag": tags}] if tags else []


def _nat_create(_: str, properties: Properties) -> Made:
    answer = call(
        "ec2",
        "CreateNatGateway",
        SubnetId=properties.get("SubnetId"),
        AllocationId=properties.get("AllocationId"),
        ConnectivityType=properties.get("ConnectivityType"),
        TagSpecification=_tags("natgateway", properties),
    )
    identifier = str(answer.text("natGatewayId"))
    return identifier, {"NatGatewayId": identifier}


def _address_create(_: str, properties: Properties) -> Made:
    answer = call(
        "ec2",
        "AllocateAddress",
        Domain=properties.get("Domain", "vpc"),
        TagSpecification=_tags("elastic-ip", properties),
    )
    public = str(answer.text("publicIp"))
    return public, {"PublicIp": public, "AllocationId": str(answer.text("allocationId"))}


def _address_remove(identifier: str, _: Properties) -> None:
    call("ec2", "ReleaseAddress", AllocationId=records.attributes("AWS::EC2::EIP", identifier).get("AllocationId"))


def _flow_log_create(_: str, properties: Properties) -> Made:
    plain = (
        "ResourceType",
        "TrafficType",
        "LogDestinationType",
        "LogDestination",
        "LogGroupName",
        "DeliverLogsPermissionArn",
    )
    answer = call(
        "ec2",
        "CreateFlowLogs",
        ResourceId=[properties["ResourceId"]],
        **{name: properties.get(name) for name in plain},
        TagSpecification=_tags("vpc-flow-log", properties),
    )
    identifier = str(answer.text("item"))
    return identifier, {"Id": identifier}


def _placement_create(name: str, properties: Properties) -> Made:
    answer = call(
        "ec2",
        "CreatePlacementGroup",
        GroupName=name,
        Strategy=properties.get("Strategy", "cluster"),
        PartitionCount=properties.get("PartitionCount"),
        TagSpecification=_tags("placement-group", properties),
    )
    return name, {"GroupName": name, "GroupId": str(answer.text("groupId"))}


def _permission(properties: Properties, peer: str) -> dict[str, Any]:
    note = {"Description": properties.get("Description")}
    permission: dict[str, Any] = {
        "IpProtocol": properties["IpProtocol"],
        "FromPort": properties.get("FromPort"),
        "ToPort": properties.get("ToPort"),
    }
    sources = (
        ("CidrIp", "IpRanges", "CidrIp"),
        ("CidrIpv6", "Ipv6Ranges", "CidrIpv6"),
        (f"{peer}SecurityGroupId", "Groups", "GroupId"),
        (f"{peer}PrefixListId", "PrefixListIds", "PrefixListId"),
    )
    for given, member, key in sources:
        if given in properties:
            permission[member] = [{key: properties[given], **note}]
    return permission


def _rule(direction: str, peer: str) -> Bridge:
    def create(_: str, properties: Properties) -> Made:
        answer = call(
            "ec2",
            f"AuthorizeSecurityGroup{direction}",
            GroupId=properties["GroupId"],
            IpPermissions=[_permission(properties, peer)],
        )
        identifier = str(answer.text("securityGroupRuleId"))
        return identifier, {"Id": identifier}

    def remove(_: str, properties: Properties) -> None:
        call(
            "ec2",
            f"RevokeSecurityGroup{direction}",
            GroupId=properties["GroupId"],
            IpPermissions=[_permission(properties, peer)],
        )

    return Bridge(create, remove)


def _composite_create(name: str, properties: Properties) -> Made:
    settings = {key: value for key, value in properties.items() if key != "Tags"}
    status, _, body = part("services.cloudwatch")._put_composite_alarm({}, {**settings, "AlarmName": name}, False, True)
    if status >= 400:  # noqa: PLR2004 - HTTP
        raise ValueError(body.decode())
    return name, {"Arn": part("services.cloudwatch")._composite_alarms[name]["AlarmArn"]}


def _composite_remove(identifier: str, _: Properties) -> None:
    part("services.cloudwatch")._delete_alarms({}, {"AlarmNames": [identifier]}, False, True)


def _by(parameter: str, name: str) -> Callable[[str, Properties], None]:
    def remove(identifier: str, _: Properties) -> None:
        call("ec2", name, **{parameter: identifier})

    return remove


def _remove_flow_log(identifier: str, _: Properties) -> None:
    call("ec2", "DeleteFlowLogs", FlowLogId=[identifier])


_BRIDGES: Mapping[str, Bridge] = {
    "AWS::EC2::NatGateway": Bridge(_nat_create, _by("NatGatewayId", "DeleteNatGateway")),
    "AWS::EC2::EIP": Bridge(_address_create, _address_remove),
    "AWS::EC2::FlowLog": Bridge(_flow_log_create, _remove_flow_log),
    "AWS::EC2::PlacementGroup": Bridge(_placement_create, _by("GroupName", "DeletePlacementGroup")),
    "AWS::EC2::SecurityGroupIngress": _rule("Ingress", "Source"),
    "AWS::EC2::SecurityGroupEgress": _rule("Egress", "Destination"),
    "AWS::CloudWatch::CompositeAlarm": Bridge(_composite_create, _composite_remove),
}
_RECREATED = {"AWS::CloudWatch::CompositeAlarm": "AlarmName"}
"""Types whose create also updates in place, and the property that may name them."""


def register_bridges() -> tuple[str, ...]:
    """Register the providers.

    Returns:
        the types that MiniStack's release still lacks; those it has are left to it.
    """
    table = handlers()
    added = tuple(name for name in _BRIDGES if name not in table)
    for type_name in added:
        table[type_name] = _provider(type_name, _BRIDGES[type_name])
    return added


def _provider(type_name: str, bridge: Bridge) -> dict[str, Any]:
    named_by = _RECREATED.get(type_name, "")

    def create(logical_id: str, properties: Properties, stack_name: str) -> Made:
        name = properties.get(named_by) or part("services.cloudformation.provisioners")._physical_name(
            stack_name, logical_id
        )
        return bridge.create(str(name), properties)

    def update(current: str, _: Properties, properties: Properties, __: str, ___: str | None = None) -> Made:
        if named_by:
            return bridge.create(current, properties)
        return current, records.attributes(type_name, current)

    return {"create": create, "update": update, "update_with_logical_id": True, "delete": bridge.remove, OURS: True}
