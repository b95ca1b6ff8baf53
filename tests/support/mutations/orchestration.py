"""More changes that break rules on EKS, Batch, PCS and HyperPod, on fleets and on reserved capacity."""

from __future__ import annotations

import json

from support.fabric import entry
from support.mutations.services import types_of_the_group
from support.mutations.tools import Body, Change, Mutation, Place, each, needs, put

_LT, _ASG, _GROUP = "EC2::LaunchTemplate", "AutoScaling::AutoScalingGroup", "EKS::Nodegroup"
_ENVIRONMENT, _JOB = "Batch::ComputeEnvironment", "Batch::JobDefinition"
_PCS, _NODES, _QUEUE, _PODS = "PCS::Cluster", "PCS::ComputeNodeGroup", "PCS::Queue", "SageMaker::Cluster"
_DATA, _POOL = "LaunchTemplateData", "ComputeResources"
_RANGES = ("NodeProperties", "NodeRangeProperties")
_TARGET = ("CapacityReservationSpecification", "CapacityReservationTarget")
_EFA, _PAGES = "vpc.amazonaws.com/efa", "hugepages-2Mi"
_ULTRASERVER = "p6e-gb200.36xlarge"


def _launched_by(kind: str, change: Change) -> Change:
    """A change of a launch template in a template with a consumer of a type."""

    def changed(place: Place) -> None:
        needs(place.others(kind))
        change(place)

    return changed


def _default_group_closed(place: Place) -> None:
    group = {"Fn::GetAtt": ["Vpc", "DefaultSecurityGroup"]}
    place.add("Closer", "Custom::VpcRestrictDefaultSG", DefaultSecurityGroupId=group, Account="111122223333")


def _to_the_internet(place: Place) -> None:
    place.add("Gateway", "EC2::InternetGateway")
    way = {"DestinationCidrBlock": "0.0.0.0/0", "GatewayId": {"Ref": "Gateway"}}
    place.add("Out", "EC2::Route", RouteTableId={"Ref": "Table"}, **way)


def _long_definition(place: Place) -> None:
    variables = [{"Name": f"SETTING_{at}", "Value": "x" * 100} for at in range(300)]
    place.at(*_RANGES, 0, "Container")["Environment"] = variables


def _ranges(place: Place) -> Body:
    """The one range of a job, which is given the first node alone."""
    listed = place.at(*_RANGES)
    listed[0]["TargetNodes"] = "0:0"
    copied: Body = json.loads(json.dumps(listed[0]))
    return copied


def _six_ranges(place: Place) -> None:
    one = _ranges(place)
    place.properties["NodeProperties"]["NumNodes"] = 6
    place.at(*_RANGES).extend({**one, "TargetNodes": f"{at}:{at}"} for at in range(1, 6))


def _range_of_another_type(place: Place) -> None:
    more = _ranges(place)
    more["TargetNodes"] = "1:"
    more["Container"]["InstanceType"] = "p5e.48xlarge"
    place.at(*_RANGES).append(more)


def _override(*targets: str) -> Change:
    def change(place: Place) -> None:
        own = place.at(_POOL, "LaunchTemplate")
        base = {key: value for key, value in own.items() if key != "Overrides"}
        own["Overrides"] = [{**base, "TargetInstanceTypes": list(targets)}]

    return change


def _batch_on_eks(place: Place) -> None:
    limits = {"nvidia.com/gpu": "8", _EFA: "32"}
    container = {"Image": "train:1", "Resources": {"Limits": limits}}
    place.properties["Type"] = "container"
    place.properties.pop("NodeProperties")
    place.properties["EksProperties"] = {"PodProperties": {"Containers": [container]}}


def _without_pages(place: Place) -> None:
    document = json.loads(place.at("Manifest"))
    del document[0]["spec"]["containers"][0]["resources"]["limits"][_PAGES]
    place.properties["Manifest"] = json.dumps(document)


def _own_groups_only(place: Place) -> None:
    for one in place.entries("interface", "efa", "efa-only"):
        one["Groups"] = [group for group in one["Groups"] if "Api" not in str(group)]


def _block_with(**values: object) -> Change:
    """Let a node group of EKS draw on a Capacity Block."""

    def change(place: Place) -> None:
        place.properties["CapacityType"] = "CAPACITY_BLOCK"
        place.properties["ScalingConfig"] = {"MinSize": 0, "MaxSize": 8, **values}
        for _, body in place.others(_LT):
            data = body["Properties"][_DATA]
            data["InstanceMarketOptions"] = {"MarketType": "capacity-block"}
            data[_TARGET[0]] = {_TARGET[1]: {"CapacityReservationId": "cr-0123456789abcdef0"}}

    return change


def _lifecycle(on_error: str) -> Change:
    """A script that nodes of PCS fetch from a bucket, as it is at that time."""
    script = {"ScriptSource": {"ScriptLocation": "s3://own-scripts/setup.sh"}, "OnError": on_error}
    return put("NodeLifecycleActions", {"Stages": {"OnNodeStart": [script]}})


def _setting(name: str, value: str) -> Change:
    def change(place: Place) -> None:
        settings = place.properties["SlurmConfiguration"].setdefault("SlurmCustomSettings", [])
        settings.append({"ParameterName": name, "ParameterValue": value})

    return change


def _ultraservers(place: Place) -> None:
    """Interfaces for the cards of an UltraServer node, of which the first has no fabric."""
    place.properties["InstanceConfigs"] = [{"InstanceType": _ULTRASERVER}]
    for _, body in place.others(_LT):
        data = body["Properties"][_DATA]
        data.pop("InstanceType", None)


def _beside_ultraservers(place: Place) -> None:
    other = json.loads(json.dumps(place.others(_NODES)[0][1]["Properties"]))
    other["InstanceConfigs"] = [{"InstanceType": _ULTRASERVER}]
    place.add("Servers", _NODES, **other)
    place.at("ComputeNodeGroupConfigurations").append({"ComputeNodeGroupId": {"Fn::GetAtt": ["Servers", "Id"]}})


def _named_for_a_block(place: Place) -> None:
    place.properties["PurchaseOption"] = "CAPACITY_BLOCK"
    for _, body in place.others(_LT):
        data = body["Properties"][_DATA]
        del data["InstanceType"]
        data["InstanceMarketOptions"] = {"MarketType": "capacity-block"}
        data[_TARGET[0]] = {_TARGET[1]: {"CapacityReservationId": "cr-0123456789abcdef0"}}


def _many_subnets(place: Place) -> None:
    subnets = [f"subnet-{at:017x}" for at in range(17)]
    place.at("InstanceGroups", 0)["OverrideVpcConfig"] = {"Subnets": subnets, "SecurityGroupIds": [{"Ref": "Efa"}]}


def _accounts(place: Place) -> None:
    database = {"Endpoint": "db.example.com", "SecretArn": "arn:aws:secretsmanager:us-east-1:111122223333:secret:db"}
    place.properties["Orchestrator"] = {"Slurm": {"AccountingDatabase": database}}
    place.properties.pop("NodeProvisioningMode", None)


def _is_named(name: str) -> Change:
    return lambda place: needs(place.logical_id == name)


def _unreadable_scripts(place: Place) -> None:
    place.at("InstanceGroups", 0, "LifeCycleConfig")["SourceS3Uri"] = "s3://own-scripts/train"
    role = place.template["Resources"]["Role"]["Properties"]
    role["ManagedPolicyArns"] = ["arn:aws:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy"]


def _in_the_pods(change: Change) -> Change:
    return _launched_by(_PODS, change)


def _block_of(place: Place) -> Body:
    """The launch template of a group that draws on one Capacity Block."""
    name = place.at("LaunchTemplate", "LaunchTemplateId", "Ref")
    data: Body = place.template["Resources"][name]["Properties"][_DATA]
    needs(data.get("InstanceMarketOptions", {}).get("MarketType") == "capacity-block")
    return data


def _larger_than_a_block(place: Place) -> None:
    _block_of(place)
    place.properties["MaxSize"] = place.pick.choice(["65", "80"])


def _in_another_zone(place: Place) -> None:
    data = _block_of(place)
    kept = {"InstanceType": data["InstanceType"], "InstancePlatform": "Linux/UNIX", "InstanceCount": 64}
    ends = {"EndDateType": "limited", "EndDate": "2030-01-01T00:00:00Z", "InstanceMatchCriteria": "targeted"}
    place.add("Kept", "EC2::CapacityReservation", AvailabilityZone="us-east-1f", **ends, **kept)
    del data["InstanceMarketOptions"]
    data[_TARGET[0]] = {_TARGET[1]: {"CapacityReservationId": {"Ref": "Kept"}}}


def _nothing_ends_it(place: Place) -> None:
    needs(place.others(_ASG))
    del place.template["Resources"][place.logical_id]


def _doubled(place: Place) -> None:
    _block_of(place)
    kept = place.pick.choice(
        [
            {"AutoScalingReplacingUpdate": {"WillReplace": True}},
            {"AutoScalingReplacingUpdate": {"WillReplace": "true"}},
            {"AutoScalingRollingUpdate": {"MinInstancesInService": place.at("MaxSize")}},
        ]
    )
    place.body["UpdatePolicy"] = kept


def _interface_on_a_fabric_card(place: Place) -> None:
    needs(place.others(_GROUP))
    groups = place.entries("interface")[0]["Groups"]
    place.data["InstanceType"] = _ULTRASERVER
    entries = [entry(0, 0, "interface"), *(entry(card, 0, "efa-only") for card in (1, 5, 9, 13))]
    entries.append(entry(place.pick.choice((3, 7, 11, 15)), 0, "interface"))
    place.data["NetworkInterfaces"] = [{**each, "Groups": groups} for each in entries]


def _addresses_for_all(place: Place) -> None:
    needs(place.data.get("InstanceType") in ("p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge"))
    needs(not place.others(_NODES))
    for one in place.entries("efa-only"):
        if one["NetworkCardIndex"]:
            one["InterfaceType"] = "efa"


def _two_fleets_in_a_group(place: Place) -> None:
    environments = place.others(_ENVIRONMENT)
    needs(environments)
    place.add("More", _ENVIRONMENT, **json.loads(json.dumps(environments[0][1]["Properties"])))


def _stopped_spot(place: Place) -> None:
    needs(place.others("Batch::ComputeEnvironment"))
    options = {"InstanceInterruptionBehavior": "stop", "SpotInstanceType": "persistent"}
    place.data["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": options}


def _monitored(place: Place) -> None:
    for _, body in place.others(_LT):
        body["Properties"][_DATA]["Monitoring"] = {"Enabled": True}


_FREE_GROUPS = [{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}]

ORCHESTRATION = (
    Mutation("BAT-009", _ENVIRONMENT, _default_group_closed),
    Mutation("BAT-012", _JOB, _long_definition),
    Mutation("BAT-013", _JOB, _six_ranges),
    Mutation("BAT-013", _JOB, _range_of_another_type),
    Mutation("BAT-018", _ENVIRONMENT, _to_the_internet, frozenset({"NET-001", "NET-004"})),
    Mutation("BAT-020", _ENVIRONMENT, _override("p5en.48xlarge"), frozenset({"EFA-009"})),
    Mutation("BAT-020", _ENVIRONMENT, _override("p5.48xlarge", "p5"), frozenset({"EFA-009"})),
    Mutation("BAT-021", _LT, _launched_by(_ENVIRONMENT, put(_DATA, "DisableApiTermination", "true"))),
    Mutation("EKS-010", _GROUP, _block_with(DesiredSize=2), frozenset({"CAP-011"})),
    Mutation("EKS-014", _LT, _launched_by(_GROUP, _own_groups_only)),
    Mutation("EKS-019", "Custom::AWSCDK-EKS-KubernetesResource", _without_pages),
    Mutation("EKS-019", _JOB, _batch_on_eks),
    Mutation("EKS-020", _GROUP, types_of_the_group("p5.48xlarge")),
    Mutation(
        "EKS-023", _LT, _launched_by(_GROUP, put(_DATA, "ImageId", "ami-0123456789abcdef0")), frozenset({"EKS-008"})
    ),
    Mutation("PCS-006", _PCS, put("Networking", "SecurityGroupIds", [{"Ref": "Control"}]), at=_LT),
    Mutation(
        "PCS-009", _PCS, each(put("Scheduler", "Version", "25.05"), _setting("MetricsType", "metrics/openmetrics"))
    ),
    Mutation(
        "PCS-009",
        _PCS,
        each(put("Scheduler", "Version", "24.11"), put("SlurmConfiguration", "SlurmRest", {"Mode": "STANDARD"})),
    ),
    Mutation("PCS-011", _NODES, _lifecycle("TERMINATE")),
    Mutation("NOD-018", _NODES, _lifecycle("CONTINUE")),
    Mutation("PCS-013", _NODES, _ultraservers, frozenset({"EFA-004", "NIC-004", "NIC-005"}), at=_PCS),
    Mutation("PCS-013", _QUEUE, _beside_ultraservers, frozenset({"EFA-009"}), at="*"),
    Mutation("PCS-014", _NODES, _named_for_a_block, frozenset({"CAP-011"}), at="*"),
    Mutation(
        "HPD-002", "EC2::SecurityGroup", _in_the_pods(each(_is_named("Efa"), put("SecurityGroupEgress", _FREE_GROUPS)))
    ),
    Mutation("HPD-006", _PODS, _many_subnets),
    Mutation("HPD-007", _PODS, _unreadable_scripts, frozenset({"HPD-019"})),
    Mutation("HPD-011", _PODS, _accounts),
    Mutation("CAP-007", _ASG, _larger_than_a_block),
    Mutation("CAP-008", _ASG, _in_another_zone),
    Mutation("CAP-011", "AutoScaling::ScheduledAction", _nothing_ends_it, at=_ASG),
    Mutation("CAP-020", _ASG, _doubled),
    Mutation("API-116", _LT, _interface_on_a_fabric_card, frozenset({"EKS-004"})),
    Mutation("NIC-013", _LT, _addresses_for_all),
    Mutation("PLC-006", "EC2::PlacementGroup", _two_fleets_in_a_group),
    Mutation(
        "PLC-006", _ENVIRONMENT, put(_POOL, "InstanceTypes", ["p5.48xlarge", "p5e.48xlarge"]), at="EC2::PlacementGroup"
    ),
    Mutation("SPT-011", _LT, _stopped_spot, frozenset({"BAT-014"})),
    Mutation("CST-001", _ENVIRONMENT, put(_POOL, "MinvCpus", "192")),
    Mutation("CST-001", _NODES, put("ScalingConfiguration", "MinInstanceCount", 2)),
    Mutation("CST-001", _GROUP, put("ScalingConfig", {"MinSize": 1, "MaxSize": 4, "DesiredSize": 1})),
    Mutation("CST-009", _NODES, each(put("ScalingConfiguration", "MaxInstanceCount", 128), _monitored), at=_LT),
    Mutation("TPL-009", _NODES, put("Name", "nodes")),
    Mutation("TPL-009", _GROUP, put("NodegroupName", "nodes")),
    Mutation("TPL-009", _ENVIRONMENT, put("ComputeEnvironmentName", "nodes")),
)
