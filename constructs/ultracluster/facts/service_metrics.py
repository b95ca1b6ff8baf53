"""Reader of `data/service_metrics.json`: metrics of AWS services, each with the one dimension set that has data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ultracluster.values import dataclass

__all__ = ["ServiceMetric", "service_metric", "service_metrics"]

DATA_FILE = Path(__file__).with_name("data") / "service_metrics.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceMetric:
    """One metric of a service.

    Attributes:
        namespace: for example `AWS/FSx`.
        name: as in CloudWatch.
        dimensions: names of the dimension set; any other set has no data.
        about: what it says.
        source: key of the source.
        needs: what has to be switched on for it to exist.
        storage: storage types of a file system that publish it; empty when all do.
    """

    namespace: str
    name: str
    dimensions: tuple[str, ...]
    about: str
    source: str
    needs: str | None = None
    storage: tuple[str, ...] = ()


@cache
def service_metrics() -> Mapping[tuple[str, str], ServiceMetric]:
    """The table by namespace and name."""
    rows = json.loads(DATA_FILE.read_text(encoding="utf-8"))["metrics"]
    metrics = (
        ServiceMetric(**row | {"dimensions": tuple(row["dimensions"]), "storage": tuple(row.get("storage", ()))})
        for row in rows
    )
    return {(metric.namespace, metric.name): metric for metric in metrics}


def service_metric(namespace: str, name: str) -> ServiceMetric:
    """One metric.

    Raises:
        KeyError: not in the table.
    """
    return service_metrics()[namespace, name]
