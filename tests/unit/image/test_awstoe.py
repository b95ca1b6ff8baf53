"""The runner of component documents that the tests use."""

from __future__ import annotations

import pytest

from support.awstoe import Runner, StepFailed, on_this_machine
from ultracluster.plan.image_build import TunedImageRequest, plan_tuned_image
from ultracluster.plan.image_options import Dlami

DOCUMENT = """
schemaVersion: 1.0
parameters:
- Where: {type: string}
- Word: {type: string, default: hello}
phases:
- name: build
  steps:
  - name: Write
    action: CreateFile
    inputs: [{path: /etc/word, content: "{{ Word }}", permissions: "0600"}]
  - name: Fetch
    action: S3Download
    inputs: [{source: "{{ Where }}", destination: /opt/program}]
  - name: Boot
    action: Reboot
  - name: Run
    action: ExecuteBash
    inputs: {commands: ["echo one", "echo two"]}
- name: validate
  steps:
  - name: Look
    action: ExecuteBash
    inputs: {commands: ["exit 3"]}
"""


@pytest.fixture
def runner(tmp_path):
    object_ = tmp_path / "object"
    object_.write_text("program")
    boots: list[str] = []
    made = Runner(
        execute=on_this_machine(),
        root=tmp_path / "root",
        objects={"s3://bucket/key": object_},
        reboot=lambda: boots.append("boot"),
    )
    return made, boots


def test_steps_in_their_order(runner, tmp_path):
    made, boots = runner
    done = made.run(DOCUMENT, phases=["build"], parameters={"Where": "s3://bucket/key"})
    assert [each.step for each in done] == ["Write", "Fetch", "Boot", "Run"]
    assert done[-1].output == "one\ntwo\n"
    assert boots == ["boot"]
    assert (tmp_path / "root/etc/word").read_text() == "hello"
    assert (tmp_path / "root/etc/word").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "root/opt/program").read_text() == "program"


def test_a_failure_ends_the_document(runner):
    made, _ = runner
    with pytest.raises(StepFailed, match="validate Look ended with status 3"):
        made.run(DOCUMENT, phases=["validate"])


def test_an_object_that_is_not_there(runner):
    made, _ = runner
    with pytest.raises(StepFailed, match="no object s3://other/key"):
        made.run(DOCUMENT, phases=["build"], parameters={"Where": "s3://other/key"})


def test_a_command_that_asks_for_a_reboot_runs_again(runner, tmp_path):
    made, boots = runner
    mark = tmp_path / "mark"
    step = f"[ -e {mark} ] || {{ touch {mark}; exit 194; }}"
    text = (
        "schemaVersion: 1.0\nphases:\n- name: build\n  steps:\n  - name: A\n    action: ExecuteBash\n"
        f"    inputs:\n      commands: ['{step}']\n"
    )
    assert [each.status for each in made.run(text)] == [0]
    assert boots == ["boot"]


def test_a_step_that_takes_too_long_is_stopped(runner):
    made, _ = runner
    text = (
        "schemaVersion: 1.0\nphases:\n- name: build\n  steps:\n  - name: A\n    action: ExecuteBash\n"
        "    timeoutSeconds: 1\n    inputs:\n      commands: [sleep 30]\n"
    )
    with pytest.raises(StepFailed, match="stopped after 1 s"):
        made.run(text)


def test_documents_of_an_image_go_through_it(runner):
    """Every step of every phase, with commands that do nothing: what is left is order, parameters and reboots."""
    made, boots = runner
    made.execute = lambda script, limit: on_this_machine()("true", limit)
    documents = plan_tuned_image(TunedImageRequest(base=Dlami()), subject="image").components
    for document in documents:
        made.run(document.text, phases=["build"], parameters={"NodeProgram": "s3://bucket/key"})
    for phase in ("validate", "test"):
        for document in documents:
            made.run(document.text, phases=[phase])
    assert [each.step for each in made.done][-2:] == ["ModulesAndSettings", "Devices"]
    assert boots == ["boot"]
