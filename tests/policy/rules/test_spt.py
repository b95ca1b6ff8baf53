"""UC-SPT-001, 002, 007 to 009, 011, 012 and 014: markets, strategies and limits of Spot."""

from __future__ import annotations

from typing import Any

import pytest

from support.fabric import batch, group, launch_template, mixed, named, own_ids, template
from support.policy import assert_finds, assert_not_judged, assert_passes

NONE = {"Ref": "AWS::NoValue"}
PARAMETERS = {"Unknown": {"Type": "String"}, "Kind": {"Type": "String", "Default": ""}}
CONDITIONS = {"Spot": {"Fn::Equals": [{"Ref": "Kind"}, "spot"]}}
P5 = {"InstanceType": "p5.48xlarge"}
PLAIN = launch_template(None, "p5.48xlarge")
SPOT = launch_template(None, "p5.48xlarge", InstanceMarketOptions={"MarketType": "spot"})
SHARE = {"OnDemandPercentageAboveBaseCapacity": 0, "SpotAllocationStrategy": "price-capacity-optimized"}


def policy(overrides: Any = (P5,), launched: Any = PLAIN, rebalance: Any = True, **distribution: Any) -> dict[str, Any]:
    """A template with a mixed group."""
    listed = overrides if isinstance(overrides, dict) else list(overrides)
    nodes = mixed(listed, InstancesDistribution=distribution, CapacityRebalance=rebalance)
    return template(PARAMETERS, CONDITIONS, Lt=launched, Nodes=nodes)


# UC-SPT-001


def test_spot_in_the_base_launch_template():
    found = policy(launched=SPOT, **SHARE)
    assert_finds("UC-SPT-001", found, place="Lt LaunchTemplateData.InstanceMarketOptions.MarketType: spot in a launch")
    assert own_ids(found) == {"UC-SPT-001"}


def test_spot_in_the_launch_template_of_an_override():
    found = policy([P5, {**P5, "LaunchTemplateSpecification": named("Other")}], **SHARE)
    found["Resources"]["Other"] = SPOT
    assert_finds("UC-SPT-001", found, place="Other LaunchTemplateData.InstanceMarketOptions.MarketType")
    assert own_ids(found) == {"UC-SPT-001"}


@pytest.mark.parametrize("found", [policy(**SHARE), template(Lt=SPOT, Nodes=group(CapacityRebalance=True))])
def test_spot_in_one_place(found):
    assert_passes("UC-SPT-001", found)


def test_an_unknown_market_is_not_judged():
    unknown = launch_template(None, "p5.48xlarge", InstanceMarketOptions={"MarketType": {"Ref": "Unknown"}})
    assert_not_judged("UC-SPT-001", policy(launched=unknown, **SHARE))


def test_market_and_policy_under_opposite_conditions():
    def made(first, second):
        market = {"MarketType": {"Fn::If": ["Spot", first, second]}}
        mix = {"LaunchTemplate": {"LaunchTemplateSpecification": named(), "Overrides": [P5]}}
        nodes = group(
            LaunchTemplate={"Fn::If": ["Spot", named(), NONE]},
            MixedInstancesPolicy={"Fn::If": ["Spot", NONE, mix]},
            CapacityRebalance=True,
        )
        launched = launch_template(None, "p5.48xlarge", InstanceMarketOptions=market)
        return template(PARAMETERS, CONDITIONS, Lt=launched, Nodes=nodes)

    assert_passes("UC-SPT-001", made("spot", NONE))
    assert own_ids(made(NONE, "spot")) == {"UC-SPT-001"}


# UC-SPT-002


@pytest.mark.parametrize(
    ("distribution", "place"),
    [
        ({**SHARE, "SpotInstancePools": 4}, "SpotInstancePools: 4 pools with price-capacity-optimized"),
        ({**SHARE, "SpotAllocationStrategy": "capacity-optimized", "SpotInstancePools": "2"}, "2 pools with capacity"),
        ({"SpotAllocationStrategy": "lowest-price", "SpotInstancePools": 21}, "21 is not between 1 and 20"),
        ({"SpotInstancePools": 0}, "0 is not between 1 and 20"),
    ],
)
def test_pools_that_are_refused(distribution, place):
    found = policy(**distribution)
    assert_finds("UC-SPT-002", found, place=place)
    assert own_ids(found) == {"UC-SPT-002"}


@pytest.mark.parametrize(
    "distribution",
    [SHARE, {"SpotAllocationStrategy": "lowest-price", "SpotInstancePools": 20}, {"SpotInstancePools": 2}],
)
def test_pools_that_are_taken(distribution):
    assert_passes("UC-SPT-002", policy(**distribution))


@pytest.mark.parametrize(
    "changed", [{"SpotInstancePools": {"Ref": "Unknown"}}, {"SpotAllocationStrategy": {"Ref": "Unknown"}}]
)
def test_unknown_pools_are_not_judged(changed):
    assert_not_judged("UC-SPT-002", policy(**{**SHARE, "SpotInstancePools": 4, **changed}))


def test_pools_and_strategy_under_opposite_conditions():
    def made(first, second):
        strategy = {"Fn::If": ["Spot", "lowest-price", "price-capacity-optimized"]}
        return policy(SpotAllocationStrategy=strategy, SpotInstancePools={"Fn::If": ["Spot", first, second]})

    assert_passes("UC-SPT-002", made(4, NONE))
    assert own_ids(made(NONE, 4)) == {"UC-SPT-002"}


# UC-SPT-007

NEEDS = {"InstanceRequirements": {"VCpuCount": {"Min": 96}, "MemoryMiB": {"Min": 1024}}}


def types(count: int) -> list[dict[str, Any]]:
    return [{"InstanceType": f"m{at}.large"} for at in range(count)]


@pytest.mark.parametrize(
    ("overrides", "place"),
    [
        (types(41), "LaunchTemplate.Overrides: 41 overrides, a mixed instances policy holds 40"),
        ([{"LaunchTemplateSpecification": {"LaunchTemplateName": f"lt-{at}"}} for at in range(20)], "21 templates"),
        ([NEEDS] * 5, "5 sets of instance requirements, a mixed instances policy holds 4"),
        ([P5, {**P5, **NEEDS}], "Overrides[1]: InstanceType beside InstanceRequirements"),
        ([{**P5, "WeightedCapacity": "2"}, P5], "WeightedCapacity on 1 of 2 overrides"),
        ([{**P5, "WeightedCapacity": "1000"}], "Overrides[0].WeightedCapacity: 1000 is not between 1 and 999"),
        ([{**P5, "WeightedCapacity": 0}], "0 is not between 1 and 999"),
    ],
)
def test_policies_beyond_the_limits(overrides, place):
    found = policy(overrides)
    assert_finds("UC-SPT-007", found, place=place)
    assert own_ids(found) == {"UC-SPT-007"}


@pytest.mark.parametrize(
    "overrides",
    [
        types(40),
        [{**P5, "LaunchTemplateSpecification": {"LaunchTemplateName": f"lt-{at}"}} for at in range(19)],
        # Another version is the same launch template.
        [{**P5, "LaunchTemplateSpecification": {**named(), "Version": str(at)}} for at in range(25)],
        [NEEDS] * 4,
        [{**P5, "WeightedCapacity": "1"}, {**P5, "WeightedCapacity": 999}],
    ],
)
def test_policies_within_the_limits(overrides):
    assert_passes("UC-SPT-007", policy(overrides))


@pytest.mark.parametrize("overrides", [{"Ref": "Unknown"}, [{**P5, "WeightedCapacity": {"Ref": "Unknown"}}]])
def test_unknown_overrides_are_not_judged(overrides):
    assert_not_judged("UC-SPT-007", policy(overrides))


def test_weights_under_one_condition():
    weight = {"Fn::If": ["Spot", "2", NONE]}
    assert_passes("UC-SPT-007", policy([{**P5, "WeightedCapacity": weight}] * 2))
    other = {"Fn::If": ["Spot", NONE, "2"]}
    found = policy([{**P5, "WeightedCapacity": weight}, {**P5, "WeightedCapacity": other}])
    assert own_ids(found) == {"UC-SPT-007"}


# UC-SPT-008


@pytest.mark.parametrize(
    ("distribution", "place"),
    [
        (
            {**SHARE, "SpotAllocationStrategy": "lowest-price"},
            "InstancesDistribution.SpotAllocationStrategy: lowest-price",
        ),
        ({"OnDemandPercentageAboveBaseCapacity": "50"}, "MixedInstancesPolicy.InstancesDistribution: lowest-price"),
    ],
)
def test_the_lowest_price(distribution, place):
    found = policy(**distribution)
    assert_finds("UC-SPT-008", found, place=place)
    assert own_ids(found) == {"UC-SPT-008"}


@pytest.mark.parametrize(
    "distribution",
    [
        SHARE,
        {**SHARE, "SpotAllocationStrategy": "capacity-optimized-prioritized"},
        # No Spot share: the strategy decides nothing.
        {},
        {"SpotAllocationStrategy": "lowest-price", "OnDemandPercentageAboveBaseCapacity": 100},
    ],
)
def test_strategies_that_look_at_capacity(distribution):
    assert_passes("UC-SPT-008", policy(**distribution))


@pytest.mark.parametrize("name", list(SHARE))
def test_an_unknown_strategy_or_share_is_not_judged(name):
    assert_not_judged("UC-SPT-008", policy(**{**SHARE, name: {"Ref": "Unknown"}}))


# UC-SPT-009


@pytest.mark.parametrize(
    ("overrides", "distribution", "place"),
    [
        ([P5], {**SHARE, "SpotAllocationStrategy": "prioritized"}, "SpotAllocationStrategy: 'prioritized' is no Spot"),
        ([P5], {"OnDemandAllocationStrategy": "price-capacity-optimized"}, "OnDemandAllocationStrategy: 'price-cap"),
        ([NEEDS], {**SHARE, "SpotAllocationStrategy": "capacity-optimized-prioritized"}, "SpotAllocationStrategy: cap"),
        ([NEEDS], {"OnDemandAllocationStrategy": "prioritized"}, "OnDemandAllocationStrategy: prioritized beside inst"),
    ],
)
def test_strategies_of_another_option(overrides, distribution, place):
    found = policy(overrides, **distribution)
    assert_finds("UC-SPT-009", found, place=place)
    assert own_ids(found) == {"UC-SPT-009"}


@pytest.mark.parametrize(
    ("overrides", "distribution"),
    [
        ([P5], {**SHARE, "SpotAllocationStrategy": "capacity-optimized-prioritized"}),
        ([P5], {"OnDemandAllocationStrategy": "prioritized"}),
        ([NEEDS], {**SHARE, "OnDemandAllocationStrategy": "lowest-price"}),
        ([NEEDS], {}),
    ],
)
def test_strategies_of_the_option(overrides, distribution):
    assert_passes("UC-SPT-009", policy(overrides, **distribution))


def test_an_unknown_strategy_is_not_judged():
    assert_not_judged("UC-SPT-009", policy(OnDemandAllocationStrategy={"Ref": "Unknown"}))


# UC-SPT-011

GROUP = {"Type": "AWS::EC2::PlacementGroup", "Properties": {"Strategy": "cluster"}}


def interrupted(behavior: Any, placement: Any = None) -> dict[str, Any]:
    market = {"MarketType": "spot", "SpotOptions": {"InstanceInterruptionBehavior": behavior}}
    more = {"Placement": placement} if placement else {}
    return launch_template(None, "p5.48xlarge", InstanceMarketOptions=market, **more)


IN_GROUP = {"GroupName": {"Ref": "Pg"}}


def fleet(kind: str, behavior: str) -> dict[str, Any]:
    configurations = [{"LaunchTemplateSpecification": named()}]
    if kind == "EC2Fleet":
        properties = {
            "LaunchTemplateConfigs": configurations,
            "SpotOptions": {"InstanceInterruptionBehavior": behavior},
            "TargetCapacitySpecification": {"TotalTargetCapacity": 2, "DefaultTargetCapacityType": "spot"},
        }
    else:
        data = {"LaunchTemplateConfigs": configurations, "InstanceInterruptionBehavior": behavior}
        properties = {"SpotFleetRequestConfigData": {**data, "TargetCapacity": 2}}
    return {"Type": f"AWS::EC2::{kind}", "Properties": properties}


@pytest.mark.parametrize(
    ("resources", "place"),
    [
        ({"Lt": interrupted("hibernate", IN_GROUP)}, "Lt LaunchTemplateData.InstanceMarketOptions.SpotOptions"),
        (
            {"Lt": interrupted("stop"), "Nodes": batch(PlacementGroup={"Ref": "Pg"})},
            "InstanceInterruptionBehavior: stop",
        ),
        (
            {"Lt": launch_template(None, Placement=IN_GROUP), "Nodes": fleet("EC2Fleet", "stop")},
            "Nodes SpotOptions.Inst",
        ),
        (
            {"Lt": launch_template(None, Placement=IN_GROUP), "Nodes": fleet("SpotFleet", "hibernate")},
            "Nodes SpotFleetR",
        ),
    ],
)
def test_spot_that_stops_in_a_group(resources, place):
    found = template(Pg=GROUP, **resources)
    assert_finds("UC-SPT-011", found, place=place)
    assert own_ids(found) == {"UC-SPT-011"}


@pytest.mark.parametrize(
    "launched", [interrupted("terminate", IN_GROUP), interrupted("stop"), interrupted(NONE, IN_GROUP)]
)
def test_spot_that_ends_or_lies_in_no_group(launched):
    assert_passes("UC-SPT-011", template(Pg=GROUP, Lt=launched))


def test_an_unknown_behavior_is_not_judged():
    found = template(PARAMETERS, Pg=GROUP, Lt=interrupted({"Ref": "Unknown"}, IN_GROUP))
    assert_not_judged("UC-SPT-011", found)
    assert_passes("UC-SPT-011", template(PARAMETERS, Lt=interrupted({"Ref": "Unknown"})))


def test_behavior_and_group_under_opposite_conditions():
    def made(first, second):
        placement = {"GroupName": {"Fn::If": ["Spot", first, second]}}
        launched = interrupted({"Fn::If": ["Spot", "stop", "terminate"]}, placement)
        return template(PARAMETERS, CONDITIONS, Pg=GROUP, Lt=launched)

    assert_passes("UC-SPT-011", made(NONE, {"Ref": "Pg"}))
    assert own_ids(made({"Ref": "Pg"}, NONE)) == {"UC-SPT-011"}


# UC-SPT-012


def options(market: Any, written: Any) -> dict[str, Any]:
    target = {"CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"}}
    market_options = {"MarketType": market, "SpotOptions": written}
    launched = launch_template(
        None, "p5.48xlarge", InstanceMarketOptions=market_options, CapacityReservationSpecification=target
    )
    return template(PARAMETERS, CONDITIONS, Lt=launched)


@pytest.mark.parametrize("market", ["capacity-block", "on-demand"])
def test_spot_options_with_another_market(market):
    found = options(market, {"MaxPrice": "9"})
    assert_finds("UC-SPT-012", found, place=f"InstanceMarketOptions.SpotOptions: SpotOptions with market type {market}")
    assert own_ids(found) == {"UC-SPT-012"}


@pytest.mark.parametrize(
    ("market", "written"), [("spot", {"MaxPrice": "9"}), ("capacity-block", NONE), (NONE, {"MaxPrice": "9"})]
)
def test_spot_options_with_spot(market, written):
    assert_passes("UC-SPT-012", options(market, written))


def test_options_with_an_unknown_market_are_not_judged():
    assert_not_judged("UC-SPT-012", options({"Ref": "Unknown"}, {"MaxPrice": "9"}))


def test_options_and_market_under_opposite_conditions():
    market, written = {"Fn::If": ["Spot", "spot", "capacity-block"]}, {"MaxPrice": "9"}
    assert_passes("UC-SPT-012", options(market, {"Fn::If": ["Spot", written, NONE]}))
    assert own_ids(options(market, {"Fn::If": ["Spot", NONE, written]})) == {"UC-SPT-012"}


# UC-SPT-014


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (policy(rebalance=False, **SHARE), "Nodes CapacityRebalance: a group with Spot instances"),
        (policy(rebalance=None, **SHARE), "Nodes : a group with Spot instances"),
        (template(Lt=SPOT, Nodes=group()), "Nodes : a group with Spot instances"),
    ],
)
def test_a_spot_group_that_does_not_rebalance(found, place):
    assert_finds("UC-SPT-014", found, place=place)
    assert own_ids(found) == {"UC-SPT-014"}


@pytest.mark.parametrize("found", [policy(**SHARE), policy(rebalance=None), template(Lt=PLAIN, Nodes=group())])
def test_groups_that_need_not_or_do(found):
    assert_passes("UC-SPT-014", found)


@pytest.mark.parametrize(
    "found",
    [
        policy(rebalance={"Ref": "Unknown"}, **SHARE),
        policy(rebalance=None, **{**SHARE, "OnDemandPercentageAboveBaseCapacity": {"Ref": "Unknown"}}),
    ],
)
def test_an_unknown_group_is_not_judged(found):
    assert_not_judged("UC-SPT-014", found)
