"""What `mkdocs build` does beside its configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:  # noqa: ANN401 - mkdocs has no stubs
    """Complete the navigation: all decision records, and guides that it does not name yet after those that it does."""
    docs = Path(config["docs_dir"])
    for entry in config["nav"]:
        if "Decisions" in entry:
            entry["Decisions"] = _pages(docs, "decisions")
        if "Guides" in entry:
            entry["Guides"] += [page for page in _pages(docs, "guides") if page not in entry["Guides"]]
    return config


def _pages(docs: Path, folder: str) -> list[str]:
    return [f"{folder}/{page.name}" for page in sorted(docs.joinpath(folder).glob("*.md"))]
