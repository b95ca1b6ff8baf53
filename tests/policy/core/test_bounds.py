"""Small templates that unfold to something huge: they end in bounded time, and say why they are not judged."""

from __future__ import annotations

import json
import time

import pytest

from support.policy import judged
from ultracluster.policy.document import Document, read_document

LEVELS = 40


def _twice_in_sub(levels: int) -> object:
    value: object = "x"
    for _ in range(levels):
        value = {"Fn::Sub": ["${A}${A}", {"A": value}]}
    return value


def _file_system(size: object, **sections: object) -> str:
    properties = {"FileSystemType": "LUSTRE", "StorageCapacity": size}
    return json.dumps({"Resources": {"F": {"Type": "AWS::FSx::FileSystem", "Properties": properties}}, **sections})


def _exports() -> dict[str, object]:
    return {
        f"O{at}": {
            "Value": {"Fn::Join": ["", [{"Fn::ImportValue": f"E{at + 1}"}, {"Fn::ImportValue": f"E{at + 1}"}]]},
            "Export": {"Name": f"E{at}"},
        }
        for at in range(LEVELS)
    }


UNFOLDING = {
    "a text twice in itself": (_file_system(_twice_in_sub(LEVELS)), "a text of more than"),
    "an export twice in itself": (
        _file_system({"Fn::ImportValue": "E0"}, Outputs=_exports()),
        "takes more than 5000 intrinsics",
    ),
    "a hundred million blocks": (
        _file_system({"Fn::Select": ["0", {"Fn::Cidr": ["10.0.0.0/8", "100000000", "2"]}]}),
        "more than 256 blocks",
    ),
}


@pytest.mark.parametrize(("template", "why"), UNFOLDING.values(), ids=UNFOLDING)
def test_a_value_that_unfolds_is_not_judged(template: str, why: str) -> None:
    before = time.process_time()
    outcome = judged(template)
    assert time.process_time() - before < 5
    assert "UC-LUS-001" in outcome.not_judged
    assert any(why in entry.reason for entry in outcome.judged.not_judged), {
        entry.reason for entry in outcome.judged.not_judged
    }


def test_as_many_blocks_as_cloudformation_takes_are_worked_out() -> None:
    block = {"Fn::Select": ["255", {"Fn::Cidr": ["10.0.0.0/8", "256", "16"]}]}
    assert any("10.255.0.0/16" in entry.reason for entry in judged(_file_system(block)).judged.not_judged)


@pytest.mark.parametrize(("items", "values"), [(100_000, 1), (3_000, 3_000)])
def test_a_loop_that_makes_more_than_a_template_can_hold_stays_a_loop(items: int, values: int) -> None:
    body = {"Type": "AWS::SQS::Queue", "Properties": {"Tags": [{"Key": "${I}"}] * values}}
    loop = {"Fn::ForEach::All": ["I", [f"a{at}" for at in range(items)], {"Q${I}": body}]}
    document = Document("t", "", {"Resources": {"A": {"Type": "AWS::SQS::Queue"}, **loop}})
    before = time.process_time()
    assert set(document.expanded["Resources"]) == {"A", "Fn::ForEach::All"}
    assert document.unexpanded == ["All"]
    assert time.process_time() - before < 5


def test_a_key_that_stands_twice_in_a_large_object_is_found_at_once() -> None:
    keys = ",".join(f'"k{at}": 1' for at in range(90_000))
    before = time.process_time()
    document = read_document("t.json", f'{{"Resources": {{}}, "Metadata": {{{keys}, "k7": 2}}}}'.encode())
    assert [key for key, _, _ in document.duplicates] == ["k7"]
    assert time.process_time() - before < 5
