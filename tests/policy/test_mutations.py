"""Apps without a fault, broken at random places: the rule that is broken says so, and no other one without a cause."""

from __future__ import annotations

import zlib
from random import Random

import pytest

from support.mutations.bases import Base, bases, clean
from support.mutations.fabric import FABRIC
from support.mutations.orchestration import ORCHESTRATION
from support.mutations.others import OTHERS
from support.mutations.scripts import SCRIPTS
from support.mutations.services import SERVICES
from support.mutations.spellings import SPELLINGS, Spelling
from support.mutations.state import STATE
from support.mutations.storage import STORAGE
from support.mutations.tools import Body, DoesNotApply, Mutation, Place, full_type
from support.mutations.watching import WATCHING
from ultracluster.facts.rules import rule_registry
from ultracluster.policy.registry import rules

pytestmark = pytest.mark.slow

MUTATIONS = (*FABRIC, *STORAGE, *SERVICES, *OTHERS, *SCRIPTS, *ORCHESTRATION, *STATE, *WATCHING)
PLACES = 4
"""Places at which each change is tried."""


def _candidates(mutation: Mutation) -> list[tuple[Base, int, str]]:
    """(app, number of the template, logical id) of what a change may break."""
    kind = full_type(mutation.on)
    return [
        (base, at, name)
        for base in bases()
        for at, template in enumerate(base.templates())
        for name, body in template["Resources"].items()
        if body["Type"] == kind
    ]


def _broken(mutation: Mutation, base: Base, at: int, name: str, pick: Random):
    templates = base.templates()
    template = templates[at]
    mutation.change(Place(name, template["Resources"][name], template, templates, pick))
    fresh = base.changed(templates) if mutation.is_update else base.found(templates) - clean(base)
    return fresh, templates


def _named(index: int) -> str:
    return f"{MUTATIONS[index].rule}-{index}"


@pytest.mark.parametrize("index", range(len(MUTATIONS)), ids=_named)
def test_a_broken_app_is_found_by_its_rule_alone(index: int) -> None:
    mutation = MUTATIONS[index]
    rule, allowed = f"UC-{mutation.rule}", {f"UC-{other}" for other in mutation.also}
    pick = Random(zlib.crc32(f"{mutation.rule} {index}".encode()))
    tried = 0
    for base, at, name in pick.sample(found := _candidates(mutation), len(found)):
        try:
            fresh, templates = _broken(mutation, base, at, name, pick)
        except DoesNotApply:
            continue
        kinds = {key: body["Type"] for template in templates for key, body in template["Resources"].items()}
        places = {place for found_rule, place in fresh if found_rule == rule}
        wanted = name if not mutation.at else full_type(mutation.at)
        hit = bool(places) if mutation.at == "*" else wanted in places or wanted in map(kinds.get, places)
        assert hit, f"{rule} is silent on {base.name}/{name}; found {sorted(fresh)}"
        others = {found_rule for found_rule, _ in fresh} - {rule} - allowed
        assert not others, f"{rule} on {base.name}/{name} also brings {sorted(fresh)}"
        tried += 1
        if tried == PLACES:
            break
    assert tried, f"no app has a place for {rule}"


def _spelt(templates: tuple[Body, ...], spelling: Spelling) -> tuple[Body, ...]:
    return tuple(map(spelling, templates))


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("base", bases(), ids=lambda base: base.name)
def test_a_clean_app_is_clean_in_every_spelling(base: Base, spelling: Spelling) -> None:
    assert base.found(_spelt(base.templates(), spelling)) == clean(base)


@pytest.mark.parametrize("index", range(len(MUTATIONS)), ids=_named)
def test_a_broken_app_is_found_in_another_spelling(index: int) -> None:
    """What stands in a template counts, not how it is written."""
    mutation = MUTATIONS[index]
    pick = Random(zlib.crc32(f"{mutation.rule} {index} spelt".encode()))
    spelling = SPELLINGS[index % len(SPELLINGS)]
    if mutation.is_update:
        return  # compared as it is written
    for base, at, name in sorted(
        pick.sample(found := _candidates(mutation), len(found)), key=lambda each: len(each[0].texts)
    ):
        try:
            fresh, templates = _broken(mutation, base, at, name, pick)
        except DoesNotApply:
            continue
        assert base.found(_spelt(templates, spelling)) - clean(base) == fresh
        return


UNBROKEN = {
    "UC-ACK-001": "acknowledgements are read with the findings of a whole check, behind all rules",
    "UC-ACK-002": "as UC-ACK-001",
    "UC-ACK-003": "as UC-ACK-001",
    "UC-DOC-002": "a key that is there twice is gone when a template is read into a value",
}
"""Rules on templates and their updates that no change here breaks, with the reason."""


def test_every_rule_is_broken_here_or_says_why_not() -> None:
    broken = {f"UC-{mutation.rule}" for mutation in MUTATIONS}
    judged = {rule_id for rule_id, row in rule_registry().items() if {"template", "diff"} & set(row.stages)}
    assert judged - broken == set(UNBROKEN), sorted((judged - broken) ^ set(UNBROKEN))


def test_both_versions_of_a_rule_are_broken_here() -> None:
    """A rule with functions over one template and over two is broken in both ways."""
    updated = {f"UC-{mutation.rule}" for mutation in MUTATIONS if mutation.is_update}
    assert updated == {rule_id for known in rules() if known.is_diff for rule_id in known.ids}
    both = {rule_id for rule_id, row in rule_registry().items() if {"template", "diff"} <= set(row.stages)}
    assert both <= {f"UC-{mutation.rule}" for mutation in MUTATIONS if not mutation.is_update}
