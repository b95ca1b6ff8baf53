"""Roles, and the statements of all policies that belong to them in the assembly."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass

from ultracluster.policy.states import NotKnown, Reference
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = [
    "POLICY_HOLDERS",
    "PROFILE",
    "ROLE",
    "Statement",
    "managed_policies",
    "own_statements",
    "role_of",
    "roles_with",
    "statements",
    "statements_of",
]

ROLE = "AWS::IAM::Role"
PROFILE = "AWS::IAM::InstanceProfile"
_ATTACHED = ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy")
POLICY_HOLDERS = (
    ROLE,
    "AWS::IAM::Group",
    "AWS::IAM::GroupPolicy",
    "AWS::IAM::User",
    "AWS::IAM::UserPolicy",
    *_ATTACHED,
)
"""Resource types that hold policies of identities."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a policy.

    Attributes:
        where: the statement.
        policy: the resource that holds it.
    """

    where: Value
    policy: Resource | None

    @property
    def allows(self) -> bool:
        """Whether its effect is Allow.

        Raises:
            NotKnown: the effect is not known.
        """
        return self.where["Effect"].text("") == "Allow"

    @property
    def actions(self) -> list[Value]:
        """Its actions; none for NotAction."""
        return self.where["Action"].one_or_many()

    @property
    def literal_actions(self) -> list[str] | None:
        """The texts of its actions where all are literals; else None. Much cheaper than asking each of them."""
        raw = self.where["Action"].state
        entries = raw if isinstance(raw, list) else [raw]
        texts = [entry for entry in entries if isinstance(entry, str) and "{{resolve:" not in entry]
        return texts if len(texts) == len(entries) else None

    @property
    def resources(self) -> list[Value]:
        """Its resources; none for NotResource and in the policies of resources."""
        return self.where["Resource"].one_or_many()

    @property
    def has_condition(self) -> bool:
        """Whether a condition narrows it."""
        return self.where["Condition"].exists

    def covers(self, action: str) -> bool:
        """Whether one of its actions, wildcards included, covers an action such as `ec2:RunInstances`.

        Raises:
            NotKnown: an action is not known, and no other covers it.
        """
        doubt: NotKnown | None = None
        for value in self.actions:
            try:
                if fnmatch.fnmatchcase(action.lower(), value.text().lower()):
                    return True
            except NotKnown as found:
                doubt = found
        if doubt is not None:
            raise doubt
        return False


def statements_of(document: Value, policy: Resource | None) -> list[Statement]:
    """The statements of a policy document."""
    return [Statement(entry, policy) for entry in document["Statement"].one_or_many()]


def role_of(profile: Value) -> Resource | None:
    """The role behind a value that names an instance profile or a role; None for one of elsewhere.

    Args:
        profile: for example LaunchTemplateData.IamInstanceProfile (Arn or Name), or ExecutionRole.

    Raises:
        NotKnown: it is not known which.
    """
    if profile.is_object:
        named = profile["Arn"] if profile["Arn"].exists else profile["Name"]
        return role_of(named)
    found = profile.resource(PROFILE, ROLE)
    if found is None or found.type == ROLE:
        return found
    roles = found.get("Roles").items()
    return roles[0].resource(ROLE) if roles else None


@remembered
def own_statements(holder: Resource) -> list[Statement]:
    """The statements that stand in a resource itself: its inline policies, or its document."""
    found: list[Statement] = []
    for policy in holder.get("Policies").items():
        found.extend(statements_of(policy["PolicyDocument"], holder))
    found.extend(statements_of(holder.get("PolicyDocument"), holder))
    return found


@remembered
def statements(role: Resource) -> list[Statement]:
    """Every statement of a role: inline policies, and policies of the assembly that are attached to it."""
    attached = (statement for policy in _attached(role) for statement in own_statements(policy))
    return [*own_statements(role), *attached]


@remembered
def roles_with(holder: Resource) -> list[Resource]:
    """The roles of the assembly that have the policies of a resource; the resource itself where it is one."""
    if holder.type == ROLE:
        return [holder]
    found = [role for value in _roles_of(holder) if (role := _made_here(value)) is not None]
    return list(dict.fromkeys([*found, *holder.referrers(ROLE)]))


def _made_here(value: Value) -> Resource | None:
    state = value.state
    is_role = isinstance(state, Reference) and state.type == ROLE
    return Resource(state.target, value.world) if is_role and isinstance(state, Reference) else None


def _attached(role: Resource) -> list[Resource]:
    found: set[Resource] = set()
    for arn in role.get("ManagedPolicyArns").items():
        if isinstance(arn.state, Reference) and arn.state.type in _ATTACHED:
            found.add(Resource(arn.state.target, role.world))
    for policy in role.referrers(*_ATTACHED):
        if any(value.resource(ROLE) == role for value in _roles_of(policy)):
            found.add(policy)
    return sorted(found, key=lambda policy: policy.logical_id)


def _roles_of(policy: Resource) -> list[Value]:
    name = policy.get("RoleName")
    return [name] if name.exists else policy.get("Roles").items()


def managed_policies(role: Resource) -> list[tuple[Value, str]]:
    """AWS managed policies of a role, each with its name (`AmazonFSxFullAccess`), whatever the partition."""
    found: list[tuple[Value, str]] = []
    for arn in role.get("ManagedPolicyArns").items():
        with arn.judged_apart():
            if arn.reference() is None:
                text = arn.known_text("*")
                if ":policy/" in text and ":iam::aws:" in text:
                    found.append((arn, text.rsplit("/", 1)[1]))
    return found
