"""Rules on secrets: none in user data, environment variables or other properties."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ultracluster.facts.secrets import secret_facts, secret_formats
from ultracluster.policy.graph.attached_groups import INSTANCE
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE
from ultracluster.policy.graph.user_data import MARK, user_data
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_SECRET = "AWS::SecretsManager::Secret"
_HINTS = ("KEY", "TOKEN", "PASS", "SECRET", "hf_", "gh", "glpat", "sk-", "nvapi", "AIza", "xox", "AKIA", "ASIA")
# Variables of CodeBuild that hold the place of a secret instead of the secret.
_PLACES = ("PARAMETER_STORE", "SECRETS_MANAGER")
_FROM_ELSEWHERE = ("${", "'Ref'", "'Fn::GetAtt'", "'Fn::FindInMap'", "'Fn::ImportValue'")


@rule("UC-IAM-008", on=(LAUNCH_TEMPLATE, INSTANCE))
def user_data_holds_no_secret(holder: Resource) -> Iterator[Problem]:
    """No key, token or password stands in user data."""
    data = user_data(holder)
    text = data.text if data is not None else ""
    if data is None or not any(hint in text for hint in _HINTS):
        return
    found = _known_format(text) or _assigned(text)
    if found:
        yield Problem(data.value, f"{found} in user data, which every process on the node can read")


def _known_format(text: str) -> str:
    facts = secret_facts()
    for kind, pattern, begins in secret_formats().formats:
        match = pattern.search(text) if any(begin in text for begin in begins) else None
        if match is not None and facts.is_secret(match.group()):
            return kind
    return ""


def _assigned(text: str) -> str:
    facts, formats = secret_facts(), secret_formats()
    is_likely = any(end in text for end in formats.assignment_ends)
    for match in formats.assignment.finditer(text) if is_likely else ():
        if facts.is_secret(match.group(3)) and facts.is_secret_name(match.group(1)):
            return f"a value for {match.group(1)}"
    return ""


@rule("UC-IAM-008", on=tuple(secret_facts().containers))
def environment_holds_no_secret(holder: Resource) -> Iterator[Problem]:
    """No secret stands in environment variables."""
    for path in secret_facts().containers[holder.type]:
        for variables in _at(holder.properties, path):
            with variables.judged_apart():
                for name, value, text in _literal_variables(variables):
                    if _is_secret(name, text):
                        yield Problem(value, f"{name} holds a secret in plain text")


def _at(value: Value, path: tuple[str, ...]) -> Iterator[Value]:
    if not path:
        yield value
    elif path[0] == "*":
        for entry in value.items() if value.is_list else ():
            yield from _at(entry, path[1:])
    else:
        yield from _at(value[path[0]], path[1:])


def _literal_variables(variables: Value) -> Iterator[tuple[str, Value, str]]:
    """Variables whose value is a text; what comes from a parameter is judged there."""
    raw = variables.state
    if isinstance(raw, dict):
        for name in raw:
            text = _literal(variables[name])
            if text is not None:
                yield name, variables[name], text
        return
    for entry in variables.items() if isinstance(raw, list) else ():
        name, value = entry["Name"], entry["Value"]
        text = _literal(value)
        if text is not None and name.is_scalar and name.known and entry["Type"].text("") not in _PLACES:
            yield name.text(), value, text


def _literal(value: Value) -> str | None:
    """The text as it stands in the template, also in a branch of a condition; None for one from elsewhere."""
    written, taken = value.written, value.place.raw
    told = str(written).replace(str({"Ref": "AWS::NoValue"}), "") if isinstance(written, dict) else ""
    if any(mark in told for mark in _FROM_ELSEWHERE):
        return None
    if isinstance(taken, dict) and len(taken) == 1 and "Fn::Sub" in taken:
        taken = taken["Fn::Sub"]
    return taken if isinstance(taken, str) else None


def _is_secret(name: str, text: str) -> bool:
    if "{{resolve:" in text:
        return False
    return bool(_known_format(text)) or (secret_facts().is_secret_name(name) and secret_facts().is_secret(text))


@rule("UC-IAM-008", on=(_SECRET, *secret_facts().passwords))
def properties_hold_no_secret(holder: Resource) -> Iterator[Problem]:
    """The text of a secret, or a password, does not stand in the template."""
    if holder.type == _SECRET:
        value = holder.get("SecretString")
        text = value.known_text(MARK) if value.exists else ""
        if _is_in_clear(text):
            yield Problem(value, "the text of the secret stands in the template")
        return
    for key in secret_facts().passwords[holder.type]:
        value = holder.get(key)
        password = _literal(value)
        if password is not None and _is_secret("Password", password):
            yield Problem(value, "a password in plain text")


def _is_in_clear(text: str) -> bool:
    """Whether the text of a secret is known: as a whole, or in one of its fields with the name of a secret."""
    facts = secret_facts()
    try:
        fields = json.loads(text)
    except ValueError:
        return MARK not in text and facts.is_secret(text)
    if not isinstance(fields, dict):
        return MARK not in text and facts.is_secret(text)
    return any(
        isinstance(value, str) and MARK not in value and facts.is_secret_name(name) and facts.is_secret(value)
        for name, value in fields.items()
    )
