"""UC-NIC-001 to 005, UC-EFA-001, 002, 004, 009 and UC-NIC-016: places and kinds of an interface list."""

from __future__ import annotations

import pytest

from support.fabric import batch, entry, group, launch_template, min_ip, mixed, of_areas, own_ids, pcs, template
from support.policy import assert_finds, assert_not_judged, assert_passes, judged
from ultracluster.facts.instances import catalog
from ultracluster.plan.network_interfaces import InterfaceLayout, plan_network_interfaces

P4D = min_ip(range(4))
BY_TYPE = {"UC-NIC-004", "UC-NIC-005", "UC-EFA-001", "UC-EFA-002", "UC-EFA-004"}
ANY_TYPE = {"UC-NIC-001", "UC-NIC-002", "UC-NIC-003"}


def fleet(interfaces, instance_type="p4d.24xlarge", **data):
    return template(Lt=launch_template(interfaces, instance_type, **data), Nodes=group())


def planned(name, layout):
    plan = plan_network_interfaces(catalog()[name], layout=layout, subject="")
    return [entry(item.card, item.device, item.kind) for item in plan.interfaces]


LISTS = [
    (name, layout)
    for name, facts in catalog().items()
    for layout in InterfaceLayout
    if layout is not InterfaceLayout.MAX_BANDWIDTH or layout.value in facts.documented_layouts
    if layout is not InterfaceLayout.ALL_EFA or name != "p6e-gb200.36xlarge"
]


@pytest.mark.parametrize(("name", "layout"), LISTS)
def test_lists_of_the_plan_pass(name, layout):
    outcome = judged(fleet(planned(name, layout), name))
    assert of_areas(outcome) <= {"UC-NIC-013"}
    assert not outcome.not_judged & (BY_TYPE | ANY_TYPE)


@pytest.mark.parametrize(
    ("rule", "interfaces", "instance_type", "place"),
    [
        ("UC-NIC-001", [entry(0, 0, "efa-only"), *P4D[1:]], "p4d.24xlarge", "NetworkInterfaces[0].InterfaceType"),
        ("UC-NIC-001", [*P4D, entry(0, 0, "interface")], "p4d.24xlarge", "2 entries at card 0 device 0"),
        ("UC-NIC-001", [entry(0, 2, "interface"), *P4D[1:]], "p4d.24xlarge", "NetworkInterfaces: no entry at card 0"),
        (
            "UC-NIC-002",
            [*P4D, entry(3, 1, "interface"), entry(3, 1, "interface")],
            "p4d.24xlarge",
            "[6].DeviceIndex: card 3",
        ),
        ("UC-NIC-003", [*P4D, entry(1, 1, "efa")], "p4d.24xlarge", "[5].InterfaceType: 2 EFA devices on card 1"),
        ("UC-NIC-004", [*min_ip(range(31)), entry(31, 2, "efa-only")], "p5.48xlarge", "[32].DeviceIndex: device 2"),
        (
            "UC-NIC-004",
            [entry(0, 0, "interface"), entry(1, 1, "efa-only")],
            "p6e-gb200.36xlarge",
            "card 1 of p6e-gb200",
        ),
        ("UC-NIC-005", [*min_ip(range(3)), entry(4, 0, "efa-only")], "p4d.24xlarge", "card 4 does not exist on p4d"),
        (
            "UC-NIC-005",
            [entry(None, at, "efa-only" if at else "efa") for at in range(4)],
            "p4d.24xlarge",
            "NetworkCardIndex is absent",
        ),
        (
            "UC-EFA-001",
            [entry(0, 0, "efa")],
            "trn1.2xlarge",
            "[0].InterfaceType: efa on trn1.2xlarge, which has no EFA",
        ),
        (
            "UC-EFA-001",
            [entry(0, 0, "interface"), entry(0, 1, "efa-only")],
            "inf2.48xlarge",
            "efa-only on inf2.48xlarge",
        ),
        ("UC-EFA-002", min_ip(range(8)), "trn2.48xlarge", "8 EFA devices on trn2.48xlarge, 16 are expected"),
        ("UC-EFA-004", min_ip(range(17)), "p6-b300.48xlarge", "efa-only on card 0 of p6-b300.48xlarge"),
        ("UC-EFA-004", [entry(0, 0, "efa"), entry(1, 0, "efa-only")], "p6e-gb200.36xlarge", "efa on card 0"),
        ("UC-API-116", [entry(0, 0, "interface"), entry(1, 0, "interface")], "p6e-gb200.36xlarge", "efa-only only"),
    ],
)
def test_faults_are_found_alone(rule, interfaces, instance_type, place):
    found = fleet(interfaces, instance_type)
    assert_finds(rule, found, place=place)
    assert own_ids(found) == {rule}


def test_the_same_list_for_types_with_other_cards_is_not_shortened():
    assert own_ids(fleet(min_ip(range(16)), "p5.48xlarge")) == {"UC-EFA-002"}
    assert own_ids(fleet(min_ip(range(17)), "p5en.48xlarge")) == {"UC-NIC-005"}


def test_disputed_card_data_gives_no_fatal_finding():
    outcome = judged(fleet([entry(0, 0, "interface"), entry(1, 1, "efa-only")], "p6e-gb200.36xlarge"))
    assert [fault.severity for fault in outcome.judged.faults if fault.rule_id == "UC-NIC-004"] == ["error"]


@pytest.mark.parametrize(
    "interfaces",
    [
        {"Ref": "Interfaces"},
        [entry(0, {"Ref": "Device"}, "interface"), *P4D[1:]],
        [entry({"Fn::ImportValue": "card"}, 0, "interface"), *P4D[1:]],
        [entry(0, 0, {"Ref": "Kind"}), *P4D[1:]],
        [*P4D, {"NetworkCardIndex": 1, "DeviceIndex": 1, "NetworkInterfaceId": "eni-0123456789abcdef0"}],
        {"0": entry()},
    ],
)
def test_unknown_places_are_not_judged(interfaces):
    parameters = {"Device": {"Type": "Number"}, "Kind": {"Type": "String"}, "Interfaces": {"Type": "String"}}
    outcome = judged({**fleet(interfaces), "Parameters": parameters})
    assert not of_areas(outcome)
    assert outcome.not_judged >= BY_TYPE | ANY_TYPE


def test_an_unknown_type_leaves_what_holds_for_any_type():
    parameters = {"Type": {"Type": "String"}}
    right = {**fleet(P4D, {"Ref": "Type"}), "Parameters": parameters}
    assert_passes("UC-NIC-001", right)
    assert_not_judged("UC-EFA-002", right)
    wrong = {**fleet([*P4D, entry(1, 1, "efa")], {"Ref": "Type"}), "Parameters": parameters}
    assert own_ids(wrong) == {"UC-NIC-003"}


def test_numbers_may_be_texts():
    assert own_ids(fleet([*P4D, entry("1", "1", "efa")])) == {"UC-NIC-003"}


def test_a_plain_interface_passes_for_every_type():
    outcome = judged(fleet([{"DeviceIndex": 0, "AssociatePublicIpAddress": True}], "m7i.large"))
    assert not of_areas(outcome)
    assert not {rule for rule in outcome.not_judged if rule.startswith(("UC-NIC", "UC-EFA"))}


def test_a_list_without_fabric_is_a_fleet_without_efa():
    assert not own_ids(fleet([entry(0, 0, "interface"), entry(1, 0, "interface")], "p5.48xlarge"))


def test_the_number_that_a_construct_notes_is_right():
    made = launch_template(min_ip(range(2)), "p4d.24xlarge")
    assert own_ids(template(Lt=made)) == {"UC-EFA-002"}
    made["Metadata"] = {"ultracluster": {"efa_interfaces": 2}}
    assert not own_ids(template(Lt=made))


def test_a_primary_interface_may_come_with_the_launch_call():
    listed = launch_template(P4D[1:], "p4d.24xlarge")
    assert not own_ids(template(Lt=listed))
    instance = {"Type": "AWS::EC2::Instance", "Properties": {"LaunchTemplate": {"LaunchTemplateId": {"Ref": "Lt"}}}}
    assert not own_ids(template(Lt=listed, Node=instance))
    for consumer in (group(), pcs(types=["p4d.24xlarge"]), batch(types=["p4d.24xlarge"])):
        assert own_ids(template(Lt=listed, Nodes=consumer)) == {"UC-NIC-001"}


# The type of a list: of the launch template, else of whoever launches from it.


# A family name of Batch stands for all its sizes.
@pytest.mark.parametrize("consumer", [pcs(), batch(), batch(types=["p5e"]), mixed([{"InstanceType": "p5.48xlarge"}])])
def test_the_type_comes_from_the_consumer(consumer):
    assert "UC-EFA-002" in own_ids(template(Lt=launch_template(min_ip(range(8))), Nodes=consumer))
    assert not own_ids(template(Lt=launch_template(min_ip(range(32))), Nodes=consumer))


def test_allowed_values_are_tried_one_by_one():
    parameters = {
        "Type": {"Type": "String", "Default": "p5.48xlarge", "AllowedValues": ["p5.48xlarge", "p5e.48xlarge"]}
    }
    found = {**fleet(min_ip(range(32)), {"Ref": "Type"}), "Parameters": parameters}
    assert_passes("UC-EFA-002", found)
    parameters["Type"]["AllowedValues"].append("p5en.48xlarge")
    assert own_ids(found) == {"UC-NIC-005"}
    assert_passes("UC-EFA-009", found)


def test_list_and_type_under_one_condition():
    """Two readings that are right each; only mixing them up finds something."""
    found = template(
        {"Large": {"Type": "String", "Default": ""}},
        {"IsLarge": {"Fn::Equals": [{"Ref": "Large"}, "yes"]}},
        Lt=launch_template(
            {"Fn::If": ["IsLarge", min_ip(range(32)), P4D]},
            {"Fn::If": ["IsLarge", "p5.48xlarge", "p4d.24xlarge"]},
        ),
        Nodes=group(),
    )
    outcome = judged(found)
    assert not of_areas(outcome)
    assert not outcome.not_judged & (BY_TYPE | ANY_TYPE)


def test_entries_under_a_condition():
    second = {"Fn::If": ["More", entry(1, 1, "efa"), {"Ref": "AWS::NoValue"}]}
    found = template(
        {"Count": {"Type": "Number", "Default": 1}},
        {"More": {"Fn::Equals": [{"Ref": "Count"}, 2]}},
        Lt=launch_template([*P4D, second], "p4d.24xlarge"),
    )
    outcome = judged(found)
    assert of_areas(outcome) == {"UC-NIC-003"}
    assert any("Count = '2'" in text for fault in outcome.judged.faults for text in fault.scenario)


# UC-EFA-009


@pytest.mark.parametrize(
    ("cards", "types"),
    [
        (range(32), ("p5.48xlarge", "p5en.48xlarge")),
        (range(8), ("p6-b200.48xlarge", "p6-b300.48xlarge")),
        (range(4), ("p4d.24xlarge", "trn1.32xlarge")),
    ],
)
def test_one_list_for_types_with_other_cards(cards, types):
    overrides = mixed([{"InstanceType": name} for name in types])
    found = template(Lt=launch_template(min_ip(cards)), Nodes=overrides)
    assert_finds(
        "UC-EFA-009", found, place=f"Lt LaunchTemplateData.NetworkInterfaces: one list for {types[1]} and {types[0]}"
    )
    assert own_ids(found) == {"UC-EFA-009"}


@pytest.mark.parametrize(
    ("interfaces", "types"),
    [
        (min_ip(range(32)), ("p5.48xlarge", "p5e.48xlarge")),
        # Other limits per card, and yet a list that is whole and right on both.
        (min_ip([0]), ("g6e.8xlarge", "g6e.12xlarge")),
        ([entry(0, 0, "interface")], ("p5.48xlarge", "g6e.8xlarge")),
    ],
)
def test_one_list_that_is_right_for_all_types(interfaces, types):
    overrides = mixed([{"InstanceType": name} for name in types])
    assert_passes("UC-EFA-009", template(Lt=launch_template(interfaces), Nodes=overrides))


def test_a_launch_template_for_each_layout_passes():
    overrides = mixed(
        [
            {"InstanceType": "p5.48xlarge"},
            {"InstanceType": "p5en.48xlarge", "LaunchTemplateSpecification": {"LaunchTemplateId": {"Ref": "Other"}}},
        ]
    )
    found = template(Lt=launch_template(min_ip(range(32))), Other=launch_template(min_ip(range(16))), Nodes=overrides)
    assert not own_ids(found)


def test_a_fault_for_every_type_stays_beside_the_shared_list():
    overrides = mixed([{"InstanceType": "p5.48xlarge"}, {"InstanceType": "p5en.48xlarge"}])
    interfaces = [*min_ip(range(32)), entry(1, 1, "efa")]
    assert own_ids(template(Lt=launch_template(interfaces), Nodes=overrides)) == {"UC-EFA-009", "UC-NIC-003"}


def test_types_that_are_not_known_are_not_a_mix():
    overrides = mixed([{"InstanceType": "p5.48xlarge"}, {"InstanceType": {"Ref": "Type"}}])
    found = template({"Type": {"Type": "String"}}, Lt=launch_template(min_ip(range(32))), Nodes=overrides)
    assert_not_judged("UC-EFA-009", found)


# UC-NIC-016


def test_a_type_outside_the_catalogue():
    found = fleet(min_ip(range(17), on_card0=False), "p6e-gb300.36xlarge")
    assert_finds("UC-NIC-016", found, place="InstanceType: p6e-gb300.36xlarge is not in the catalogue")
    assert own_ids(found) == {"UC-NIC-016"}
    assert_not_judged("UC-EFA-001", found)


def test_no_type_in_sight():
    assert own_ids(fleet(P4D, None)) == {"UC-NIC-016"}
    assert not own_ids(template(Lt=launch_template(P4D)))


def test_every_allowed_value_is_catalogued():
    parameters = {"Type": {"Type": "String", "AllowedValues": ["p4d.24xlarge", "p4de.24xlarge"]}}
    found = {**fleet(P4D, {"Ref": "Type"}), "Parameters": parameters}
    assert_passes("UC-NIC-016", found)
    parameters["Type"]["AllowedValues"].append("p9.48xlarge")
    assert own_ids(found) == {"UC-NIC-016"}


def test_a_type_that_is_not_known_is_not_judged():
    assert_not_judged("UC-NIC-016", {**fleet(P4D, {"Ref": "Type"}), "Parameters": {"Type": {"Type": "String"}}})


def test_a_firewall_with_two_interfaces_needs_no_catalogue():
    assert not own_ids(fleet([entry(0, 0, "interface"), entry(0, 1, "interface")], "m7i.large"))


@pytest.mark.parametrize(("types", "expected"), [(["p5.48xlarge"], set()), (["p5"], {"UC-EFA-009"})])
def test_a_family_in_an_override_is_the_types_of_its_environment(types, expected):
    """`p5` also names p5.4xlarge, which an environment of p5.48xlarge does not launch."""
    place = {"LaunchTemplateId": {"Ref": "Lt"}, "Version": {"Fn::GetAtt": ["Lt", "LatestVersionNumber"]}}
    environment = batch(types=types)
    environment["Properties"]["ComputeResources"]["LaunchTemplate"] = {
        **place,
        "Overrides": [{**place, "TargetInstanceTypes": ["p5"]}],
    }
    found = template(Lt=launch_template(min_ip(range(32))), Env=environment)
    assert own_ids(found) & {"UC-EFA-009"} == expected
