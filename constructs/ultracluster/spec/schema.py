"""The JSON Schema of the cluster file, for editors and for other programs.

`python -m ultracluster.spec.schema` writes `cluster.schema.json` beside this file, `--check` fails when it is stale.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ultracluster.spec.cluster import ClusterSpec

__all__ = ["SCHEMA_FILE", "cluster_schema", "main"]

SCHEMA_FILE = Path(__file__).with_name("cluster.schema.json")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
IDENTIFIER = "urn:ultracluster:cluster:1"


def cluster_schema() -> dict[str, Any]:
    """The schema of `cluster.yaml`, draft 2020-12."""
    schema = _without_null(ClusterSpec.model_json_schema(mode="validation"))
    return {
        "$schema": DIALECT,
        "$id": IDENTIFIER,
        "title": "UltraCluster cluster file",
        **{key: value for key, value in schema.items() if key != "title"},
    }


def _without_null(schema: Any) -> Any:  # noqa: ANN401 - any part of a JSON document
    """The same schema without null, as a type and in defaults: a key that is not wanted is left out of a file."""
    if isinstance(schema, list):
        return [_without_null(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: _without_null(value) for key, value in schema.items() if value is not None}
    members = [member for member in result.pop("anyOf", []) if member != {"type": "null"}]
    if len(members) > 1:
        result["anyOf"] = members
    return {**result, **members[0]} if len(members) == 1 else result


def main(arguments: list[str]) -> int:
    """Write the schema, or with `--check` compare it; 0 when it is right, 1 when stale, 2 on bad usage."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python -m ultracluster.spec.schema [--check]\n")
        return 2
    text = json.dumps(cluster_schema(), indent=2, ensure_ascii=False) + "\n"
    if not arguments:
        SCHEMA_FILE.write_text(text, encoding="utf-8")
        return 0
    if SCHEMA_FILE.is_file() and SCHEMA_FILE.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{SCHEMA_FILE.name} is stale; run python -m ultracluster.spec.schema\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
