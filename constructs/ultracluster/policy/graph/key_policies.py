"""Customer keys of the assembly, and what their policies grant."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass

from ultracluster.facts.lustre import lustre_facts
from ultracluster.facts.permissions import permission_list
from ultracluster.policy.graph.roles import Statement, statements_of
from ultracluster.policy.states import NotKnown, Reference
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["ALIAS", "KEY", "grants_launch", "grants_lustre_links", "key_of"]

KEY, ALIAS = "AWS::KMS::Key", "AWS::KMS::Alias"
_LINKED = "aws-service-role/"


def key_of(value: Value) -> Resource | None:
    """The key that a value names by id, ARN or alias; None for one of elsewhere.

    Raises:
        NotKnown: it is not known which.
    """
    found = value.resource(KEY, ALIAS)
    if found is not None and found.type == ALIAS:
        return found.get("TargetKeyId").resource(KEY)
    return found


@remembered
def grants_lustre_links(key: Resource) -> tuple[str, ...]:
    """The actions on a key that the role of Lustre's associations lacks; none when it has all.

    Raises:
        NotKnown: a statement cannot be read, and the others do not grant all.
    """
    return _lacking(key, lustre_facts().link_key_actions, _Caller(lustre_facts().link_role, "s3."))


def grants_launch(key: Resource, role: str) -> tuple[str, ...]:
    """The actions on a key that a service-linked role lacks for volumes; none when it has all.

    Args:
        key: the key.
        role: its path and name behind `aws-service-role/`.

    Raises:
        NotKnown: a statement cannot be read, and the others do not grant all.
    """

    def make() -> tuple[str, ...]:
        actions = tuple(sorted(permission_list("volume_key_actions")))
        return _lacking(key, actions, _Caller(role, "ec2."))

    return key.world.remember((grants_launch, key.model, role), make)


@dataclass(frozen=True, slots=True)
class _Caller:
    """A service-linked role that uses keys.

    Attributes:
        role: part of its ARN.
        via: how the name of the service begins through which it calls.
    """

    role: str
    via: str

    def is_in(self, text: str) -> bool:
        """Whether an ARN, with wildcards for what is not known, is or holds the role."""
        return self.role in text or fnmatch.fnmatchcase(f"arn:aws:iam::111122223333:role/{_LINKED}{self.role}", text)


def _lacking(key: Resource, actions: tuple[str, ...], caller: _Caller) -> tuple[str, ...]:
    doubt: NotKnown | None = None
    missing = actions
    for statement in statements_of(key.get("KeyPolicy"), key):
        try:
            if statement.allows and _is_for(statement, caller):
                missing = tuple(action for action in missing if not statement.covers(action))
        except NotKnown as found:
            doubt = found
    if missing and doubt is not None:
        raise doubt
    return missing


def _is_for(statement: Statement, caller: _Caller) -> bool:
    principal = statement.where["Principal"]
    named = [principal] if not principal.is_object else principal["AWS"].one_or_many()
    return any(_is_the_role(value, statement, caller) for value in named)


def _is_the_role(value: Value, statement: Statement, caller: _Caller) -> bool:
    state = value.state
    if isinstance(state, Reference):
        # Any other principal of the template is made by somebody, the role by its service.
        made = Resource(state.target, value.world) if state.type == "AWS::IAM::ServiceLinkedRole" else None
        return made is not None and caller.role.startswith(made.get("AWSServiceName").text())
    text = value.known_text("*")
    is_everyone = value.known_text("") == "*"
    if is_everyone or text.endswith(":root") or text.isdigit():
        return _conditions_allow(statement, caller, is_everyone=is_everyone)
    return caller.is_in(text)


def _conditions_allow(statement: Statement, caller: _Caller, *, is_everyone: bool) -> bool:
    """Whether the conditions of a statement for everyone, or for the account, leave a role in."""
    conditions = [
        (key, value) for each in statement.where["Condition"].fields().values() for key, value in each.fields().items()
    ]
    services = [text for key, value in conditions if key.lower() == "kms:viaservice" for text in _texts(value)]
    principals = [text for key, value in conditions if key.lower() == "aws:principalarn" for text in _texts(value)]
    if principals:
        return any(map(caller.is_in, principals))
    if services:
        return any(text.startswith(caller.via) for text in services)
    return is_everyone


def _texts(value: Value) -> list[str]:
    return [entry.known_text("*") for entry in value.one_or_many()]
