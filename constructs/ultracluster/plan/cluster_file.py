"""From a cluster file to its plan, with every fault of the file together: those of its YAML, its models, its plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ultracluster.findings import Finding, FindingsError
from ultracluster.plan.cluster import ClusterPlan, cluster_plan
from ultracluster.plan.cluster_steps import draft_cluster
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from ultracluster.spec.cluster import ClusterSpec

__all__ = ["PlannedFile", "plan_file", "read_and_plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """A cluster file as far as it can be planned.

    Attributes:
        spec: what it asks; None when a model is faulty.
        plan: what was decided; None when any finding is an error.
        findings: all findings with file and line, warnings included, in the order of the file.
    """

    spec: ClusterSpec | None
    plan: ClusterPlan | None
    findings: tuple[Finding, ...]


def read_and_plan(path: Path | str, *, now: datetime | None = None) -> PlannedFile:
    """Read, check and plan a cluster file, and report everything at once.

    Args:
        path: the file.
        now: the time to hold the ends of Capacity Blocks against; None judges no end as past.

    Raises:
        FindingsError: nothing of the file can be read (UC-SPC-001).
    """
    from ultracluster.spec.loader import load_parts
    from ultracluster.spec.locate import located

    loaded = load_parts(path)
    draft = draft_cluster(loaded.parts, base_dir=Path(path).parent, now=now)
    findings = located((*loaded.findings, *draft.findings), loaded.source)
    if loaded.spec is None or any(found.severity.stops for found in findings):
        return PlannedFile(spec=loaded.spec, plan=None, findings=findings)
    plan = replace(cluster_plan(loaded.spec, draft), warnings=findings)
    return PlannedFile(spec=loaded.spec, plan=plan, findings=findings)


def plan_file(path: Path | str, *, now: datetime | None = None) -> tuple[ClusterSpec, ClusterPlan]:
    """The spec and the plan of a cluster file without errors; its warnings are in the plan.

    Args:
        path: the file.
        now: the time to hold the ends of Capacity Blocks against; None judges no end as past.

    Raises:
        FindingsError: with every fault of the file.
    """
    planned = read_and_plan(path, now=now)
    if planned.spec is None or planned.plan is None:
        raise FindingsError(planned.findings)
    return planned.spec, planned.plan
