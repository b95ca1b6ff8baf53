"""Component documents: what the component manager takes, shell that is clean, and versions that follow from content."""

from __future__ import annotations

import dataclasses
import json
import subprocess

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ultracluster.facts.image_versions import image_versions
from ultracluster.plan.image_build import TunedImageRequest, plan_tuned_image
from ultracluster.plan.image_document import Document, Download, Reboot, Script, content_version, script_text
from ultracluster.plan.image_options import Al2023, Dlami, Ubuntu

REQUESTS = {
    "dlami": TunedImageRequest(base=Dlami()),
    "dlami-arm": TunedImageRequest(base=Dlami(), architecture="arm64"),
    "dlami-neuron": TunedImageRequest(base=Dlami(os="ubuntu-24.04"), vendor="aws", without=("lustre",)),
    "al2023": TunedImageRequest(base=Al2023(), opt_ins=("low-latency-c-states",)),
    "al2023-neuron": TunedImageRequest(base=Al2023(), vendor="aws"),
    "ubuntu-22.04": TunedImageRequest(base=Ubuntu(version="22.04")),
    "ubuntu-24.04-arm": TunedImageRequest(base=Ubuntu(), architecture="arm64", opt_ins=("head-node",)),
}
MOST_CHARACTERS = 16_000


def documents(request: TunedImageRequest) -> tuple[Document, ...]:
    return plan_tuned_image(request, subject="image").components


def scripts(request: TunedImageRequest) -> dict[str, Script]:
    return {
        f"{document.name}/{step.name}": step
        for document in documents(request)
        for step in (*document.build, *document.validate, *document.test)
        if isinstance(step, Script)
    }


@pytest.fixture(scope="module")
def schema(root):
    return Draft202012Validator(json.loads((root / "tests/fixtures/awstoe_document.schema.json").read_text()))


@pytest.mark.parametrize("name", REQUESTS)
def test_documents_are_what_the_component_manager_takes(name, schema):
    for document in documents(REQUESTS[name]):
        read = yaml.safe_load(document.text)
        assert [error.message for error in schema.iter_errors(read)] == []
        assert len(document.text) <= MOST_CHARACTERS
        names = [phase["name"] for phase in read["phases"]]
        assert len(set(names)) == len(names)
        for phase in read["phases"]:
            steps = [step["name"] for step in phase["steps"]]
            assert len(set(steps)) == len(steps)


def test_the_schema_refuses_what_is_wrong(schema):
    good = yaml.safe_load(Document(name="a", description="b", build=(Reboot(name="Again"),)).text)
    assert schema.is_valid(good)
    for change in (
        {"schemaVersion": "1.0"},
        {"phases": []},
        {"phases": [{"name": "deploy", "steps": good["phases"][0]["steps"]}]},
        {"phases": [{"name": "build", "steps": [{"name": "A", "action": "ExecuteBash", "inputs": {"command": "x"}}]}]},
        {"phases": [{"name": "build", "steps": [{"name": "A", "action": "ExecutePerl"}]}]},
        {"owner": "me"},
    ):
        assert not schema.is_valid(good | change)


def linted(tmp_path, *options: str) -> subprocess.CompletedProcess[str]:
    """One run over the distinct steps of all images; a step is named by its settings too."""
    files = {}
    for name, request in REQUESTS.items():
        for title, step in scripts(request).items():
            text = "#!/bin/bash\n" + script_text(step)
            files.setdefault(text, tmp_path / f"{name}-{title.replace('/', '-')}.sh")
    for text, file in files.items():
        file.write_text(text)
    return subprocess.run(
        ["shellcheck", "--format=gcc", *options, *map(str, files.values())],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_every_step_is_clean_shell(tmp_path):
    # Settings stand before the text that is checked on its own; some of them only one branch reads.
    done = linted(tmp_path, "--exclude=SC2034,SC2154")
    assert done.returncode == 0, done.stdout


def test_every_step_has_the_settings_that_it_reads(tmp_path):
    """bash stops at a variable that is not set; here it is told before an image is built for an hour."""
    lines = linted(tmp_path, "--include=SC2154").stdout.splitlines()
    # Only the branch for Ubuntu reads these, and only Ubuntu gets them.
    wrong = [line for line in lines if "LUSTRE_" not in line or "/ubuntu" in line]
    assert wrong == []


def test_pieces_are_clean_by_themselves(root):
    files = sorted(str(file) for file in (root / "constructs/ultracluster/plan/image_steps").glob("*.sh"))
    done = subprocess.run(["shellcheck", *files], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout


def test_helpers_come_only_where_they_are_called():
    text = script_text(scripts(REQUESTS["al2023"])["kernel/KernelIsHeld"])
    assert "fail()" in text
    assert "signed()" not in text
    assert "signed()" in script_text(scripts(REQUESTS["al2023"])["efa/InstallEfa"])


def test_steps_stop_at_the_first_error():
    for step in scripts(REQUESTS["al2023"]).values():
        assert "set -euo pipefail" in script_text(step)


@pytest.mark.parametrize("name", REQUESTS)
def test_everything_that_is_fetched_is_checked(name):
    for title, step in scripts(REQUESTS[name]).items():
        text = script_text(step)
        body = text.split("\n")
        fetched = [line for line in body if line.strip().startswith("fetch ")]
        if fetched:
            assert "checked " in text or "signed " in text or "trusted " in text, title
        assert "curl" not in text.replace("fetch() { curl -fsSL --proto '=https'", "")
        assert "--nogpgcheck" not in text
        assert "gpgcheck=0" not in text
        assert "trusted=yes" not in text


@pytest.mark.parametrize("name", REQUESTS)
def test_two_builds_of_the_same_inputs_are_the_same(name):
    first, second = (plan_tuned_image(REQUESTS[name], subject=subject) for subject in ("one", "two"))
    assert [each.text for each in first.components] == [each.text for each in second.components]
    assert first.recipe_content == second.recipe_content


@pytest.mark.parametrize(
    ("field", "part"),
    [
        ("efa", "efa"),
        ("efa_fingerprint", "efa"),
        ("nvidia_driver", "nvidia"),
        ("dcgm", "dcgm"),
        ("gdrcopy_sha256", "gdrcopy"),
        ("node_exporter", "node-exporter"),
    ],
)
def test_another_input_is_another_version_of_its_component_and_of_the_recipe(field, part):
    request = REQUESTS["al2023"]
    other = dataclasses.replace(request, versions=dataclasses.replace(image_versions(), **{field: "9.9.9"}))
    before, after = (plan_tuned_image(each, subject="image") for each in (request, other))
    changed = [
        old.name for old, new in zip(before.components, after.components, strict=True) if old.version != new.version
    ]
    assert changed == [part]
    assert before.recipe_content != after.recipe_content


def test_a_version_has_three_numbers_that_image_builder_takes():
    @given(st.text())
    def check(content):
        major, minor, patch = map(int, content_version(content).split("."))
        assert major == 1
        assert 0 <= minor < 2**30
        assert 0 <= patch < 2**30

    check()


def test_versions_of_different_texts_differ():
    @given(st.lists(st.text(), unique=True, max_size=50))
    def check(contents):
        assert len({content_version(each) for each in contents}) == len(contents)

    check()


def test_texts_of_steps_are_read_back_as_they_were_written():
    step = Script(name="Tune", file="tune", settings={"TARGET": "/opt/x", "TUNE_ARGUMENTS": "--stage image"})
    download = Download(name="Get", source="{{ Where }}", destination="/tmp/x")
    document = Document(
        name="n: #", description='a "quoted" one', build=(step, download), parameters={"Where": "address"}
    )
    read = yaml.safe_load(document.text)
    assert read["name"] == "n: #"
    assert read["description"] == 'a "quoted" one'
    first, second = read["phases"][0]["steps"]
    assert first["inputs"]["commands"] == [script_text(step)]
    assert second["inputs"] == [{"source": "{{ Where }}", "destination": "/tmp/x"}]


@pytest.mark.parametrize("value", ["it's", "{{ Other }}"])
def test_a_setting_that_the_shell_or_the_component_manager_would_read_is_refused(value):
    with pytest.raises(ValueError, match="cannot stand in a step"):
        script_text(Script(name="A", file="tune", settings={"TARGET": value}))
