"""Values of apps without a fault, replaced: what is not known is no violation, what makes no sense no error of ours."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from support.mutations.bases import Base, Found, bases, clean

pytestmark = pytest.mark.slow

PLACES = 100
IMPORTED = {"Fn::ImportValue": "made-elsewhere"}
OPEN = {"Ref": "Open"}
STRANGE = (
    *(None, 3, -1, "x", "", [], {}, [None], {"a": {"b": 1}}, True, 1e99, "${AWS::Region}"),
    *({"Fn::If": ["Nope", 1, 2]}, {"Fn::Sub": 3}, {"Ref": []}, {"Fn::GetAtt": "x"}, {"Fn::Select": ["a"]}),
)
# A value from elsewhere is no resource of this template: the one that it stood for is no longer used, or not served.
ELSEWHERE = {"UC-EFA-006", "UC-EFS-002", "UC-LUS-009", "UC-NET-004", "UC-NET-011"}
# An alarm on a metric that is not known may be the one that is missed; a warning says so.
MISSED = {"UC-ALM-011"}


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The place of every value that is no intrinsic."""
    if path:
        yield path
    if isinstance(value, dict) and not any(key.startswith("Fn::") or key == "Ref" for key in value):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _places(inner, (*path, at))


def _replaced(pick: Random, value: Any) -> tuple[Base, str, Found]:
    """What is new in an app of which one value is replaced, and where that stood."""
    base = pick.choice(bases())
    templates = base.templates()
    template = pick.choice(templates)
    template.setdefault("Parameters", {})["Open"] = {"Type": "String"}
    name = pick.choice([key for key, body in template["Resources"].items() if body.get("Properties")])
    properties = template["Resources"][name]["Properties"]
    *outer, last = pick.choice(list(_places(properties)))
    for key in outer:
        properties = properties[key]
    properties[last] = value
    return base, f"{base.name}/{name} {outer} {last}", base.found(templates) - clean(base)


@pytest.mark.parametrize("value", [IMPORTED, OPEN], ids=["import", "parameter"])
def test_what_is_not_known_is_no_violation(value: dict[str, str]) -> None:
    pick = Random(7)
    for _ in range(PLACES):
        _, place, fresh = _replaced(pick, value)
        guessed = {rule_id for rule_id, _ in fresh} - ELSEWHERE - MISSED
        assert not guessed, f"{place}: {sorted(fresh)}"


def test_what_makes_no_sense_is_no_error_of_ours() -> None:
    pick = Random(11)
    for _ in range(PLACES):
        _replaced(pick, pick.choice(STRANGE))  # an error of a rule is raised: the engine is not fenced
