"""Reader of `data/s3.json`: storage classes of S3 that a life-cycle rule can move objects to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ultracluster.values import dataclass

__all__ = ["StorageClassFacts", "storage_class", "storage_classes"]

DATA_FILE = Path(__file__).with_name("data") / "s3.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageClassFacts:
    """One storage class.

    Attributes:
        name: as the API spells it.
        earliest_days: fewest days after creation at which a life-cycle rule may move an object there.
        billed_days: fewest days that are billed.
        stay_days: fewest days an object has to stay before a rule may move it on.
        readable_at_once: whether an object can be read without being restored first.
        moves_on_to: names of the classes to which a later rule can move objects from there.
    """

    name: str
    earliest_days: int
    billed_days: int
    stay_days: int
    readable_at_once: bool
    moves_on_to: tuple[str, ...]


@cache
def storage_classes() -> Mapping[str, StorageClassFacts]:
    """All classes by name."""
    rows = json.loads(DATA_FILE.read_text(encoding="utf-8"))["storage_classes"]
    return {
        name: StorageClassFacts(
            name=name,
            earliest_days=row["earliest_days"],
            billed_days=row["billed_days"],
            stay_days=row["stay_days"],
            readable_at_once=row["readable_at_once"],
            moves_on_to=tuple(row["moves_on_to"]),
        )
        for name, row in rows.items()
    }


def storage_class(name: str) -> StorageClassFacts | None:
    """One class, or `None` when S3 has none of that name."""
    return storage_classes().get(name)
