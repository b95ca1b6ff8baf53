"""Whether the policies of a role at hand allow an action."""

from __future__ import annotations

from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.roles import Statement, statements
from ultracluster.policy.states import NotKnown
from ultracluster.policy.view import Resource

__all__ = ["allows", "grants"]


def allows(statement: Statement, action: str) -> bool:
    """Whether a statement allows an action, on whatever resource.

    Raises:
        NotKnown: it cannot be told, for example of a statement that names what it does not allow.
    """
    if not statement.allows:
        return False
    if statement.where["NotAction"].exists:
        raise NotKnown(f"whether all but some actions hold {action}")
    return statement.covers(action)


def grants(role: Resource, action: str) -> bool:
    """Whether any statement of a role allows an action; AWS managed policies are not looked into.

    Raises:
        NotKnown: no statement does for certain, and one may.
    """
    return any_known(statements(role), lambda statement: allows(statement, action))
