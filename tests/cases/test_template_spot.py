"""Cases C18-C21 over synthesized templates: Spot through the policy, interruption queues, bootstrap everywhere."""

from __future__ import annotations

import pytest

from support.compute import group_of, imported_network, p5
from support.templates import all_properties, launch_template_data, references, resources, user_data
from ultracluster.findings import FindingsError
from ultracluster.plan.capacity import Spot
from ultracluster.plan.user_data import MARKER
from ultracluster.spot.spot_training_fleet import SpotTrainingFleet

TYPES = ["p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge"]


def spot(stack, **arguments):
    network = imported_network(stack, "us-east-1a", "us-east-1b")
    return SpotTrainingFleet(
        stack, "Research", **{"network": network, "instance_types": TYPES, "count": 4, **arguments}
    )


def test_c18_spot_is_bought_through_the_policy_alone(stack, synth):
    spot(stack)
    template = synth(stack)
    assert group_of(template)["MixedInstancesPolicy"]["InstancesDistribution"]["SpotAllocationStrategy"]
    assert all("InstanceMarketOptions" not in data for data in launch_template_data(template))


def test_c18_holds_for_one_type_too(stack, synth):
    p5(stack, capacity=Spot())
    template = synth(stack)
    assert "MixedInstancesPolicy" in group_of(template)
    assert all("InstanceMarketOptions" not in data for data in launch_template_data(template))


def test_c19_pools_without_lowest_price_are_refused(stack):
    with pytest.raises(FindingsError, match="UC-SPT-002"):
        spot(stack, capacity=Spot(spot_instance_pools=4))


def test_c19_pools_with_lowest_price_are_written(stack, synth):
    spot(stack, capacity=Spot(allocation_strategy="lowest-price", spot_instance_pools=4))
    distribution = group_of(synth(stack))["MixedInstancesPolicy"]["InstancesDistribution"]
    assert (distribution["SpotAllocationStrategy"], distribution["SpotInstancePools"]) == ("lowest-price", 4)


def test_c20_every_queue_that_is_a_target_can_be_written_to_by_eventbridge(stack, synth):
    spot(stack)
    template = synth(stack)
    rules = all_properties(template, "AWS::Events::Rule")
    targets = {name for rule in rules for target in rule["Targets"] for name in references(target["Arn"])}
    queues = targets & set(resources(template, "AWS::SQS::Queue"))
    assert queues
    for name in queues:
        queue = template["Resources"][name]["Properties"]
        assert queue["SqsManagedSseEnabled"] is True
        assert "KmsMasterKeyId" not in queue


def test_c20_the_rules_cover_warning_and_recommendation(stack, synth):
    spot(stack)
    patterns = [rule["EventPattern"] for rule in all_properties(synth(stack), "AWS::Events::Rule")]
    found = {name for pattern in patterns for name in pattern["detail-type"]}
    assert {"EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation"} <= found


def test_c21_every_template_that_the_policy_reaches_carries_the_bootstrap(stack, synth):
    fleet = spot(stack, user_data="#!/bin/bash\necho tuned\n")
    template = synth(stack)
    policy = group_of(template)["MixedInstancesPolicy"]["LaunchTemplate"]
    reached = references(policy)
    assert reached == set(resources(template, "AWS::EC2::LaunchTemplate"))
    assert len(reached) == len(fleet.launch_templates) == 2
    for name in reached:
        text = user_data(template, template["Resources"][name]["Properties"]["LaunchTemplateData"])
        assert MARKER in text.partition("\n")[0]
        assert "echo tuned" in text
