"""The JSON Schema: fresh, valid, and of one mind with the models."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml

from ultracluster.spec.schema import SCHEMA_FILE, cluster_schema, main


@pytest.fixture(scope="module")
def validator():
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


class Core(yaml.SafeLoader):
    """Times stay text, as in editors."""


Core.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith("timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def test_the_file_is_fresh():
    assert main(["--check"]) == 0


def test_a_stale_file_is_noticed(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("ultracluster.spec.schema.SCHEMA_FILE", tmp_path / "cluster.schema.json")
    assert main(["--check"]) == 1
    assert main([]) == 0
    assert main(["--check"]) == 0
    assert main(["--nonsense"]) == 2
    assert "stale" in capsys.readouterr().err


def test_the_schema_is_of_the_draft_it_names_and_has_a_neutral_id(validator):
    schema = validator.schema
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].startswith("urn:")


def nodes(schema):
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from nodes(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from nodes(value)


def test_every_key_is_described_and_no_key_may_be_empty(validator):
    for model in [validator.schema, *validator.schema["$defs"].values()]:
        assert model["description"]
        assert model["additionalProperties"] is False
        for key, value in model["properties"].items():
            assert len(value.get("description", "")) > 10, key
    assert not [node for node in nodes(validator.schema) if node.get("type") == "null"]


def cluster_files(root):
    return sorted(root.glob("apps/*/*.yaml"))


def test_the_reference_files_are_valid(root, validator):
    files = cluster_files(root)
    assert files
    for path in files:
        validator.validate(yaml.load(path.read_text(encoding="utf-8"), Core))


@pytest.mark.parametrize(
    "change",
    [
        {"nam": "x"},
        {"region": "nowhere"},
        {"fleets": []},
        {"fleets": [{"name": "a", "instance_type": "p5.48xlarge", "count": "4"}]},
        {"fleets": [{"name": "a", "instance_type": "p5.48xlarge", "count": True}]},
        {"fleets": [{"name": "a", "instance_type": "p5.48xlarge", "count": 1, "capacity": {"kind": "x"}}]},
        {"storage": {"home": None}},
        {"observability": {"log_retention_days": 91}},
    ],
)
def test_the_schema_refuses_what_the_models_refuse(validator, change):
    good = {
        "name": "demo",
        "region": "us-east-1",
        "network": {"availability_zones": ["us-east-1a"]},
        "fleets": [{"name": "train", "instance_type": "p5.48xlarge", "count": 2}],
    }
    assert validator.is_valid(good)
    assert not validator.is_valid({**good, **change})


def test_the_schema_of_the_models_is_deterministic():
    assert cluster_schema() == cluster_schema()
