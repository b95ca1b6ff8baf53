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
from support.mutations.state import STATE
from support.mutations.storage import STORAGE
from support.mutations.tools import DoesNotApply, Mutation, Place, full_type
from support.mutations.watching import WATCHING
from ultracluster.facts.rules import rule_registry
from ultracluster.findings import Severity

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


DECIDE_CASES = {
    "NIC": (1, 4, 5, 6, 7, 8, 11, 16),
    "EFA": (2, 4, 5, 6, 7, 9),
    "EKS": (1, 3, 4, 5, 6, 21),
    "NET": (10, 11),
    "HPD": (1, 4),
    "PLC": (1, 2, 3),
    "CAP": (2, 3),
    "PCS": (2, 8),
    "SPT": (1, 2, 3, 4, 6, 12),
    "LUS": (1, 2, 3, 4, 6, 7, 8, 9),
    "DRA": (1, 3, 5),
    "NOD": (3, 6, 7, 20),
    "BAT": (1, 2, 3, 5, 6, 8),
    "IMG": (2, 3, 6, 7, 8, 9),
    "ALM": (2, 3, 4),
}
"""Numbers, by area, of the rules that templates are judged by in the fault cases C01 to C50."""


def test_every_rule_that_decides_a_case_is_broken_here() -> None:
    deciding = {f"{area}-{number:03}" for area, numbers in DECIDE_CASES.items() for number in numbers}
    assert deciding <= (broken := {mutation.rule for mutation in MUTATIONS}), sorted(deciding - broken)
    assert all("template" in rule_registry()[f"UC-{rule}"].stages for rule in deciding)


def test_every_fatal_rule_is_broken_here() -> None:
    broken = {f"UC-{mutation.rule}" for mutation in MUTATIONS}
    fatal = {
        rule_id
        for rule_id, row in rule_registry().items()
        if row.severity is Severity.FATAL and "template" in row.stages
    }
    assert fatal <= broken, sorted(fatal - broken)
