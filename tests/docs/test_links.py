"""Links between pages lead somewhere, and every page can be reached."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
import yaml

from support.doc_blocks import headings, pages, prose
from support.sources import ROOT, place

OTHERS = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "apps").glob("*/README.md"))]
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_ELSEWHERE = ("http://", "https://", "mailto:")


def targets(page: Path) -> list[str]:
    """What a page links to inside the checkout."""
    return [target for target in _LINK.findall(prose(page)) if not target.startswith(_ELSEWHERE)]


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for target in targets(page):
        name, _, heading = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (heading and heading not in set(headings(file))):
            found.append(target)
    return found


@pytest.mark.parametrize("page", [*pages(), *OTHERS], ids=place)
def test_links_resolve(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A page\n\n## `some[]` part (x)\n\n```text\n# none\n[x](y.md)\n```\n")
    (tmp_path / "b.md").write_text(
        "[1](a.md) [2](a.md#some-part-x) [3](c.md) [4](a.md#none) [5](#b) [6](https://x.y)\n\n# B\n"
    )
    assert broken(tmp_path / "a.md") == []
    assert broken(tmp_path / "b.md") == ["c.md", "a.md#none"]


def test_the_navigation_names_every_page_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    hooks = importlib.import_module("mkdocs_hooks")
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    complete = hooks.on_config({"docs_dir": str(ROOT / "docs"), "nav": nav})["nav"]
    named = re.findall(r"[\w./-]+\.md", str(complete))
    assert sorted(named) == sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))


def test_every_guide_is_linked_from_the_overview_or_another_page() -> None:
    linked = {(page.parent / target.partition("#")[0]).resolve() for page in pages() for target in targets(page)}
    guides = {path for folder in ("guides", "concepts") for path in (ROOT / "docs" / folder).glob("*.md")}
    assert sorted(place(path) for path in guides - linked) == []
