"""SpotTrainingFleet: one launch template per card layout, EFA in one zone, and the mixed instances policy."""

from __future__ import annotations

import pytest

from support.compute import group_of, imported_network
from support.efa_rule import efa_entries, efa_faults
from support.linting import lint_errors
from support.templates import launch_template_data, references, resource_types, resources, user_data
from ultracluster.facts.instances import catalog
from ultracluster.findings import FindingsError
from ultracluster.plan.capacity import OnDemand, Spot
from ultracluster.plan.user_data import MARKER
from ultracluster.spot.spot_training_fleet import SpotTrainingFleet

TYPES = ["p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge"]
ZONES = ["us-east-1a", "us-east-1b"]


def spot(stack, *zones, **arguments):
    network = imported_network(stack, *(zones or ZONES))
    return SpotTrainingFleet(
        stack, "Research", **{"network": network, "instance_types": TYPES, "min_count": 0, "max_count": 8, **arguments}
    )


def test_one_launch_template_per_layout_and_every_type_in_the_overrides(stack, synth):
    """P5 and P5e have equal cards, P5en has others."""
    fleet = spot(stack)
    template = synth(stack)
    policy = group_of(template)["MixedInstancesPolicy"]["LaunchTemplate"]
    base = policy["LaunchTemplateSpecification"]
    overrides = {override["InstanceType"]: override for override in policy["Overrides"]}
    assert list(overrides) == TYPES
    assert "LaunchTemplateSpecification" not in overrides["p5.48xlarge"]
    assert "LaunchTemplateSpecification" not in overrides["p5e.48xlarge"]
    own = overrides["p5en.48xlarge"]["LaunchTemplateSpecification"]
    templates = set(resources(template, "AWS::EC2::LaunchTemplate"))
    assert references(base["LaunchTemplateId"]) | references(own["LaunchTemplateId"]) == templates
    assert len(templates) == len(fleet.launch_templates) == 2
    assert own["Version"] == {"Fn::GetAtt": [next(iter(references(own["LaunchTemplateId"]))), "LatestVersionNumber"]}


def test_over_several_zones_there_is_no_fabric_and_no_placement_group(stack, synth):
    spot(stack)
    template = synth(stack)
    assert group_of(template)["VPCZoneIdentifier"] == ["subnet-us-east-1a", "subnet-us-east-1b"]
    assert all(efa_entries(data["NetworkInterfaces"]) == [] for data in launch_template_data(template))
    assert resource_types(template)["AWS::EC2::PlacementGroup"] == 0


def test_in_one_zone_every_layout_has_its_whole_fabric(stack, synth):
    fleet = spot(stack, "us-east-1a")
    template = synth(stack)
    for data, layout in zip(launch_template_data(template), fleet.plan.layouts, strict=True):
        for facts in layout.instance_types:
            assert efa_faults(facts, data) == []


def test_all_spot_by_price_and_capacity_unless_told_otherwise(stack, synth):
    spot(stack)
    group = group_of(synth(stack))
    assert group["CapacityRebalance"] is True
    distribution = group["MixedInstancesPolicy"]["InstancesDistribution"]
    assert distribution["OnDemandBaseCapacity"] == 0
    assert distribution["OnDemandPercentageAboveBaseCapacity"] == 0
    assert distribution["SpotAllocationStrategy"] == "price-capacity-optimized"
    assert not {"SpotInstancePools", "SpotMaxPrice"} & set(distribution)


def test_an_on_demand_base(stack, synth):
    spot(stack, capacity=Spot(on_demand_base_count=2, on_demand_percentage_above_base=25))
    distribution = group_of(synth(stack))["MixedInstancesPolicy"]["InstancesDistribution"]
    assert distribution["OnDemandBaseCapacity"] == 2
    assert distribution["OnDemandPercentageAboveBaseCapacity"] == 25


def test_every_launch_template_carries_the_bootstrap(stack, synth):
    spot(stack)
    template = synth(stack)
    for data in launch_template_data(template):
        assert MARKER in user_data(template, data).partition("\n")[0]


def test_notices_have_a_queue_of_the_fleet(stack, synth):
    fleet = spot(stack)
    assert fleet.interruption_queue_name == f"{fleet.auto_scaling_group_name}-spot"
    assert fleet.interruption_dead_letter_queue_name == f"{fleet.auto_scaling_group_name}-spot-dead"
    types = resource_types(synth(stack))
    assert types["AWS::SQS::Queue"] == 2
    assert types["AWS::Events::Rule"] == 3


def test_launch_template_ids_follow_the_types_and_not_their_place(stack, synth):
    fleet = spot(stack)
    assert [template.node.id for template in fleet.launch_templates] == [
        "LaunchTemplate-p5.48xlarge",
        "LaunchTemplate-p5en.48xlarge",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        {"instance_types": ["p6e-gb200.36xlarge"]},
        {"capacity": Spot(allocation_strategy="price-capacity-optimized", spot_instance_pools=4)},
        {"efa": 32},
        {"instance_types": ["p5.48xlarge", "trn2.48xlarge"]},
        {"availability_zones": []},
    ],
    ids=["not sold as Spot", "pools", "fabric over zones", "two vendors", "no zone"],
)
def test_what_is_refused(stack, arguments):
    with pytest.raises(FindingsError, match=r"^Test/Research"):
        spot(stack, **arguments)


def test_every_spot_type_of_the_catalogue_makes_a_fleet(stack, synth):
    names = [name for name, facts in catalog().items() if "spot" in facts.purchase_options]
    network = imported_network(stack, "us-east-1a")
    for name in names:
        SpotTrainingFleet(stack, name.replace(".", "-"), network=network, instance_types=[name], count=1)
    found = {data["InstanceType"]: data for data in launch_template_data(synth(stack))}
    assert found.keys() == set(names)
    assert {name: faults for name, data in found.items() if (faults := efa_faults(catalog()[name], data))} == {}


def test_the_template_passes_the_registry_schemas(stack, synth):
    spot(stack, "us-east-1a")
    assert lint_errors(synth(stack)) == []


def test_another_kind_of_capacity_is_refused(stack):
    with pytest.raises(FindingsError) as error:
        spot(stack, "us-east-1a", instance_types=["p5.48xlarge"], capacity=OnDemand())
    (found,) = error.value.findings
    assert (found.rule_id, found.subject) == ("UC-API-002", "Test/Research.capacity")
