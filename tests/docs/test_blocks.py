"""What the pages show is run: Python, cluster files, commands and what they print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner

from support.doc_blocks import Block, blocks, pages
from support.sources import ROOT, place
from ultracluster.findings import FindingsError
from ultracluster.plan.cluster import plan_cluster
from ultracluster.spec.loader import load_cluster
from ultracluster_cli.main import main

if TYPE_CHECKING:
    import aws_cdk as cdk

PAGES = [page for page in pages() if any(block.language in {"bash", "python", "yaml"} for block in blocks(page))]
NOT_RUN = ("ultracluster local",)
"""Starts a server and deploys; its own tests do so."""


class _Page:
    """Runs the blocks of one page in a folder of its own."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.namespace: dict[str, Any] = {}
        self.printed = ""

    def run(self) -> None:
        found = blocks(self.page)
        for block in found:
            name = block.word_after("file")
            if name is not None:
                (self.folder / name).write_text(block.text, encoding="utf-8")
        run = {
            "bash": self._commands,
            "json": self._output,
            "python": self._python,
            "text": self._output,
            "yaml": self._cluster_file,
        }
        for block in found:
            if block.language in run and "elsewhere" not in block.words:
                run[block.language](block)

    def _where(self, block: Block) -> str:
        return f"{place(self.page)}:{block.line}"

    def _python(self, block: Block) -> None:
        if "continues" not in block.words:
            self.namespace = {"__name__": "__documentation__"}
        lines = "\n" * block.line  # so that a traceback names the line of the page
        exec(compile(lines + block.text, place(self.page), "exec"), self.namespace)

    def _commands(self, block: Block) -> None:
        if block.word_after("file") is not None:
            return
        wanted = int(block.word_after("exit") or 0)
        for line in block.text.replace("\\\n", " ").splitlines():
            if line.startswith("ultracluster ") and not line.startswith(NOT_RUN):
                result = CliRunner().invoke(main, shlex.split(line, comments=True)[1:])
                self.printed = result.output
                assert result.exit_code == wanted, (
                    f"{self._where(block)}: {line}\n{result.output}\n{result.exception!r}"
                )

    def _output(self, block: Block) -> None:
        if "output" not in block.words:
            return
        wanted = ".*".join(re.escape(" ".join(piece.split())) for piece in block.text.split("..."))
        printed = " ".join(self.printed.split())
        assert re.search(wanted, printed), f"{self._where(block)}: not printed; this is:\n{self.printed}"

    def _cluster_file(self, block: Block) -> None:
        content = yaml.safe_load(block.text)
        if not isinstance(content, dict) or not {"fleets", "network"} <= set(content):
            return
        file = self.folder / f"line-{block.line}.yaml"
        file.write_text(block.text, encoding="utf-8")
        faults = _faults(file)
        assert bool(faults) == ("faulty" in block.words), (
            f"{self._where(block)}: {faults or 'nothing is wrong with it'}"
        )


def _faults(cluster_file: Path) -> str:
    try:
        plan_cluster(load_cluster(cluster_file), base_dir=cluster_file.parent)
    except FindingsError as error:
        return str(error)
    return ""


@pytest.fixture
def apps(cdk_context: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[cdk.App]:
    """The applications that a page makes, each like one that the CDK CLI runs."""
    import aws_cdk as cdk

    made: list[cdk.App] = []
    original = cdk.App

    def app() -> cdk.App:
        outdir = str(tmp_path / f"cdk.out-{len(made)}")
        made.append(original(builtin_cloud_formation_validation=False, context=cdk_context, outdir=outdir))
        return made[-1]

    monkeypatch.setattr(cdk, "App", app)
    return made


@pytest.mark.parametrize("page", PAGES, ids=place)
def test_the_blocks_of_a_page_run(
    page: Path, apps: list[cdk.App], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "apps").symlink_to(ROOT / "apps")
    monkeypatch.chdir(tmp_path)
    _Page(page, tmp_path).run()
    for app in apps:
        assert app.synth().stacks


def test_guides_and_concepts_hold_blocks_that_run() -> None:
    """An empty list would pass the test above without a word."""
    assert len([page for page in PAGES if page.parent.name in {"guides", "concepts"}]) >= 8
