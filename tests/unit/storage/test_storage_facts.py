"""The data files of storage: each row has a source with a date, and the readers read them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ultracluster.facts import efs, lustre, openzfs, s3
from ultracluster.facts.lustre import deployment, deployments, lustre_facts

FILES = [lustre.DATA_FILE, efs.DATA_FILE, openzfs.DATA_FILE, s3.DATA_FILE]


def cited(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "source":
                yield from [inner] if isinstance(inner, str) else inner
            elif key != "sources":
                yield from cited(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from cited(inner)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_source_is_listed_dated_and_used(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    sources = document["sources"]
    used = set(cited(document))
    assert used == set(sources)
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", document["as_of"])
    for source in sources.values():
        assert source["url"].startswith("https://")
        assert re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", source["as_of"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_value_has_a_source(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    rows = [row for key, row in document.items() if key not in ("sources", "fields", "as_of")]
    rows = [inner for row in rows for inner in (row if isinstance(row, list) else [row])]
    rows = [
        inner
        for row in rows
        for inner in (row.values() if row and all(isinstance(each, dict) for each in row.values()) else [row])
    ]
    assert [row for row in rows if "source" not in row] == []


def test_each_deployment_stands_once() -> None:
    pairs = [(row.deployment_type, row.storage_type) for row in deployments()]
    assert len(set(pairs)) == len(pairs) == 6


def test_efa_is_offered_where_there_is_a_step_and_on_intelligent_tiering() -> None:
    assert [row.deployment_type for row in deployments() if row.offers_efa] == ["PERSISTENT_2", "PERSISTENT_2"]


def test_the_versions_that_link_and_the_metadata_version_exist() -> None:
    known = {version for row in deployments() for version in row.versions}
    assert {*lustre_facts().link_versions, lustre_facts().metadata_version, lustre_facts().default_version} <= known


def test_a_combination_that_does_not_exist_is_none() -> None:
    assert deployment("PERSISTENT_2", "HDD") is None
