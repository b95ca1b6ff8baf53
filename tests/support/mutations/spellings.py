"""Other ways of writing the same template, all of them legal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Body = dict[str, Any]
Spelling = Callable[[Body], Body]

_POLICIES = ("AssumeRolePolicyDocument", "KeyPolicy", "Policies", "PolicyDocument")


def _scalars(raw: Any, change: Callable[[Any], Any]) -> Any:
    """The value with every literal changed that stands in no intrinsic."""
    if isinstance(raw, dict):
        is_intrinsic = len(raw) == 1 and any(key in ("Ref", "Condition") or key.startswith("Fn::") for key in raw)
        return raw if is_intrinsic else {key: _scalars(value, change) for key, value in raw.items()}
    return [_scalars(value, change) for value in raw] if isinstance(raw, list) else change(raw)


def _in_properties(template: Body, change: Callable[[Any], Any]) -> Body:
    resources = {
        name: {**body, "Properties": change(body.get("Properties", {}))} for name, body in template["Resources"].items()
    }
    return {**template, "Resources": resources}


def as_texts(template: Body) -> Body:
    """Numbers and truth values as texts."""

    def change(raw: Any) -> Any:
        if isinstance(raw, bool):
            return str(raw).lower()
        return str(raw) if isinstance(raw, int | float) else raw

    return _in_properties(template, lambda raw: _scalars(raw, change))


def in_sub(template: Body) -> Body:
    """Texts in `Fn::Sub` without a variable."""

    def change(raw: Any) -> Any:
        is_plain = isinstance(raw, str) and raw and "${" not in raw and not raw.startswith("{{")
        return {"Fn::Sub": raw} if is_plain else raw

    return _in_properties(template, lambda raw: _scalars(raw, change))


def in_branches(template: Body) -> Body:
    """Literals in the one branch that is ever taken."""
    made = _in_properties(
        template,
        lambda raw: _scalars(raw, lambda value: {"Fn::If": ["Always", value, {"Ref": "AWS::NoValue"}]}),
    )
    return {**made, "Conditions": {**template.get("Conditions", {}), "Always": {"Fn::Equals": ["a", "a"]}}}


def other_policies(template: Body) -> Body:
    """In policies lists of one as their entry, and entries as lists of one."""
    return _in_properties(template, lambda raw: _policies(raw, within=False))


def _policies(raw: Any, *, within: bool) -> Any:
    if isinstance(raw, list):
        return [_policies(value, within=within) for value in raw]
    if not isinstance(raw, dict):
        return raw
    return {
        key: _entry(key, value)
        if within and key in ("Action", "Resource", "Statement")
        else _policies(value, within=within or key in _POLICIES)
        for key, value in raw.items()
    }


def _entry(key: str, raw: Any) -> Any:
    if key == "Statement":
        raw = _policies(raw, within=True)
    elif not isinstance(raw, list):
        return [raw]
    return raw[0] if isinstance(raw, list) and len(raw) == 1 else raw


SPELLINGS: tuple[Spelling, ...] = (as_texts, in_sub, in_branches, other_policies)
