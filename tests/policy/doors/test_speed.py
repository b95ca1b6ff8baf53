"""Time and memory: a small template, large ones, and input that is meant to hurt."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ultracluster.policy.check import Options, check_loaded
from ultracluster.policy.document import Document
from ultracluster.policy.load import Loaded, assembly_of

COMMAND = [str(Path(sys.executable).with_name("ultracluster")), "check"]
MEMORY = 500 * 1024 * 1024
HEAD = b"AWSTemplateFormatVersion: '2010-09-09'\nResources:\n"


def fleet(at: int, interfaces: int = 32) -> dict:
    group = {"Fn::GetAtt": [f"Group{at}", "GroupId"]}
    entries = [
        {"DeviceIndex": int(card > 0), "NetworkCardIndex": card, "InterfaceType": "efa", "Groups": [group]}
        for card in range(interfaces)
    ]
    reference = {"LaunchTemplateId": {"Ref": f"Template{at}"}, "Version": "1"}
    traffic = {"GroupId": group, "IpProtocol": "-1"}
    return {
        f"Template{at}": {
            "Type": "AWS::EC2::LaunchTemplate",
            "Properties": {"LaunchTemplateData": {"InstanceType": "p5.48xlarge", "NetworkInterfaces": entries}},
        },
        f"Fleet{at}": {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": {"LaunchTemplate": reference}},
        f"Group{at}": {"Type": "AWS::EC2::SecurityGroup", "Properties": {"GroupDescription": "x"}},
        f"In{at}": {
            "Type": "AWS::EC2::SecurityGroupIngress",
            "Properties": {**traffic, "SourceSecurityGroupId": group},
        },
        f"Out{at}": {
            "Type": "AWS::EC2::SecurityGroupEgress",
            "Properties": {**traffic, "DestinationSecurityGroupId": group},
        },
    }


def template(fleets: int, interfaces: int = 4) -> dict:
    return {"Resources": {key: body for at in range(fleets) for key, body in fleet(at, interfaces).items()}}


def seconds_to_judge(value: dict) -> float:
    best = 1e9
    for _ in range(3):
        loaded = Loaded([assembly_of([Document("t.json", "", value)])])
        begun = time.process_time()
        check_loaded(loaded, Options())
        best = min(best, time.process_time() - begun)
    return best


def test_time_grows_linearly_up_to_500_resources() -> None:
    small, large = seconds_to_judge(template(20)), seconds_to_judge(template(100))
    assert large < 5 * small * 1.8 + 0.05


def test_a_template_of_200_resources_is_judged_in_a_fraction_of_a_second() -> None:
    assert seconds_to_judge(template(40)) < 0.5


def run(folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run the command as it is installed: with a limit on its memory, and with the byte code of an earlier run.

    Returns:
        Its outcome and the CPU seconds it took.
    """

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(folder.parent / "byte-code")
    before = os.times()
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
        env=environment,
    )
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return done, spent


def test_a_small_template_takes_half_a_second_at_most(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(template(1)))
    assert min(run(tmp_path, "t.json")[1] for _ in range(4)) < 0.5


HOSTILE = {
    "50 MB": lambda file: file.write_bytes(HEAD + b"#" * 50_000_000),
    "many values": lambda file: file.write_bytes(HEAD + b"  A: [" + b"a," * 3_900_000 + b"]"),
    "many keys": lambda file: file.write_bytes(
        HEAD + b"".join(b"  A%d: {b: c}\n" % at for at in range(500_000))[:7_900_000]
    ),
    "deep": lambda file: file.write_bytes(HEAD + b"  A: " + b"[" * 1_000_000),
    "alias bomb": lambda file: file.write_bytes(
        b"a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"a%d: &a%d [%s]\n" % (at, at, b",".join([b"*a%d" % (at - 1)] * 10)) for at in range(1, 30))
        + HEAD
    ),
    "one long text": lambda file: file.write_bytes(HEAD + b"  A: '" + b"x" * 7_900_000),
    "endless comment": lambda file: file.write_bytes(b"#" * 7_900_000 + b"\n[" + HEAD),
    "random": lambda file: file.write_bytes(os.urandom(1_000_000)),
}


@pytest.mark.parametrize("write", HOSTILE.values(), ids=HOSTILE)
def test_hostile_input_ends_with_one_message_in_two_seconds_and_500_mb(tmp_path: Path, write) -> None:
    write(tmp_path / "t.yaml")
    done, spent = run(tmp_path, "t.yaml")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.count("unreadable") == 2  # the file, and the count at the end
    assert spent < 2


def test_a_device_that_never_ends_is_not_read(tmp_path: Path) -> None:
    done, _ = run(tmp_path, "/dev/zero")
    assert done.returncode == 2
    with Path("/dev/zero").open("rb") as zeros:
        endless = subprocess.run([*COMMAND, "-"], stdin=zeros, capture_output=True, text=True, check=False, timeout=20)
    assert endless.returncode == 2
    assert "are over the" in endless.stdout


def test_references_in_a_circle_between_stacks_end(tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{one}.yaml").write_text(
            f"Resources:\n  T:\n    Type: AWS::EC2::LaunchTemplate\n"
            f"    Properties: {{LaunchTemplateData: !ImportValue {other}}}\n"
            f"Outputs: {{O: {{Value: !ImportValue {other}, Export: {{Name: {one}}}}}}}\n"
        )
    done, spent = run(tmp_path, ".")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "refers to itself in a circle" in done.stdout
    assert spent < 2
