"""Defaults of a network, each with its reason."""

from __future__ import annotations

from typing import Final

__all__ = ["FLOW_LOG_AGGREGATION_S", "FLOW_LOG_RETENTION_DAYS", "HTTPS_PORT"]

FLOW_LOG_RETENTION_DAYS: Final = 30
"""Long enough to look into an incident that is found late, short enough that a busy cluster's logs stay cheap."""

FLOW_LOG_AGGREGATION_S: Final = 600
"""The longer of the two intervals that VPC flow logs know: fewer records of the same flows, so the lower price.

EFA traffic bypasses flow logs whatever the interval.
"""

HTTPS_PORT: Final = 443
"""What every AWS interface endpoint listens on."""
