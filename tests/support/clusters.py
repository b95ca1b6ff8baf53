"""Reference clusters, synthesized once per process."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import aws_cdk as cdk

from support.sources import ROOT
from ultracluster.plan.cluster import ClusterPlan, plan_cluster
from ultracluster.spec.loader import load_cluster
from ultracluster_stacks.assemble import assemble

NOW = datetime(2026, 12, 1, tzinfo=UTC)
CLUSTERS = tuple(sorted(ROOT.glob("apps/*/cluster*.yaml")))
STACKS = ("network", "storage", "observability", "compute")
STATEFUL = (
    "AWS::EC2::Subnet",
    "AWS::EC2::VPC",
    "AWS::EFS::FileSystem",
    "AWS::FSx::DataRepositoryAssociation",
    "AWS::FSx::FileSystem",
    "AWS::KMS::Key",
    "AWS::S3::Bucket",
)


def name_of(cluster: Path) -> str:
    """A short name of a cluster file, for test ids and golden folders."""
    return f"{cluster.parent.name}-{cluster.stem}"


@dataclass(frozen=True)
class Synthesized:
    """A cluster as the CDK CLI would see it."""

    plan: ClusterPlan
    templates: dict[str, dict[str, Any]]
    sizes: dict[str, int]


def new_app(outdir: str) -> cdk.App:
    """An app with the context of `cdk.json`."""
    context = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    return cdk.App(builtin_cloud_formation_validation=False, context=context, outdir=outdir)


@cache
def synthesized(cluster: Path) -> Synthesized:
    """Plan and templates of a cluster file; the templates by the life cycle of their stack."""
    spec = load_cluster(cluster)
    with tempfile.TemporaryDirectory() as folder:
        app = new_app(folder)
        assemble(app, cluster, now=NOW)
        app.synth()
        texts = {
            stack: Path(folder, f"{spec.name}-{stack}.template.json").read_text(encoding="utf-8") for stack in STACKS
        }
    return Synthesized(
        plan=plan_cluster(spec, base_dir=cluster.parent, now=NOW),
        templates={stack: json.loads(text) for stack, text in texts.items()},
        sizes={stack: len(text.encode()) for stack, text in texts.items()},
    )


def golden(cluster: Path) -> dict[str, Any]:
    """What a golden file holds of a cluster: decisions, identity of what has state, and how much of what there is."""
    made = synthesized(cluster)
    bodies = [
        (stack, key, body) for stack, template in made.templates.items() for key, body in template["Resources"].items()
    ]
    counts: dict[str, dict[str, int]] = {stack: {} for stack in STACKS}
    for stack, _, body in bodies:
        counts[stack][body["Type"]] = counts[stack].get(body["Type"], 0) + 1
    return {
        "plan.json": {decision.subject: f"{decision.value} ({decision.because})" for decision in made.plan.decisions},
        "ids.json": {
            body["Metadata"]["aws:cdk:path"]: key
            for _, key, body in sorted(bodies, key=lambda row: row[1])
            if body["Type"] in STATEFUL and "aws:cdk:path" in body.get("Metadata", {})
        },
        "resources.json": {stack: dict(sorted(found.items())) for stack, found in counts.items()},
    }
