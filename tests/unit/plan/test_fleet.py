"""A fleet as a whole: its parts agree, its totals add up, its faults come together."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fleets import ALL_TYPES, GROUP_ARN, RESERVATION_ID, SUBJECT, fleet, ids, right_requests
from ultracluster.facts.rules import rule_registry
from ultracluster.findings import FindingsError
from ultracluster.plan.capacity_options import CapacityBlock, OnDemand, Reservation, Spot
from ultracluster.plan.fleet import FleetRequest, check_fleet, check_fleets_together, plan_fleet
from ultracluster.plan.images import Ami, Dlami, SsmImage, Ubuntu
from ultracluster.plan.interface_rules import as_entries, check_interface_list
from ultracluster.plan.network_interfaces import InterfaceLayout, NetworkInterface
from ultracluster.plan.placement import AUTO, NONE, ExistingPlacementGroup
from ultracluster.plan.volumes import RootVolume

THREE = ("us-east-1a", "us-east-1b", "us-east-1c")
END = datetime(2027, 3, 1, 11, 30, tzinfo=UTC)


def check(**changes):
    return check_fleet(fleet(**changes), subject=SUBJECT)


def plan(**changes):
    return plan_fleet(fleet(**changes), subject=SUBJECT)


any_zone = st.sampled_from([*THREE, "us-west-2a", "us-east-1-atl-2a", "dummy1a", "use1-az1"])
any_capacity = st.one_of(
    st.just(OnDemand()),
    st.builds(
        Reservation,
        reservation_id=st.sampled_from([None, RESERVATION_ID, "cr-1"]),
        resource_group_arn=st.sampled_from([None, GROUP_ARN]),
        placement_group_name=st.sampled_from([None, "reserved"]),
        size=st.none() | st.integers(-1, 70),
        strict=st.booleans(),
    ),
    st.builds(
        CapacityBlock,
        reservation_id=st.sampled_from([RESERVATION_ID, ""]),
        size=st.none() | st.integers(-1, 70),
        end=st.none() | st.datetimes() | st.just(END),
    ),
    st.builds(
        Spot,
        on_demand_base_count=st.integers(-1, 70),
        on_demand_percentage_above_base=st.integers(-10, 110),
        allocation_strategy=st.sampled_from(["price-capacity-optimized", "lowest-price", "prioritized"]),
        spot_instance_pools=st.none() | st.integers(0, 21),
    ),
)
any_image = st.sampled_from(
    [
        Dlami(),
        Dlami(os="ubuntu-22.04"),
        Ubuntu(),
        Ami(ami_id="ami-1", os="al2023"),
        Ami(ami_id="ami-0123456789abcdef0", os="al2023", root_device_name="/dev/xvda"),
        SsmImage(parameter="/aws/service/neuron/dlami/base/ubuntu-24.04/latest/image_id", os="ubuntu-24.04"),
    ]
)
any_size = st.none() | st.integers(-1, 70)
any_request = st.builds(
    FleetRequest,
    name=st.just("train"),
    instance_types=st.lists(st.sampled_from([*(facts.name for facts in ALL_TYPES), "p7.48xlarge"]), max_size=4).map(
        tuple
    ),
    availability_zones=st.lists(any_zone, max_size=3).map(tuple),
    count=any_size,
    min_count=any_size,
    max_count=any_size,
    capacity=any_capacity,
    efa=st.none() | st.integers(-1, 33),
    layout=st.sampled_from(InterfaceLayout),
    network_interfaces=st.none()
    | st.lists(
        st.builds(
            NetworkInterface,
            card=st.integers(0, 2),
            device=st.integers(0, 2),
            kind=st.sampled_from(["interface", "efa", "efa-only"]),
        ),
        max_size=4,
    ).map(tuple),
    associate_public_ip=st.booleans(),
    placement=st.sampled_from([AUTO, NONE, ExistingPlacementGroup(name="own")]),
    image=any_image,
    root_volume=st.builds(
        RootVolume, size_gib=st.integers(0, 70_000), iops=any_size, throughput_mibps=st.none() | st.integers(0, 2100)
    ),
    metadata_hop_limit=st.integers(0, 65),
)


@given(any_request)
def test_any_request_gives_findings_or_a_plan_and_never_another_error(request):
    found = check_fleet(request, subject=SUBJECT)
    assert all(item.subject.startswith(SUBJECT) for item in found)
    assert not any(text.endswith(".") or "None" in text for item in found for text in (item.message, item.fix))
    if any(item.severity.stops for item in found):
        with pytest.raises(FindingsError) as error:
            plan_fleet(request, subject=SUBJECT)
        assert error.value.findings == found
        return
    decided = plan_fleet(request, subject=SUBJECT)
    assert decided.warnings == found
    assert decided.efa_count <= max(group.interfaces.efa_count for group in decided.layouts)


@given(right_requests())
def test_right_requests_are_planned_and_their_parts_agree(request):
    decided = plan_fleet(request, subject=SUBJECT)
    (group,) = decided.layouts
    entries = as_entries(group.interfaces.interfaces)
    assert check_interface_list(group.instance_types[0], entries, efa=request.efa, subject=SUBJECT) == ()
    kind = decided.capacity.kind
    assert (decided.capacity.market_type == "capacity-block") is (kind == "capacity-block")
    assert (decided.spot is not None) is (kind == "spot")
    if decided.placement.create:
        assert kind in {"on-demand", "spot"}
        assert decided.efa_count > 0
    assert decided.root_volume.device_name == decided.image.root_device_name
    assert decided.root_volume.throughput_mibps * 4 <= decided.root_volume.iops


@given(st.sampled_from(ALL_TYPES), st.integers(1, 200))
def test_totals(facts, count):
    decided = plan(instance_types=(facts.name,), count=count)
    assert decided.accelerators_max == count * facts.accelerator_count
    assert decided.vcpus_max == count * facts.vcpus
    assert decided.ip_addresses_max == count
    assert decided.network_interfaces_max == count * len(decided.layouts[0].interfaces.interfaces)
    assert decided.efa_gbytes_per_s_per_node == facts.efa_bandwidth_gbps / 8
    assert (decided.min_count, decided.max_count) == (count, count)
    assert decided.quota_code == facts.quota_on_demand


@given(st.sampled_from(ALL_TYPES), st.sampled_from([(1, 4), (0, 64), (4, 4)]))
def test_the_list_of_every_fleet_passes_the_rules(facts, bounds):
    decided = plan(instance_types=(facts.name,), min_count=bounds[0], max_count=bounds[1])
    entries = as_entries(decided.layouts[0].interfaces.interfaces)
    assert check_interface_list(facts, entries, subject=SUBJECT) == ()


def test_fewer_devices_carry_less():
    decided = plan(efa=8)
    assert decided.efa_count == 8
    assert decided.efa_gbytes_per_s_per_node == 100
    assert plan(instance_types=("p6e-gb200.36xlarge",), efa=2).efa_gbytes_per_s_per_node == 100


@pytest.mark.parametrize(
    ("sizes", "bounds"),
    [
        ({"count": 3}, (3, 3)),
        ({"min_count": 1, "max_count": 3}, (1, 3)),
        ({"max_count": 3}, (0, 3)),
        ({"min_count": 3, "max_count": 3}, (3, 3)),
    ],
)
def test_sizes(sizes, bounds):
    decided = plan(**sizes)
    assert (decided.min_count, decided.max_count) == bounds


@pytest.mark.parametrize(
    "sizes",
    [
        {"count": None},
        {"count": 0},
        {"count": -1},
        {"count": 2, "max_count": 4},
        {"count": 2, "min_count": 1},
        {"min_count": 5, "max_count": 4},
        {"min_count": -1, "max_count": 4},
        {"min_count": 2, "count": None},
    ],
)
def test_sizes_that_are_none(sizes):
    assert ids(check(**sizes)) == ["UC-API-104"]


@pytest.mark.parametrize(("hops", "expected"), [(0, ["UC-API-110"]), (1, []), (64, []), (65, ["UC-API-110"])])
def test_hop_limit(hops, expected):
    assert ids(check(metadata_hop_limit=hops)) == expected


def test_unknown_types_name_the_nearest():
    found = check(instance_types=("p5.48xlarg",))
    assert ids(found) == ["UC-SPC-010"]
    assert found[0].subject == "fleets[0].instance_type"
    found = check(instance_types=("p5.48xlarge", "p5n.48xlarge"), capacity=Spot())
    assert found[0].subject == "fleets[0].instance_types[1]"


def test_types_once_and_at_least_one():
    assert ids(check(instance_types=())) == ["UC-API-111"]
    assert ids(check(instance_types=("p5.48xlarge", "p5.48xlarge"), capacity=Spot())) == ["UC-API-111"]


def test_several_zones_and_a_fabric_are_one_fault():
    assert ids(check(availability_zones=THREE)) == ["UC-EFA-007"]
    assert ids(check(availability_zones=THREE, capacity=Spot(), efa=32)) == ["UC-EFA-007", "UC-SPT-010"]


def test_several_zones_without_a_fabric():
    assert plan(availability_zones=THREE, efa=0).placement.create is False
    assert plan(availability_zones=THREE, instance_types=("trn1.2xlarge",)).efa_count == 0


def test_a_zone_of_another_region():
    assert ids(check(availability_zones=("us-west-2a",), region="us-east-1")) == ["UC-API-105"]


def test_public_address():
    assert ids(check(associate_public_ip=True)) == ["UC-NIC-006"]
    assert plan(associate_public_ip=True, efa=0).associate_public_ip
    assert plan(associate_public_ip=True, availability_zones=THREE, capacity=Spot()).associate_public_ip


def own(*entries):
    return tuple(NetworkInterface(card=card, device=device, kind=kind) for card, device, kind in entries)


OWN_LIST = [(card, 1, "efa-only") for card in range(32)]


def test_a_list_of_ones_own():
    decided = plan(network_interfaces=own(*OWN_LIST, (0, 0, "interface")))
    planned = decided.layouts[0].interfaces
    assert (planned.efa_count, planned.ip_count) == (32, 1)
    assert (planned.interfaces[0].card, planned.interfaces[0].device) == (0, 0)
    assert decided.efa_gbytes_per_s_per_node == 400


def test_a_list_of_ones_own_is_checked():
    assert ids(check(network_interfaces=own((0, 0, "interface"), (1, 2, "efa")), efa=1)) == ["UC-NIC-004"]
    assert ids(check(network_interfaces=own(*OWN_LIST, (0, 0, "interface")), associate_public_ip=True)) == [
        "UC-NIC-006"
    ]
    several = check(
        network_interfaces=own((0, 0, "interface")),
        instance_types=("p5.48xlarge", "p5en.48xlarge"),
        capacity=Spot(),
        availability_zones=THREE,
    )
    assert ids(several) == ["UC-EFA-009"]


def test_spot_has_a_group_per_card_layout():
    decided = plan(
        instance_types=("p5.48xlarge", "p5en.48xlarge", "p5e.48xlarge"), availability_zones=THREE, capacity=Spot()
    )
    assert [group.key for group in decided.layouts] == ["p5.48xlarge", "p5en.48xlarge"]
    assert decided.spot is not None
    assert decided.quota_code == "L-7212CCBC"
    assert decided.efa_count == 0
    assert plan().spot is None


def test_a_small_root_is_a_warning():
    assert ids(plan(root_volume=RootVolume(size_gib=75)).warnings) == ["UC-IMG-007"]


def test_every_subject_decides():
    decided = plan()
    assert {item.subject.removeprefix("fleets[0].") for item in decided.decisions} == {
        "count",
        "efa",
        "interface_layout",
        "capacity",
        "placement_group",
        "image",
        "root_volume",
    }
    assert all(item.because and item.value for item in decided.decisions)


def test_faults_of_all_subjects_come_at_once():
    found = check(
        availability_zones=THREE,
        capacity=CapacityBlock(reservation_id=RESERVATION_ID, size=1, end=END),
        placement=ExistingPlacementGroup(name="own"),
        image=Ami(ami_id="ami-1", os="al2023"),
        root_volume=RootVolume(throughput_mibps=1000, iops=3000),
        metadata_hop_limit=0,
    )
    assert set(ids(found)) == {
        "UC-API-110",
        "UC-CAP-007",
        "UC-EFA-007",
        "UC-PLC-002",
        "UC-API-107",
        "UC-IMG-006",
        "UC-IMG-008",
    }


def together(*fleets):
    return ids(
        check_fleets_together(
            {f"fleets[{at}]": plan_fleet(item, subject=f"fleets[{at}]") for at, item in enumerate(fleets)}
        )
    )


@given(st.lists(st.integers(1, 12), min_size=1, max_size=4))
def test_fleets_share_a_reservation(counts):
    reservation = Reservation(reservation_id=RESERVATION_ID, size=24)
    found = together(*(fleet(count=count, capacity=reservation) for count in counts))
    assert found == (["UC-CAP-012"] if sum(counts) > 24 else [])


def test_fleets_share_a_block_of_unknown_size():
    block = CapacityBlock(reservation_id=RESERVATION_ID, end=END)
    assert together(fleet(count=32, capacity=block), fleet(count=32, capacity=block)) == []
    assert together(fleet(count=32, capacity=block), fleet(count=33, capacity=block)) == ["UC-CAP-012"]


def test_fleets_share_a_placement_group():
    group = ExistingPlacementGroup(name="own")
    assert together(fleet(placement=group), fleet(placement=group)) == ["UC-PLC-006"]
    assert together(fleet(), fleet()) == []


def test_every_id_of_the_compute_plans_is_registered(root):
    registry = rule_registry()
    for file in (root / "constructs/ultracluster/plan").glob("*.py"):
        for rule_id in re.findall(r'"(UC-(?:EFA|NIC|PLC|CAP|SPT|IMG|NET|API)-\d{3})"', file.read_text()):
            assert rule_id in registry, f"{file.name}: {rule_id}"


def test_a_fleet_plan_loads_no_heavy_package(root):
    code = "import sys, ultracluster.plan.fleet, ultracluster.plan.network; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(root / "constructs")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"aws_cdk", "boto3", "botocore", "constructs", "jsii", "pydantic", "yaml"} & set(loaded)


TOKEN = -1.8881545897087736e289
"""How a number of the CDK looks that only the deployment knows."""


@pytest.mark.parametrize("value", ["4", 2.5, True, TOKEN], ids=["text", "fraction", "truth", "token"])
@pytest.mark.parametrize(
    ("name", "rule_id", "make"),
    [
        ("count", "UC-API-104", lambda value: {"count": value}),
        ("max_count", "UC-API-104", lambda value: {"count": None, "min_count": 0, "max_count": value}),
        ("root_volume.size_gib", "UC-IMG-008", lambda value: {"root_volume": RootVolume(size_gib=value)}),
    ],
    ids=["count", "bounds", "volume"],
)
def test_a_size_that_is_no_whole_number_is_a_finding(name, rule_id, make, value):
    (found,) = check(**make(value))
    assert (found.rule_id, found.subject) == (rule_id, f"{SUBJECT}.{name}")
    assert ("only the deployment knows" in found.message) == (value == TOKEN)


@pytest.mark.parametrize("value", ["8", 2.5, TOKEN], ids=["text", "fraction", "token"])
def test_fabric_devices_are_counted_in_whole_numbers(value):
    found = check(efa=value)
    assert ("UC-EFA-002", f"{SUBJECT}.efa") in {(one.rule_id, one.subject) for one in found}


def test_an_unknown_layout_names_the_known_ones():
    (found,) = check(layout="max-band")
    assert (found.rule_id, found.subject) == ("UC-API-101", f"{SUBJECT}.interface_layout")
    assert found.fix == "use one of min-ip, max-bandwidth, all-efa"


def test_a_text_in_place_of_a_list_of_types_is_one_finding():
    (found,) = check(instance_types=tuple("p5.48xlarge"))
    assert (found.rule_id, found.fix) == ("UC-API-111", "write ['p5.48xlarge']")


@pytest.mark.parametrize(
    ("changes", "subject"),
    [({"placement": "none"}, "placement_group"), ({"image": "ami-0123456789abcdef0"}, "image")],
    ids=["placement", "image"],
)
def test_a_text_in_place_of_a_choice_is_a_finding(changes, subject):
    (found,) = check(**changes)
    assert (found.rule_id, found.subject) == ("UC-API-118", f"{SUBJECT}.{subject}")
