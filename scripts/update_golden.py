"""Write the golden files of the reference apps anew: decisions, logical ids of what has state, counts of resources.

A change of `ids.json` replaces that resource in every cluster that stands: never let one pass without a reason.
Usage: python scripts/update_golden.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]


def main() -> None:
    """One folder per cluster file under tests/golden/."""
    from support.clusters import CLUSTERS, golden, name_of

    for cluster in CLUSTERS:
        folder = ROOT / "tests/golden" / name_of(cluster)
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in golden(cluster).items():
            (folder / file).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        print(folder.relative_to(ROOT))


main()
