"""Single limits: each has a unit and a source, and every one that the code asks for is there."""

from __future__ import annotations

import json
import re

import pytest

from ultracluster.facts.compute_limits import limit, limit_list


@pytest.fixture(scope="module")
def document(root):
    return json.loads((root / "constructs/ultracluster/facts/data/compute_limits.json").read_text())


def test_every_number_has_a_unit_and_a_source(document):
    rows = [*document["limits"].values(), *document["lists"].values()]
    assert {row["source"] for row in rows} == set(document["sources"])
    assert all(row["unit"] for row in document["limits"].values())
    assert all(row["url"].startswith("https://") and row["as_of"] for row in document["sources"].values())


def test_every_limit_is_used_and_every_used_one_exists(root, document):
    folders = (root / "constructs/ultracluster" / name for name in ("plan", "policy"))
    code = "".join(file.read_text() for folder in folders for file in folder.rglob("*.py"))
    assert set(re.findall(r'\blimit\("([a-z_]+)"\)', code)) <= set(document["limits"])
    assert set(re.findall(r'\blimit_list\("([a-z_]+)"\)', code)) == set(document["lists"])
    assert all(f'"{name}"' in code for name in document["limits"])


def test_unknown_names_are_faults_of_the_library():
    with pytest.raises(KeyError):
        limit("capacity_block_min_instances")
    with pytest.raises(KeyError):
        limit_list("islands")
