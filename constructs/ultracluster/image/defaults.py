"""What a tuned image does unless it is told otherwise, each with its reason."""

from __future__ import annotations

__all__ = ["HTTP_PORTS", "LOG_DAYS", "LOG_PREFIX", "SCHEDULE"]

SCHEDULE = "cron(0 3 ? * sun *)"
"""Every Sunday at 03:00 UTC: security fixes of the base are at most a week old, and a build costs two hours of two
small instances (EC2 Image Builder User Guide, cron expressions)."""

LOG_DAYS = 90
"""As long as an image that is not launched any more is kept."""

LOG_PREFIX = "builds"
"""Below which the logs of builds stand in their bucket."""

HTTP_PORTS = (80, 443)
"""Package archives of Ubuntu answer on the first, everything else on the second; packages are signed."""
