"""Customer keys of the assembly, and what their policies grant."""

from __future__ import annotations

from ultracluster.facts.lustre import lustre_facts
from ultracluster.policy.graph.roles import Statement, statements_of
from ultracluster.policy.states import NotKnown, Reference
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["ALIAS", "KEY", "grants_lustre_links", "key_of"]

KEY, ALIAS = "AWS::KMS::Key", "AWS::KMS::Alias"


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
    doubt: NotKnown | None = None
    missing = lustre_facts().link_key_actions
    for statement in statements_of(key.get("KeyPolicy"), key):
        try:
            if statement.allows and _is_for_links(statement):
                missing = tuple(action for action in missing if not statement.covers(action))
        except NotKnown as found:
            doubt = found
    if missing and doubt is not None:
        raise doubt
    return missing


def _is_for_links(statement: Statement) -> bool:
    principal = statement.where["Principal"]
    named = [principal] if not principal.is_object else principal["AWS"].one_or_many()
    return any(_is_the_role(value, statement) for value in named)


def _is_the_role(value: Value, statement: Statement) -> bool:
    state = value.state
    if isinstance(state, Reference):
        return False  # a principal of the template: the role is made by FSx
    text = value.known_text("")
    role = lustre_facts().link_role
    if text == "*" or text.endswith(":root") or text.isdigit():
        return _conditions_allow(statement, role, is_everyone=text == "*")
    return role in text


def _conditions_allow(statement: Statement, role: str, *, is_everyone: bool) -> bool:
    """Whether the conditions of a statement for everyone, or for the account, leave the role of FSx in."""
    conditions = [
        (key, value) for each in statement.where["Condition"].fields().values() for key, value in each.fields().items()
    ]
    services = [text for key, value in conditions if key.lower() == "kms:viaservice" for text in _texts(value)]
    principals = [text for key, value in conditions if key.lower() == "aws:principalarn" for text in _texts(value)]
    if principals:
        return any(role in text for text in principals)
    if services:
        return any(text.startswith("s3.") for text in services)
    return is_everyone


def _texts(value: Value) -> list[str]:
    return [entry.known_text("*") for entry in value.one_or_many()]
