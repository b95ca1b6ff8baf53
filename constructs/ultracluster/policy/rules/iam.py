"""Rules on permissions: what node roles may do, who may pass roles and launch instances, endpoint policies."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator

from ultracluster.facts.permissions import permission_list
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.networks import ENDPOINT
from ultracluster.policy.graph.node_roles import is_node_role
from ultracluster.policy.graph.roles import (
    POLICY_HOLDERS,
    ROLE,
    Statement,
    managed_policies,
    own_statements,
    roles_with,
    statements_of,
)
from ultracluster.policy.graph.user_data import MARK
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

# An ARN without a Region, an account or a name: every resource of a service.
_EVERY_ARN = re.compile(r"arn:[^:]*:[^:]*:\*?:\*?:\*")
_EVERY_ROLE = re.compile(r"arn:[^:]*:iam::[^:]*:role/\*")
_DATA_SERVICES = ("s3", "dynamodb")


@rule("UC-IAM-001", on=ROLE)
def no_broad_policies_on_nodes(role: Resource) -> Iterator[Problem]:
    """Roles of nodes have no AWS managed policy for a whole service or account."""
    yield from _managed(role, "broad_policies", "on a role of nodes: whoever is on a node may do all of it")


@rule("UC-IAM-009", on=ROLE)
def nodes_do_not_read_every_bucket(role: Resource) -> Iterator[Problem]:
    """Roles of nodes do not read every bucket of the account."""
    yield from _managed(role, "read_every_bucket_policies", "on a role of nodes reads every bucket of the account")


def _managed(role: Resource, policies: str, message: str) -> Iterator[Problem]:
    names = permission_list(policies)
    found = [(value, name) for value, name in managed_policies(role) if name in names] if is_node_role(role) else []
    for value, name in found:
        yield Problem(value, f"{name} {message}")


@rule("UC-IAM-002", on=POLICY_HOLDERS)
def no_star_on_star(holder: Resource) -> Iterator[Problem]:
    """Statements of node roles do not allow a whole service on every resource."""
    for statement in own_statements(holder):
        with statement.where.judged_apart():
            try:
                found = _unlimited(statement, permission_list("broad_actions").__contains__, _is_every)
            except NotKnown:
                if _is_of_nodes(holder):
                    raise
                continue
            if found is not None and _is_of_nodes(holder):
                yield Problem(found, f"{found.shown} on every resource, on a role of nodes")


def _is_of_nodes(holder: Resource) -> bool:
    return any_known(roles_with(holder), is_node_role)


def _unlimited(statement: Statement, is_meant: Callable[[str], bool], is_every: Callable[[str], bool]) -> Value | None:
    """The action of a permission without a condition, when it is one of those meant and for every resource.

    Args:
        statement: the permission.
        is_meant: whether an action, in lower case, is meant.
        is_every: whether a resource, marks in the place of what is not known, stands for all.

    Raises:
        NotKnown: it cannot be told.
    """
    literal = statement.literal_actions
    if literal is not None and not any(is_meant(text.lower()) for text in literal):
        return None
    if not statement.allows or statement.has_condition:
        return None
    doubt: NotKnown | None = None
    for value in statement.actions:
        try:
            if is_meant(value.text().lower()):
                return value if _any_is(statement.resources, is_every) else None
        except NotKnown as found:
            doubt = found
    if doubt is not None and _any_is(statement.resources, is_every):
        raise doubt
    return None


def _any_is(resources: list[Value], is_every: Callable[[str], bool]) -> bool:
    return any_known(resources, lambda value: is_every(value.known_text(MARK)))


def _is_every(text: str) -> bool:
    return text == "*" or _EVERY_ARN.fullmatch(text) is not None


def _is_every_role(text: str) -> bool:
    return _is_every(text) or _EVERY_ROLE.fullmatch(text) is not None


@rule("UC-IAM-003", on=ENDPOINT)
def endpoint_policies_name_their_users(endpoint: Resource) -> Iterator[Problem]:
    """The policy of an endpoint names buckets, tables, accounts or an organisation."""
    document = endpoint.get("PolicyDocument")
    service = endpoint.get("ServiceName").known_text("*").rpartition(".")[2]
    if not document.exists:
        # Other endpoints lead to the account's own API; these lead to everybody's buckets and tables.
        if service in _DATA_SERVICES:
            message = "without PolicyDocument everybody may do everything with every bucket or table through it"
            yield Problem(endpoint, message)
        return
    whole = {"*", f"{service}:*"}
    for statement in statements_of(document, endpoint):
        with statement.where.judged_apart():
            if _is_for_everybody(statement) and _unlimited(statement, whole.__contains__, _is_every):
                yield Problem(statement.where, "everybody may do everything with every resource through this endpoint")
                return


def _is_for_everybody(statement: Statement) -> bool:
    principal = statement.where["Principal"]
    named = principal["AWS"].one_or_many() if principal.is_object else [principal]
    return any_known((value for value in named if value.exists), lambda value: value.text() == "*")


@rule("UC-IAM-004", on=POLICY_HOLDERS)
def pass_role_is_narrow(holder: Resource) -> Iterator[Problem]:
    """Whoever passes roles passes named ones, or to a named service."""
    for statement in own_statements(holder):
        with statement.where.judged_apart():
            found = _unlimited(statement, _passes_roles, _is_every_role)
            if found is not None:
                message = f"{found.shown} on every role without a condition: any service can be given any role"
                yield Problem(found, message)


# Whole services (iam:*, ec2:*) are no slip of a statement about one action; on nodes they are UC-IAM-002.
def _passes_roles(action: str) -> bool:
    return action.startswith("iam:pass") and fnmatch.fnmatchcase("iam:passrole", action)


@rule("UC-IAM-005", on=POLICY_HOLDERS)
def launches_are_limited(holder: Resource) -> Iterator[Problem]:
    """Whoever launches instances does so with given tags, launch templates or subnets."""
    for statement in own_statements(holder):
        with statement.where.judged_apart():
            found = _unlimited(statement, _launches, _is_every)
            if found is not None:
                yield Problem(found, f"{found.shown} on every resource without a condition: any type, in any number")


def _launches(action: str) -> bool:
    is_stem = action.startswith(("ec2:run", "ec2:createf"))
    return is_stem and any(fnmatch.fnmatchcase(meant, action) for meant in ("ec2:runinstances", "ec2:createfleet"))
