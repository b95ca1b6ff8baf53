"""Write the generated pages of `docs/reference/`: rules, cluster file, instance types, metrics, commands, API.

    python scripts/generate_reference.py            writes what changed
    python scripts/generate_reference.py --check    exits 1 when a page is stale

The pages come from the rule registry, the models of the cluster file, the facts and the command itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from reference_pages.agent_metrics import agent_metrics_page
from reference_pages.api import api_page
from reference_pages.cluster_yaml import cluster_yaml_page
from reference_pages.commands import commands_page
from reference_pages.instance_types import instance_types_page
from reference_pages.node_health import node_health_page
from reference_pages.node_programs import node_programs_page
from reference_pages.node_tuning import node_tuning_page
from reference_pages.rules import rules_page

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "agent-metrics.md": agent_metrics_page,
    "api.md": api_page,
    "cluster-yaml.md": cluster_yaml_page,
    "commands.md": commands_page,
    "instance-types.md": instance_types_page,
    "node-health.md": node_health_page,
    "node-programs.md": node_programs_page,
    "node-tuning.md": node_tuning_page,
    "rules.md": rules_page,
}


def stale() -> dict[str, str]:
    """Pages whose file is missing or differs, with the text that they should have."""
    wanted = {name: make() for name, make in PAGES.items()}
    return {
        name: text
        for name, text in wanted.items()
        if not (FOLDER / name).is_file() or (FOLDER / name).read_text(encoding="utf-8") != text
    }


def main(arguments: list[str]) -> int:
    """Write or check; 0 when all is right, 1 when a page is stale, 2 on bad usage."""
    if arguments not in ([], ["--check"]):
        print("usage: generate_reference.py [--check]", file=sys.stderr)
        return 2
    changed = stale()
    if arguments:
        for name in changed:
            print(f"docs/reference/{name} is stale; run python scripts/generate_reference.py", file=sys.stderr)
        return 1 if changed else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in changed.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"wrote docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
