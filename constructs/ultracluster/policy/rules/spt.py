"""Rules on Spot and mixed fleets."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.policy.graph.launch_templates import mixed_launch_templates
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.view import Resource

AUTO_SCALING_GROUP = "AWS::AutoScaling::AutoScalingGroup"


@rule("UC-SPT-001", on=AUTO_SCALING_GROUP)
def spot_in_one_place(group: Resource) -> Iterator[Problem]:
    """No launch template of a mixed instances policy asks for Spot itself."""
    for template in mixed_launch_templates(group):
        market = template.get("LaunchTemplateData", "InstanceMarketOptions", "MarketType")
        with market.judged_apart():
            if market.text("") == "spot":
                yield Problem(
                    market,
                    f"spot in a launch template of the mixed instances policy of {group}, which buys Spot itself",
                    "drop InstanceMarketOptions; InstancesDistribution sets the share of Spot",
                )
