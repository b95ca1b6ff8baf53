"""The generated pages are those that the code gives now, and tell everything that they promise."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import ultracluster
from support.doc_blocks import headings, written_pages
from support.sources import ROOT
from ultracluster.facts.instances import catalog
from ultracluster.facts.rules import rule_registry

REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`scripts/generate_reference.py`."""
    import importlib

    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("generate_reference")


def test_the_generated_pages_are_fresh(generator: ModuleType) -> None:
    assert sorted(generator.stale()) == [], "run python scripts/generate_reference.py"


def test_a_stale_page_is_told_and_written(
    generator: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generator, "FOLDER", tmp_path)
    assert generator.main([]) == 0
    assert generator.main(["--check"]) == 0
    (tmp_path / "rules.md").write_text("# Rules\n")
    assert generator.main(["--check"]) == 1
    assert "rules.md is stale" in capsys.readouterr().err
    assert generator.main(["--help"]) == 2


def test_every_rule_has_its_place() -> None:
    assert {rule_id.lower() for rule_id in rule_registry()} <= set(headings(REFERENCE / "rules.md"))


def test_every_area_of_rules_has_a_title(generator: ModuleType) -> None:
    from reference_pages.rules import AREAS

    assert {rule_id.split("-")[1] for rule_id in rule_registry()} <= set(AREAS)


def test_every_type_stands_in_each_table() -> None:
    text = (REFERENCE / "instance-types.md").read_text(encoding="utf-8")
    assert {name: text.count(f"| `{name}` |") for name in catalog()} == dict.fromkeys(catalog(), 5)


@pytest.mark.parametrize("name", ultracluster.__all__)
def test_a_public_name_appears_in_what_people_read(name: str) -> None:
    """In the README, a guide or a concept; the generated pages hold all of them anyway."""
    import re

    assert any(re.search(rf"\b{name}\b", page.read_text(encoding="utf-8")) for page in written_pages())
