"""The Auto Scaling group: keeps the number of nodes, changes nothing on its own, ends before a Capacity Block does."""

from __future__ import annotations

from datetime import UTC, datetime

from aws_cdk import aws_sns as sns

from support.compute import data_of, group_of, imported_network, p5
from support.templates import all_properties, only, references, resource_types, resources
from ultracluster.fleet.defaults import LAUNCH_HOOK_TIMEOUT_S, TERMINATE_HOOK_TIMEOUT_S
from ultracluster.network.cluster_network import ClusterNetwork
from ultracluster.plan.capacity import CapacityBlock, Reservation, Spot
from ultracluster.plan.names import LAUNCH_HOOK

BLOCK = "cr-0123456789abcdef0"


def test_a_fixed_fleet_says_its_size_three_times(stack, synth):
    p5(stack, count=4)
    group = group_of(synth(stack))
    assert (group["MinSize"], group["MaxSize"], group["DesiredCapacity"]) == ("4", "4", "4")


def test_the_size_of_a_flexible_fleet_is_not_reset_by_a_deployment(stack, synth):
    p5(stack, min_count=0, max_count=8)
    group = group_of(synth(stack))
    assert (group["MinSize"], group["MaxSize"]) == ("0", "8")
    assert "DesiredCapacity" not in group


def test_the_name_is_literal_and_the_same_everywhere(stack, synth):
    fleet = p5(stack)
    template = synth(stack)
    assert group_of(template)["AutoScalingGroupName"] == fleet.auto_scaling_group_name
    assert only(template, "AWS::Logs::LogGroup")["LogGroupName"] == f"/ultracluster/{fleet.auto_scaling_group_name}"
    assert len(fleet.auto_scaling_group_name) <= 64


def test_the_name_can_be_chosen(stack, synth):
    p5(stack, auto_scaling_group_name="llama-train")
    assert group_of(synth(stack))["AutoScalingGroupName"] == "llama-train"


def test_nodes_stand_in_the_subnet_of_their_zone(stack, synth):
    network = imported_network(stack, "us-east-1a", "us-east-1b")
    p5(stack, network=network, availability_zone="us-east-1b")
    assert group_of(synth(stack))["VPCZoneIdentifier"] == ["subnet-us-east-1b"]


def test_new_nodes_get_the_latest_template_and_running_ones_are_left_alone(stack, synth):
    p5(stack)
    template = synth(stack)
    (name,) = resources(template, "AWS::EC2::LaunchTemplate")
    assert group_of(template)["LaunchTemplate"] == {
        "LaunchTemplateId": {"Ref": name},
        "Version": {"Fn::GetAtt": [name, "LatestVersionNumber"]},
    }
    (group,) = resources(template, "AWS::AutoScaling::AutoScalingGroup").values()
    assert not {"UpdatePolicy", "CreationPolicy"} & set(group)
    assert "MaxInstanceLifetime" not in group["Properties"]


def test_all_group_metrics_are_on(stack, synth):
    """Without a list of metrics, all of them."""
    p5(stack)
    assert group_of(synth(stack))["MetricsCollection"] == [{"Granularity": "1Minute"}]


def test_a_node_that_is_not_ready_in_time_is_abandoned(stack, synth):
    p5(stack)
    launch, terminate = group_of(synth(stack))["LifecycleHookSpecificationList"]
    assert launch == {
        "DefaultResult": "ABANDON",
        "HeartbeatTimeout": LAUNCH_HOOK_TIMEOUT_S,
        "LifecycleHookName": LAUNCH_HOOK,
        "LifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING",
    }
    assert LAUNCH_HOOK_TIMEOUT_S >= 1800
    assert terminate["LifecycleTransition"] == "autoscaling:EC2_INSTANCE_TERMINATING"
    assert (terminate["DefaultResult"], terminate["HeartbeatTimeout"]) == ("CONTINUE", TERMINATE_HOOK_TIMEOUT_S)


def test_people_hear_of_every_kind_of_launch_and_termination(stack, synth):
    topic = sns.Topic(stack, "Topic")
    p5(stack, notification_topic=topic)
    template = synth(stack)
    (configuration,) = group_of(template)["NotificationConfigurations"]
    assert references(configuration["TopicARN"]) == set(resources(template, "AWS::SNS::Topic"))
    assert {name.partition(":")[2] for name in configuration["NotificationTypes"]} == {
        "EC2_INSTANCE_LAUNCH",
        "EC2_INSTANCE_LAUNCH_ERROR",
        "EC2_INSTANCE_TERMINATE",
        "EC2_INSTANCE_TERMINATE_ERROR",
    }


def test_nodes_wait_for_the_way_out_of_the_vpc(stack, synth):
    network = ClusterNetwork(stack, "Network", availability_zones=["us-east-1a"], flow_logs=False)
    p5(stack, network=network)
    template = synth(stack)
    (group,) = resources(template, "AWS::AutoScaling::AutoScalingGroup").values()
    assert [template["Resources"][name]["Properties"]["DestinationCidrBlock"] for name in group["DependsOn"]] == [
        "0.0.0.0/0"
    ]


def test_a_block_is_emptied_35_minutes_before_it_ends(stack, synth):
    end = datetime(2027, 3, 1, 11, 30, tzinfo=UTC)
    p5(
        stack,
        capacity=CapacityBlock(reservation_id=BLOCK, end=end),
        now=datetime(2027, 2, 1, tzinfo=UTC),
    )
    template = synth(stack)
    action = only(template, "AWS::AutoScaling::ScheduledAction")
    (group,) = resources(template, "AWS::AutoScaling::AutoScalingGroup")
    assert action == {
        "AutoScalingGroupName": {"Ref": group},
        "DesiredCapacity": 0,
        "MaxSize": 0,
        "MinSize": 0,
        "StartTime": "2027-03-01T10:55:00Z",
    }


def test_a_block_whose_end_is_not_known_has_no_schedule(stack, synth):
    fleet = p5(stack, capacity=CapacityBlock(reservation_id=BLOCK))
    template = synth(stack)
    assert all_properties(template, "AWS::AutoScaling::ScheduledAction") == []
    assert fleet.scale_in is None
    assert resource_types(template)["AWS::EC2::PlacementGroup"] == 0


def test_a_reservation_through_a_resource_group(stack, synth):
    arn = "arn:aws:resource-groups:us-east-1:111122223333:group/training"
    p5(stack, capacity=Reservation(resource_group_arn=arn))
    specification = data_of(synth(stack))["CapacityReservationSpecification"]
    assert specification["CapacityReservationTarget"] == {"CapacityReservationResourceGroupArn": arn}
    assert specification.get("CapacityReservationPreference") in {None, "capacity-reservations-only"}


def test_the_placement_group_of_a_reservation_is_honoured(stack, synth):
    p5(stack, capacity=Reservation(reservation_id=BLOCK, placement_group_name="rack-7"))
    template = synth(stack)
    assert data_of(template)["Placement"] == {"GroupName": "rack-7"}
    assert resource_types(template)["AWS::EC2::PlacementGroup"] == 0


def test_one_type_on_spot(stack, synth):
    """`TrainingFleet(capacity=Spot())` buys through a mixed policy too, and replaces nodes that EC2 wants back."""
    fleet = p5(stack, capacity=Spot(max_price_usd=40.5))
    template = synth(stack)
    group = group_of(template)
    assert "LaunchTemplate" not in group
    assert group["CapacityRebalance"] is True
    distribution = group["MixedInstancesPolicy"]["InstancesDistribution"]
    assert distribution["SpotMaxPrice"] == "40.5"
    assert distribution["SpotAllocationStrategy"] == "price-capacity-optimized"
    assert "InstanceMarketOptions" not in data_of(template)
    assert fleet.plan.spot is not None


def test_metrics_name_the_group_literally(stack):
    fleet = p5(stack, metrics_namespace="Llama")
    metric = fleet.metric("nvidia_smi_utilization_gpu")
    assert metric.namespace == "Llama"
    assert metric.dimensions == {"AutoScalingGroupName": fleet.auto_scaling_group_name}
    assert fleet.metric_nodes_in_service().metric_name == "GroupInServiceInstances"
    assert fleet.metric_desired_nodes().namespace == "AWS/AutoScaling"


def test_a_fleet_may_be_empty(stack, synth):
    p5(stack, min_count=0, max_count=1)
    assert group_of(synth(stack))["MinSize"] == "0"
