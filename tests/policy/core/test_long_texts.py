"""Texts that are meant to keep a pattern busy: no rule may take more than linear time over them."""

from __future__ import annotations

import copy
import time
from pathlib import Path

import pytest

from ultracluster.policy.check import Options, check_loaded
from ultracluster.policy.document import Document, read_document
from ultracluster.policy.load import Loaded, assembly_of

RICH = Path(__file__).with_name("rich_template.yaml")
LENGTH = 40_000
JUNK = {
    "one word": "x" * LENGTH,
    "base64": "QUJD" * (LENGTH // 4),
    "spaces": " " * LENGTH,
    "tabs and spaces": "\t " * (LENGTH // 2),
    "lines": "\n" * LENGTH,
    "empty commands": "; " * (LENGTH // 2),
    "options": " -o a" * (LENGTH // 5),
    "mounts": " mount -t" * (LENGTH // 9),
    "paths": "/a" * (LENGTH // 2),
    "quotes": "\"'" * (LENGTH // 2),
    "braces": "{" * LENGTH,
    "pairs": '{"a":' * (LENGTH // 5),
    "assignments": "A=B " * (LENGTH // 4),
    "hyphens": "--B\n" * (LENGTH // 4),
    "stars": "*" * LENGTH,
    "colons": "a:" * (LENGTH // 2),
    "placeholders": "${A}" * (LENGTH // 4),
    "dollars": "$" * LENGTH,
    "hashes": "#" * LENGTH,
    "backslashes": "\\" * LENGTH,
    "exports": "export A " * (LENGTH // 9),
}
_LONG = 60


def _longer(value: object, junk: str, *, everywhere: bool) -> object:
    if isinstance(value, dict):
        return {
            key: inner if key == "Type" else _longer(inner, junk, everywhere=everywhere) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_longer(inner, junk, everywhere=everywhere) for inner in value]
    if isinstance(value, str) and (len(value) > _LONG or everywhere):
        return value + junk if len(value) > _LONG else junk
    return value


def _seconds(template: dict) -> float:
    begun = time.process_time()
    report = check_loaded(Loaded([assembly_of([Document("t", "", template)], is_app=True)]), Options())
    assert report.failures == ()
    return time.process_time() - begun


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_long_texts_take_no_time(junk: str) -> None:
    template = copy.deepcopy(read_document(RICH.name, RICH.read_bytes()).value)
    template["Resources"] = _longer(template["Resources"], junk, everywhere=False)
    assert _seconds(template) < 1.5


def test_texts_in_every_place_take_no_time() -> None:
    template = read_document(RICH.name, RICH.read_bytes()).value
    for at, resource in enumerate(template["Resources"].values()):
        junk = list(JUNK.values())[at % len(JUNK)][:5_000]
        resource["Properties"] = _longer(resource.get("Properties"), junk, everywhere=True)
    assert _seconds(template) < 1.5
