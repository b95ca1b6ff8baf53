"""Changes that break rules on interfaces, fabric, placement, capacity and Spot."""

from __future__ import annotations

from support.mutations.services import types_of_the_group
from support.mutations.tools import Body, Change, Mutation, Place, drop, each, needs, put

_LT, _ASG = "EC2::LaunchTemplate", "AutoScaling::AutoScalingGroup"
_INGRESS, _EGRESS = "EC2::SecurityGroupIngress", "EC2::SecurityGroupEgress"
_RESERVED = ("LaunchTemplateData", "CapacityReservationSpecification")


def _entry(*kinds: str, **values: object) -> Change:
    """Set properties of one entry of the interface list; None removes one."""

    def change(place: Place) -> None:
        entry = place.pick.choice(place.entries(*kinds))
        entry.update(values)
        for key in [key for key, value in values.items() if value is None]:
            del entry[key]

    return change


def _holds(place: Place, *kinds: str) -> bool:
    """Whether the template has a resource of some types."""
    return any(body["Type"] in {f"AWS::{kind}" for kind in kinds} for body in place.template["Resources"].values())


def _primary_is_efa_only(place: Place) -> None:
    place.entries("efa", "efa-only")
    first = place.entries("interface", "efa")[0]
    first["InterfaceType"] = "efa-only"


def _same_place_twice(place: Place) -> None:
    entries = [entry for entry in place.entries("efa", "efa-only") if entry["NetworkCardIndex"]]
    needs(len(entries) > 1)
    one, other = place.pick.sample(entries, 2)
    other |= {key: one[key] for key in ("NetworkCardIndex", "DeviceIndex")}


def _two_devices_on_a_card(place: Place) -> None:
    entry = place.pick.choice([one for one in place.entries("efa", "efa-only") if one["NetworkCardIndex"]])
    other = 1 - entry["DeviceIndex"]
    place.data["NetworkInterfaces"].append({**entry, "InterfaceType": "efa-only", "DeviceIndex": other})


def _public(place: Place) -> None:
    place.entries("efa", "efa-only")
    place.entries("interface", "efa")[0]["AssociatePublicIpAddress"] = True


def _no_groups(place: Place) -> None:
    needs(not _holds(place, "EKS::Nodegroup"))  # EKS may attach the group of the cluster
    del place.pick.choice(place.entries("efa-only", "efa"))["Groups"]


def _fewer_devices(place: Place) -> None:
    entry = place.pick.choice(place.entries("efa", "efa-only")[1:])
    place.data["NetworkInterfaces"].remove(entry)


def _fabric_on_an_ordinary_card(place: Place) -> None:
    needs(place.data.get("InstanceType") == "p6-b300.48xlarge")
    place.data["NetworkInterfaces"].append({**place.entries("efa-only")[0], "NetworkCardIndex": 0, "DeviceIndex": 1})


def _another_type(name: str) -> Change:
    def change(place: Place) -> None:
        fabric = place.entries("efa", "efa-only")
        needs(place.data.get("InstanceType") and fabric[0]["NetworkCardIndex"] == 0)
        needs(not _holds(place, "PCS::Cluster"))  # there the node group names the type
        place.data["InstanceType"] = name

    return change


def _own_group(place: Place) -> None:
    """Give up a rule that is not one of a group with itself."""
    source = place.properties.get("SourceSecurityGroupId", place.properties.get("DestinationSecurityGroupId"))
    own = place.properties.get("IpProtocol") == "-1" and source == place.properties.get("GroupId")
    attached = any(
        source in entry.get("Groups", ())
        for template in place.templates
        for body in template["Resources"].values()
        if body["Type"] == f"AWS::{_LT}"
        for entry in body["Properties"]["LaunchTemplateData"].get("NetworkInterfaces", ())
        if entry["InterfaceType"] != "interface"
    )
    others = [
        body["Properties"]
        for template in place.templates
        for body in template["Resources"].values()
        if body["Type"] == place.body["Type"] and body["Properties"].get("IpProtocol") == "-1"
    ]
    # Clients of an EFA-enabled file system have a second group that lets the fabric through.
    needs(own and attached and len(others) == 1)


def _one_port(place: Place) -> None:
    _own_group(place)
    place.properties.update(IpProtocol="tcp", FromPort=2049, ToPort=2049)


def _to_another_group(place: Place) -> None:
    _own_group(place)
    key = "SourceSecurityGroupId" if "SourceSecurityGroupId" in place.properties else "DestinationSecurityGroupId"
    place.properties[key] = "sg-0123456789abcdef0"


def _second_zone(place: Place) -> None:
    needs("LaunchTemplate" in place.properties and _group_entry(place))
    subnet = {"CidrBlock": "10.9.0.0/20", "VpcId": "vpc-0123456789abcdef0", "AvailabilityZone": "us-east-1d"}
    place.add("Elsewhere", "EC2::Subnet", **subnet)
    place.at("VPCZoneIdentifier").append({"Ref": "Elsewhere"})


def _group_entry(place: Place) -> bool:
    return any(body["Type"] == f"AWS::{_LT}" for body in place.template["Resources"].values())


def _target(place: Place) -> Body:
    specification = place.data.get("CapacityReservationSpecification")
    needs(specification)
    target: Body = specification["CapacityReservationTarget"]
    return target


def _block(place: Place) -> None:
    needs(place.data.get("InstanceMarketOptions", {}).get("MarketType") == "capacity-block")


def _spread(place: Place) -> Body:
    spread: Body = place.at("MixedInstancesPolicy", "InstancesDistribution")
    return spread


def _spread_with(**values: object) -> Change:
    return lambda place: _spread(place).update(values)


def _another_group(place: Place) -> None:
    # The scheduler of PCS stands in the same group.
    needs(not _holds(place, "PCS::Cluster"))
    place.entries("efa", "efa-only")
    for entry in place.entries("interface", "efa", "efa-only"):
        entry["Groups"] = ["sg-0123456789abcdef0"]


def _subnet_of_its_own(place: Place) -> None:
    _template_of_a_mixed_group(place)
    place.entries("interface")[0]["SubnetId"] = "subnet-0123456789abcdef0"


def _one_group_over_zones(place: Place) -> None:
    _template_of_a_mixed_group(place)
    needs(place.data.get("InstanceType") is None)
    place.add("Together", "EC2::PlacementGroup", Strategy="cluster")
    place.data["Placement"] = {"GroupName": {"Ref": "Together"}}


def _away_from_its_reservation(place: Place) -> None:
    _target(place)
    place.data.pop("InstanceMarketOptions", None)
    for name in ("Together", "Elsewhere"):
        place.add(name, "EC2::PlacementGroup", Strategy="cluster")
    kept = {"InstanceType": place.data["InstanceType"], "InstancePlatform": "Linux/UNIX", "InstanceCount": 64}
    arn = {"Fn::Sub": "arn:aws:ec2:us-east-1:111122223333:placement-group/${Together}"}
    place.add("Kept", "EC2::CapacityReservation", PlacementGroupArn=arn, **_ENDS, **kept)
    _target(place)["CapacityReservationId"] = {"Ref": "Kept"}
    place.data["Placement"] = {"GroupName": {"Ref": "Elsewhere"}}


def _weight_of_one(place: Place) -> None:
    overrides = place.at("MixedInstancesPolicy", "LaunchTemplate", "Overrides")
    needs(len(overrides) > 1)
    place.pick.choice(overrides)["WeightedCapacity"] = "2"


def _template_of_a_mixed_group(place: Place) -> None:
    needs(any("MixedInstancesPolicy" in body["Properties"] for body in place.template["Resources"].values()))


def _spot_market(place: Place) -> None:
    _template_of_a_mixed_group(place)
    place.data["InstanceMarketOptions"] = {"MarketType": "spot"}


def _without_bootstrap(place: Place) -> None:
    groups = [body["Properties"] for body in place.template["Resources"].values() if body["Type"] == f"AWS::{_ASG}"]
    policies = [group["MixedInstancesPolicy"]["LaunchTemplate"] for group in groups if "MixedInstancesPolicy" in group]
    needs(policies)
    base = policies[0]["LaunchTemplateSpecification"]["LaunchTemplateId"]
    needs(base != {"Ref": place.logical_id})
    del place.data["UserData"]


def _default_key(place: Place) -> None:
    needs("DeadLetter" not in place.logical_id)
    place.properties["KmsMasterKeyId"] = "alias/aws/sqs"


def _own_placement_group(place: Place) -> None:
    _block(place)
    place.add("Together", "EC2::PlacementGroup", Strategy="cluster")
    place.data["Placement"] = {"GroupName": {"Ref": "Together"}}


def _is_placed(place: Place) -> None:
    needs("Placement" in place.data)


def _mixed_over_a_block(place: Place) -> None:
    specification = place.properties.pop("LaunchTemplate", None)
    needs(specification)
    found = place.template["Resources"][specification["LaunchTemplateId"]["Ref"]]
    needs(found["Properties"]["LaunchTemplateData"].get("InstanceMarketOptions"))
    place.properties["MixedInstancesPolicy"] = {"LaunchTemplate": {"LaunchTemplateSpecification": specification}}


def _spread_group(place: Place) -> None:
    place.properties.update(Strategy="partition", PartitionCount=place.pick.choice([8, 10]))


def _both_names(place: Place) -> None:
    _is_placed(place)
    place.data["Placement"]["GroupId"] = "pg-0123456789abcdef0"


def _pattern_with_account(place: Place) -> None:
    needs(place.at("EventPattern").get("detail-type") == ["EC2 Spot Instance Interruption Warning"])
    place.at("EventPattern")["resources"] = [{"prefix": "arn:aws:ec2:us-east-1:111122223333:instance/"}]


def _misspelt_pattern(place: Place) -> None:
    pattern = place.at("EventPattern")
    needs("detail-type" in pattern)
    pattern["detail_type"] = pattern.pop("detail-type")


def _one_notice_less(place: Place) -> None:
    kind = str(place.at("EventPattern").get("detail-type"))
    needs("Interruption" in kind or "Rebalance" in kind)
    for texts in place.template["Mappings"]["Bootstrap"].values():
        texts["text"] = texts["text"].replace('"spot":true', '"spot":false')  # else the nodes watch for themselves
    del place.template["Resources"][place.logical_id]


def _loose_target(place: Place) -> None:
    arn = "arn:aws:resource-groups:us-east-1:111122223333:group/reserved"
    place.data["CapacityReservationSpecification"] = {"CapacityReservationResourceGroupArn": arn}


def _fleet_into_a_block(place: Place) -> None:
    specification = {"LaunchTemplateId": "lt-0123456789abcdef0", "Version": "1"}
    capacity = {"TotalTargetCapacity": 4, "DefaultTargetCapacityType": "capacity-block"}
    configs = [{"LaunchTemplateSpecification": specification}]
    place.add("Fleet", "EC2::EC2Fleet", LaunchTemplateConfigs=configs, TargetCapacitySpecification=capacity)


def _limit(place: Place) -> None:
    entry = place.pick.choice(place.entries("efa", "efa-only"))
    entry["DeviceIndex"] = 99


def _no_card(place: Place) -> None:
    entries = place.entries("efa-only", "efa")
    place.pick.choice(entries)["NetworkCardIndex"] = place.pick.choice([40, 64, 99])


def _public_addresses(place: Place) -> None:
    lists = [
        body["Properties"]["LaunchTemplateData"].get("NetworkInterfaces", ())
        for template in place.templates
        for body in template["Resources"].values()
        if body["Type"] == f"AWS::{_LT}"
    ]
    needs("FleetSubnet" in place.logical_id and any(len(entries) > 1 for entries in lists))
    place.properties["MapPublicIpOnLaunch"] = True


_ENDS = {"EndDateType": "limited", "EndDate": "2030-01-01T00:00:00Z", "InstanceMatchCriteria": "targeted"}


def _on_demand_in_a_block(place: Place) -> None:
    _block(place)
    kept = {"InstanceType": place.data["InstanceType"], "InstancePlatform": "Linux/UNIX", "InstanceCount": 16}
    place.add("Kept", "EC2::CapacityReservation", AvailabilityZone="us-east-1a", **_ENDS, **kept)
    _target(place)["CapacityReservationId"] = {"Ref": "Kept"}


def _second_preference(place: Place) -> None:
    _target(place)
    place.data["CapacityReservationSpecification"]["CapacityReservationPreference"] = "none"


FABRIC = (
    Mutation("NIC-001", _LT, _primary_is_efa_only, frozenset({"PCS-001"})),
    Mutation("NIC-002", _LT, _same_place_twice, frozenset({"NIC-003", "EFA-002"})),  # a card too many, one too few
    Mutation("NIC-003", _LT, _two_devices_on_a_card, frozenset({"EFA-002", "NIC-004", "PCS-001"})),
    Mutation("NIC-004", _LT, _limit),
    Mutation("NIC-005", _LT, _no_card, frozenset({"EFA-002", "EFA-004", "NIC-001"})),
    Mutation("NIC-006", _LT, _public, frozenset({"NET-001"})),
    Mutation("NIC-007", _LT, _entry("efa-only", Ipv4PrefixCount=1)),
    Mutation("NIC-008", _LT, put("LaunchTemplateData", "SecurityGroupIds", ["sg-0123456789abcdef0"])),
    Mutation("NIC-009", _LT, _no_groups, frozenset({"EFA-005"})),
    Mutation("NIC-010", "EC2::Subnet", _public_addresses, at="*"),
    Mutation("NIC-012", _LT, _entry("efa-only", "efa", DeleteOnTermination=None)),
    Mutation("EFA-001", _LT, _another_type("trn1.2xlarge"), frozenset({"EKS-004", "NIC-004", "NIC-005"})),
    Mutation("EFA-002", _LT, _fewer_devices),
    Mutation("EFA-004", _LT, _fabric_on_an_ordinary_card),
    # The scheduler of PCS stands in the same group.
    Mutation("EFA-005", _INGRESS, _one_port, frozenset({"PCS-006"}), at=_LT),
    Mutation("EFA-005", _EGRESS, _to_another_group, frozenset({"PCS-006"}), at=_LT),
    Mutation("EFA-007", _ASG, _second_zone, frozenset({"EFS-002", "LUS-011"})),
    Mutation("EFA-009", "EKS::Nodegroup", types_of_the_group("p5.48xlarge", "p5en.48xlarge"), at=_LT),
    Mutation("EFA-006", _LT, _another_group, frozenset({"NET-011"}), at="*"),
    Mutation("NET-011", _LT, _another_group, frozenset({"EFA-006"}), at="*"),
    Mutation("NIC-011", _LT, _subnet_of_its_own),
    Mutation("NIC-016", _LT, _another_type("p9.48xlarge")),
    Mutation("PLC-001", _LT, _one_group_over_zones, frozenset({"PLC-006", "SPT-011"}), at="*"),
    Mutation("PLC-003", _LT, _away_from_its_reservation, frozenset({"CST-001", "CAP-011", "PLC-006"})),
    Mutation("PLC-002", _LT, _own_placement_group),
    Mutation("PLC-007", "EC2::PlacementGroup", _spread_group),
    Mutation("PLC-008", _LT, _both_names),
    Mutation("CAP-002", _LT, each(_block, drop(*_RESERVED))),
    Mutation("CAP-003", _LT, _on_demand_in_a_block, frozenset({"CAP-008"})),
    Mutation("CAP-004", _LT, _second_preference),
    Mutation("CAP-005", _LT, _loose_target, frozenset({"CAP-002", "CST-001"})),
    Mutation(
        "CAP-021", "SNS::Topic", _fleet_into_a_block, frozenset({"CAP-011", "CST-003", "NIC-016", "SPT-004"}), at="*"
    ),
    Mutation("CAP-009", _ASG, _mixed_over_a_block),
    Mutation("SPT-001", _LT, _spot_market),
    Mutation("SPT-002", _ASG, _spread_with(SpotInstancePools=4)),
    Mutation("SPT-003", "SQS::Queue", _default_key),
    Mutation("SPT-006", _LT, _without_bootstrap, at=_ASG),
    Mutation("SPT-007", _ASG, _weight_of_one),
    Mutation("SPT-008", _ASG, _spread_with(SpotAllocationStrategy="lowest-price")),
    Mutation("SPT-009", _ASG, _spread_with(SpotAllocationStrategy="prioritized")),
    Mutation(
        "SPT-012",
        _LT,
        each(_block, put("LaunchTemplateData", "InstanceMarketOptions", "SpotOptions", {"MaxPrice": "1"})),
    ),
    Mutation("SPT-013", "Events::Rule", _pattern_with_account),
    Mutation("SPT-014", _ASG, drop("CapacityRebalance")),
    Mutation("SPT-004", "Events::Rule", _one_notice_less, at="*"),
    Mutation("ALM-019", "Events::Rule", _misspelt_pattern),
)
