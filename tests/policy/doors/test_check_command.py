"""The command: what it prints, what it exits with, what it takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ultracluster_cli.main import main

FAULTY = """\
AWSTemplateFormatVersion: '2010-09-09'
Resources:
  Data:
    Type: AWS::FSx::FileSystem
    DeletionPolicy: Retain
    UpdateReplacePolicy: Retain
    Properties:
      FileSystemType: LUSTRE
      StorageCapacity: 3600
      SubnetIds: [!ImportValue subnet]
      LustreConfiguration:
        DeploymentType: PERSISTENT_2
        PerUnitStorageThroughput: 125
"""
CLEAN = FAULTY.replace("3600", "2400")
RETAINED = CLEAN.replace("    DeletionPolicy: Retain\n", "    DeletionPolicy: Delete\n")
OPEN = CLEAN.replace("3600", "2400").replace("StorageCapacity: 2400", "StorageCapacity: !ImportValue size")
ONLY = ["--select", "UC-LUS-001,UC-LUS-018"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for name, text in {"faulty": FAULTY, "clean": CLEAN, "retained": RETAINED, "open": OPEN}.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")

    def call(*arguments: str, stdin: str | bytes | None = None):
        return CliRunner().invoke(main, ["check", *arguments], input=stdin)

    return call


def test_a_clean_template_is_quiet_and_exits_with_0(run) -> None:
    outcome = run("clean.yaml", *ONLY)
    assert outcome.exit_code == 0
    assert outcome.output == "no findings in 1 template, 1 resource\n"


def test_a_fault_is_shown_with_its_line_its_value_and_the_fix(run) -> None:
    outcome = run("faulty.yaml", *ONLY)
    assert outcome.exit_code == 1
    assert outcome.output.splitlines() == [
        "faulty.yaml:9:7 fatal UC-LUS-001",
        "  Data StorageCapacity: 3600 is not on the PERSISTENT_2 grid (1200 or n x 2400)",
        "      9 |       StorageCapacity: 3600",
        "        |       ^^^^^^^^^^^^^^^^^^^^^",
        "  fix: nearest: 2400 and 4800 GiB",
        "",
        "1 fatal in 1 template, 1 resource",
    ]


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_lines_fit_the_terminal(run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    output = run("faulty.yaml").output
    assert max(map(len, output.splitlines())) <= columns
    assert "3600" in output


def test_a_long_source_line_is_shown_around_the_fault(run, tmp_path: Path) -> None:
    resource = {
        "Type": "AWS::FSx::FileSystem",
        "Metadata": {"x": "y" * 400},
        "Properties": {
            "FileSystemType": "LUSTRE",
            "StorageCapacity": 3000,
            "LustreConfiguration": {"DeploymentType": "SCRATCH_2"},
        },
    }
    (tmp_path / "one.json").write_text(json.dumps({"Resources": {"Data": resource}}))
    lines = run("one.json", "--select", "UC-LUS-001").output.splitlines()
    source, mark = (line for line in lines if " | " in line)
    assert source[mark.index("^") :].startswith('"StorageCapacity": 3000')
    assert len(source) <= 120


def test_what_is_not_judged_is_counted_and_listed(run) -> None:
    outcome = run("open.yaml", *ONLY)
    assert outcome.exit_code == 0
    assert "1 x imported from a stack that is not at hand" in outcome.output
    assert "UC-LUS-001 Data: imported from" in run("open.yaml", *ONLY, "-v").output


@pytest.mark.parametrize(("threshold", "warning", "error"), [("fatal", 0, 0), ("error", 0, 1), ("warning", 1, 1)])
def test_the_threshold_decides_the_exit_status(run, tmp_path: Path, threshold: str, warning: int, error: int) -> None:
    twice = CLEAN.replace("      StorageCapacity: 2400\n", "      StorageCapacity: 2400\n      StorageCapacity: 2400\n")
    (tmp_path / "twice.yaml").write_text(twice)
    assert run("twice.yaml", "--select", "UC-DOC", "--fail-on", threshold).exit_code == warning
    assert run("retained.yaml", *ONLY, "--fail-on", threshold).exit_code == error


def test_standard_input(run) -> None:
    outcome = run("-", *ONLY, stdin=FAULTY)
    assert outcome.exit_code == 1
    assert outcome.output.startswith("<stdin>:9:7 fatal UC-LUS-001")


@pytest.mark.parametrize("data", [b"\x00\x01", b"Resources: {", b"", b"[1]"])
def test_input_that_cannot_be_read_exits_with_2(run, data: bytes) -> None:
    outcome = run("-", stdin=data)
    assert outcome.exit_code == 2
    assert "unreadable" in outcome.output
    assert "Traceback" not in outcome.output


def test_one_unreadable_file_does_not_hide_the_faults_of_another(run) -> None:
    outcome = run("faulty.yaml", "missing.yaml", *ONLY)
    assert outcome.exit_code == 2
    assert "UC-LUS-001" in outcome.output
    assert "no such file or folder" in outcome.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--select", "UC-LUSS"], "UC-LUSS is no rule and no area; did you mean UC-LUS"),
        (["--ignore", "UC-LUS-01"], "did you mean UC-LUS-001?"),
        (["--ignore", "lus18"], "did you mean UC-LUS-018?"),
        (["--with", "cfnlint"], "cfnlint is no engine; did you mean cfn-lint?"),
        (["--baseline", "clean.yaml"], "clean.yaml: no baseline"),
        (["--format", "html"], "Invalid value for '--format'"),
        (["--config", "missing.toml"], "does not exist"),
    ],
)
def test_wrong_options_say_what_was_meant_and_exit_with_2(run, arguments: list[str], told: str) -> None:
    outcome = run("clean.yaml", *arguments)
    assert outcome.exit_code == 2
    assert told in outcome.output + outcome.stderr


def test_a_path_is_needed(run) -> None:
    assert run().exit_code == 2


def test_rules_are_selected_and_ignored_by_id_and_area(run) -> None:
    assert run("faulty.yaml", "--select", "UC-DRA").exit_code == 0
    assert run("faulty.yaml", "--select", "UC-LUS-001", "--select", "UC-DRA").exit_code == 1
    assert run("faulty.yaml", "--select", "UC-LUS", "--ignore", "UC-LUS-001").exit_code == 0
    assert run("faulty.yaml", "--ignore", "UC").exit_code == 0


def test_what_is_said_of_acknowledgements_can_be_left_out(run, tmp_path: Path) -> None:
    noted = "    Metadata: {ultracluster: {acknowledge: [{id: UC-LUS-018}]}}\n    DeletionPolicy: Retain\n"
    (tmp_path / "noted.yaml").write_text(CLEAN.replace("    DeletionPolicy: Retain\n", noted))
    assert "UC-ACK-001" in run("noted.yaml").output
    assert "UC-ACK" not in run("noted.yaml", "--ignore", "UC-ACK").output
    assert "UC-ACK" not in run("noted.yaml", *ONLY).output


class TestBaseline:
    def test_only_new_findings_fail(self, run, tmp_path: Path) -> None:
        assert run("faulty.yaml", *ONLY, "--write-baseline", "known.json").exit_code == 0
        rows = json.loads((tmp_path / "known.json").read_text())["findings"]
        assert [row["rule"] for row in rows] == ["UC-LUS-001"]
        outcome = run("faulty.yaml", *ONLY, "--baseline", "known.json")
        assert outcome.exit_code == 0
        assert "1 in the baseline" in outcome.output
        (tmp_path / "faulty.yaml").write_text(FAULTY.replace("DeletionPolicy: Retain", "DeletionPolicy: Delete", 1))
        outcome = run("faulty.yaml", *ONLY, "--baseline", "known.json")
        assert outcome.exit_code == 1
        assert "UC-LUS-018" in outcome.output

    def test_a_known_finding_may_move_and_change_its_words(self, run, tmp_path: Path) -> None:
        run("faulty.yaml", *ONLY, "--write-baseline", "known.json")
        (tmp_path / "faulty.yaml").write_text("# moved\n" + FAULTY.replace("3600", "3000"))
        assert run("faulty.yaml", *ONLY, "--baseline", "known.json").exit_code == 0

    def test_a_new_baseline_replaces_the_old_one(self, run, tmp_path: Path) -> None:
        run("faulty.yaml", *ONLY, "--write-baseline", "known.json")
        run("clean.yaml", *ONLY, "--baseline", "known.json", "--write-baseline", "known.json")
        assert json.loads((tmp_path / "known.json").read_text())["findings"] == []


class TestSettings:
    def test_the_configuration_is_read_and_the_command_line_goes_before_it(self, run, tmp_path: Path) -> None:
        (tmp_path / "ultracluster.toml").write_text('[check]\nselect = ["UC-DRA"]\nfail-on = "warning"\n')
        assert run("faulty.yaml").exit_code == 0
        assert run("faulty.yaml", *ONLY).exit_code == 1

    def test_an_acknowledgement_there_is_applied_and_its_reason_told(self, run, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text(
            "[[tool.ultracluster.check.acknowledge]]\nid = 'UC-LUS-018'\nreason = 'a test bed'\n"
        )
        outcome = run("retained.yaml", *ONLY, "-v")
        assert outcome.exit_code == 0
        assert "1 acknowledged" in outcome.output
        assert "a test bed" in outcome.output

    def test_a_stale_acknowledgement_there_is_told(self, run, tmp_path: Path) -> None:
        (tmp_path / "ultracluster.toml").write_text("[[check.acknowledge]]\nid = 'UC-LUS-018'\nreason = 'a test bed'\n")
        outcome = run("clean.yaml", *ONLY, "--select", "UC-ACK")
        assert "UC-ACK-002" in outcome.output
        assert "ultracluster.toml" in outcome.output

    def test_a_faulty_configuration_exits_with_2(self, run, tmp_path: Path) -> None:
        (tmp_path / "ultracluster.toml").write_text("[check]\nselct = []\n")
        outcome = run("clean.yaml")
        assert outcome.exit_code == 2
        assert "did you mean select?" in outcome.stderr


def test_the_report_goes_to_a_file_and_the_text_to_the_screen(run, tmp_path: Path) -> None:
    outcome = run("faulty.yaml", *ONLY, "--format", "sarif", "--output", "out/report.sarif")
    assert outcome.exit_code == 1
    assert json.loads((tmp_path / "out" / "report.sarif").read_text())["version"] == "2.1.0"
    assert outcome.stdout == ""
    assert "UC-LUS-001" in outcome.stderr


def test_json_holds_everything(run) -> None:
    report = json.loads(run("faulty.yaml", "open.yaml", *ONLY, "--format", "json").output)
    (found,) = report["findings"]
    assert found["rule_id"] == "UC-LUS-001"
    assert (found["file"], found["line"], found["column"]) == ("faulty.yaml", 9, 7)
    assert (found["logical_id"], found["property_path"], found["value"]) == ("Data", "StorageCapacity", "3600")
    assert report["counts"] == {"fatal": 1}
    assert report["not_judged"][0]["rule_ids"] == ["UC-LUS-001"]
    assert (report["templates"], report["resources"]) == (2, 2)


def test_serverless_resources_are_left_alone_and_said(run, tmp_path: Path) -> None:
    (tmp_path / "sam.yaml").write_text(
        "Transform: AWS::Serverless-2016-10-31\nResources: {F: {Type: AWS::Serverless::Function, Properties: {}}}\n"
    )
    outcome = run("sam.yaml")
    assert outcome.exit_code == 0
    assert "1 AWS::Serverless resource left alone" in outcome.output


def test_files_of_a_folder_that_are_no_templates_are_counted(run, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("kind: Pod\n")
    assert "1 file passed over" in run(".", *ONLY).output


@pytest.mark.parametrize("path", ["empty", "empty/*.yaml", "empty/cdk.out"])
def test_where_there_is_no_template_nothing_is_well(run, tmp_path: Path, path: str) -> None:
    """A pipeline that names the wrong folder would be green for ever."""
    (tmp_path / "empty" / "cdk.out").mkdir(parents=True)
    (tmp_path / "empty" / "pod.yaml").write_text("kind: Pod\n")
    for more in ((), ("clean.yaml",)):
        outcome = run(path, *more, *ONLY)
        assert outcome.exit_code == 2
        assert f"no template found in {path}" in outcome.output
    assert run("clean.yaml", "--against", path, *ONLY).exit_code == 2


def test_a_folder_whose_templates_were_named_before_is_not_empty(run) -> None:
    assert run("clean.yaml", "clean.yaml", "./clean.yaml", *ONLY).exit_code == 0


def test_named_files_that_are_no_templates_are_passed_over_on_request(run, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("kind: Pod\n")
    (tmp_path / "odd.json").write_text("{")
    assert run("pod.yaml", "odd.json", "clean.yaml", *ONLY).exit_code == 2
    outcome = run("pod.yaml", "odd.json", "clean.yaml", *ONLY, "--pass-over-others")
    assert outcome.exit_code == 0
    assert "2 files passed over" in outcome.output


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_other_engines_stand_in_the_same_report(run, tmp_path: Path) -> None:
    (tmp_path / "queue.yaml").write_text(
        "Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties: {VisibilityTimeout: 9999999}\n"
    )
    outcome = run("queue.yaml", "faulty.yaml", "--with", "cfn-lint,cdk-validate", "--format", "json")
    found = {
        (row["engine"], row["rule_id"], row["file"], row["line"]) for row in json.loads(outcome.output)["findings"]
    }
    assert ("cfn-lint", "E3034", "queue.yaml", 4) in found
    assert ("cdk-validate", "F3034", "queue.yaml", 4) in found
    assert ("ultracluster", "UC-LUS-001", "faulty.yaml", 9) in found


def test_the_command_loads_no_cdk_no_model_and_no_table_printer(run, tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['ultracluster', 'check', 'faulty.yaml']\n"
        "from ultracluster_cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'jsii', 'aws_cdk', 'boto3', 'pydantic', 'rich', 'cfnlint'} & set(sys.modules)\n"
        "sys.exit(f'loads {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
