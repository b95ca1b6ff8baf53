"""The `Rules` section of a template: combinations of parameters that an assertion forbids are never read.

An assertion is judged on what a world has decided only; what it has not touched could still make it true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ultracluster.policy.parameters import as_text, decided_value

if TYPE_CHECKING:
    from ultracluster.policy.model import TemplateModel
    from ultracluster.policy.world import World

__all__ = ["forbidden"]

Truth = bool | None
_Read = Callable[["TemplateModel", "World", object], Truth]


def forbidden(world: World) -> bool:
    """Whether an assertion of any template is certain to fail in this world."""
    return any(
        _fails(template, world, body)
        for template in world.assembly.templates
        for body in template.section("Rules").values()
        if isinstance(body, dict)
    )


def _fails(template: TemplateModel, world: World, body: Mapping[str, object]) -> bool:
    applies = _truth(template, world, body["RuleCondition"]) if "RuleCondition" in body else True
    assertions = body.get("Assertions")
    if applies is not True or not isinstance(assertions, list):
        return False
    asserted = [entry.get("Assert") for entry in assertions if isinstance(entry, dict)]
    return any(_truth(template, world, entry) is False for entry in asserted)


def _truth(template: TemplateModel, world: World, raw: object) -> Truth:
    if isinstance(raw, dict) and len(raw) == 1:
        key, inner = next(iter(raw.items()))
        reader = _READERS.get(key)
        return reader(template, world, inner) if reader is not None else None
    return None


def _parts(raw: object) -> list[object]:
    return raw if isinstance(raw, list) else []


def _and(template: TemplateModel, world: World, raw: object) -> Truth:
    truths = [_truth(template, world, part) for part in _parts(raw)]
    return False if False in truths else None if None in truths else True


def _or(template: TemplateModel, world: World, raw: object) -> Truth:
    truths = [_truth(template, world, part) for part in _parts(raw)]
    return True if True in truths else None if None in truths else False


def _not(template: TemplateModel, world: World, raw: object) -> Truth:
    parts = _parts(raw)
    truth = _truth(template, world, parts[0]) if len(parts) == 1 else None
    return None if truth is None else not truth


def _equals(template: TemplateModel, world: World, raw: object) -> Truth:
    texts = [_text(template, world, part) for part in _parts(raw)]
    return texts[0] == texts[1] if len(texts) == 2 and None not in texts else None  # noqa: PLR2004 - one and other


def _contains(template: TemplateModel, world: World, raw: object) -> Truth:
    parts = _parts(raw)
    if len(parts) != 2 or not isinstance(parts[0], list):  # noqa: PLR2004 - list and value
        return None
    listed = [_text(template, world, part) for part in parts[0]]
    text = _text(template, world, parts[1])
    return text in listed if text is not None and None not in listed else None


def _text(template: TemplateModel, world: World, raw: object) -> str | None:
    name = raw.get("Ref") if isinstance(raw, dict) and len(raw) == 1 else None
    return decided_value(world, template, name) if isinstance(name, str) else as_text(raw)


_READERS: dict[str, _Read] = {
    "Fn::And": _and,
    "Fn::Or": _or,
    "Fn::Not": _not,
    "Fn::Equals": _equals,
    "Fn::Contains": _contains,
}
