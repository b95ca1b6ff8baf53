"""A monthly budget for the costs of the account, which tells people before the month is over.

The budget spans the account: a filter by tag would see nothing until somebody has activated the tag for cost
allocation, and a budget that sees nothing never warns.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_sns as sns
from constructs import Construct

from ultracluster.findings import FindingsError, finding

__all__ = ["SpendBudget"]

ACTUAL_PERCENT = (50.0, 80.0, 100.0)
"""Half, most and all of the money: three chances to act. A convention of this library."""


class SpendBudget(Construct):
    """Notices when the costs of this month reach 50, 80 and 100 % of a limit, and when they are forecast to pass it.

    Example:
        SpendBudget(self, "Budget", monthly_limit_usd=50_000, topic=oncall.topic)

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        monthly_limit_usd: costs of the whole account per calendar month in USD, before the first notice of 100 %.
        topic: is told. Its policy and its key have to let `budgets.amazonaws.com` in (`NotificationTopic`).
        actual_percent: shares of the limit at which spent money is told.

    Attributes:
        budget: the resource.

    Raises:
        FindingsError: the limit is not a positive amount.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        monthly_limit_usd: float,
        topic: sns.ITopic,
        actual_percent: Sequence[float] = ACTUAL_PERCENT,
    ) -> None:
        super().__init__(scope, construct_id)
        if monthly_limit_usd <= 0:
            subject = f"{self.node.path}.monthly_limit_usd"
            raise FindingsError(
                [finding("UC-API-008", subject, f"{monthly_limit_usd} is not a positive amount in USD")]
            )
        subscribers = [budgets.CfnBudget.SubscriberProperty(subscription_type="SNS", address=topic.topic_arn)]
        self.budget = budgets.CfnBudget(
            self,
            "Resource",
            budget=budgets.CfnBudget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budgets.CfnBudget.SpendProperty(amount=monthly_limit_usd, unit="USD"),
            ),
            notifications_with_subscribers=[
                budgets.CfnBudget.NotificationWithSubscribersProperty(
                    notification=budgets.CfnBudget.NotificationProperty(
                        comparison_operator="GREATER_THAN",
                        notification_type=kind,
                        threshold=share,
                        threshold_type="PERCENTAGE",
                    ),
                    subscribers=subscribers,
                )
                for kind, share in (*(("ACTUAL", share) for share in actual_percent), ("FORECASTED", 100.0))
            ],
        )
