"""UC-EFA-005 to 007: security groups that let the fabric through, and one zone."""

from __future__ import annotations

from typing import Any

import pytest

from support.fabric import (
    batch,
    entry,
    group,
    launch_template,
    mixed,
    named,
    node_group,
    own_ids,
    pcs,
    subnet,
    template,
)
from support.policy import assert_finds, assert_not_judged, assert_passes

SG = "AWS::EC2::SecurityGroup"


def security_group(**more: Any) -> dict[str, Any]:
    return {"Type": SG, "Properties": {"GroupDescription": "efa", "VpcId": "vpc-0123456789abcdef0", **more}}


def own_rules(name: str = "Sg", protocol: Any = "-1", **more: Any) -> dict[str, Any]:
    """Both self rules as resources of their own."""
    id_ = {"Fn::GetAtt": [name, "GroupId"]}
    rule = {"GroupId": id_, "IpProtocol": protocol, **more}
    return {
        f"{name}In": {
            "Type": "AWS::EC2::SecurityGroupIngress",
            "Properties": {**rule, "SourceSecurityGroupId": {"Ref": name}},
        },
        f"{name}Out": {
            "Type": "AWS::EC2::SecurityGroupEgress",
            "Properties": {**rule, "DestinationSecurityGroupId": id_},
        },
    }


def efa(groups: Any, **resources: Any) -> dict[str, Any]:
    """A launch template with one fabric device beside its primary interface."""
    interfaces = [entry(0, 0, "interface"), entry(0, 1, "efa-only", Groups=groups)]
    return template(Lt=launch_template(interfaces, "g6.48xlarge"), **resources)


# UC-EFA-005

EVERYWHERE = {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}


@pytest.mark.parametrize("protocol", ["-1", -1])
def test_both_self_rules(protocol):
    assert_passes("UC-EFA-005", efa([{"Ref": "Sg"}], Sg=security_group(), **own_rules(protocol=protocol)))


def test_ports_beside_all_protocols_are_ignored():
    rules = own_rules(FromPort=0, ToPort=0)
    assert_passes("UC-EFA-005", efa([{"Fn::GetAtt": "Sg.GroupId"}], Sg=security_group(), **rules))


def test_one_of_several_groups_is_enough():
    groups = ["sg-0123456789abcdef0", {"Ref": "Plain"}, {"Ref": "Sg"}]
    assert_passes("UC-EFA-005", efa(groups, Plain=security_group(), Sg=security_group(), **own_rules()))


def test_rules_in_a_sibling_template():
    network = {
        "Resources": {"Sg": security_group(), **own_rules()},
        "Outputs": {"Id": {"Value": {"Ref": "Sg"}, "Export": {"Name": "efa-group"}}},
    }
    assert_passes("UC-EFA-005", network, efa([{"Fn::ImportValue": "efa-group"}]))


@pytest.mark.parametrize(
    ("why", "resources"),
    [
        ("ingress only", {"Sg": security_group(), "SgIn": own_rules()["SgIn"]}),
        ("egress only", {"Sg": security_group(), "SgOut": own_rules()["SgOut"]}),
        ("address ranges", {"Sg": security_group(SecurityGroupIngress=[EVERYWHERE], SecurityGroupEgress=[EVERYWHERE])}),
        ("no rules at all", {"Sg": security_group()}),
        ("one protocol", {"Sg": security_group(), **own_rules(protocol="tcp", FromPort=0, ToPort=65535)}),
        ("another group", {"Sg": security_group(), "Other": security_group(), **own_rules("Other")}),
    ],
)
def test_groups_that_keep_the_fabric_closed(why, resources):
    found = efa([{"Ref": "Sg"}], **resources)
    assert_finds("UC-EFA-005", found, place="NetworkInterfaces[1].Groups: no group of the entry allows all traffic")
    assert own_ids(found) - {"UC-EFA-006"} == {"UC-EFA-005"}, why


def test_the_primary_interface_needs_no_such_group():
    interfaces = [entry(0, 0, "interface", Groups=[{"Ref": "Plain"}]), entry(0, 1, "efa-only", Groups=[{"Ref": "Sg"}])]
    found = template(
        Lt=launch_template(interfaces, "g6.48xlarge"), Plain=security_group(), Sg=security_group(), **own_rules()
    )
    assert_passes("UC-EFA-005", found)


def test_one_finding_for_the_whole_list():
    interfaces = [entry(card, 1 if card else 0, Groups=[{"Ref": "Sg"}]) for card in range(4)]
    found = template(
        Lt=launch_template(interfaces, "p4d.24xlarge"), Sg=security_group(), Nodes=pcs(types=["p4d.24xlarge"])
    )
    assert_finds("UC-EFA-005", found, place="NetworkInterfaces[0].Groups: ")
    assert_finds("UC-EFA-005", found, place="(3 more like it)")
    assert own_ids(found) == {"UC-EFA-005"}


@pytest.mark.parametrize(
    "groups",
    [
        ["sg-0123456789abcdef0"],
        [{"Ref": "Group"}],
        [{"Ref": "Sg"}, {"Ref": "Group"}],
        [{"Fn::GetAtt": "Vpc.DefaultSecurityGroup"}],
        {"Fn::Split": [",", {"Fn::ImportValue": "groups"}]},
    ],
)
def test_groups_of_elsewhere_are_not_judged(groups):
    parameters = {"Group": {"Type": "AWS::EC2::SecurityGroup::Id"}}
    vpc = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}
    assert_not_judged("UC-EFA-005", {**efa(groups, Sg=security_group(), Vpc=vpc), "Parameters": parameters})


def test_a_rule_that_is_not_known_is_not_judged():
    rules = own_rules(protocol={"Ref": "Protocol"})
    found = efa([{"Ref": "Sg"}], Sg=security_group(), **rules)
    assert_not_judged("UC-EFA-005", {**found, "Parameters": {"Protocol": {"Type": "String"}}})


def test_two_groups_that_open_to_each_other_are_not_judged():
    def pair(one, other):
        a, b = ({"Fn::GetAtt": [name, "GroupId"]} for name in (one, other))
        rules = {"IpProtocol": "-1", "GroupId": a}
        return {
            f"{one}In": {"Type": f"{SG}Ingress", "Properties": {**rules, "SourceSecurityGroupId": b}},
            f"{one}Out": {"Type": f"{SG}Egress", "Properties": {**rules, "DestinationSecurityGroupId": b}},
        }

    groups = {"A": security_group(), "B": security_group(), **pair("A", "B"), **pair("B", "A")}
    assert_not_judged("UC-EFA-005", efa([{"Ref": "A"}, {"Ref": "B"}], **groups))
    del groups["BOut"]
    assert own_ids(efa([{"Ref": "A"}, {"Ref": "B"}], **groups)) == {"UC-EFA-005"}


def test_entry_and_rules_under_opposite_conditions():
    none = {"Ref": "AWS::NoValue"}

    def made(first, second):
        rules = own_rules()
        for rule in rules.values():
            rule["Condition"] = "HasEfa"
        return template(
            {"Efa": {"Type": "String", "Default": "no"}},
            {"HasEfa": {"Fn::Equals": [{"Ref": "Efa"}, "yes"]}},
            Lt=launch_template([{"Fn::If": ["HasEfa", first, second]}], "g6.48xlarge"),
            Sg=security_group(),
            **rules,
        )

    plain = entry(0, 0, "interface", Groups=[{"Ref": "Sg"}])
    fabric = entry(0, 0, "efa", Groups=[{"Ref": "Sg"}])
    assert_passes("UC-EFA-005", made(fabric, plain))
    assert own_ids(made(plain, fabric)) == {"UC-EFA-005"}
    assert_passes("UC-EFA-005", made(fabric, none))


# UC-EFA-006


def test_a_group_that_nothing_uses():
    found = efa(["sg-0123456789abcdef0"], Sg=security_group(), **own_rules())
    assert_finds("UC-EFA-006", found, place="Sg : it allows all traffic to and from itself")
    assert own_ids(found) == {"UC-EFA-006"}


def test_a_rule_of_another_group_does_not_attach_it():
    other = security_group(SecurityGroupIngress=[{"IpProtocol": "-1", "SourceSecurityGroupId": {"Ref": "Sg"}}])
    assert "UC-EFA-006" in own_ids(template(Sg=security_group(), Other=other, **own_rules()))


@pytest.mark.parametrize(
    "user",
    [
        {"Lt": launch_template(None, SecurityGroupIds=[{"Ref": "Sg"}])},
        {"Fs": {"Type": "AWS::FSx::FileSystem", "Properties": {"SecurityGroupIds": [{"Fn::GetAtt": "Sg.GroupId"}]}}},
        {"Nested": {"Type": "AWS::CloudFormation::Stack", "Properties": {"Parameters": {"Group": {"Ref": "Sg"}}}}},
        {"Kept": {"Type": "AWS::SSM::Parameter", "Properties": {"Value": {"Fn::Sub": "${Sg.GroupId}"}}}},
    ],
)
def test_a_group_that_something_uses(user):
    assert_passes("UC-EFA-006", template(Sg=security_group(), **own_rules(), **user))


@pytest.mark.parametrize("value", [{"Ref": "Sg"}, {"Fn::Join": [",", [{"Fn::GetAtt": "Sg.GroupId"}]]}])
def test_a_group_that_an_output_hands_on(value):
    found = {**template(Sg=security_group(), **own_rules()), "Outputs": {"Group": {"Value": value}}}
    assert_passes("UC-EFA-006", found)


def test_a_group_for_something_else():
    assert_passes("UC-EFA-006", template(Sg=security_group(SecurityGroupIngress=[EVERYWHERE])))


def test_a_group_of_which_the_rules_are_not_known():
    found = template(Sg=security_group(SecurityGroupIngress={"Ref": "Rules"}, SecurityGroupEgress={"Ref": "Rules"}))
    assert_not_judged("UC-EFA-006", {**found, "Parameters": {"Rules": {"Type": "String"}}})


# UC-EFA-007

A, B = {"Ref": "A"}, {"Ref": "B"}
CONSUMERS = [group, node_group, pcs, batch]
FABRIC = [entry(0, 0, "interface"), entry(0, 1, "efa-only")]


def spread(consumer, *, interfaces=None, **more):
    listed = launch_template(interfaces or FABRIC, None if consumer in {pcs, batch} else "g6.48xlarge")
    types = {"types": ["g6.48xlarge"]} if consumer in {pcs, batch} else {}
    return template(Lt=listed, Nodes=consumer((A, B), **types), **more)


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_two_zones(consumer):
    found = spread(consumer, A=subnet("us-east-1a"), B=subnet("us-east-1b"))
    assert_finds("UC-EFA-007", found, place="[1]: us-east-1a and us-east-1b for a fleet with EFA")
    assert own_ids(found) == {"UC-EFA-007"}


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_one_zone(consumer):
    assert_passes("UC-EFA-007", spread(consumer, A=subnet("us-east-1a"), B=subnet("us-east-1a")))
    picked = {"Fn::Select": [0, {"Fn::GetAZs": ""}]}
    assert_passes("UC-EFA-007", spread(consumer, A=subnet(picked), B=subnet(picked)))


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_two_zones_without_fabric(consumer):
    found = spread(consumer, interfaces=[entry(0, 0, "interface")], A=subnet("us-east-1a"), B=subnet("us-east-1b"))
    assert_passes("UC-EFA-007", found)


def test_zones_that_are_picked_from_the_region():
    zones = [{"Fn::Select": [at, {"Fn::GetAZs": {"Ref": "AWS::Region"}}]} for at in (0, 1)]
    assert own_ids(spread(group, A=subnet(zones[0]), B=subnet(zones[1]))) == {"UC-EFA-007"}


def test_zones_of_a_group_without_subnets():
    def made(zones):
        return template(
            Lt=launch_template(FABRIC, "g6.48xlarge"), Nodes=group(VPCZoneIdentifier=None, AvailabilityZones=zones)
        )

    assert own_ids(made(["us-east-1a", "us-east-1b"])) == {"UC-EFA-007"}
    assert_passes("UC-EFA-007", made(["us-east-1a"]))
    assert_not_judged("UC-EFA-007", made({"Fn::GetAZs": ""}))


def test_a_launch_template_of_an_override():
    override = {"InstanceType": "g6.48xlarge", "LaunchTemplateSpecification": named("Other")}
    found = template(
        Lt=launch_template(None, "m7i.large"),
        Other=launch_template(FABRIC),
        Nodes=mixed([override], subnets=(A, B)),
        A=subnet("us-east-1a"),
        B=subnet("us-east-1b"),
    )
    assert own_ids(found) == {"UC-EFA-007"}


def test_a_fleet_that_picks_one_of_several_zones():
    def made(**more):
        overrides = [{"SubnetId": A}, {"SubnetId": B}]
        configurations = [{"LaunchTemplateSpecification": named(), "Overrides": overrides}]
        properties = {
            "TargetCapacitySpecification": {"TotalTargetCapacity": 2},
            "LaunchTemplateConfigs": configurations,
        }
        fleet = {"Type": "AWS::EC2::EC2Fleet", "Properties": {**properties, **more}}
        zones = {"A": subnet("us-east-1a"), "B": subnet("us-east-1b")}
        return template(Lt=launch_template(FABRIC, "g6.48xlarge"), Nodes=fleet, **zones)

    assert own_ids(made()) == {"UC-EFA-007"}
    options = {"SingleAvailabilityZone": True}
    assert_passes("UC-EFA-007", made(Type="instant", OnDemandOptions=options))


@pytest.mark.parametrize("subnets", [[{"Ref": "One"}, {"Ref": "Two"}], {"Ref": "Several"}])
def test_subnets_of_elsewhere_are_not_judged(subnets):
    kind = {"Type": "AWS::EC2::Subnet::Id"}
    parameters = {"One": kind, "Two": kind, "Several": {"Type": "List<AWS::EC2::Subnet::Id>"}}
    found = template(parameters, Lt=launch_template(FABRIC, "g6.48xlarge"), Nodes=group(subnets))
    assert_not_judged("UC-EFA-007", found)


def test_fabric_and_zones_under_opposite_conditions():
    def made(first, second):
        return template(
            {"Efa": {"Type": "String", "Default": "no"}},
            {"HasEfa": {"Fn::Equals": [{"Ref": "Efa"}, "yes"]}},
            Lt=launch_template({"Fn::If": ["HasEfa", first, second]}, "g6.48xlarge"),
            Nodes=group({"Fn::If": ["HasEfa", [A], [A, B]]}),
            A=subnet("us-east-1a"),
            B=subnet("us-east-1b"),
        )

    plain = [entry(0, 0, "interface")]
    assert_passes("UC-EFA-007", made(FABRIC, plain))
    assert own_ids(made(plain, FABRIC)) == {"UC-EFA-007"}


def test_a_rule_for_one_protocol_needs_no_peer():
    """The usual group of a web server: its address range is a parameter, and still it is none for the fabric."""
    inbound = [{"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": {"Ref": "Range"}}]
    found = template({"Range": {"Type": "String"}}, Sg=security_group(SecurityGroupIngress=inbound))
    assert_passes("UC-EFA-006", found)
