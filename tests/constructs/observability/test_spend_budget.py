"""The budget tells people in time, and refuses an amount that is none."""

import aws_cdk as cdk
import pytest

from support.linting import lint_errors
from support.templates import only, references
from ultracluster import NotificationTopic, SpendBudget
from ultracluster.findings import FindingsError


def test_people_are_told_at_half_most_and_all_of_the_money_and_of_the_forecast(stack, synth):
    topic = NotificationTopic(stack, "Oncall").topic
    SpendBudget(stack, "Budget", monthly_limit_usd=50_000, topic=topic)
    template = synth(stack)
    budget = only(template, "AWS::Budgets::Budget")
    assert budget["Budget"] == {
        "BudgetLimit": {"Amount": 50000, "Unit": "USD"},
        "BudgetType": "COST",
        "TimeUnit": "MONTHLY",
    }
    told = [
        (row["Notification"]["NotificationType"], row["Notification"]["Threshold"])
        for row in budget["NotificationsWithSubscribers"]
    ]
    assert told == [("ACTUAL", 50), ("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100)]
    for row in budget["NotificationsWithSubscribers"]:
        (subscriber,) = row["Subscribers"]
        assert subscriber["SubscriptionType"] == "SNS"
        assert references(subscriber["Address"])
    assert lint_errors(template) == []


@pytest.mark.parametrize("amount", [0, -5])
def test_an_amount_that_is_none_is_refused_with_its_place(stack, amount):
    topic = NotificationTopic(stack, "Oncall").topic
    with pytest.raises(
        FindingsError, match=rf"Test/Budget.monthly_limit_usd: {amount} is not a positive amount in USD.*UC-API-008"
    ):
        SpendBudget(stack, "Budget", monthly_limit_usd=amount, topic=topic)


def test_the_budget_stands_in_any_stack(app, synth):
    stack = cdk.Stack(app, "Agnostic")
    SpendBudget(stack, "Budget", monthly_limit_usd=10, topic=NotificationTopic(stack, "Oncall").topic)
    assert only(synth(stack), "AWS::Budgets::Budget")["Budget"]["BudgetLimit"]["Amount"] == 10
