"""Intrinsics: what is known is reduced, what is not stays unknown for its own reason."""

from __future__ import annotations

import pytest

from support.policy import reading
from ultracluster.policy.document import Document
from ultracluster.policy.problem import Problem
from ultracluster.policy.states import NotKnown, Opaque

PARAMETERS = """\
Parameters:
  Name: {Type: String, Default: alpha}
  Open: {Type: String}
  Zones: {Type: CommaDelimitedList, Default: "a,b"}
  OpenZones: {Type: 'List<AWS::EC2::Subnet::Id>'}
Mappings:
  M: {one: {size: 5, list: [x, y]}, two: {size: 5, list: [z]}}
Resources:
  Other: {Type: AWS::X::Other}
  X:
    Type: AWS::X::Y
    Properties:
"""


def ask(written: str, question, *siblings: str, **environment: str):
    """The answer of a question about property V."""
    answers: list[object] = []

    def read(resource):
        answers.append(question(resource.get("V")))
        return ()

    outcome = reading(f"{PARAMETERS}      V: {written}\n", read, *siblings, **environment)
    return answers[0] if answers else outcome.doubts[0]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("plain", "plain"),
        ("12", "12"),
        ("true", "true"),
        ("!Ref Name", "alpha"),
        ("!Sub 'a-${Name}-b'", "a-alpha-b"),
        ("!Sub ['${X}${Name}', {X: !Ref Name}]", "alphaalpha"),
        ("!Sub '${!Name}'", "${Name}"),
        ("!Join ['-', [a, !Ref Name, 3]]", "a-alpha-3"),
        ("!Join [',', !Ref Zones]", "a,b"),
        ("!Join ['', []]", ""),
        ("!Select [1, !Split ['/', 'a/b/c']]", "b"),
        ("!Select ['0', !Ref Zones]", "a"),
        ("!FindInMap [M, one, size]", "5"),
        ("!FindInMap [M, !Ref Open, size]", "5"),
        ("!FindInMap [M, three, size, {DefaultValue: 7}]", "7"),
        ("!Select [0, !FindInMap [M, two, list]]", "z"),
        ("!Select [2, !Cidr [10.0.0.0/16, 4, 8]]", "10.0.2.0/24"),
        ("{'Fn::Length': !Ref Zones}", "2"),
        ("{'Fn::Length': [1, !Ref AWS::NoValue]}", "1"),
        ("{'Fn::ToJsonString': {a: [1, !Ref Name]}}", '{"a":[1,"alpha"]}'),
        ("!Join ['', ['{{', 'resolve', '}}']]", "{{resolve}}"),
    ],
)
def test_what_is_known_is_reduced(written: str, text: str) -> None:
    assert ask(written, lambda value: value.text()) == text


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("!Ref Open", "parameter Open has no default"),
        ("!Ref Nothing", "Nothing is not in the template"),
        ("!Ref AWS::Region", "AWS::Region is known at deployment only"),
        ("!Ref Other", "!Ref Other is known at deployment only"),
        ("!GetAtt Other.Arn", "!GetAtt Other.Arn is known at deployment only"),
        ("!GetAtt Nothing.Arn", "Nothing is not in the template"),
        ("!GetAtt 7", "Fn::GetAtt of something that is no resource"),
        ("!ImportValue x", "imported from a stack that is not at hand"),
        ("!Sub 'a-${Open}'", "parameter Open has no default"),
        ("!Sub 'a-${Other.Arn}'", "!GetAtt Other.Arn is known at deployment only"),
        ("!Sub {a: b}", "Fn::Sub of something that is no text"),
        ("!Join ['-', !Ref OpenZones]", "parameter OpenZones has no default"),
        ("!Select [0, !Split [',', !Ref Open]]", "parameter Open has no default"),
        ("!Join 5", "Fn::Join of a list that is not known"),
        ("!Select [5, [a]]", "Fn::Select beyond the end of its list"),
        ("!Select [x, [a]]", "Fn::Select from a list that is not known"),
        ("!Select [0, !GetAZs '']", "Fn::GetAZs is known at deployment only"),
        ("!Split ['', a]", "Fn::Split of a text that is not known"),
        ("!FindInMap [M, !Ref Open, list]", "Fn::FindInMap by a key that is not known"),
        ("!FindInMap [Missing, a, b]", "Fn::FindInMap by a key that is not known"),
        ("!FindInMap 5", "Fn::FindInMap by a key that is not known"),
        ("!If [a]", "Fn::If without its three parts"),
        ("!Cidr [x, 1]", "Fn::Cidr of values that are not known"),
        ("{'Fn::Transform': {Name: x}}", "Fn::Transform is known at deployment only"),
        ("{'Fn::Length': !GetAZs ''}", "its length"),
        ("{'Fn::ToJsonString': {a: !Ref Open}}", "parameter Open has no default"),
        ("'{{resolve:ssm:/a/b}}'", "a dynamic reference"),
        ("'x{{resolve:secretsmanager:a}}y'", "a dynamic reference"),
        ("[a]", "a list or object in the place of a text"),
        ("{a: b, c: d}", "a list or object in the place of a text"),
        ("!Ref AWS::NoValue", "V is absent"),
    ],
)
def test_what_is_not_known_says_why(written: str, reason: str) -> None:
    assert ask(written, lambda value: value.text()) == reason


def test_the_environment_tells_the_pseudo_parameters() -> None:
    text = "!Sub '${AWS::Region}/${AWS::AccountId}/${AWS::StackName}/${AWS::Partition}/${AWS::URLSuffix}'"
    found = ask(text, lambda v: v.text(), region="cn-north-1", account="111122223333", stack_name="s")
    assert found == "cn-north-1/111122223333/s/aws-cn/amazonaws.com.cn"


def test_texts_are_known_in_part() -> None:
    parts = ask("{'Fn::Base64': !Sub 'a ${Name} b ${Other} c ${Open} d'}", lambda value: value.parts())
    assert [part if isinstance(part, str) else part.name for part in parts] == [
        "a alpha b ",
        "Other",
        " c ",
        "Open",
        " d",
    ]
    assert parts[1].reference.logical_id == "Other"
    assert parts[3].reference is None
    assert ask("!Sub 'role-${Open}'", lambda value: value.prefix()) == "role-"
    assert ask("!Sub '${Open}-role'", lambda value: value.prefix()) == ""
    assert ask("!Join ['', [a, !Ref Open, b, c]]", lambda value: value.known_text("*")) == "a*bc"
    assert ask("!Ref Other", lambda value: isinstance(value.parts()[0], Opaque)) is True
    assert ask("!Ref AWS::NoValue", lambda value: value.parts()) == ()


def test_a_text_of_one_reference_is_the_reference() -> None:
    for written in ("!Ref Other", "!Sub '${Other}'", "!Join ['', [!Ref Other]]", "!Select [0, [!Ref Other]]"):
        assert ask(written, lambda value: value.resource().logical_id) == "Other"
    split = "!Select [1, !Split [',', !Sub '${Name},${Other}']]"
    assert ask(split, lambda value: value.resource("AWS::X::Other").logical_id) == "Other"


def test_a_literal_is_no_reference_and_an_unknown_is_no_answer() -> None:
    assert ask("sg-123", lambda value: value.reference()) is None
    assert ask("!Ref AWS::NoValue", lambda value: value.resource()) is None
    assert ask("!Ref Other", lambda value: value.resource("AWS::X::Another")) is None
    assert ask("!ImportValue x", lambda value: value.reference()) == "imported from a stack that is not at hand"


def test_equal_symbols_are_equal_values() -> None:
    zones = "!Select [0, !GetAZs ''], !Select [0, !GetAZs ''], !Select [1, !GetAZs '']"
    written = f"[!Ref Open, !Ref Open, {zones}, a, a, !Ref Other]"
    symbols = ask(written, lambda value: [item.symbol() for item in value.items()])
    assert symbols[0] == symbols[1]
    assert symbols[2] == symbols[3] != symbols[4]
    assert symbols[5] == symbols[6] == ("literal", "a")
    assert len(set(symbols)) == 5


EXPORTER = """\
Outputs:
  Group: {Value: !Ref G, Export: {Name: the-group}}
  Size: {Value: 7, Export: {Name: !Sub '${AWS::StackName}-size'}}
Resources:
  G: {Type: AWS::X::G}
"""


def test_imports_are_followed_into_sibling_templates() -> None:
    assert ask("!ImportValue the-group", lambda value: value.resource().type, EXPORTER) == "AWS::X::G"
    assert ask("!ImportValue {'Fn::Sub': 's-size'}", lambda value: value.integer(), EXPORTER, stack_name="s") == 7


def test_an_export_of_two_stacks_is_not_guessed() -> None:
    found = ask("!ImportValue the-group", lambda value: value.resource(), EXPORTER, EXPORTER)
    assert found == "imported from a stack that is not at hand"


def test_outputs_of_another_stack_are_followed_by_its_name() -> None:
    written = "{'Fn::GetStackOutput': {StackName: s, OutputName: Size}}"
    found = ask(written, lambda value: value.text(), EXPORTER)
    assert found == "the output of a stack that is not at hand"


def test_exports_in_a_circle_end() -> None:
    template = (
        "Outputs: {O: {Value: !ImportValue x, Export: {Name: x}}}\n"
        "Resources: {X: {Type: 'A::B::C', Properties: {V: !ImportValue x}}}\n"
    )
    outcome = reading(template, lambda resource: resource.get("V").text() and ())
    assert outcome.doubts == ["the template refers to itself in a circle"]


class TestValues:
    def test_absent_values_stay_absent_all_the_way_down(self) -> None:
        assert ask("a", lambda value: value.get("x", 0, "y").known) is False
        assert ask("{a: 1, b: 2}", lambda value: value.get("x", 0, "y").exists) is False
        assert ask("[1]", lambda value: value.get(3, "y").exists) is False

    def test_below_an_unknown_value_not_even_presence_is_known(self) -> None:
        assert ask("!ImportValue x", lambda value: value.exists) is True
        assert ask("!ImportValue x", lambda value: value.get("a").exists) == "imported from a stack that is not at hand"
        assert (
            ask("{'Fn::Transform': {Name: t}, a: 1}", lambda value: value.get("b").exists) == "Fn::Transform may add b"
        )
        assert ask("{'Fn::Transform': {Name: t}, a: 1}", lambda value: value.get("a").integer()) == 1

    @pytest.mark.parametrize(("written", "number"), [("5", 5), ("'5'", 5), ("5.0", 5), ("'1e3'", 1000)])
    def test_whole_numbers(self, written: str, number: int) -> None:
        assert ask(written, lambda value: value.integer()) == number

    @pytest.mark.parametrize("written", ["5.5", "x", "true", "[]", "nan", "'inf'", "''"])
    def test_what_is_no_whole_number(self, written: str) -> None:
        assert isinstance(ask(written, lambda value: value.integer(1)), str)

    @pytest.mark.parametrize(
        ("written", "truth"), [("true", True), ("'True'", True), ("'false'", False), ("no", False)]
    )
    def test_truths(self, written: str, truth: bool) -> None:
        assert ask(written, lambda value: value.boolean()) is truth

    def test_a_default_answers_for_absence_only(self) -> None:
        assert ask("!Ref AWS::NoValue", lambda v: (v.text("d"), v.integer(3), v.boolean(None), v.number(1.5))) == (
            "d",
            3,
            None,
            1.5,
        )
        assert ask("!Ref Open", lambda value: value.text("d")) == "parameter Open has no default"
        assert ask("yes please", lambda value: value.boolean(True)) == "yes please in the place of true or false"

    def test_lists(self) -> None:
        written = "[a, !Ref AWS::NoValue, !If [C, b, c], !Ref Open]"
        assert ask(written, lambda value: [item.path for item in value.items()]) == ["V[0]", "V[2]", "V[3]"]
        assert ask("{'0': a, '1': b}", lambda value: value.items()) == "an object where a list was expected"
        assert ask("a", lambda value: value.items()) == "a single value where a list was expected"
        assert ask("!Ref Other", lambda value: value.items()) == "the reference !Ref Other where a list was expected"
        assert ask("!GetAZs ''", lambda value: value.items()) == "Fn::GetAZs is known at deployment only"
        assert ask("!Ref AWS::NoValue", lambda value: value.items()) == []
        assert ask("a", lambda value: len(value.one_or_many())) == 1
        assert ask("[a, b]", lambda value: len(value.one_or_many())) == 2

    def test_objects(self) -> None:
        assert ask("{a: 1, b: !Ref AWS::NoValue}", lambda value: sorted(value.fields())) == ["a"]
        assert ask("[a]", lambda value: value.fields()) == "a single value or list in the place of an object"
        assert ask("{a: [1, !Ref Name], b: !Ref AWS::NoValue}", lambda value: value.plain()) == {"a": [1, "alpha"]}
        assert ask("{a: [!Ref Open]}", lambda value: value.plain()) == "parameter Open has no default"

    def test_how_values_are_shown(self) -> None:
        shown = "[2, abc, !Ref Other, !Sub 'a-${Open}', [1, 2], {a: 1, b: 2}, !Ref Open]"
        assert ask(shown, lambda value: [item.shown for item in value.items()]) == [
            "2",
            "abc",
            "!Ref Other",
            "a-<Open>",
            "a list of 2",
            "an object",
            "parameter Open has no default",
        ]
        assert len(ask("x" * 500, lambda value: value.shown)) == 60

    def test_a_part_that_is_not_known_does_not_end_the_rest(self) -> None:
        def read(resource):
            for item in resource.get("V").items():
                with item.judged_apart():
                    if item.integer() > 1:
                        yield Problem(item, "big")

        outcome = reading(f"{PARAMETERS}      V: [5, !Ref Open, 7]\n", read)
        assert [fault.property_path for fault in outcome.faults] == ["V[0]", "V[2]"]
        assert outcome.doubts == ["parameter Open has no default"]

    def test_what_was_found_before_a_doubt_stays(self) -> None:
        def read(resource):
            yield Problem(resource, "first")
            raise NotKnown("then a doubt")

        outcome = reading(f"{PARAMETERS}      V: 1\n", read)
        assert len(outcome.faults) == 1
        assert outcome.doubts == ["then a doubt"]


class TestLoops:
    LOOP = """\
Transform: AWS::LanguageExtensions
Parameters:
  Names: {Type: CommaDelimitedList, Default: 'c,d'}
  Open: {Type: CommaDelimitedList}
Resources:
  'Fn::ForEach::All':
    - N
    - %s
    - 'X${N}':
        Type: AWS::X::Y
        Properties: {Size: !Sub '1${N}', Name: !Ref N}
  X: {Type: 'AWS::X::Y', Properties: {All: [!Ref Xa]}}
"""

    def test_a_loop_over_a_known_list_is_written_out(self) -> None:
        outcome = reading(
            self.LOOP % "['5', a]",
            lambda resource: [Problem(found, found.get("Name").text("")) for found in resource.template.resources()],
        )
        named = [fault for fault in outcome.faults if fault.resource.logical_id != "X"]
        assert [(fault.resource.logical_id, fault.message) for fault in named] == [("X5", "5"), ("Xa", "a")]
        assert {fault.path for fault in named} == {("Resources", "Fn::ForEach::All")}

    def test_strange_bodies_are_written_out_as_they_are(self) -> None:
        body = {"Type": "AWS::X::Y", "Properties": {"A": {"Ref": {"B": 1}}, 3: {"Ref": "N"}}}
        document = Document("x", "", {"Resources": {"Fn::ForEach::All": ["N", ["a"], {"X${N}": body}]}})
        assert document.expanded["Resources"]["Xa"]["Properties"] == {"A": {"Ref": {"B": 1}}, "3": "a"}

    def test_a_loop_over_a_parameter_takes_its_default(self) -> None:
        outcome = reading(
            (self.LOOP % "!Ref Names").replace("!Ref Xa", "!Ref Xc"),
            lambda resource: [Problem(resource, str(len(list(resource.template.resources()))))],
        )
        assert outcome.faults[0].message == "3"

    def test_a_loop_over_something_open_stays(self) -> None:
        outcome = reading(
            self.LOOP % "!Ref Open",
            lambda resource: [Problem(resource, ",".join(resource.template.model.document.unexpanded))],
        )
        assert outcome.faults[0].message == "All"
