"""Paths, names, settings and texts that are odd or hostile: one clear message, never a traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from ultracluster_cli.main import main

FAULTY = json.dumps(
    {
        "Resources": {
            "Data": {
                "Type": "AWS::FSx::FileSystem",
                "Properties": {"FileSystemType": "LUSTRE", "StorageCapacity": 3000, "LustreConfiguration": {}},
            }
        }
    }
)
ONLY = ("--select", "UC-LUS-001")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.json").write_text(FAULTY)
    return tmp_path


def check(*arguments: str) -> Result:
    outcome = CliRunner().invoke(main, ["check", *arguments])
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exception
    return outcome


@pytest.mark.parametrize("path", ["a" * 5000, "***.yaml", "/**[", "x/" + "b" * 300 + ".yaml", "t.json/x"])
def test_a_path_that_cannot_be_one_is_told(folder: Path, path: str) -> None:
    outcome = check(path)
    assert outcome.exit_code == 2
    assert "1 unreadable" in outcome.output


def test_a_folder_that_is_closed_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "open").mkdir()
    (folder / "open" / "closed").mkdir()
    list_folder = os.scandir

    def scan(path: str | Path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return list_folder(path)

    monkeypatch.setattr(os, "scandir", scan)
    outcome = check("open")
    assert outcome.exit_code == 2
    assert "permission denied" in outcome.output


@pytest.mark.parametrize("manifest", ['{"version": "36', "[]", '{"version": 3, "artifacts": {}}', '"x"'])
def test_a_cloud_assembly_without_its_manifest_is_no_pass(folder: Path, manifest: str) -> None:
    out = folder / "cdk.out"
    out.mkdir()
    (out / "cdk.out").write_text('{"version": "36.0.0"}')
    (out / "manifest.json").write_text(manifest)
    outcome = check("cdk.out")
    assert outcome.exit_code == 2
    assert "no manifest of a cloud assembly" in outcome.output


def test_a_stack_whose_template_is_not_there_is_told(folder: Path) -> None:
    artifacts = {"S": {"type": "aws:cloudformation:stack", "properties": {"templateFile": ["a"]}}}
    (folder / "manifest.json").write_text(json.dumps({"version": "36.0.0", "artifacts": artifacts}))
    outcome = check(".")
    assert outcome.exit_code == 2
    assert "no such file or directory" in outcome.output
    assert "Errno" not in outcome.output


@pytest.mark.parametrize(
    "options",
    [("--write-baseline", "."), ("--write-baseline", "none/b.json"), ("--format", "json", "--output", "t.json/x")],
)
def test_what_cannot_be_written_is_told(folder: Path, options: tuple[str, ...]) -> None:
    outcome = check("t.json", *options)
    assert outcome.exit_code == 2
    assert "cannot be written" in outcome.stderr


def test_a_severity_that_is_none_is_told(folder: Path) -> None:
    (folder / "ultracluster.toml").write_text('[check]\nfail-on = "warnings"\n')
    outcome = check("t.json")
    assert outcome.exit_code == 2
    assert "warnings is no severity; did you mean warning?" in outcome.stderr


def test_a_baseline_knows_a_file_by_each_of_its_names(folder: Path) -> None:
    assert check("t.json", *ONLY, "--write-baseline", "known.json").exit_code == 0
    for name in ("t.json", "./t.json", str(folder / "t.json"), ".", "*.json"):
        assert check(name, *ONLY, "--baseline", "known.json").exit_code == 0, name


def test_an_acknowledgement_knows_a_file_by_each_of_its_names(folder: Path) -> None:
    (folder / "ultracluster.toml").write_text(
        "[[check.acknowledge]]\nid = 'UC-LUS-018'\nreason = 'a test'\ntemplate = 't.json'\n"
    )
    for name in ("t.json", "./t.json", str(folder / "t.json")):
        assert "UC-LUS-018" not in check(name, "--select", "UC-LUS-018").output, name


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github"])
def test_a_file_name_that_is_no_text_is_shown_all_the_same(folder: Path, form: str) -> None:
    name = os.fsdecode(b"odd\xff.json")
    (folder / name).write_text(FAULTY)
    assert check(name, *ONLY, "--format", form).exit_code == 1
    assert check(name, *ONLY, "--write-baseline", "known.json").exit_code == 0


CONTROL = json.dumps(
    {
        "Resources": {
            "\x1b[2JData\x07": {
                "Type": "AWS::FSx::FileSystem",
                "Properties": {"FileSystemType": "LUSTRE", "StorageCapacity": "\x1b]0;x\x07", "KmsKeyId": "\x9b1m"},
            },
        }
    }
)


def test_control_characters_of_a_template_never_reach_the_terminal(folder: Path) -> None:
    (folder / "c.json").write_text(CONTROL)
    (folder / "odd\x1b[1m.json").write_text(FAULTY)
    output = check(".", "-v").output
    assert "\\x1b[2JData\\x07" in output
    assert not [letter for letter in output if letter != "\n" and (letter < " " or "\x7f" <= letter <= "\x9f")]
    ET.fromstring(check(".", "--format", "junit").output)


def test_a_template_of_one_long_line_is_shown_in_part(folder: Path) -> None:
    resources = json.loads(FAULTY)["Resources"] | {f"Q{at}": {"Type": "AWS::SQS::Queue"} for at in range(500)}
    (folder / "long.json").write_text(json.dumps({"Resources": dict(reversed(resources.items()))}))
    for form in ("json", "sarif"):
        output = check("long.json", *ONLY, "--format", form).output
        assert len(output) < 10_000
        assert '\\"StorageCapacity\\": 3000' in output
