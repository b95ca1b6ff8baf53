"""Writes the index of the rule modules: `python -m ultracluster.policy.rule_index`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ultracluster.policy.registry import INDEX_FILE, rule_modules, rules

__all__ = ["index_of_rules", "main"]


def index_of_rules() -> Mapping[str, Any]:
    """What the file says when it is fresh: for each module its size in bytes and what its rules are called for."""
    on: dict[str, set[str]] = {}
    for known in rules():
        module = known.check.__module__.rpartition(".")[2]
        on.setdefault(module, set()).update(() if known.is_diff else known.on)
    rows = {file.stem: {"size": file.stat().st_size, "on": sorted(on.get(file.stem, ()))} for file in rule_modules()}
    return {"note": "written by python -m ultracluster.policy.rule_index", "modules": rows}


def main() -> None:
    """Bring the index file up to date."""
    INDEX_FILE.write_text(json.dumps(index_of_rules(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
