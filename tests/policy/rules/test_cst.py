"""UC-CST-001, 003, 006, 009, 010, 011: what costs without use, and who watches it."""

from __future__ import annotations

import pytest

from support.networks import NOTHING, TAGS, UNKNOWN, fleet, launch_template, made, only, own_ids, template
from support.policy import assert_not_judged, assert_passes

CASES = {"Case": {"Fn::Equals": [UNKNOWN, "yes"]}}
LT = {"LaunchTemplateId": {"Ref": "Lt"}, "Version": "1"}

# Idle accelerators


def nodes(**more):
    return made("AWS::EKS::Nodegroup", **{"LaunchTemplate": {"Id": {"Ref": "Lt"}}, "Subnets": ["subnet-1"], **more})


def batch(**more):
    return made("AWS::Batch::ComputeEnvironment", ComputeResources={"Type": "EC2", "LaunchTemplate": LT, **more})


def pcs(**more):
    return made("AWS::PCS::ComputeNodeGroup", CustomLaunchTemplate={"TemplateId": {"Ref": "Lt"}}, **more)


IDLE = {
    "group": (fleet(MinSize="4"), "MinSize: 4 instances of p5.48xlarge run, and are billed, without a job"),
    "desired": (fleet(DesiredCapacity=2), "DesiredCapacity: 2 instances"),
    "nodes": (nodes(ScalingConfig={"MinSize": 1, "DesiredSize": 1}), "ScalingConfig.MinSize: 1"),
    "desired nodes": (nodes(ScalingConfig={"MinSize": 0, "DesiredSize": 3}), "ScalingConfig.DesiredSize: 3"),
    "batch": (batch(MinvCpus=192), "ComputeResources.MinvCpus: 192 vCPUs"),
    "pcs": (pcs(ScalingConfiguration={"MinInstanceCount": 2}), "MinInstanceCount: 2"),
}


@pytest.mark.parametrize(("launcher", "place"), IDLE.values(), ids=IDLE)
def test_idle_accelerators(launcher, place):
    only("UC-CST-001", template(Lt=launch_template(), Fleet=launcher), place=place)
    assert_passes("UC-CST-001", template(Lt=launch_template(InstanceType="m7i.large"), Fleet=launcher))
    reserved = {"CapacityReservationTarget": {"CapacityReservationId": "cr-1"}}
    assert_passes("UC-CST-001", template(Lt=launch_template(CapacityReservationSpecification=reserved), Fleet=launcher))
    block = launch_template(InstanceMarketOptions={"MarketType": "capacity-block"})
    assert_passes("UC-CST-001", template(Lt=block, Fleet=launcher))


@pytest.mark.parametrize(
    "launcher",
    [
        fleet(),
        fleet(MinSize=NOTHING, DesiredCapacity=0),
        nodes(ScalingConfig={"MinSize": 1}, CapacityType="SPOT"),
        nodes(ScalingConfig={"MinSize": 1}, CapacityType="CAPACITY_BLOCK"),
        batch(MinvCpus=192, Type="SPOT"),
        pcs(ScalingConfiguration={"MinInstanceCount": 2}, PurchaseOption="SPOT"),
        fleet(
            MinSize=4, CapacityReservationSpecification={"CapacityReservationPreference": "capacity-reservations-only"}
        ),
        fleet(
            MinSize=4,
            LaunchTemplate=None,
            MixedInstancesPolicy={
                "LaunchTemplate": {"LaunchTemplateSpecification": LT},
                "InstancesDistribution": {"OnDemandPercentageAboveBaseCapacity": 0},
            },
        ),
    ],
)
def test_fleets_that_are_paid_otherwise(launcher):
    assert_passes("UC-CST-001", template(Lt=launch_template(), Fleet=launcher))


def test_fleets_that_are_emptied():
    action = made("AWS::AutoScaling::ScheduledAction", AutoScalingGroupName={"Ref": "Fleet"}, MinSize=0)
    assert_passes("UC-CST-001", template(Lt=launch_template(), Fleet=fleet(MinSize=4), Night=action))


def test_fleets_of_an_open_reservation():
    reservation = made("AWS::EC2::CapacityReservation", InstanceType="p5.48xlarge", EndDateType="limited", EndDate="x")
    assert_passes("UC-CST-001", template(Lt=launch_template(), Fleet=fleet(MinSize=4), Reserved=reservation))


def test_sizes_that_cannot_be_known():
    assert_not_judged("UC-CST-001", template(Lt=launch_template(), Fleet=fleet(MinSize=UNKNOWN)))
    assert_not_judged("UC-CST-001", template(Lt=launch_template(InstanceType=UNKNOWN), Fleet=fleet(MinSize=1)))


def test_size_and_type_under_one_condition():
    data = launch_template(InstanceType={"Fn::If": ["Case", "m7i.large", "p5.48xlarge"]})
    found = template(conditions=CASES, Lt=data, Fleet=fleet(MinSize={"Fn::If": ["Case", 4, 0]}))
    assert_passes("UC-CST-001", found)


# Tags


def tagged(*kinds, tags=TAGS):
    return launch_template(TagSpecifications=[{"ResourceType": kind, "Tags": tags} for kind in kinds] or None)


def key(name):
    return [{"Key": "Name", "Value": "node"}, {"Key": name, "Value": "llm"}]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (tagged(), "Lt : no tag of volumes and instances"),
        (tagged("instance"), "Lt LaunchTemplateData.TagSpecifications: no tag of volumes tells"),
        (tagged("volume"), "no tag of instances tells"),
        (tagged("instance", "volume", tags=[{"Key": "Name", "Value": "x"}]), "no tag of volumes and instances"),
    ],
)
def test_launch_templates_without_cost_tags(data, place):
    only("UC-CST-003", template(Lt=data, Fleet=fleet()), place=place)


@pytest.mark.parametrize(
    "name", ["project", "Owner", "run-id", "cost-centre", "CostCenter", "acme:cost:center", "Team"]
)
def test_cost_tags(name):
    assert_passes("UC-CST-003", template(Lt=tagged("instance", "volume", tags=key(name)), Fleet=fleet()))


def test_tags_of_instances_by_other_ways():
    handed = fleet(Tags=[{"Key": "project", "Value": "llm", "PropagateAtLaunch": True}])
    assert_passes("UC-CST-003", template(Lt=tagged("volume"), Fleet=handed))
    kept = fleet(Tags=[{"Key": "project", "Value": "llm", "PropagateAtLaunch": False}])
    only("UC-CST-003", template(Lt=tagged("volume"), Fleet=kept), place="no tag of instances")
    assert_passes("UC-CST-003", template(Lt=tagged("volume"), Fleet=nodes()))


def test_launch_templates_that_no_fleet_launches():
    assert_passes("UC-CST-003", template(Lt=tagged()))
    assert_passes("UC-CST-003", template(Lt=tagged(), Box=made("AWS::EC2::Instance", LaunchTemplate=LT)))


@pytest.mark.parametrize("tags", [UNKNOWN, [{"Key": UNKNOWN, "Value": "x"}]])
def test_tags_that_cannot_be_known(tags):
    data = launch_template(TagSpecifications=[{"ResourceType": "volume", "Tags": tags}])
    assert_not_judged("UC-CST-003", template(Lt=data, Fleet=nodes()))
    assert_not_judged("UC-CST-003", template(Lt=launch_template(TagSpecifications=UNKNOWN), Fleet=nodes()))


BUDGET = made("AWS::Budgets::Budget")
FILES = {"FSx": ("AWS::FSx::FileSystem", "Tags"), "EFS": ("AWS::EFS::FileSystem", "FileSystemTags")}


@pytest.mark.parametrize(("kind", "name"), FILES.values(), ids=FILES)
def test_tags_of_file_systems(kind, name):
    bare, named = made(kind), made(kind, **{name: key("project")})
    only("UC-CST-003", template(Files=bare, Budget=BUDGET), place="Files : no tag tells", is_app=True)
    assert_passes("UC-CST-003", template(Files=named, Budget=BUDGET), is_app=True)
    assert_not_judged("UC-CST-003", template(Files=bare))
    assert_passes("UC-CST-003", template(Files=named))


def test_kind_and_tag_under_one_condition():
    entry = {
        "ResourceType": {"Fn::If": ["Case", "volume", "instance"]},
        "Tags": [{"Key": {"Fn::If": ["Case", "project", "Name"]}, "Value": "x"}],
    }
    other = {**entry, "ResourceType": {"Fn::If": ["Case", "instance", "volume"]}}
    plain = {"ResourceType": {"Fn::If": ["Case", "network-interface", "volume"]}, "Tags": TAGS}
    data = launch_template(TagSpecifications=[entry, other, plain])
    assert_passes("UC-CST-003", template(conditions=CASES, Lt=data, Fleet=nodes()))


# Budgets

SPENDS = {"Lt": launch_template(), "Fleet": fleet()}


def alarm(namespace):
    return made("AWS::CloudWatch::Alarm", Namespace=namespace, MetricName="EstimatedCharges")


def test_apps_that_nobody_watches():
    only("UC-CST-006", template(**SPENDS), place="template0 : no AWS::Budgets::Budget", is_app=True)
    only("UC-CST-006", template(**SPENDS, Alarm=alarm("AWS/EC2")), place="no AWS::Budgets::Budget", is_app=True)


@pytest.mark.parametrize("watch", [BUDGET, alarm("AWS/Billing")])
def test_apps_that_somebody_watches(watch):
    assert_passes("UC-CST-006", template(**SPENDS), template(Watch=watch), is_app=True)


def test_where_a_budget_is_not_missed():
    assert_passes("UC-CST-006", template(**SPENDS))
    assert_passes("UC-CST-006", template(Bucket=made("AWS::S3::Bucket")), is_app=True)
    assert_not_judged("UC-CST-006", template(**SPENDS, Alarm=alarm(UNKNOWN)), is_app=True)


def test_fleet_and_budget_under_one_condition():
    found = template(
        conditions=CASES,
        Lt=launch_template(),
        Fleet={**fleet(), "Condition": "Case"},
        Budget={**BUDGET, "Condition": "Case"},
    )
    assert_passes("UC-CST-006", found, is_app=True)


# Monitoring

WATCHED = launch_template(Monitoring={"Enabled": True})


def test_detailed_monitoring():
    place = "Lt LaunchTemplateData.Monitoring.Enabled: detailed monitoring of up to 500 instances of Fleet"
    only("UC-CST-009", template(Lt=WATCHED, Fleet=fleet(MaxSize=500)), place=place)
    assert_passes("UC-CST-009", template(Lt=WATCHED, Fleet=fleet(MaxSize=8)))
    assert_passes("UC-CST-009", template(Lt=launch_template(Monitoring={"Enabled": "false"}), Fleet=fleet(MaxSize=500)))
    assert_passes("UC-CST-009", template(Lt=launch_template(), Fleet=fleet(MaxSize=500)))
    assert_not_judged(
        "UC-CST-009", template(Lt=launch_template(Monitoring={"Enabled": UNKNOWN}), Fleet=fleet(MaxSize=500))
    )
    assert_not_judged("UC-CST-009", template(Lt=WATCHED, Fleet=fleet(MaxSize=UNKNOWN)))
    switched = launch_template(Monitoring={"Enabled": {"Fn::If": ["Case", True, False]}})
    size = fleet(MaxSize={"Fn::If": ["Case", 8, 500]})
    assert_passes("UC-CST-009", template(conditions=CASES, Lt=switched, Fleet=size))


# What outlives its job

BUILD = "AWS::ImageBuilder::InfrastructureConfiguration"


def volume(keep):
    mapping = {"DeviceName": "/dev/xvda", "Ebs": {"DeleteOnTermination": keep}}
    return launch_template(BlockDeviceMappings=[mapping])


def test_build_hosts():
    stays = made(BUILD, TerminateInstanceOnFailure="false", InstanceTypes=["g5.12xlarge"])
    only("UC-CST-010", template(Build=stays), place="Build TerminateInstanceOnFailure: false: the build host stays")
    later = made(BUILD, TerminateInstanceOnCompletion=False)
    only("UC-CST-010", template(Build=later), place="TerminateInstanceOnCompletion")
    for value in (True, None):
        assert_passes("UC-CST-010", template(Build=made(BUILD, TerminateInstanceOnFailure=value)))
    assert_not_judged("UC-CST-010", template(Build=made(BUILD, TerminateInstanceOnFailure=UNKNOWN)))


def test_volumes():
    place = "Lt LaunchTemplateData.BlockDeviceMappings[0].Ebs.DeleteOnTermination: false: each node"
    only("UC-CST-010", template(Lt=volume(False), Fleet=fleet()), place=place)
    for keep in (True, "true", NOTHING):
        assert_passes("UC-CST-010", template(Lt=volume(keep), Fleet=fleet()))
    assert_passes("UC-CST-010", template(Lt=volume(False), Box=made("AWS::EC2::Instance", LaunchTemplate=LT)))
    assert_passes("UC-CST-010", template(Lt=volume(False)))
    assert_not_judged("UC-CST-010", template(Lt=volume(UNKNOWN), Fleet=fleet()))


def test_volumes_and_fleets_under_one_condition():
    conditions = {**CASES, "Not": {"Fn::Not": [{"Condition": "Case"}]}}
    keep = volume({"Fn::If": ["Case", False, True]})
    assert_passes("UC-CST-010", template(conditions=conditions, Lt=keep, Fleet={**fleet(), "Condition": "Not"}))


# Reservations


def reservation(**more):
    written = {"InstanceType": "p5.48xlarge", "InstanceCount": 4, **more}
    return made("AWS::EC2::CapacityReservation", **written)


ENDS = {"EndDateType": "limited", "EndDate": "2027-01-31T00:00:00Z"}
TARGETED = {**ENDS, "InstanceMatchCriteria": "targeted"}
TARGET = {"CapacityReservationTarget": {"CapacityReservationId": {"Ref": "Reserved"}}}


def test_reservations_without_an_end():
    only("UC-CST-011", template(Reserved=reservation()), place="Reserved : unlimited by default without an end")
    for kind in ({"EndDateType": "unlimited"}, {"EndDateType": "limited"}):
        only("UC-CST-011", template(Reserved=reservation(**kind)), place="Reserved EndDateType: EndDateType")
    assert_passes("UC-CST-011", template(Reserved=reservation(**ENDS)))
    assert_passes("UC-CST-011", template(Reserved=reservation(**{**ENDS, "EndDate": UNKNOWN})))
    assert_not_judged("UC-CST-011", template(Reserved=reservation(EndDateType=UNKNOWN)))


def test_reservations_without_a_user():
    only(
        "UC-CST-011", template(Reserved=reservation(**TARGETED)), place="InstanceMatchCriteria: targeted, and no fleet"
    )
    used = launch_template(CapacityReservationSpecification=TARGET)
    assert_passes("UC-CST-011", template(Reserved=reservation(**TARGETED), Lt=used))
    exported = template(Reserved=reservation(**TARGETED))
    assert_passes("UC-CST-011", {**exported, "Outputs": {"Id": {"Value": {"Ref": "Reserved"}}}})
    assert_not_judged("UC-CST-011", template(Reserved=reservation(**{**TARGETED, "InstanceMatchCriteria": UNKNOWN})))


def test_ends_under_one_condition():
    kind = {"Fn::If": ["Case", "limited", "unlimited"]}
    found = template(
        conditions=CASES,
        Reserved={**reservation(EndDateType=kind, EndDate={"Fn::If": ["Case", "2027-01-31T00:00:00Z", NOTHING]})},
    )
    found["Resources"]["Reserved"]["Condition"] = "Case"
    assert own_ids(found) == set()
