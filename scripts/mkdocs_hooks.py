"""What `mkdocs build` does beside its configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:  # noqa: ANN401 - mkdocs has no stubs
    """List the decision records in the navigation, so that a new one touches no other file."""
    records = sorted(Path(config["docs_dir"], "decisions").glob("*.md"))
    for entry in config["nav"]:
        if "Decisions" in entry:
            entry["Decisions"] = [f"decisions/{record.name}" for record in records]
    return config
