"""EfaPlacementGroup: self rules in both directions whatever else is open, and a group that is never replaced."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2

from support.efa_rule import self_rules
from support.templates import all_properties, only, resource_types, resources
from ultracluster.findings import FindingsError
from ultracluster.placement.efa_placement_group import EfaPlacementGroup
from ultracluster.plan.placement import NONE, ExistingPlacementGroup


@pytest.fixture
def vpc(stack):
    return ec2.Vpc.from_vpc_attributes(
        stack, "Vpc", vpc_id="vpc-0123456789abcdef0", availability_zones=["us-east-1a"], vpc_cidr_block="10.0.0.0/16"
    )


@pytest.mark.parametrize("allow_all_outbound", [True, False])
def test_both_self_rules_stand_beside_any_other_rule(stack, synth, vpc, allow_all_outbound):
    efa = EfaPlacementGroup(stack, "Efa", vpc=vpc, allow_all_outbound=allow_all_outbound)
    efa.connections.allow_from(ec2.Peer.ipv4("10.0.0.0/16"), ec2.Port.tcp(22))
    template = synth(stack)
    (group,) = resources(template, "AWS::EC2::SecurityGroup")
    assert self_rules(template, {"Ref": group}) == {"Ingress", "Egress"}
    outbound = only(template, "AWS::EC2::SecurityGroup")["SecurityGroupEgress"]
    assert [rule["CidrIp"] for rule in outbound] == ["0.0.0.0/0" if allow_all_outbound else "255.255.255.255/32"]


def test_the_self_rules_can_reach_a_group_of_somebody_else(stack, synth, vpc):
    """The group allows everything outbound, which makes CDK drop later egress rules with a warning only."""
    given = ec2.SecurityGroup(stack, "Given", vpc=vpc)
    efa = EfaPlacementGroup(stack, "Efa", vpc=vpc, security_group=given)
    template = synth(stack)
    (group,) = resources(template, "AWS::EC2::SecurityGroup")
    assert self_rules(template, {"Fn::GetAtt": [group, "GroupId"]}) == {"Ingress", "Egress"}
    assert efa.security_group is given
    assert efa.cfn_security_group is None


def test_an_imported_group_with_self_rules_is_left_alone(stack, synth, vpc):
    given = ec2.SecurityGroup.from_security_group_id(stack, "Given", "sg-0123456789abcdef0")
    efa = EfaPlacementGroup(stack, "Efa", vpc=vpc, security_group=given, has_self_rules=True)
    assert resource_types(synth(stack)) == {"AWS::EC2::PlacementGroup": 1}
    assert efa.self_ingress is None
    assert efa.self_egress is None


def test_self_rules_of_no_group_are_refused(stack, vpc):
    with pytest.raises(FindingsError, match=r"^Test/Efa\.has_self_rules: .*\[UC-API-002\]$"):
        EfaPlacementGroup(stack, "Efa", vpc=vpc, has_self_rules=True)


def test_a_cluster_group_is_made(stack, synth, vpc):
    efa = EfaPlacementGroup(stack, "Efa", vpc=vpc)
    template = synth(stack)
    assert only(template, "AWS::EC2::PlacementGroup") == {"Strategy": "cluster"}
    (name,) = resources(template, "AWS::EC2::PlacementGroup")
    assert stack.resolve(efa.placement_group_name) == {"Ref": name}


def test_tags_of_the_application_do_not_replace_the_placement_group(app, stack, synth, vpc):
    """Every property of a placement group is create-only, tags included."""
    EfaPlacementGroup(stack, "Efa", vpc=vpc)
    cdk.Tags.of(app).add("build", "4711")
    template = synth(stack)
    assert "Tags" not in only(template, "AWS::EC2::PlacementGroup")
    assert {"Key": "build", "Value": "4711"} in only(template, "AWS::EC2::SecurityGroup")["Tags"]


@pytest.mark.parametrize(("placement", "name"), [(NONE, None), (ExistingPlacementGroup(name="rack-7"), "rack-7")])
def test_no_group_is_made_when_none_is_wanted_or_one_exists(stack, synth, vpc, placement, name):
    efa = EfaPlacementGroup(stack, "Efa", vpc=vpc, placement=placement)
    assert efa.placement_group_name == name
    assert all_properties(synth(stack), "AWS::EC2::PlacementGroup") == []


def test_the_construct_is_connectable(stack, synth, vpc):
    efa = EfaPlacementGroup(stack, "Efa", vpc=vpc)
    storage = ec2.SecurityGroup(stack, "Storage", vpc=vpc)
    storage.connections.allow_from(efa, ec2.Port.tcp(988))
    ports = [rule.get("FromPort") for rule in all_properties(synth(stack), "AWS::EC2::SecurityGroupIngress")]
    assert 988 in ports
