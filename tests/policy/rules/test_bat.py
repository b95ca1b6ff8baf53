"""UC-BAT-001, 002, 011, 014, 015 and 021: environments of Batch and their launch templates."""

from __future__ import annotations

import pytest

from support.fabric import entry
from support.orchestrators import (
    NONE,
    P5,
    SCRIPT,
    either,
    encoded,
    environment,
    ids,
    launch_template,
    parameter,
    queue,
    resource,
    switch,
    template,
)
from support.policy import assert_finds, assert_not_judged, assert_passes, judged

GROUPS = ["sg-0123456789abcdef0"]
FABRIC = [entry(0, 0), entry(1, 1)]
ELSEWHERE = {"LaunchTemplateId": "lt-0123456789abcdef0", "Version": "3"}


def pair(data=None, parameters=None, conditions=None, **more):
    return template(
        parameters,
        conditions,
        Lt=launch_template(**(data or {"NetworkInterfaces": FABRIC})),
        Env=environment("Lt", **more),
    )


def overridden(data, **more):
    """An environment whose second launch template is that of an override."""
    place = {"LaunchTemplateId": {"Ref": "Other"}, "Version": {"Fn::GetAtt": ["Other", "LatestVersionNumber"]}}
    found = pair({"BlockDeviceMappings": []}, **more)
    overrides = [{**place, "TargetInstanceTypes": [P5]}]
    found["Resources"]["Env"]["Properties"]["ComputeResources"]["LaunchTemplate"]["Overrides"] = overrides
    found["Resources"]["Other"] = launch_template(**data)
    return found


def test_a_plain_environment_is_clean():
    assert ids("BAT", pair()) == set()
    assert ids("BAT", template(Env=environment(), Queue=queue("Env"))) == set()


# UC-BAT-001


def test_groups_beside_interfaces():
    found = pair(SecurityGroupIds=GROUPS)
    assert judged(found).of("UC-BAT-001") == [
        "Env ComputeResources.SecurityGroupIds: a list of 1 beside the interfaces of launch template Lt"
    ]
    assert ids("BAT", found) == {"UC-BAT-001"}


def test_groups_beside_the_interfaces_of_an_override():
    found = overridden({"NetworkInterfaces": FABRIC}, SecurityGroupIds=GROUPS)
    assert_finds("UC-BAT-001", found, place="of launch template Other")


@pytest.mark.parametrize(
    "found",
    [
        pair(),
        pair({"BlockDeviceMappings": []}, SecurityGroupIds=GROUPS),
        template(Env=environment(SecurityGroupIds=GROUPS)),
    ],
)
def test_groups_or_interfaces(found):
    assert_passes("UC-BAT-001", found)


@pytest.mark.parametrize(
    "found",
    [
        pair(SecurityGroupIds=[]),
        pair({"NetworkInterfaces": {"Ref": "List"}}, {"List": parameter()}, SecurityGroupIds=GROUPS),
        template(Env=environment(LaunchTemplate=ELSEWHERE, SecurityGroupIds=GROUPS)),
    ],
)
def test_groups_of_which_little_is_known(found):
    assert_not_judged("UC-BAT-001", found)


@pytest.mark.parametrize(("swapped", "expected"), [(False, set()), (True, {"UC-BAT-001"})])
def test_groups_and_interfaces_under_one_condition(swapped, expected):
    parameters, conditions = switch()
    groups = (NONE, GROUPS) if not swapped else (GROUPS, NONE)
    data = {"NetworkInterfaces": either("Big", FABRIC, NONE)}
    found = pair(data, parameters, conditions, SecurityGroupIds=either("Big", *groups))
    assert ids("BAT", found) == expected


# UC-BAT-002


@pytest.mark.parametrize(
    ("text", "line"),
    [("#!/bin/bash\necho hello", "#!/bin/bash"), ("#cloud-config\n", "#cloud-config"), ("\n#!/bin/sh\n", "#!/bin/sh")],
)
def test_user_data_that_is_no_mime(text, line):
    found = pair({"UserData": encoded(text)})
    (said,) = judged(found).of("UC-BAT-002")
    assert said.startswith(f"Lt LaunchTemplateData.UserData: it begins with '{line}', and Batch merges MIME")
    assert said.endswith("Env turns INVALID")
    assert ids("BAT", found) == {"UC-BAT-002"}


def test_user_data_of_an_override():
    assert_finds("UC-BAT-002", overridden({"UserData": encoded("#!/bin/bash")}), place="Other LaunchTemplateData")


@pytest.mark.parametrize(
    "found",
    [
        pair({"UserData": encoded(SCRIPT)}),
        pair({"UserData": {"Fn::Base64": {"Fn::Sub": SCRIPT.replace("hello", "${AWS::Region}")}}}),
        pair(),
        template(Lt=launch_template(UserData=encoded("#!/bin/bash"))),
    ],
)
def test_user_data_that_is_mime(found):
    assert_passes("UC-BAT-002", found)


@pytest.mark.parametrize("text", [{"Ref": "Text"}, {"Fn::Base64": {"Fn::Sub": "${Text}\nmore"}}])
def test_user_data_that_is_not_known(text):
    assert_not_judged("UC-BAT-002", pair({"UserData": text}, {"Text": parameter()}))


def test_user_data_and_its_use_under_one_condition():
    parameters, conditions = switch()
    conditions["Small"] = {"Fn::Not": [{"Condition": "Big"}]}
    found = pair({"UserData": either("Big", encoded("#!/bin/bash"), encoded(SCRIPT))}, parameters, conditions)
    found["Resources"]["Env"]["Condition"] = "Small"
    assert_passes("UC-BAT-002", found)
    found["Resources"]["Env"]["Condition"] = "Big"
    assert_finds("UC-BAT-002", found)


# UC-BAT-011

TARGET = {"CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"}}


def test_efa_without_a_placement_group():
    found = pair(PlacementGroup=None)
    assert_finds(
        "UC-BAT-011",
        found,
        place="Env ComputeResources.PlacementGroup: absent here and in launch template Lt, whose interfaces have EFA",
    )
    assert ids("BAT", found) == {"UC-BAT-011"}
    empty = {"CapacityReservationSpecification": {"CapacityReservationTarget": {}}, "NetworkInterfaces": FABRIC}
    assert_finds("UC-BAT-011", pair(empty, PlacementGroup=None))


@pytest.mark.parametrize(
    "data",
    [
        {"NetworkInterfaces": FABRIC, "Placement": {"GroupName": "training"}},
        {"NetworkInterfaces": FABRIC, "CapacityReservationSpecification": TARGET},
        {"NetworkInterfaces": FABRIC, "InstanceMarketOptions": {"MarketType": "capacity-block"}},
        {"NetworkInterfaces": [entry(0, 0, "interface")]},
    ],
)
def test_efa_that_has_its_place(data):
    assert_passes("UC-BAT-011", pair(data, PlacementGroup=None))
    assert_passes("UC-BAT-011", template(Env=environment(PlacementGroup=None)))


def test_efa_that_is_not_known():
    interfaces = {"NetworkInterfaces": [entry(0, 0, {"Ref": "Kind"})]}
    assert_not_judged("UC-BAT-011", pair(interfaces, {"Kind": parameter()}, PlacementGroup=None))
    assert_not_judged("UC-BAT-011", template(Env=environment(LaunchTemplate=ELSEWHERE, PlacementGroup=None)))


@pytest.mark.parametrize(("swapped", "expected"), [(False, set()), (True, {"UC-BAT-011"})])
def test_efa_and_group_under_one_condition(swapped, expected):
    parameters, conditions = switch()
    group = ("training", NONE) if not swapped else (NONE, "training")
    data = {"NetworkInterfaces": either("Big", FABRIC, NONE)}
    assert ids("BAT", pair(data, parameters, conditions, PlacementGroup=either("Big", *group))) == expected


# UC-BAT-014


@pytest.mark.parametrize("kind", ["capacity-block", "spot"])
def test_market_options(kind):
    found = pair({"InstanceMarketOptions": {"MarketType": kind}})
    assert_finds(
        "UC-BAT-014", found, place=f"Lt LaunchTemplateData.InstanceMarketOptions: {kind} in the launch template of Env,"
    )
    assert ids("BAT", found) == {"UC-BAT-014"}


def test_market_options_elsewhere():
    assert_passes("UC-BAT-014", template(Lt=launch_template(InstanceMarketOptions={"MarketType": "spot"})))
    assert_passes("UC-BAT-014", pair())


def test_market_options_that_are_not_known():
    data = {"Fn::Transform": {"Name": "Macro"}}
    found = template(Lt=resource("EC2::LaunchTemplate", LaunchTemplateData=data), Env=environment("Lt"))
    assert_not_judged("UC-BAT-014", found)


# UC-BAT-015


def versioned(version, parameters=None):
    place = {"LaunchTemplateId": {"Ref": "Lt"}, "Version": version}
    place = {key: value for key, value in place.items() if value is not None}
    return template(parameters, None, Lt=launch_template(), Env=environment(LaunchTemplate=place))


@pytest.mark.parametrize(
    ("version", "shown"), [("$Latest", "$Latest"), ("$Default", "$Default"), (None, "absent ($Default)")]
)
def test_a_version_that_moves(version, shown):
    found = versioned(version)
    assert_finds(
        "UC-BAT-015", found, place=f"Env ComputeResources.LaunchTemplate.Version: {shown}, which Batch resolves"
    )
    assert ids("BAT", found) == {"UC-BAT-015"}


def test_a_version_of_an_override():
    found = overridden({"BlockDeviceMappings": []})
    place = found["Resources"]["Env"]["Properties"]["ComputeResources"]["LaunchTemplate"]["Overrides"][0]
    place["Version"] = "$Latest"
    assert_finds("UC-BAT-015", found, place="LaunchTemplate.Overrides[0].Version: $Latest")


@pytest.mark.parametrize("version", ["3", 3, {"Fn::GetAtt": ["Lt", "LatestVersionNumber"]}])
def test_a_version_that_stays(version):
    assert_passes("UC-BAT-015", versioned(version))
    assert_passes("UC-BAT-015", template(Env=environment()))


def test_a_version_that_is_not_known():
    assert_not_judged("UC-BAT-015", versioned({"Ref": "Number"}, {"Number": parameter()}))


# UC-BAT-021

PROFILE = {"Arn": "arn:aws:iam::111122223333:instance-profile/other"}


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (
            {"InstanceType": "p5e.48xlarge"},
            "Lt LaunchTemplateData.InstanceType: p5e.48xlarge has no effect in environment",
        ),
        ({"IamInstanceProfile": PROFILE}, "LaunchTemplateData.IamInstanceProfile: an object has no effect"),
        (
            {"DisableApiTermination": True},
            "LaunchTemplateData.DisableApiTermination: true has no effect in environment",
        ),
        (
            {"NetworkInterfaces": [entry(0, 0), entry(1, 1, SubnetId="subnet-0123456789abcdef0")]},
            "NetworkInterfaces[1].SubnetId: subnet-0123456789abcdef0 has no effect in environment Env",
        ),
    ],
)
def test_settings_without_effect(data, place):
    found = pair(data)
    assert_finds("UC-BAT-021", found, place=place)
    assert ids("BAT", found) == {"UC-BAT-021"}


@pytest.mark.parametrize(
    "data",
    [
        {"InstanceType": P5},
        {"IamInstanceProfile": {"Arn": "arn:aws:iam::111122223333:instance-profile/batch"}},
        {"DisableApiTermination": False},
        {"MetadataOptions": {"HttpTokens": "required"}},
    ],
)
def test_settings_that_do_no_harm(data):
    assert_passes("UC-BAT-021", pair(data))


def test_the_profile_of_the_environment():
    profile = resource("IAM::InstanceProfile", Roles=[{"Ref": "Role"}])
    role = resource("IAM::Role", AssumeRolePolicyDocument={})
    found = pair({"IamInstanceProfile": {"Arn": {"Fn::GetAtt": ["Profile", "Arn"]}}}, InstanceRole={"Ref": "Profile"})
    found["Resources"] |= {"Profile": profile, "Role": role}
    assert_passes("UC-BAT-021", found)


def test_a_launch_template_that_others_use_too():
    found = pair({"InstanceType": "p5e.48xlarge"})
    use = {"LaunchTemplateId": {"Ref": "Lt"}, "Version": "1"}
    found["Resources"]["Asg"] = resource("AutoScaling::AutoScalingGroup", MinSize="0", MaxSize="1", LaunchTemplate=use)
    assert_passes("UC-BAT-021", found)


def test_settings_that_are_not_known():
    assert_not_judged("UC-BAT-021", pair({"DisableApiTermination": {"Ref": "Off"}}, {"Off": parameter()}))
    unknown = {"NetworkInterfaces": {"Ref": "Off"}}
    assert_not_judged("UC-BAT-021", pair(unknown, {"Off": parameter()}))


@pytest.mark.parametrize(("kinds", "expected"), [((P5, "p5e.48xlarge"), set()), (("p5e.48xlarge", P5), {"UC-BAT-021"})])
def test_type_of_both_under_one_condition(kinds, expected):
    parameters, conditions = switch()
    types = [either("Big", P5, "p5e.48xlarge")]
    data = {"InstanceType": either("Big", *kinds)}
    assert ids("BAT", pair(data, parameters, conditions, InstanceTypes=types)) == expected
