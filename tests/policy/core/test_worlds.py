"""Conditions and parameters: which combinations are read, and which faults count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.policy import reading
from ultracluster.policy.problem import Problem

HEAD = "Resources:\n  X:\n    Type: AWS::X::Y\n    Properties:\n"


def bad(resource):
    """A fault where A and B are both on."""
    a, b = resource.get("A"), resource.get("B")
    if a.text("") == "on" and b.text("") == "on":
        yield Problem(a, "both are on")


def big(resource):
    """A fault where Size is above 10."""
    size = resource.get("Size")
    if size.exists and size.integer() > 10:
        yield Problem(size, f"{size.integer()} is above 10")


def test_properties_under_one_condition_never_meet_their_opposites() -> None:
    template = "Conditions: {C: !Equals [!Ref P, x]}\nParameters: {P: {Type: String}}\n" + HEAD
    exclusive = template + "      A: !If [C, 'on', 'off']\n      B: !If [C, 'off', 'on']\n"
    together = template + "      A: !If [C, 'on', 'off']\n      B: !If [C, 'on', 'off']\n"
    assert reading(exclusive, bad).faults == []
    assert len(reading(together, bad).faults) == 1


def test_the_scenario_is_named() -> None:
    template = "Conditions: {C: !Equals [!Ref P, x]}\nParameters: {P: {Type: String}}\n" + HEAD
    (fault,) = reading(template + "      A: !If [C, 'on', 'off']\n      B: 'on'\n", bad).faults
    assert fault.scenario == ("P = 'x'",)


def test_conditions_over_one_parameter_stay_consistent() -> None:
    """P cannot be x and y at once, nor neither and x."""
    template = (
        "Parameters: {P: {Type: String}}\n"
        "Conditions:\n  IsX: !Equals [!Ref P, x]\n  IsY: !Equals [y, !Ref P]\n"
        "  Neither: !Not [!Or [!Condition IsX, !Condition IsY]]\n" + HEAD
    )
    assert reading(template + "      A: !If [IsX, 'on', 'off']\n      B: !If [IsY, 'on', 'off']\n", bad).faults == []
    assert (
        reading(template + "      A: !If [IsX, 'on', 'off']\n      B: !If [Neither, 'on', 'off']\n", bad).faults == []
    )
    assert len(reading(template + "      A: !If [Neither, 'on', 'off']\n      B: 'on'\n", bad).faults) == 1


@pytest.mark.parametrize("declaration", ["{Type: String}", "{Type: String, Default: ''}", "{Type: String, Default: k}"])
def test_a_comparison_with_an_empty_text_is_taken_both_ways(declaration: str) -> None:
    template = f"Parameters: {{K: {declaration}}}\nConditions: {{HasK: !Not [!Equals [!Ref K, '']]}}\n" + HEAD
    for branches in ("'on', 'off'", "'off', 'on'"):
        assert len(reading(template + f"      A: !If [HasK, {branches}]\n      B: 'on'\n", bad).faults) == 1


def test_and_or_not_are_read_as_logic() -> None:
    template = (
        "Parameters: {P: {Type: String}, Q: {Type: String}}\n"
        "Conditions:\n  A: !Equals [!Ref P, '1']\n  B: !Equals [!Ref Q, '1']\n"
        "  Both: !And [!Condition A, !Condition B]\n  Some: !Or [!Condition A, !Condition B]\n"
        "  None: !And [!Not [!Condition A], !Not [!Condition B]]\n" + HEAD
    )
    assert reading(template + "      A: !If [Both, 'on', 'off']\n      B: !If [None, 'on', 'off']\n", bad).faults == []
    assert reading(template + "      A: !If [Some, 'on', 'off']\n      B: !If [None, 'on', 'off']\n", bad).faults == []
    assert reading(template + "      A: !If [Some, 'on', 'off']\n      B: !If [Both, 'on', 'off']\n", bad).faults


def test_a_resource_under_a_condition_is_read_where_it_exists_only() -> None:
    template = (
        "Parameters: {P: {Type: String}}\nConditions: {C: !Equals [!Ref P, x], D: !Not [!Condition C]}\n"
        "Resources:\n  X:\n    Type: AWS::X::Y\n    Condition: C\n    Properties: {A: !If [D, 'on', 'off'], B: 'on'}\n"
    )
    assert reading(template, bad).faults == []


def test_a_reference_to_a_resource_that_is_not_there_is_no_world() -> None:
    template = (
        "Parameters: {P: {Type: String}}\nConditions: {C: !Equals [!Ref P, x]}\n"
        "Resources:\n  X:\n    Type: AWS::X::Y\n    Properties: {R: !Ref Z, A: !If [C, 'on', 'off']}\n"
        "  Z: {Type: AWS::Z::Z, Condition: C}\n"
    )

    def read(resource):
        resource.get("R").resource()
        if resource.get("A").text() == "off":
            yield Problem(resource, "only where Z is missing")

    assert reading(template, read).faults == []


def test_what_a_world_does_not_touch_is_not_varied() -> None:
    seen = []
    template = "Parameters: {P: {Type: String}}\nConditions: {C: !Equals [!Ref P, x]}\n" + HEAD
    reading(
        template + "      A: 'on'\n      B: !If [C, 1, 2]\n",
        lambda resource: seen.append(resource.get("A").text()) or (),
    )
    assert seen == ["on"]


class TestAllowedValues:
    P = (
        "Parameters:\n  S: {Type: Number, Default: 5, AllowedValues: [5, 9]}\n"
        "  T: {Type: Number, Default: 1, AllowedValues: [1, 20]}\n"
    )

    def test_the_defaults_count(self) -> None:
        template = (
            "Parameters: {S: {Type: Number, Default: 50, AllowedValues: [5, 50]}}\n" + HEAD + "      Size: !Ref S\n"
        )
        (fault,) = reading(template, big).faults
        assert fault.scenario == ("S = '50' (default)",)

    def test_a_value_that_fails_whatever_the_others_are_counts(self) -> None:
        (fault,) = reading(self.P + HEAD + "      Size: !Ref T\n", big).faults
        assert fault.message == "20 is above 10"
        assert fault.scenario == ("T = '20'",)

    def test_a_pair_that_the_user_has_to_choose_together_does_not(self) -> None:
        """T = 20 fails with S = 5 and passes with S = 9."""

        def pair(resource):
            if resource.get("T").integer() == 20 and resource.get("S").integer() == 5:
                yield Problem(resource, "a bad pair")

        assert reading(self.P + HEAD + "      T: !Ref T\n      S: !Ref S\n", pair).faults == []

    FREE = (
        "Parameters:\n  T: {Type: Number, Default: 1, AllowedValues: [1, 20]}\n  S: {Type: Number, Default: 5}\n"
        "Conditions: {Many: !Equals [!Ref T, 20]}\n"
    )

    def test_a_parameter_that_has_to_be_chosen_with_it_is_open(self) -> None:
        """T = 20 fails with the default of S, which whoever sets T would choose as well."""

        def pair(resource):
            if resource.get("T").integer() == 20 and resource.get("S").integer() == 5:
                yield Problem(resource, "a bad pair")

        outcome = reading(self.FREE + HEAD + "      T: !Ref T\n      S: !Ref S\n", pair)
        assert outcome.faults == []
        assert outcome.doubts

    def test_a_fault_of_the_value_alone_stays(self) -> None:
        def read(resource):
            yield from big(resource)
            resource.get("S").integer()

        assert len(reading(self.FREE + HEAD + "      Size: !Ref T\n      S: !Ref S\n", read).faults) == 1

    def test_a_resource_that_a_value_brings_about_meets_the_defaults(self) -> None:
        template = self.FREE.replace("Default: 5", "Default: 50") + HEAD.replace("Y\n", "Y\n    Condition: Many\n")
        (fault,) = reading(template + "      Size: !Ref S\n", big).faults
        assert fault.message == "50 is above 10"

    def test_without_a_default_every_value_is_tried(self) -> None:
        template = "Parameters: {S: {Type: String, AllowedValues: ['5', '11', '12']}}\n" + HEAD + "      Size: !Ref S\n"
        (fault,) = reading(template, big).faults
        assert fault.scenario == ("S = '11'",)

    def test_a_condition_follows_from_the_value(self) -> None:
        template = (
            "Parameters: {S: {Type: String, Default: small, AllowedValues: [small, large]}}\n"
            "Conditions: {L: !Equals [!Ref S, large], Odd: !Equals [!Ref S, medium]}\n" + HEAD
        )
        assert len(reading(template + "      Size: !If [L, 20, 5]\n", big).faults) == 1
        assert reading(template + "      Size: !If [Odd, 20, 5]\n", big).faults == []

    def test_an_empty_value_is_to_be_filled_in(self) -> None:
        template = "Parameters: {S: {Type: String, Default: '', AllowedValues: ['', '20']}}\n" + HEAD
        outcome = reading(template + "      Size: !Ref S\n", big)
        assert len(outcome.faults) == 1
        assert outcome.doubts


class TestFreeParameters:
    @pytest.mark.parametrize(
        ("declaration", "judged"),
        [
            ("{Type: Number, Default: 20}", True),
            ("{Type: String, Default: '20'}", True),
            ("{Type: String}", False),
            ("{Type: String, Default: ''}", False),
            ("{Type: 'AWS::SSM::Parameter::Value<String>', Default: '20'}", False),
        ],
    )
    def test_the_default_stands_for_the_value(self, declaration: str, judged: bool) -> None:
        outcome = reading(f"Parameters: {{S: {declaration}}}\n" + HEAD + "      Size: !Ref S\n", big)
        assert bool(outcome.faults) is judged
        assert bool(outcome.doubts) is not judged

    def test_the_default_is_named(self) -> None:
        (fault,) = reading("Parameters: {S: {Type: Number, Default: 20}}\n" + HEAD + "      Size: !Ref S\n", big).faults
        assert fault.scenario == ("S = '20' (default)",)

    def test_a_value_that_a_condition_compares_with_is_the_value_there(self) -> None:
        template = "Parameters: {S: {Type: String, Default: '5'}}\nConditions: {C: !Equals [!Ref S, '20']}\n" + HEAD
        (fault,) = reading(template + "      Size: !If [C, !Ref S, 1]\n", big).faults
        assert fault.message == "20 is above 10"

    def test_pseudo_parameters_are_known_with_the_environment_only(self) -> None:
        template = "Conditions: {C: !Equals [!Ref AWS::Region, us-east-1]}\n" + HEAD + "      Size: !If [C, 20, 5]\n"
        assert len(reading(template, big).faults) == 1
        assert len(reading(template, big, region="us-east-1").faults) == 1
        assert reading(template, big, region="eu-west-1").faults == []

    def test_lists_come_apart_at_commas(self) -> None:
        def read(resource):
            texts = [value.text() for value in resource.get("L").items()]
            yield Problem(resource, ",".join(texts))

        template = "Parameters: {L: {Type: CommaDelimitedList, Default: 'a, b'}}\n" + HEAD + "      L: !Ref L\n"
        assert reading(template, read).faults[0].message == "a,b"


class TestAssertions:
    RULES = (
        "Rules:\n  R:\n    RuleCondition: !Equals [!Ref T, '20']\n"
        "    Assertions: [{Assert: !Contains [['9'], !Ref S]}]\n"
    )

    def test_a_forbidden_combination_is_never_read(self) -> None:
        """T = 20 is allowed with S = 9 only, where the sum stays below."""

        def read(resource):
            if resource.get("T").integer() == 20 and resource.get("S").integer() == 5:
                yield Problem(resource, "forbidden anyway")

        template = TestAllowedValues.P + HEAD + "      T: !Ref T\n      S: !Ref S\n"
        assert reading(template.replace("[5, 9]", "[5]"), read).faults
        assert reading(self.RULES + template.replace("[5, 9]", "[5]"), read).faults == []

    def test_an_assertion_over_what_is_not_touched_forbids_nothing(self) -> None:
        template = self.RULES + TestAllowedValues.P + HEAD + "      Size: !Ref T\n"
        assert len(reading(template, big).faults) == 1

    def test_strange_assertions_are_passed_over(self) -> None:
        rules = "Rules: {R: {Assertions: [3, {Assert: 5}, {Assert: !EachMemberIn [a, b]}]}, Q: 7, S: {Assertions: x}}\n"
        assert len(reading(rules + TestAllowedValues.P + HEAD + "      Size: !Ref T\n", big).faults) == 1


def test_too_many_combinations_are_not_judged() -> None:
    count = 9
    parameters = "".join(f"  P{at}: {{Type: String}}\n" for at in range(count))
    conditions = "".join(f"  C{at}: !Equals [!Ref P{at}, x]\n" for at in range(count))
    properties = "".join(f"      A{at}: !If [C{at}, 1, 0]\n" for at in range(count))

    def read(resource):
        sum(resource.get(f"A{at}").integer() for at in range(count))
        return ()

    outcome = reading(f"Parameters:\n{parameters}Conditions:\n{conditions}{HEAD}{properties}", read)
    assert any("combinations" in doubt for doubt in outcome.doubts)


@pytest.mark.parametrize(
    "conditions",
    [
        "{C: !Not [!Condition C]}",
        "{C: !Condition D, D: !And [!Condition C, !Condition C]}",
        "{C: !Equals [!If [C, 1, 2], 1]}",
    ],
)
def test_conditions_in_a_circle_are_not_judged(conditions: str) -> None:
    outcome = reading(f"Conditions: {conditions}\n{HEAD}      Size: !If [C, 20, 5]\n", big)
    assert outcome.faults == []
    assert outcome.doubts == ["the template refers to itself in a circle"]


@pytest.mark.parametrize(
    "condition", ["5", "[]", "{}", "!Equals [1]", "!Not []", "!Strange x", "!Equals [[], {}]", "~"]
)
def test_conditions_that_make_no_sense_are_taken_both_ways(condition: str) -> None:
    assert len(reading(f"Conditions: {{C: {condition}}}\n{HEAD}      Size: !If [C, 20, 5]\n", big).faults) == 1
    assert len(reading(f"{HEAD}      Size: !If [Missing, 20, 5]\n", big).faults) == 1


@given(
    truth=st.lists(st.booleans(), min_size=2, max_size=4),
    tree=st.recursive(
        st.integers(0, 3),
        lambda inner: st.tuples(st.just("not"), inner) | st.tuples(st.sampled_from(["and", "or"]), inner, inner),
        max_leaves=8,
    ),
)
def test_the_worlds_of_a_condition_are_exactly_its_truth_table(truth: list[bool], tree: object) -> None:
    """A fault that needs one assignment of all parameters is found exactly where the condition holds for it."""
    names = [f"P{at}" for at in range(4)]
    wanted = (truth + [False] * 4)[:4]

    def written(node: object) -> object:
        if isinstance(node, int):
            return {"Condition": f"C{node}"}
        return {f"Fn::{node[0].title()}": [written(part) for part in node[1:]]}

    def holds(node: object) -> bool:
        if isinstance(node, int):
            return wanted[node]
        parts = [holds(part) for part in node[1:]]
        return not parts[0] if node[0] == "not" else all(parts) if node[0] == "and" else any(parts)

    def read(resource):
        settings = [resource.get(f"V{at}").text() == "t" for at in range(4)]
        if settings == wanted and resource.get("W").text() == "t":
            yield Problem(resource, "found")

    conditions = {f"C{at}": {"Fn::Equals": [{"Ref": name}, "x"]} for at, name in enumerate(names)}
    template = {
        "Parameters": {name: {"Type": "String"} for name in names},
        "Conditions": {**conditions, "T": {"Fn::And": [written(tree), written(tree)]}},
        "Resources": {
            "X": {
                "Type": "AWS::X::Y",
                "Properties": {
                    **{f"V{at}": {"Fn::If": [f"C{at}", "t", "f"]} for at in range(4)},
                    "W": {"Fn::If": ["T", "t", "f"]},
                },
            }
        },
    }
    assert bool(reading(template, read).faults) is holds(tree)
