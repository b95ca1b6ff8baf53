"""The form of ids and names that a user hands over."""

from __future__ import annotations

import re

__all__ = ["AMI_ID", "RESERVATION_ID", "RESOURCE_GROUP_ARN", "SSM_PARAMETER", "is_unresolved", "well_formed"]

RESERVATION_ID = r"cr-[0-9a-f]{17}"
AMI_ID = r"ami-(?:[0-9a-f]{8}|[0-9a-f]{17})"
RESOURCE_GROUP_ARN = r"arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/[A-Za-z0-9_.-]+"
# A name with at least one level; `:3` behind it pins a version.
SSM_PARAMETER = r"/?[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*(?::[0-9]+)?"


def is_unresolved(value: str) -> bool:
    """Whether the text is a value that only the deployment knows, for example the reference of another resource."""
    return "${Token[" in value


def well_formed(value: str, pattern: str) -> bool:
    """Whether the text has the form; what only the deployment knows is taken as it is."""
    return is_unresolved(value) or re.fullmatch(pattern, value) is not None
