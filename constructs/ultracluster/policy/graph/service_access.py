"""Whether an AWS service may use a key, a queue, a topic or a function of the assembly."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.roles import Statement, statements_of
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

__all__ = ["KEY_ACTIONS", "admits", "key_admits", "names"]

KEY_ACTIONS = ("kms:Decrypt", "kms:GenerateDataKey")
"""What a service needs to write into something that is encrypted."""


def admits(statements: Iterable[Statement], service: str, action: str) -> bool:
    """Whether a statement allows a service an action; conditions are taken to let it.

    Args:
        statements: of a policy of a resource.
        service: for example `events.amazonaws.com`.
        action: for example `sqs:SendMessage`.

    Raises:
        NotKnown: no statement is known to, and one is not known.
    """
    return any_known(list(statements), partial(_allows, service=service, action=action))


def _allows(statement: Statement, service: str, action: str) -> bool:
    return statement.allows and _is_for(statement.where["Principal"], service) and statement.covers(action)


def _is_for(principal: Value, service: str) -> bool:
    if not principal.is_object:
        return principal.exists and principal.text() == "*"
    everybody = any(value.is_scalar and value.known_text() == "*" for value in principal["AWS"].one_or_many())
    return everybody or any_known(principal["Service"].one_or_many(), lambda value: value.text() in (service, "*"))


def key_admits(key: Resource, service: str) -> bool:
    """Whether the policy of a key lets a service write encrypted messages.

    Raises:
        NotKnown: it cannot be told.
    """
    statements = statements_of(key.get("KeyPolicy"), key)
    return all(admits(statements, service, action) for action in KEY_ACTIONS)


def names(values: Value, resource: Resource) -> bool:
    """Whether a list, or a single value, names a resource by a reference.

    Raises:
        NotKnown: no entry is known to, and one is not known.
    """
    return any_known(values.one_or_many(), lambda value: value.resource() == resource)
