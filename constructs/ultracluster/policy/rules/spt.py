"""Rules on Spot: markets, strategies, limits of a mixed instances policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ultracluster.facts.compute_limits import limit
from ultracluster.findings import Finding
from ultracluster.plan.capacity_options import Spot
from ultracluster.plan.spot_rules import check_strategies
from ultracluster.policy.graph.capacity import market_type
from ultracluster.policy.graph.fleets import AUTO_SCALING_GROUP, EC2_FLEET, SPOT_FLEET
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, mixed_launch_templates, users_of
from ultracluster.policy.graph.placement import all_named_groups, named_groups
from ultracluster.policy.graph.spot import buys_spot, distribution, named_in, overrides, policy_launch_templates
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import rule
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

# What Auto Scaling takes where no strategy is written.
_DEFAULT_SPOT = "lowest-price"
_DEFAULT_ON_DEMAND = "prioritized"
# Strategies that need an order of types, which requirements do not give.
_ORDERED = {"SpotAllocationStrategy": "capacity-optimized-prioritized", "OnDemandAllocationStrategy": "prioritized"}
_BEHAVIORS = {
    EC2_FLEET: ("SpotOptions", "InstanceInterruptionBehavior"),
    SPOT_FLEET: ("SpotFleetRequestConfigData", "InstanceInterruptionBehavior"),
    LAUNCH_TEMPLATE: ("LaunchTemplateData", "InstanceMarketOptions", "SpotOptions", "InstanceInterruptionBehavior"),
}


@rule("UC-SPT-001", on=AUTO_SCALING_GROUP)
def spot_in_one_place(group: Resource) -> Iterator[Problem]:
    """No launch template of a mixed instances policy asks for Spot itself."""
    for template in mixed_launch_templates(group):
        market = market_type(template)
        with market.judged_apart():
            if market.text("") == "spot":
                yield Problem(
                    market,
                    f"spot in a launch template of the mixed instances policy of {group}, which buys Spot itself",
                )


@rule("UC-SPT-002", on=AUTO_SCALING_GROUP)
def pools_with_lowest_price(group: Resource) -> Iterator[Problem]:
    """A number of Spot pools goes with the strategy lowest-price only."""
    pools = distribution(group)["SpotInstancePools"]
    if not pools.exists:
        return
    strategy = distribution(group)["SpotAllocationStrategy"].text(_DEFAULT_SPOT)
    most = limit("spot_instance_pools_max")
    found = check_strategies(Spot(allocation_strategy=strategy, spot_instance_pools=pools.integer()), "")
    yield from from_findings(_only("UC-SPT-002", found), lambda _: pools)
    if strategy == _DEFAULT_SPOT and not 1 <= pools.integer() <= most:
        yield Problem(pools, f"{pools.shown} is not between 1 and {most}", f"use 1 to {most}")


def _only(rule_id: str, findings: Iterable[Finding]) -> list[Finding]:
    return [found for found in findings if found.rule_id == rule_id]


@rule("UC-SPT-007", on=AUTO_SCALING_GROUP)
def policy_within_its_limits(group: Resource) -> Iterator[Problem]:
    """A mixed instances policy holds no more than Auto Scaling takes, and weights all of its overrides or none."""
    entries = overrides(group)
    listed = group.get("MixedInstancesPolicy", "LaunchTemplate", "Overrides")
    counts = (
        ("mixed_policy_max_types", len(entries), "overrides"),
        (
            "mixed_policy_max_launch_templates",
            len({named_in(one) for one in policy_launch_templates(group)}),
            "templates",
        ),
        (
            "mixed_policy_max_requirement_sets",
            sum(entry["InstanceRequirements"].exists for entry in entries),
            "sets of instance requirements",
        ),
    )
    for name, count, what in counts:
        if count > limit(name):
            yield Problem(listed, f"{count} {what}, a mixed instances policy holds {limit(name)}")
    for entry in entries:
        with entry.judged_apart():
            if entry["InstanceType"].exists and entry["InstanceRequirements"].exists:
                yield Problem(entry, "InstanceType beside InstanceRequirements", "keep one of the two")
    yield from _weights(listed, entries)


def _weights(listed: Value, entries: list[Value]) -> Iterator[Problem]:
    weights = [entry["WeightedCapacity"] for entry in entries if entry["WeightedCapacity"].exists]
    if weights and len(weights) < len(entries):
        yield Problem(listed, f"WeightedCapacity on {len(weights)} of {len(entries)} overrides", "weight all or none")
    most = limit("override_weight_max")
    for weight in weights:
        with weight.judged_apart():
            if not 1 <= weight.integer() <= most:
                yield Problem(weight, f"{weight.shown} is not between 1 and {most}", f"use 1 to {most}")


@rule("UC-SPT-008", on=AUTO_SCALING_GROUP)
def strategy_looks_at_capacity(group: Resource) -> Iterator[Problem]:
    """Spot instances are not taken by the lowest price alone."""
    if not group.get("MixedInstancesPolicy").exists or not buys_spot(group):
        return
    strategy = distribution(group)["SpotAllocationStrategy"]
    found = check_strategies(Spot(allocation_strategy=strategy.text(_DEFAULT_SPOT)), "")
    where = strategy if strategy.exists else distribution(group)
    yield from from_findings(_only("UC-SPT-008", found), lambda _: where)


@rule("UC-SPT-009", on=AUTO_SCALING_GROUP)
def strategy_of_the_option(group: Resource) -> Iterator[Problem]:
    """Spot and On-Demand have strategies of their own, and requirements take none that needs an order."""
    written = distribution(group)
    spot, on_demand = written["SpotAllocationStrategy"], written["OnDemandAllocationStrategy"]
    if not (spot.exists or on_demand.exists):
        return
    asked = Spot(
        allocation_strategy=spot.text(_DEFAULT_SPOT), on_demand_allocation_strategy=on_demand.text(_DEFAULT_ON_DEMAND)
    )
    found = _only("UC-SPT-009", check_strategies(asked, ""))
    yield from from_findings(found, lambda at: on_demand if at == ".on_demand_allocation_strategy" else spot)
    if not found and any(entry["InstanceRequirements"].exists for entry in overrides(group)):
        for name, ordered in _ORDERED.items():
            if written[name].text("") == ordered:
                message = f"{ordered} beside instance requirements, which have no order of types"
                yield Problem(
                    written[name], message, "use price-capacity-optimized for Spot, lowest-price for On-Demand"
                )


@rule("UC-SPT-011", on=tuple(_BEHAVIORS))
def spot_in_a_group_is_terminated(resource: Resource) -> Iterator[Problem]:
    """Spot instances in a placement group are terminated when they are interrupted."""
    behavior = resource.get(*_BEHAVIORS[resource.type])
    if not behavior.exists:
        return
    if resource.type == LAUNCH_TEMPLATE:
        holders = (resource, *(use.consumer for use in users_of(resource)))
        placed = any(named_groups(holder) for holder in holders)
    else:
        placed = any(all_named_groups(resource))
    if placed and behavior.text() != "terminate":
        yield Problem(behavior, f"{behavior.shown} in a placement group, EC2 takes terminate only")


@rule("UC-SPT-012", on=LAUNCH_TEMPLATE)
def options_of_the_market(launch_template: Resource) -> Iterator[Problem]:
    """Spot options stand beside the market type spot only."""
    options = launch_template.get("LaunchTemplateData", "InstanceMarketOptions", "SpotOptions")
    market = market_type(launch_template)
    if options.exists and market.text("spot") != "spot":
        yield Problem(options, f"SpotOptions with market type {market.shown}")


@rule("UC-SPT-014", on=AUTO_SCALING_GROUP)
def group_rebalances(group: Resource) -> Iterator[Problem]:
    """A group with Spot instances replaces one when EC2 expects its interruption."""
    rebalance = group.get("CapacityRebalance")
    if not rebalance.boolean(False) and buys_spot(group):
        message = "a group with Spot instances does not replace them before they are interrupted"
        yield Problem(rebalance if rebalance.exists else group, message)
