"""From bytes to plain values: tags, scalars, positions, and everything that is no template."""

from __future__ import annotations

import contextlib
import json
import random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.policy.document import (
    MOST_BYTES,
    Document,
    Position,
    is_template,
    looks_like_template,
    read_document,
)
from ultracluster.policy.positions import Spot
from ultracluster.policy.unreadable import Unreadable

HEAD = "Resources:\n"


def read(text: str | bytes, name: str = "t.yaml"):
    return read_document(name, text if isinstance(text, bytes) else text.encode()).value


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("!Ref A", {"Ref": "A"}),
        ("!Condition C", {"Condition": "C"}),
        ("!GetAtt A.B.C", {"Fn::GetAtt": ["A", "B.C"]}),
        ("!GetAtt [A, B]", {"Fn::GetAtt": ["A", "B"]}),
        ("!Sub '${A}'", {"Fn::Sub": "${A}"}),
        ("!Sub ['${A}', {A: 1}]", {"Fn::Sub": ["${A}", {"A": 1}]}),
        ("!If [C, 1, !Ref AWS::NoValue]", {"Fn::If": ["C", 1, {"Ref": "AWS::NoValue"}]}),
        ("!Base64 {'Fn::Sub': x}", {"Fn::Base64": {"Fn::Sub": "x"}}),
        ("!Base64 12", {"Fn::Base64": "12"}),
        ("!Equals [!Ref A, 'b']", {"Fn::Equals": [{"Ref": "A"}, "b"]}),
        ("!Select [0, !GetAZs '']", {"Fn::Select": [0, {"Fn::GetAZs": ""}]}),
        ("!Length [1, 2]", {"Fn::Length": [1, 2]}),
        ("!Strange {a: 1}", {"Fn::Strange": {"a": 1}}),
    ],
)
def test_short_tags_become_their_long_form(written: str, meant: object) -> None:
    assert read(f"Resources: {{}}\nv: {written}\n")["v"] == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1200", 1200),
        ("-1", -1),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0755", 493),
        ("012345678901", "012345678901"),
        ("111122223333", 111122223333),
        ("1.5", 1.5),
        (".5", 0.5),
        ("true", True),
        ("Yes", True),
        ("OFF", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("2010-09-09", "2010-09-09"),
        ("1:05:00", "1:05:00"),
        ("2015-11-04T10:12:31Z", "2015-11-04T10:12:31Z"),
        ("'1200'", "1200"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("9" * 5000, "9" * 5000),
        ("-", "-"),
        ("+", "+"),
    ],
)
def test_scalars_follow_yaml_11_but_dates_times_and_account_numbers_stay_texts(written: str, meant: object) -> None:
    # a lone dash needs a place where YAML takes it for a text
    text = f"Resources: {{}}\nv: [{written}]\n" if written in ("-", "+") else f"Resources: {{}}\nv: {written}\n"
    found = read(text)["v"]
    assert (found[0] if isinstance(found, list) else found) == meant


def test_keys_are_texts_whatever_they_look_like() -> None:
    assert read("Resources: {}\nMappings: {m: {111122223333: {on: 1, 1.5: 2}}}\n")["Mappings"] == {
        "m": {"111122223333": {"on": 1, "1.5": 2}}
    }


def test_aliases_and_merge_keys_are_followed() -> None:
    value = read("Resources: {}\nbase: &b {a: 1, b: 2}\nv: {<<: *b, b: 3}\nw: [*b, *b]\nx: {<<: [*b, {c: 4}]}\n")
    assert value["v"] == {"a": 1, "b": 3}
    assert value["w"] == [{"a": 1, "b": 2}] * 2
    assert value["x"] == {"a": 1, "b": 2, "c": 4}


def test_keys_that_stand_twice_are_noticed_with_their_line() -> None:
    assert read_document("t.yaml", b"Resources:\n  A: 1\n  A: 2\n").duplicates == [("A", 3, 3)]
    assert [key for key, *_ in read_document("t.json", b'{"Resources": {"A": 1, "A": 2}}').duplicates] == ["A"]
    assert read_document("t.yaml", b"Resources: {}\nb: &b {a: 1}\nv: {<<: *b}\n").duplicates == []


def test_json_and_yaml_of_one_template_are_equal() -> None:
    template = {"Resources": {"A": {"Type": "AWS::S3::Bucket", "Properties": {"x": [1, True, None, 1.5, "a"]}}}}
    as_json = json.dumps(template)
    assert read(as_json, "t.json") == read(as_json, "t.template") == read(as_json, "t.yaml") == template
    assert read(yaml.safe_dump(template)) == template


scalars = st.one_of(st.none(), st.booleans(), st.integers(-(10**12), 10**12), st.text(max_size=20))
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(min_size=1, max_size=8), values, max_size=5))
def test_what_json_says_is_what_is_read(value: dict) -> None:
    assert read(json.dumps(value), "t.json") == value


@given(st.dictionaries(st.text(alphabet="abcXYZ", min_size=1, max_size=8), values, max_size=5))
def test_what_a_yaml_writer_writes_is_what_is_read(value: dict) -> None:
    assert read(yaml.safe_dump({"Resources": {}, "v": value}))["v"] == value


HOSTILE = {
    "truncated JSON": b'{"Resources": {"A": {"Type": "AWS::S3::Bucket", "Properties": {"x": [1,2',
    "truncated YAML": b"Resources:\n  A:\n    Type: 'AWS::S3::Bucket\n",
    "over the limit": b"a" * (MOST_BYTES + 1),
    "many values": b"Resources: [" + b"a," * 300_000 + b"]",
    "deep JSON objects": b'{"Resources":' + b'{"a":' * 3000 + b"1" + b"}" * 3001,
    "deep JSON lists": b'{"Resources":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "deep YAML lists": b"Resources: " + b"[" * 100_000,
    "half a character": (b'{"Resources": {"\\ud800": {"Type": "AWS::SQS::Queue"}}}'),
    "many JSON values": b'{"Resources": {"A": [' + b"1," * 200_000 + b"1]}}",
    "many resources": b"Resources:\n" + b"".join(b"  A%d: {Type: 'A::B::C'}\n" % at for at in range(2_001)),
    "deep YAML blocks": b"".join(b" " * at + b"k:\n" for at in range(1000)),
    "alias bomb": b"a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
    + b"".join(b"a%d: &a%d [%s]\n" % (at, at, b",".join([b"*a%d" % (at - 1)] * 10)) for at in range(1, 12)),
    "alias of itself": b"Resources: &a {b: *a}\n",
    "unknown alias": b"Resources: *nothing\n",
    "random bytes": random.Random(7).randbytes(100_000),
    "zero bytes": b'{"Resources"\0',
    "Latin-1": "Resources: {A: \xe9}".encode("latin-1"),
    "UTF-16 cut off": b"\xff\xfe{",
    "two documents": b"Resources: {}\n---\nResources: {}\n",
    "a list as a key": b"? [a, b]\n: c\n",
    "empty": b"",
    "a list": b"- a\n",
    "a text": b"hello",
    "a number of 100,000 digits": b'{"Resources": ' + b"9" * 100_000 + b"}",
    "tabs": b"Resources:\n\tA: 1\n",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_whatever_is_no_template_ends_with_one_reason(data: bytes) -> None:
    for name in ("t.yaml", "t.json", "t.template"):
        with pytest.raises(Unreadable) as refused:
            read_document(name, data)
        reason = refused.value.reason
        assert reason
        assert "\n" not in reason
        assert reason[0] == reason[0].lower() or reason.startswith(("YAML", "JSON", "UTF"))
        assert not reason.endswith(".")


def test_python_objects_are_never_made(tmp_path) -> None:
    trap = tmp_path / "trap"
    value = read(f"Resources: {{}}\nv: !!python/object/apply:os.system ['touch {trap}']\n")
    assert isinstance(value["v"], list | dict)
    assert not trap.exists()


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(Unreadable):
        read_document("t.yaml", data)


@given(st.text(alphabet="{}[]:,-&*!?|>'\"#% \n\tabR0", max_size=200))
def test_any_punctuation_is_read_or_refused(text: str) -> None:
    try:
        document = read_document("t.yaml", text.encode())
    except Unreadable:
        return
    assert all(spot.line >= 1 for spot in _spots(document.places))


def _spots(spot: Spot):
    yield spot
    for inner in spot.inner.values():
        yield from _spots(inner)


def at(document: Document, *path: str | int) -> Spot:
    """The place of exactly that value."""
    spot = document.places
    for key in path:
        spot = spot.inner[key]
    return spot


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_byte_order_marks_are_understood(encoding: str) -> None:
    assert read("Resources: {A: é}\n".encode(encoding)) == {"Resources": {"A": "é"}}


YAML_TEXT = """\
Resources:
  A:
    Type: X::Y
    Properties:
      L:
        - a
        - b: 1
          c: !If [x, {q: 1}, !Ref Z]
        - - n
      M: !GetAtt A.B
      N: {o: {}, p: []}
  B: &x
    k: v
  C: *x
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("Resources",), (1, 1)),
        (("Resources", "A", "Type"), (3, 5)),
        (("Resources", "A", "Properties", "L", 0), (6, 11)),
        (("Resources", "A", "Properties", "L", 1, "b"), (7, 11)),
        (("Resources", "A", "Properties", "L", 1, "c", "Fn::If", 1, "q"), (8, 23)),
        (("Resources", "A", "Properties", "L", 1, "c", "Fn::If", 2), (8, 30)),
        (("Resources", "A", "Properties", "L", 2, 0), (9, 13)),
        (("Resources", "A", "Properties", "N", "p"), (11, 18)),
        (("Resources", "C"), (14, 3)),
    ],
)
def test_positions_of_yaml(path: tuple, place: tuple[int, int]) -> None:
    found = at(read_document("t.yaml", YAML_TEXT.encode()), *path)
    assert (found.line, found.column) == place


def test_positions_of_json_also_behind_escapes_and_colons_in_texts() -> None:
    text = '{"a": [1, {"b": "x:y,{", "c": []}, [2,3]],\n "d": {}, "e\\"": {"f": null}}'
    document = read_document("t.json", text.encode())
    assert document.position(("a", 1, "b")) == Position(1, 12, 24)
    assert (at(document, "a", 2, 1).line, at(document, "a", 2, 1).column) == (1, 39)
    assert (at(document, 'e"', "f").line, at(document, 'e"', "f").column) == (2, 19)


def test_the_mark_of_a_single_value_covers_key_and_value() -> None:
    document = read_document("t.yaml", b"Resources:\n  A: {Size: 3600, B: 1}\n")
    position = at(document, "Resources", "A", "Size")
    assert document.line(2)[position.column - 1 : position.end_column - 1] == "Size: 3600"


def test_a_place_that_is_not_written_is_that_of_what_is_around_it() -> None:
    document = read_document("t.yaml", b"Resources:\n  A:\n    Type: X::Y\n")
    assert document.position(("Resources", "A", "Properties", "x", 3)).line == 2
    assert document.position(()) is None
    assert document.position(("Nothing",)) is None


@given(st.dictionaries(st.text(alphabet="abcdef", min_size=1, max_size=4), values, min_size=1, max_size=4))
def test_every_path_of_a_document_has_a_position_in_both_forms(value: dict) -> None:
    for text, name in ((json.dumps(value, indent=1), "t.json"), (yaml.safe_dump(value), "t.yaml")):
        document = read_document(name, text.encode())
        assert all(at(document, *path) for path in _paths(value))


def _paths(value: object, path: tuple = ()):
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


def test_what_is_a_template() -> None:
    assert is_template({"Resources": {"A": {"Type": "AWS::S3::Bucket"}}})
    assert is_template({"Resources": {"A": {"Type": "Custom::Thing"}}})
    assert is_template({"Resources": {"Fn::ForEach::X": []}})
    assert is_template({"AWSTemplateFormatVersion": "2010-09-09", "Resources": {}})
    for other in ({}, {"Resources": []}, {"Resources": {"A": 1}}, {"Resources": {"A": {"Type": "pod"}}}, {"a": 1}):
        assert not is_template(other)
    assert looks_like_template(b"Resources: {A: {Type: AWS::S3::Bucket}}")
    assert not looks_like_template(b"kind: Pod")
