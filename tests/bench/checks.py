"""(d) `ultracluster check`: one small template, growth, an absurd template, and its peers on the same files.

`TEMPLATES` names the folder of templates for the peers; the limit of a fifteenth is meant for many. Without it they
meet the few of our own reference app, where start-up is most of our time. `CHECKOV` names a checkov to measure beside
cfn-lint. Findings are no failure here, so the exit status is not looked at.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

__all__ = ["checks"]

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent
RUNS = 5
Row = tuple[str, float, float, str]


def seconds(*command: str) -> float:
    """Wall time of one run, whatever it finds."""
    start = time.perf_counter()
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def check(*paths: str) -> float:
    """The shortest of some runs: what other processes add is none of its doing."""
    return min(seconds(str(TOOLS / "ultracluster"), "check", *paths) for _ in range(RUNS))


def faulty(at: int) -> dict[str, object]:
    """Five resources in which much is wrong."""
    entries = [
        {"DeviceIndex": 0, "NetworkCardIndex": card, "InterfaceType": "efa", "AssociatePublicIpAddress": True}
        for card in range(33)
    ]
    distribution = {"SpotInstancePools": 2, "SpotAllocationStrategy": "capacity-optimized"}
    reference = {"LaunchTemplateId": {"Ref": f"Template{at}"}, "Version": "1"}
    policy = {"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    trust = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
    bodies: dict[str, tuple[str, dict[str, object]]] = {
        "Template": (
            "AWS::EC2::LaunchTemplate",
            {"LaunchTemplateData": {"InstanceType": "p5.48xlarge", "NetworkInterfaces": entries}},
        ),
        "Fleet": (
            "AWS::AutoScaling::AutoScalingGroup",
            {
                "MixedInstancesPolicy": {
                    "InstancesDistribution": distribution,
                    "LaunchTemplate": {"LaunchTemplateSpecification": reference},
                }
            },
        ),
        "Data": (
            "AWS::FSx::FileSystem",
            {
                "FileSystemType": "LUSTRE",
                "StorageCapacity": 1300,
                "LustreConfiguration": {"DeploymentType": "PERSISTENT_2"},
            },
        ),
        "Alarm": ("AWS::CloudWatch::Alarm", {"MetricName": "x", "Namespace": "y", "EvaluationPeriods": 1}),
        "Role": (
            "AWS::IAM::Role",
            {
                "AssumeRolePolicyDocument": {"Statement": [trust]},
                "Policies": [{"PolicyName": "x", "PolicyDocument": policy}],
            },
        ),
    }
    return {f"{name}{at}": {"Type": kind, "Properties": properties} for name, (kind, properties) in bodies.items()}


def template(folder: Path, resources: int) -> str:
    """A template with so many of them."""
    value = {"Resources": {key: body for at in range(resources // 5) for key, body in faulty(at).items()}}
    file = folder / f"{resources}.json"
    file.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return str(file)


def growth() -> list[Row]:
    """From one fleet to an absurd template."""
    with tempfile.TemporaryDirectory() as name:
        took = {count: check(template(Path(name), count)) for count in (5, 100, 500, 2000)}
    print(f"     check of 5, 100, 500 and 2,000 faulty resources: {', '.join(f'{s:.2f} s' for s in took.values())}")
    per_resource = {count: (took[count] - took[5]) / (count - 5) for count in (100, 500, 2000)}
    return [
        ("check of a small template", round(took[5], 3), 0.5, "s"),
        ("check, a resource at 500 / at 100", round(per_resource[500] / per_resource[100], 2), 1.5, "x"),
        ("check, a resource at 2,000 / at 500", round(per_resource[2000] / per_resource[500], 2), 1.5, "x"),
    ]


def peers() -> list[Row]:
    """The same files for everybody."""
    given = os.environ.get("TEMPLATES")
    if given:
        return beside_peers(given, limit=1 / 15)
    with tempfile.TemporaryDirectory() as folder:
        app = [sys.executable, str(ROOT / "apps/p5_pretrain/app.py")]
        subprocess.run(app, env={**os.environ, "CDK_OUTDIR": folder}, check=True, stdout=subprocess.DEVNULL)
        return beside_peers(folder, limit=1 / 5)


def beside_peers(folder: str, *, limit: float) -> list[Row]:
    """Our time as a part of theirs."""
    code = (
        "import json, sys; from ultracluster.policy.load import load\n"
        "print(json.dumps(sorted({each.name for each in load(sys.argv[1:]).templates if each.parent is None})))"
    )
    found = subprocess.run([sys.executable, "-c", code, folder], check=True, capture_output=True, text=True)
    files: list[str] = json.loads(found.stdout)
    ours = check(*files)
    named = {"cfn-lint": [str(TOOLS / "cfn-lint"), *files]}
    if "CHECKOV" in os.environ:
        options = ["--framework", "cloudformation", "--compact", "--quiet"]
        named["checkov"] = [os.environ["CHECKOV"], *options, *(word for file in files for word in ("-f", file))]
    rows: list[Row] = []
    for name, command in named.items():
        peer = min(seconds(*command) for _ in range(2))
        print(f"     {len(files)} templates: check {ours:.2f} s, {name} {peer:.2f} s")
        rows.append((f"check / {name}", round(ours / peer, 4), round(limit, 4), "x"))
    return rows


def checks() -> list[Row]:
    """Name, value, limit and unit of each figure."""
    return [*growth(), *peers()]
