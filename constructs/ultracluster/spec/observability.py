"""`observability`: who is told, and what is watched."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from ultracluster.facts.log_retention import retention_days
from ultracluster.spec.base import Many, SpecModel
from ultracluster.spec.forms import Email, Namespace
from ultracluster.spec.keys import fault
from ultracluster.spec.wording import either

__all__ = ["ObservabilitySpec"]


def _allowed_days(days: int) -> int:
    allowed = retention_days()
    if days in allowed:
        return days
    near = sorted(sorted(allowed, key=lambda value: abs(value - days))[:2])
    raise fault("UC-SPC-007", f"{days} is not a retention that CloudWatch Logs has", f"use {either(map(str, near))}")


RetentionDays = Annotated[
    int, AfterValidator(_allowed_days), WithJsonSchema({"type": "integer", "enum": list(retention_days())})
]


class ObservabilitySpec(SpecModel):
    """Alarms, dashboard, logs and metrics of the cluster."""

    notification_emails: Many[Email] = Field(
        default=(),
        description="Addresses that get the alarms; each has to confirm the subscription once.",
        examples=[["ml-oncall@example.com"]],
    )
    utilization_threshold_percent: int = Field(
        default=70,
        ge=1,
        le=100,
        description="Mean use of the accelerators below which somebody is told, in per cent. Below 70 a training job "
        "usually waits for data, for a collective or for a lost node.",
    )
    dashboard: bool = Field(default=True, description="Whether a CloudWatch dashboard is made.")
    log_retention_days: RetentionDays = Field(
        default=90, description="Days to keep the logs of the nodes; long enough to look back over one training run."
    )
    metrics_namespace: Namespace = Field(
        default="UltraCluster", description="CloudWatch namespace of the metrics that the nodes publish."
    )
    monthly_budget_usd: float | None = Field(
        default=None,
        gt=0,
        description="Costs of the whole account per month in USD. People are told at 50, 80 and 100 % of it, and when "
        "the forecast passes it. Default: no budget, which the checks warn of.",
        examples=[100000],
    )
