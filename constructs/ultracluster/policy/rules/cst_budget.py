"""Rule on budgets: somebody hears of it before the bill does."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import ASSEMBLY, rule
from ultracluster.policy.view import Assembly

_FILE_SYSTEMS = ("AWS::EFS::FileSystem", "AWS::FSx::FileSystem")
_ALARM, _BUDGET = "AWS::CloudWatch::Alarm", "AWS::Budgets::Budget"
_BILLING = "AWS/Billing"


@rule("UC-CST-006", on=ASSEMBLY)
def somebody_watches_the_bill(assembly: Assembly) -> Iterator[Problem]:
    """An app with fleets or file systems has a budget or an alarm on charges."""
    if not assembly.is_app:
        return
    # Every check loads this module, few come this far.
    from ultracluster.policy.graph.networks import FLEETS

    spends = next(assembly.resources(*FLEETS, *_FILE_SYSTEMS), None)
    if spends is None or next(assembly.resources(_BUDGET), None) is not None:
        return
    if not any_known(assembly.resources(_ALARM), lambda alarm: alarm.get("Namespace").text("") == _BILLING):
        yield Problem(spends.template, "no AWS::Budgets::Budget and no alarm on AWS/Billing in the app")
