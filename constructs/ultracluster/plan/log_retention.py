"""How long CloudWatch Logs keeps events: only some numbers of days exist."""

from __future__ import annotations

from ultracluster.facts.log_retention import retention_days
from ultracluster.findings import Finding, finding

__all__ = ["check_log_retention"]


def check_log_retention(days: int, *, subject: str) -> tuple[Finding, ...]:
    """UC-API-007 for a number of days that CloudWatch Logs does not take.

    Args:
        days: the wish.
        subject: its path in the user's terms.
    """
    allowed = retention_days()
    if days in allowed:
        return ()
    near = sorted(allowed, key=lambda other: abs(other - days))[:2]
    message = f"{days} days are none of the periods that CloudWatch Logs keeps events for"
    return (finding("UC-API-007", subject, message, f"nearest are {' and '.join(map(str, sorted(near)))}"),)
