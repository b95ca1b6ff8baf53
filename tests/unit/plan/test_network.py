"""Networks: blocks that never move, room for the nodes, zones that exist, existing subnets."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fleets import ids
from ultracluster.facts.endpoints import default_endpoints
from ultracluster.findings import FindingsError
from ultracluster.plan.network import ExistingNetwork, ExistingSubnet, NetworkRequest, check_network, plan_network
from ultracluster.plan.zones import check_availability_zones, region_of_zone

ZONES = tuple(f"us-east-1{letter}" for letter in "abcdefgh")


@st.composite
def blocks(draw):
    prefix = draw(st.integers(16, 22))
    start = draw(st.integers(0, 2**prefix - 1)) << (32 - prefix)
    return str(IPv4Network((IPv4Address(start), prefix)))


zone_lists = st.lists(st.sampled_from(ZONES), min_size=1, max_size=8, unique=True).map(tuple)


def check(**options):
    return check_network(request(**options), subject="network")


def request(**options):
    return NetworkRequest(**{"availability_zones": ZONES[:2], **options})


def plan(**options):
    return plan_network(request(**options), subject="network")


def cidrs(zone):
    return [IPv4Network(text) for text in (zone.fleet_cidr, zone.storage_cidr, zone.public_cidr)]


@given(blocks(), zone_lists)
def test_subnets_lie_in_the_vpc_and_never_overlap(cidr, zones):
    decided = plan(vpc_cidr=cidr, availability_zones=zones, nat_gateways=1)
    every = [block for zone in decided.zones for block in cidrs(zone)]
    assert all(block.subnet_of(IPv4Network(cidr)) for block in every)
    assert all(16 <= block.prefixlen <= 28 for block in every)
    for at, block in enumerate(every):
        assert not any(block.overlaps(other) for other in every[at + 1 :])


@given(blocks(), zone_lists, st.data())
def test_no_later_change_moves_a_subnet(cidr, zones, data):
    before = plan(vpc_cidr=cidr, availability_zones=zones[:-1] or zones)
    room = 2 ** (32 - IPv4Network(cidr).prefixlen - 4) - 5
    demand = {zone: data.draw(st.integers(0, room)) for zone in zones}
    after = plan(
        vpc_cidr=cidr,
        availability_zones=zones,
        addresses_by_zone=demand,
        nat_gateways=data.draw(st.integers(0, len(zones))),
    )
    for old, new in zip(before.zones, after.zones, strict=False):
        assert (old.name, cidrs(old)) == (new.name, cidrs(new))


def test_shares_of_a_zone():
    zone = plan().zones[1]
    assert (zone.fleet_cidr, zone.storage_cidr, zone.public_cidr) == (
        "10.0.32.0/20",
        "10.0.48.0/21",
        "10.0.56.0/22",
    )


@given(st.integers(1, 70_000), st.integers(16, 22))
def test_nodes_fit_or_the_block_that_fits_is_named(count, prefix):
    found = check(vpc_cidr=f"10.0.0.0/{prefix}", addresses_by_zone={ZONES[0]: count})
    room = 2 ** (32 - prefix - 4) - 5
    if count * 1.2 <= room:
        assert not found
    elif count <= room:
        assert ids(found) == ["UC-NET-008"]
        assert not found[0].severity.stops
    else:
        assert ids(found) == ["UC-NIC-014"]
        assert str(room) in found[0].message
        if "use a /" in found[0].fix:
            better = int(found[0].fix.split("use a /")[1].split()[0])
            assert better < prefix
            again = check(vpc_cidr=f"10.0.0.0/{better}", addresses_by_zone={ZONES[0]: count})
            assert not any(item.severity.stops for item in again)
        else:
            assert count > 4091


@pytest.mark.parametrize("cidr", ["10.0.0.1/16", "10.0.0.0/33", "hello", "10.0.0.0/8", "10.0.0.0/23", "::/16", ""])
def test_blocks_that_cannot_be_cut(cidr):
    found = check(vpc_cidr=cidr)
    assert ids(found) == ["UC-API-106"]
    assert found[0].subject == "network.vpc_cidr"


def test_nine_zones():
    assert ids(check(availability_zones=(*ZONES, "us-east-1i"))) == ["UC-API-106"]


@pytest.mark.parametrize(("count", "expected"), [(-1, ["UC-API-113"]), (0, []), (2, []), (3, ["UC-API-113"])])
def test_nat_gateways(count, expected):
    assert ids(check(nat_gateways=count)) == expected
    if not expected:
        assert [zone.has_nat_gateway for zone in plan(nat_gateways=count).zones] == [at < count for at in range(2)]


def test_nodes_in_a_zone_that_the_network_lacks():
    found = check(addresses_by_zone={"us-east-1f": 4})
    assert ids(found) == ["UC-API-105"]
    assert "append us-east-1f" in found[0].fix


@pytest.mark.parametrize(
    ("zone", "region"),
    [
        ("us-east-1a", "us-east-1"),
        ("ap-southeast-4c", "ap-southeast-4"),
        ("us-gov-west-1b", "us-gov-west-1"),
        ("us-east-1-atl-2a", "us-east-1"),
        ("us-east-1-dfw-2a", "us-east-1"),
        ("us-west-2-phx-2a", "us-west-2"),
        ("us-east-1", None),
        ("use1-az1", None),
        ("dummy1a", None),
        ("", None),
    ],
)
def test_region_of_a_zone(zone, region):
    assert region_of_zone(zone) == region


@pytest.mark.parametrize(
    ("zones", "region", "expected"),
    [
        (("us-east-1a",), "us-east-1", []),
        (("us-east-1-atl-2a",), "us-east-1", []),
        ((), None, ["UC-API-105"]),
        (("dummy1a", "dummy1b"), None, ["UC-NET-005", "UC-NET-005"]),
        (("use1-az1",), None, ["UC-API-105"]),
        (("us-west-2a",), "us-east-1", ["UC-API-105"]),
        (("us-west-2a", "us-east-1a"), None, ["UC-API-105"]),
        (("us-east-1a", "us-east-1a"), None, ["UC-API-105"]),
        (("${Token[AWS.Region.4]}a",), None, ["UC-API-105"]),
    ],
)
def test_zone_names(zones, region, expected):
    assert ids(check_availability_zones(zones, region=region, subject="network.availability_zones")) == expected


def test_made_up_zones_stop_everything():
    found = check(availability_zones=("dummy1a",))
    assert found[0].severity == "fatal"
    assert found[0].subject == "network.availability_zones[0]"


def existing(*zones, storage=()):
    def subnets(names, kind):
        return tuple(
            ExistingSubnet(subnet_id=f"subnet-{kind}{at:016x}", availability_zone=zone) for at, zone in enumerate(names)
        )

    return ExistingNetwork(
        vpc_id="vpc-0123456789abcdef0",
        vpc_cidr="10.9.0.0/16",
        subnets=subnets(zones, 1),
        storage_subnets=subnets(storage, 2),
    )


def test_an_existing_network_is_used_as_it_is():
    decided = plan(existing=existing(*ZONES[:2], storage=ZONES[:1]))
    assert [(zone.name, zone.fleet_subnet_id, zone.storage_subnet_id) for zone in decided.zones] == [
        ("us-east-1a", "subnet-10000000000000000", "subnet-20000000000000000"),
        ("us-east-1b", "subnet-10000000000000001", "subnet-10000000000000001"),
    ]
    assert decided.vpc_cidr == "10.9.0.0/16"
    assert decided.nat_gateways == 0
    assert all(zone.fleet_cidr is None for zone in decided.zones)


def test_existing_subnets_cover_every_zone_once():
    assert ids(check(existing=existing(ZONES[0]))) == ["UC-API-114"]
    assert ids(check(existing=existing(ZONES[0], ZONES[1], ZONES[1]))) == ["UC-NET-007"]
    twice = existing(*ZONES[:2])
    twice = replace(twice, subnets=(twice.subnets[0], replace(twice.subnets[1], subnet_id=twice.subnets[0].subnet_id)))
    assert ids(check(existing=twice)) == ["UC-NET-007"]


def test_all_faults_at_once():
    with pytest.raises(FindingsError) as error:
        plan(availability_zones=("dummy1a",), vpc_cidr="10.0.0.0/8", nat_gateways=9)
    assert ids(error.value) == ["UC-NET-005", "UC-API-113", "UC-API-106"]


def test_decisions_show_the_blocks():
    decided = plan(addresses_by_zone={"us-east-1a": 16})
    assert "us-east-1a nodes 10.0.0.0/20" in decided.decisions[0].value
    assert decided.decisions[1].value == "16 of 4091 addresses"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "S3 through its gateway endpoint, autoscaling, ec2, events, "),
        ({}, "the rest through NAT"),
        ({"nat_gateways": 0}, "nothing else"),
        ({"interface_endpoints": ()}, "S3 through its gateway endpoint, the rest through NAT"),
    ],
)
def test_decisions_say_how_nodes_reach_the_bootstrap_bucket_and_the_services_they_report_to(changes, said):
    decision = plan(**changes).decisions[-1]
    assert decision.subject == "network.interface_endpoints"
    assert said in decision.value
    assert "bootstrap bucket" in decision.because


def test_a_text_in_place_of_a_list_is_one_finding():
    (found,) = check_availability_zones(tuple("us-east-1a"), region="us-east-1", subject="network.availability_zones")
    assert (found.rule_id, found.subject) == ("UC-API-105", "network.availability_zones")
    assert found.fix == "write ['us-east-1a']"


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({"nat_gateways": 0}, None),
        ({"nat_gateways": 1, "interface_endpoints": ()}, None),
        ({"nat_gateways": 0, "interface_endpoints": (*default_endpoints(), "ecr.api")}, None),
        ({"nat_gateways": 0, "interface_endpoints": ()}, ", ".join(default_endpoints())),
        (
            {"nat_gateways": 0, "interface_endpoints": ("ec2", "events", "logs", "monitoring", "ssm", "ssmmessages")},
            "autoscaling",
        ),
    ],
    ids=["default-list", "nat", "longer-list", "none", "one-lacks"],
)
def test_without_nat_what_nodes_call_has_an_endpoint(options, missing):
    found = check(**options)
    assert ids(found) == ([] if missing is None else ["UC-API-117"])
    assert all(f"no endpoint of {missing}: " in one.message for one in found)


def test_a_misspelt_endpoint_service_is_told_with_its_place_and_the_nearest_one():
    found = check(interface_endpoints=("ssm", "ssm-messages", "qqqq", "${Token[TOKEN.1]}"))
    assert ids(found) == ["UC-API-119", "UC-API-119"]
    assert str(found[0]) == (
        "network.interface_endpoints[1]: 'ssm-messages' is no service of AWS PrivateLink on record; "
        "did you mean ssmmessages? [UC-API-119]"
    )
    assert found[1].fix.startswith("take the last part of the service name")
