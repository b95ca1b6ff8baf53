"""Loads a cluster file: YAML, models, and every fault of the two with path, value, limit, fix, file and line.

Errors raised: `FindingsError` with all faults of the file.
"""

from __future__ import annotations

from pathlib import Path

from ultracluster.findings import Finding, FindingsError
from ultracluster.spec.cluster import ClusterSpec
from ultracluster.spec.locate import located
from ultracluster.spec.parts import ClusterParts, readable_parts
from ultracluster.spec.source import ClusterSource, read_cluster
from ultracluster.values import dataclass

__all__ = ["LoadedCluster", "load_cluster", "load_parts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedCluster:
    """A cluster file as far as it can be read.

    Attributes:
        source: its data and lines.
        parts: the parts that are readable.
        spec: the whole, when no model is faulty.
        findings: the faults so far, without file and line.
    """

    source: ClusterSource
    parts: ClusterParts
    spec: ClusterSpec | None
    findings: tuple[Finding, ...]


def load_parts(path: Path | str) -> LoadedCluster:
    """Read a cluster file and keep what is readable, with the faults of the rest.

    Args:
        path: the file.

    Raises:
        FindingsError: nothing of it can be read (UC-SPC-001).
    """
    source = read_cluster(Path(path))
    parts, spec, findings = readable_parts(source.data)
    return LoadedCluster(source=source, parts=parts, spec=spec, findings=(*source.findings, *findings))


def load_cluster(path: Path | str) -> ClusterSpec:
    """The spec of a cluster file.

    Args:
        path: the file.

    Raises:
        FindingsError: with every fault of its YAML and its models; what only the plan can judge is left to
            `plan_cluster`.
    """
    loaded = load_parts(path)
    if loaded.spec is None or loaded.findings:
        raise FindingsError(located(loaded.findings, loaded.source))
    return loaded.spec
