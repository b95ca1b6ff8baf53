"""The hook, the action and the snippets of the guide, run as pre-commit, GitHub, GitLab and CodeBuild run them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

ROOT = Path(__file__).parents[3]
FAULTY = """\
Resources:
  Data:
    Type: AWS::FSx::FileSystem
    DeletionPolicy: Retain
    UpdateReplacePolicy: Retain
    Properties:
      FileSystemType: LUSTRE
      FileSystemTypeVersion: "2.15"
      SubnetIds: [subnet-1]
      StorageCapacity: 3601
"""
CLEAN = FAULTY.replace("3601", "3600")


def run(command: list[str], folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run something with our environment in front, as an installed package stands there."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, **more}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in (("infra/faulty.yaml", FAULTY), ("clean.yaml", CLEAN), ("pod.yaml", "kind: Pod\n")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


class TestAction:
    """`action.yml`: its script, with the environment and the shell that GitHub gives it."""

    @staticmethod
    def check(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
        action = yaml.safe_load((ROOT / "action.yml").read_text())
        values = {name: str(row.get("default", "")) for name, row in action["inputs"].items()} | inputs
        (step,) = (step for step in action["runs"]["steps"] if step.get("name") == "check")
        environment = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: values[found[1]], text)
            for name, text in step["env"].items()
        }
        assert "${{" not in step["run"], "what a pull request may write must not become part of a script"
        return run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], folder, **environment)

    def test_a_fault_fails_the_job_and_annotates_the_line(self, checkout: Path) -> None:
        done = self.check(checkout, paths="infra/")
        assert done.returncode == 1
        assert "::error file=infra/faulty.yaml,line=10," in done.stdout

    def test_sarif_is_written_also_when_the_job_fails(self, checkout: Path) -> None:
        done = self.check(checkout, paths="infra/", sarif="out/found.sarif")
        assert done.returncode == 1
        rules = {row["ruleId"] for row in json.loads((checkout / "out/found.sarif").read_text())["runs"][0]["results"]}
        assert "UC-LUS-001" in rules

    @pytest.mark.parametrize(
        ("inputs", "status"),
        [
            ({"paths": "clean.yaml"}, 0),
            ({"paths": "clean.yaml infra/faulty.yaml"}, 1),
            ({"paths": "clean.yaml\ninfra/*.yaml\n"}, 1),
            ({"paths": "infra", "ignore": "UC-LUS-001"}, 0),
            ({"paths": "infra", "select": "UC-NIC,UC-TPL"}, 0),
            ({"paths": "infra/faulty.yaml", "against": "clean.yaml", "select": "UC-TPL-012"}, 0),
            ({"paths": "clean.yaml; echo stolen"}, 2),
            ({"paths": "nowhere"}, 2),
            ({"paths": ""}, 2),
        ],
    )
    def test_inputs_reach_the_command(self, checkout: Path, inputs: dict[str, str], status: int) -> None:
        done = self.check(checkout, **{"fail-on": "fatal", **inputs})
        assert done.returncode == status, done.stdout + done.stderr
        assert "stolen" not in done.stdout.split()


class TestHook:
    """`.pre-commit-hooks.yaml`, run by pre-commit; the package is at hand, so it installs nothing."""

    @pytest.fixture
    def commit(self, checkout: Path):
        (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
        local = {"repo": "local", "hooks": [{**hook, "language": "system"}]}
        (checkout / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [local]}))
        assert run(["git", "init", "--quiet", "."], checkout).returncode == 0

        def tried(*files: str) -> subprocess.CompletedProcess[str]:
            assert run(["git", "add", "--force", *files], checkout).returncode == 0
            return run(["pre-commit", "run"], checkout, PRE_COMMIT_HOME=str(checkout / ".cache"))

        return tried

    def test_the_manifest_is_valid(self) -> None:
        assert run(["pre-commit", "validate-manifest", ".pre-commit-hooks.yaml"], ROOT).returncode == 0

    def test_a_faulty_template_is_not_committed(self, commit) -> None:
        done = commit("infra/faulty.yaml", "pod.yaml")
        assert done.returncode == 1
        assert "UC-LUS-001" in done.stdout

    @pytest.mark.parametrize("files", [("clean.yaml",), ("pod.yaml",), ("pod.yaml", ".pre-commit-config.yaml")])
    def test_everything_else_is(self, commit, files: tuple[str, ...]) -> None:
        done = commit(*files)
        assert done.returncode == 0, done.stdout
        assert "Passed" in done.stdout


def snippet(title: str) -> dict:
    """The snippet of the guide behind a bold title."""
    text = (ROOT / "docs" / "guides" / "policy-checks.md").read_text()
    block = text.split(f"**{title}**", 1)[1].split("```yaml\n", 1)[1].split("```", 1)[0]
    return yaml.safe_load(block.replace("<this repository>", "https://host/cdk-ultracluster").replace("<a tag>", "v1"))


class TestSnippets:
    @pytest.mark.parametrize(("text", "status"), [(FAULTY, 1), (CLEAN, 0)])
    def test_gitlab(self, checkout: Path, text: str, status: int) -> None:
        (checkout / "infra" / "faulty.yaml").write_text(text)
        job = snippet("GitLab")["templates"]
        install, check = job["script"]
        assert install.startswith("pip install https://")
        assert run(["bash", "-ec", check], checkout).returncode == status
        self.is_junit(checkout / job["artifacts"]["reports"]["junit"])
        assert job["artifacts"]["when"] == "always"

    @pytest.mark.parametrize(("text", "status"), [(FAULTY, 1), (CLEAN, 0)])
    def test_codebuild(self, checkout: Path, text: str, status: int) -> None:
        (checkout / "cdk.out").mkdir()
        (checkout / "cdk.out" / "data.template.json").write_text(json.dumps(yaml.safe_load(text)))
        build = snippet("CodeBuild")
        (install,), (check,) = (build["phases"][phase]["commands"] for phase in ("install", "build"))
        assert install.startswith("pip install https://")
        assert run(["bash", "-ec", check], checkout).returncode == status
        (report,) = build["reports"]["ultracluster"]["files"]
        self.is_junit(checkout / report)

    def test_github_and_precommit_name_what_there_is(self) -> None:
        steps = snippet("GitHub")["jobs"]["templates"]["steps"]
        ours = next(step for step in steps if "cdk-ultracluster" in step["uses"])
        known = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
        assert set(ours["with"]) <= set(known)
        upload = next(step for step in steps if "upload-sarif" in step["uses"])
        assert upload["with"]["sarif_file"] == ours["with"]["sarif"]
        (used,) = snippet("pre-commit")["repos"][0]["hooks"]
        assert used["id"] in {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}

    @staticmethod
    def is_junit(file: Path) -> None:
        assert ET.parse(file).getroot().tag == "testsuites"


def test_the_shell_of_the_guide_is_that_of_the_command() -> None:
    text = (ROOT / "docs" / "guides" / "policy-checks.md").read_text()
    (command,) = re.findall(r'"npx cdk synth", "(ultracluster [^"]+)"', text)
    assert shlex.split(command) == ["ultracluster", "check", "cdk.out"]
