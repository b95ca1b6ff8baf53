"""What is kept between readings says what working it out anew would say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.policy.document import Document
from ultracluster.policy.explore import explore
from ultracluster.policy.load import assembly_of
from ultracluster.policy.problem import Problem
from ultracluster.policy.states import NotKnown
from ultracluster.policy.view import Resource
from ultracluster.policy.world import World, remembered

P, Q = {"Ref": "P"}, {"Ref": "Q"}
PARAMETERS = {
    "P": {"Type": "String", "Default": "a", "AllowedValues": ["a", "b", "c"]},
    "Q": {"Type": "String", "Default": ""},
    "R": {"Type": "String"},
}
CONDITIONS = {
    "IsA": {"Fn::Equals": [P, "a"]},
    "HasQ": {"Fn::Not": [{"Fn::Equals": [Q, ""]}]},
    "Both": {"Fn::And": [{"Condition": "IsA"}, {"Condition": "HasQ"}]},
    "IsR": {"Fn::Equals": [{"Ref": "R"}, "x"]},
}
leaves = st.sampled_from(["1", "2", P, Q, {"Ref": "R"}, {"Fn::Sub": "${P}-${Q}"}, {"Ref": "AWS::NoValue"}])
properties = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(st.sampled_from(sorted(CONDITIONS)), inner, inner).map(lambda parts: {"Fn::If": list(parts)}),
        st.dictionaries(st.sampled_from("xyz"), inner, min_size=2, max_size=3),
    ),
    max_leaves=12,
)


def assembly(bodies: list):
    resources = {
        f"R{at}": {"Type": "A::B::C", "Condition": condition, "Properties": {"V": body}}
        if condition
        else {"Type": "A::B::C", "Properties": {"V": body}}
        for at, (condition, body) in enumerate(bodies)
    }
    value = {"Parameters": PARAMETERS, "Conditions": CONDITIONS, "Resources": resources}
    return assembly_of([Document("t", "", value)])


@remembered
def shown(resource: Resource) -> str:
    return str(resource.get("V").plain())


def look(resource: Resource):
    """Tells whatever it sees."""
    others = sorted(shown(other) for other in resource.assembly.resources() if other != resource)
    value = resource.get("V")
    parts = [value]
    while parts:
        part = parts.pop()
        with part.judged_apart():
            parts.extend(part.items() if part.is_list else part.fields().values() if part.is_object else ())
    yield Problem(value, f"{shown(resource)} beside {others}")


def outcome(world: World, model):
    def read(world: World):
        view = Resource(model, world)
        return look(view) if view.exists else ()

    found = explore(world, read)
    return [(fault.message, fault.scenario) for fault in found.faults], found.doubts


@given(st.lists(st.tuples(st.sampled_from([None, *CONDITIONS]), properties), min_size=1, max_size=4))
def test_what_was_read_before_changes_nothing(bodies: list) -> None:
    shared = assembly(bodies)
    world = World(shared)
    models = [*shared.templates[0].resources.values()]
    together = [outcome(world, model) for model in models] + [outcome(world, model) for model in models]
    alone = [outcome(World(shared), model) for model in models]
    assert together == alone + alone


def test_what_depends_on_no_decision_is_worked_out_once() -> None:
    calls: list[int] = []
    world = World(assembly([(None, P)]))

    def make() -> int:
        calls.append(1)
        return 7

    for forced in ({}, {("other",): 1}):
        world.restart(forced)
        assert world.remember("k", make) == 7
    assert len(calls) == 1


def test_what_depends_on_a_decision_is_worked_out_once_for_each_way_to_take_it() -> None:
    shared = assembly([(None, {"Fn::If": ["IsA", "1", "2"]})])
    (model,) = shared.templates[0].resources.values()
    world, calls = World(shared), []

    def make() -> str:
        text = Resource(model, world).get("V").text()
        calls.append(text)
        return text

    key = ("parameter", id(shared.templates[0]), "P")
    for at, text in ((0, "1"), (1, "2"), (2, "2"), (0, "1"), (1, "2")):
        world.restart({key: at})
        assert world.remember("k", make) == text
        assert [*world.trace] == [key]  # the decision is made again all the same
    assert calls == ["1", "2"]  # for a third value the condition says what it said for the second


def test_a_doubt_is_kept_with_those_before_it() -> None:
    world = World(assembly([(None, P)]))

    def make() -> None:
        world.doubts.append("first")
        raise NotKnown("second")

    for _ in range(2):
        world.restart({})
        with pytest.raises(NotKnown, match="second"):
            world.remember("k", make)
        assert world.doubts == ["first"]


def test_a_calculation_that_needs_itself_ends() -> None:
    world = World(assembly([(None, P)]))

    def make() -> int:
        return world.remember("k", make)

    with pytest.raises(NotKnown, match="in a circle"):
        world.remember("k", make)
