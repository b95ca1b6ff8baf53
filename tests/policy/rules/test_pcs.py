"""UC-PCS-001, 002, 010, 011 and 014 to 017: node groups of PCS and their launch templates."""

from __future__ import annotations

import pytest

from support.compared import assert_change_finds, assert_change_passes
from support.fabric import entry, min_ip
from support.orchestrators import (
    NONE,
    P5,
    SCRIPT,
    either,
    encoded,
    ids,
    launch_template,
    parameter,
    pcs_app,
    pcs_cluster,
    pcs_nodes,
    resource,
    switch,
    template,
)
from support.policy import assert_finds, assert_not_judged, assert_passes, judged

TEXT = {"Ref": "Text"}
ELSEWHERE = {"TemplateId": "lt-0123456789abcdef0", "Version": "3"}
MARKET = {"InstanceMarketOptions": {"MarketType": "capacity-block"}}


def target(reservation="cr-0123456789abcdef0"):
    return {"CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": reservation}}}


def test_a_plain_app_is_clean():
    assert ids("PCS", pcs_app()) == set()
    all_efa = [entry(card, 0 if card == 0 else 1) for card in range(32)]
    assert ids("PCS", pcs_app({"InstanceType": P5, "NetworkInterfaces": all_efa})) == set()


# UC-PCS-001


def test_interfaces_that_may_not_reach_the_nodes():
    found = pcs_app({"InstanceType": P5, "NetworkInterfaces": min_ip(range(32))})
    (said,) = judged(found).of("UC-PCS-001")
    assert said.startswith(
        "Lt LaunchTemplateData.NetworkInterfaces[1].InterfaceType: efa-only for node group Nodes, and"
    )
    assert said.endswith("(31 more like it)")
    assert ids("PCS", found) == {"UC-PCS-001"}


@pytest.mark.parametrize(
    "found",
    [
        pcs_app({"NetworkInterfaces": [entry(0, 0), entry(1, 1)]}),
        pcs_app({"NetworkInterfaces": [entry(0, 0, None)]}),
        template(Lt=launch_template(NetworkInterfaces=min_ip(range(32)))),
    ],
)
def test_interfaces_that_reach_the_nodes(found):
    assert_passes("UC-PCS-001", found)


def test_interfaces_that_are_not_known():
    assert_not_judged("UC-PCS-001", pcs_app({"NetworkInterfaces": [entry(0, 0), entry(1, 1, TEXT)]}))


# UC-PCS-002


@pytest.mark.parametrize(
    ("data", "option", "said"),
    [
        (target(), "CAPACITY_BLOCK", "CAPACITY_BLOCK, and launch template Lt has market type absent"),
        (target({"Ref": "Cr"}), "CAPACITY_BLOCK", "CAPACITY_BLOCK, and the target Cr is an On-Demand reservation"),
        ({**MARKET, **target({"Ref": "Cr"})}, "CAPACITY_BLOCK", "the target Cr is an On-Demand reservation"),
        ({**MARKET, **target()}, None, "absent (ONDEMAND), and launch template Lt has market type capacity-block"),
        ({**MARKET, **target()}, "ONDEMAND", "ONDEMAND, and launch template Lt has market type capacity-block"),
        ({**MARKET, **target()}, "SPOT", "SPOT, and launch template Lt has market type capacity-block"),
        ({"InstanceMarketOptions": {"MarketType": "spot"}}, "CAPACITY_BLOCK", "has market type spot"),
    ],
)
def test_purchase_and_market_that_differ(data, option, said):
    reserved = resource("EC2::CapacityReservation", InstanceCount=4, InstanceType=P5, InstancePlatform="Linux/UNIX")
    found = pcs_app({"InstanceType": P5, **data}, group={"PurchaseOption": option}, Cr=reserved)
    assert_finds("UC-PCS-002", found, place="Nodes PurchaseOption: ")
    assert_finds("UC-PCS-002", found, place=said)
    assert ids("PCS", found) == {"UC-PCS-002"}


@pytest.mark.parametrize(
    ("data", "option"),
    [
        ({**MARKET, **target()}, "CAPACITY_BLOCK"),
        (target({"Ref": "Cr"}), "ONDEMAND"),
        (target(), None),
        ({}, "SPOT"),
        ({}, None),
        (target(), "INTERRUPTIBLE_CAPACITY_RESERVATION"),
    ],
)
def test_purchase_and_market_that_agree(data, option):
    reserved = resource("EC2::CapacityReservation", InstanceCount=4, InstanceType=P5, InstancePlatform="Linux/UNIX")
    assert_passes("UC-PCS-002", pcs_app({"InstanceType": P5, **data}, group={"PurchaseOption": option}, Cr=reserved))


@pytest.mark.parametrize(
    ("data", "group"),
    [
        ({}, {"PurchaseOption": TEXT}),
        ({"InstanceMarketOptions": {"MarketType": TEXT}}, {"PurchaseOption": "CAPACITY_BLOCK"}),
        ({}, {"CustomLaunchTemplate": ELSEWHERE, "PurchaseOption": "CAPACITY_BLOCK"}),
    ],
)
def test_purchase_that_is_not_known(data, group):
    assert_not_judged("UC-PCS-002", pcs_app({"InstanceType": P5, **data}, group=group))


@pytest.mark.parametrize(("swapped", "expected"), [(False, set()), (True, {"UC-PCS-002"})])
def test_purchase_and_market_under_one_condition(swapped, expected):
    """The form of public templates: a block where an id is given."""
    conditions = {"Block": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Id"}, ""]}]}}
    options = ("CAPACITY_BLOCK", NONE) if not swapped else (NONE, "CAPACITY_BLOCK")
    block = {**MARKET, **target({"Ref": "Id"})}
    data = {key: either("Block", value, NONE) for key, value in block.items()}
    option = {"PurchaseOption": either("Block", *options)}
    found = pcs_app({"InstanceType": P5, **data}, {"Id": parameter(Default="")}, conditions, group=option)
    assert ids("PCS", found) == expected


# UC-PCS-010


def versioned(version):
    return pcs_app(group={"CustomLaunchTemplate": {"TemplateId": {"Ref": "Lt"}, "Version": version}})


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1", "Nodes CustomLaunchTemplate.Version: 1 beside a launch template of the same app, whose changes never"),
        (1, "Version: 1 beside"),
        ({"Fn::GetAtt": ["Lt", "DefaultVersionNumber"]}, "!GetAtt Lt.DefaultVersionNumber, which stays at the first"),
    ],
)
def test_a_version_that_stays_behind(version, said):
    found = versioned(version)
    assert_finds("UC-PCS-010", found, place=said)
    assert ids("PCS", found) == {"UC-PCS-010"}


def test_a_version_that_moves_along():
    assert_passes("UC-PCS-010", pcs_app())
    assert_passes("UC-PCS-010", versioned("$Latest"))  # told by a rule on launch templates
    managed = template(Pcs=pcs_cluster(), Nodes=pcs_nodes(CustomLaunchTemplate=None))
    assert_passes("UC-PCS-010", managed)


def test_a_version_that_is_not_known():
    assert_not_judged("UC-PCS-010", versioned(TEXT))
    assert_not_judged("UC-PCS-010", pcs_app(group={"CustomLaunchTemplate": ELSEWHERE}))


def test_a_version_in_a_nested_stack():
    """The launch template stands in the parent, the node group gets id and version as parameters."""
    parameters = {"Id": parameter(), "Number": parameter()}
    place = {"TemplateId": {"Ref": "Id"}, "Version": {"Ref": "Number"}}
    child = template(parameters, Pcs=pcs_cluster(), Nodes=pcs_nodes(CustomLaunchTemplate=place))
    assert_not_judged("UC-PCS-010", child)


# UC-PCS-011


def scripts(*listed, stage="NodeBootstrapped"):
    return pcs_app(group={"NodeLifecycleActions": {"Stages": {stage: list(listed)}}})


def script(location="s3://bucket/setup.sh", error=None, **source):
    body = {"Name": "setup", "ScriptSource": {"ScriptLocation": location, **source}}
    return body if error is None else {**body, "OnError": error}


PINNED = {"S3VersionId": "3sL4kqtJlcpXroDTDmJ", "Checksum": "0" * 64}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            scripts(script()),
            "Nodes NodeLifecycleActions.Stages.NodeBootstrapped[0]: ends its node when it fails, and s3://bucket/setup.sh",
        ),
        (scripts(script(S3VersionId="1")), "is not pinned (Checksum absent)"),
        (scripts(script(error="TERMINATE", Checksum="0" * 64)), "(S3VersionId absent)"),
        (scripts(script("https://example.com/setup.sh")), "(Checksum absent)"),
        (scripts(script(**PINNED), script(), stage="NodeReady"), "Stages.NodeReady[1]: ends its node"),
        (scripts(script({"Fn::Sub": "s3://${Text}/setup.sh"})), "(S3VersionId and Checksum absent)"),
    ],
)
def test_a_script_that_may_loop(found, said):
    assert_finds("UC-PCS-011", found, place=said)
    assert ids("PCS", found) == {"UC-PCS-011"}


@pytest.mark.parametrize(
    "found",
    [
        scripts(script(**PINNED)),
        scripts(script("https://example.com/setup.sh", Checksum="0" * 64)),
        scripts(script(error="STOP_SEQUENCE"), script(error="CONTINUE")),
        pcs_app(),
    ],
)
def test_a_script_that_cannot_loop(found):
    assert_passes("UC-PCS-011", found)


def test_a_script_that_is_not_known():
    assert_not_judged("UC-PCS-011", scripts(script(error=TEXT)))


@pytest.mark.parametrize(("errors", "expected"), [(("CONTINUE", NONE), set()), ((NONE, "CONTINUE"), {"UC-PCS-011"})])
def test_error_and_pin_under_one_condition(errors, expected):
    parameters, conditions = switch()
    source = {name: either("Big", NONE, value) for name, value in PINNED.items()}
    stages = {"NodeReady": [script(error=either("Big", *errors), **source)]}
    found = pcs_app(None, parameters, conditions, group={"NodeLifecycleActions": {"Stages": stages}})
    assert ids("PCS", found) == expected


# UC-PCS-014


def block(data=None, *types, **group):
    full = {**MARKET, **target(), **({"InstanceType": P5} if data is None else data)}
    found = pcs_app(full, Nodes=pcs_nodes(*types, PurchaseOption="CAPACITY_BLOCK", **group))
    del found["Resources"]["Work"]
    return found


def test_a_block_without_its_type():
    found = block({})
    assert_finds(
        "UC-PCS-014", found, place="Lt LaunchTemplateData.InstanceType: absent in the launch template of Nodes,"
    )
    assert ids("PCS", found) == {"UC-PCS-014"}


@pytest.mark.parametrize("kind", ["p4de.24xlarge", "trn2.48xlarge"])
def test_a_block_of_another_family(kind):
    found = block({"InstanceType": kind}, kind)
    place = f"Nodes InstanceConfigs[0].InstanceType: {kind} in a Capacity Block, which PCS does not name"
    assert_finds("UC-PCS-014", found, place=place)
    assert ids("PCS", found) == {"UC-PCS-014"}


def test_a_block_as_documented():
    assert_passes("UC-PCS-014", block())
    assert_passes("UC-PCS-014", pcs_app({}, group={"PurchaseOption": "ONDEMAND"}))


def test_a_block_that_is_not_known():
    assert_not_judged("UC-PCS-014", block(None, "m7i.large"))
    assert_not_judged("UC-PCS-014", pcs_app(group={"PurchaseOption": TEXT}))
    assert_not_judged("UC-PCS-014", block(None, CustomLaunchTemplate=ELSEWHERE))


# UC-PCS-015

GROUPS = ["sg-0123456789abcdef0"]


def test_groups_in_two_places():
    found = pcs_app({"InstanceType": P5, "NetworkInterfaces": [entry(0, 0)]}, group={"SecurityGroupIds": GROUPS})
    said = "Nodes SecurityGroupIds: a list of 1 beside the interfaces of launch template Lt"
    assert judged(found).of("UC-PCS-015") == [said]
    assert ids("PCS", found) == {"UC-PCS-015"}


@pytest.mark.parametrize("groups", [None, []])
def test_groups_in_one_place(groups):
    assert_passes("UC-PCS-015", pcs_app({"NetworkInterfaces": [entry(0, 0)]}, group={"SecurityGroupIds": groups}))
    assert_passes("UC-PCS-015", pcs_app(group={"SecurityGroupIds": GROUPS}))


def test_groups_that_are_not_known():
    found = pcs_app({"NetworkInterfaces": TEXT}, group={"SecurityGroupIds": GROUPS})
    assert_not_judged("UC-PCS-015", found)
    assert_not_judged("UC-PCS-015", pcs_app(group={"SecurityGroupIds": GROUPS, "CustomLaunchTemplate": ELSEWHERE}))


@pytest.mark.parametrize(("swapped", "expected"), [(False, set()), (True, {"UC-PCS-015"})])
def test_groups_and_interfaces_under_one_condition(swapped, expected):
    parameters, conditions = switch()
    groups = (NONE, GROUPS) if not swapped else (GROUPS, NONE)
    data = {"InstanceType": P5, "NetworkInterfaces": either("Big", [entry(0, 0)], NONE)}
    found = pcs_app(data, parameters, conditions, group={"SecurityGroupIds": either("Big", *groups)})
    assert ids("PCS", found) == expected


# UC-PCS-016


def test_types_that_change():
    old, new = pcs_app(), pcs_app(Nodes=pcs_nodes("p5e.48xlarge"))
    said = "InstanceConfigs changes from p5.48xlarge to p5e.48xlarge, which replaces the node group"
    assert_change_finds("UC-PCS-016", old, new, place=f"InstanceConfigs: {said}")
    assert_change_finds("UC-PCS-016", old, pcs_app(Nodes=pcs_nodes(P5, "p5e.48xlarge")))


def test_types_that_stay():
    two = pcs_app(Nodes=pcs_nodes(P5, "p5e.48xlarge"))
    assert_change_passes("UC-PCS-016", two, pcs_app(Nodes=pcs_nodes("p5e.48xlarge", P5)))
    assert_change_passes("UC-PCS-016", pcs_app(), pcs_app(Nodes=pcs_nodes(most=8)))
    assert_change_passes("UC-PCS-016", pcs_app(), template(Pcs=pcs_cluster()))


# UC-PCS-017


@pytest.mark.parametrize("text", ["#!/bin/bash\necho hello", "#cloud-config\nruncmd: []\n"])
def test_user_data_that_is_no_mime(text):
    found = pcs_app({"InstanceType": P5, "UserData": encoded(text)})
    line = text.split("\n", 1)[0]
    place = (
        f"Lt LaunchTemplateData.UserData: it begins with '{line}', and PCS merges MIME multipart only: Nodes gets no"
    )
    assert_finds("UC-PCS-017", found, place=place)
    assert ids("PCS", found) == {"UC-PCS-017"}


@pytest.mark.parametrize(
    "found",
    [
        pcs_app({"UserData": encoded(SCRIPT)}),
        pcs_app({"UserData": {"Fn::Base64": {"Fn::Sub": SCRIPT.replace("hello", "${Pcs.Id}")}}}),
        pcs_app(),
        template(Lt=launch_template(UserData=encoded("#!/bin/bash"))),
    ],
)
def test_user_data_that_is_mime(found):
    assert_passes("UC-PCS-017", found)


def test_user_data_that_is_not_known():
    assert_not_judged("UC-PCS-017", pcs_app({"UserData": TEXT}))
    assert_not_judged("UC-PCS-017", pcs_app({"UserData": {"Fn::Base64": {"Fn::Sub": "${Text}"}}}))
