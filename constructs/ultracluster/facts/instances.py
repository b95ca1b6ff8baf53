"""Reader of `data/instances.json`: accelerated instance types, each fact with its source, and the look-up by name.

The file is read on the first use and kept. Nothing here is global state: a caller that knows more types passes its own
mapping (`catalog=`), made for example from `catalog()` and `instance_record.from_describe_instance_types`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.facts.instance_type import (
    Disputed,
    InstanceType,
    InterfaceKind,
    NetworkCard,
    NvmeDisk,
    Source,
    UltraServer,
)
from ultracluster.findings import FindingsError, finding

__all__ = [
    "Disputed",
    "InstanceType",
    "InterfaceKind",
    "NetworkCard",
    "NvmeDisk",
    "Source",
    "UltraServer",
    "UnknownInstanceType",
    "catalog",
    "catalog_as_of",
    "instance_type",
    "nearest_types",
    "sources",
]

DATA_FILE = Path(__file__).with_name("data") / "instances.json"


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


class _Catalog(Mapping[str, InstanceType]):
    """Makes the record of a type when somebody asks for it: a cluster has one type or two out of dozens."""

    def __init__(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        self._rows = rows
        self._made: dict[str, InstanceType] = {}

    def __getitem__(self, name: str) -> InstanceType:
        if name not in self._made:
            self._made[name] = _instance_type(name, self._rows[name])
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


@cache
def catalog() -> Mapping[str, InstanceType]:
    """All known types by name, in the order of the data file."""
    return _Catalog(_document()["instances"])


@cache
def sources() -> Mapping[str, Source]:
    """The documents and data sets behind the facts, by the key that the rows use."""
    return {key: Source(key=key, **row) for key, row in _document()["sources"].items()}


def catalog_as_of() -> str:
    """The date (YYYY-MM-DD) on which the catalogue was compiled."""
    return str(_document()["as_of"])


def api_fields() -> frozenset[str]:
    """The fields that follow from a DescribeInstanceTypes record; `scripts/refresh_catalog.py` keeps them in step."""
    return frozenset(_document()["api_fields"])


def kept_fields(name: str) -> frozenset[str]:
    """The API fields of a type for which another source is believed; empty for a type without such a dispute."""
    return frozenset(_document()["instances"].get(name, {}).get("kept", ()))


def card_indexes(text: str) -> tuple[int, ...]:
    """The indexes that the file's short form names: `0-3` is 0, 1, 2, 3 and `1,3` is 1, 3."""
    indexes: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        indexes.extend(range(int(first), int(last or first) + 1))
    return tuple(indexes)


def _cards(groups: list[dict[str, Any]]) -> tuple[NetworkCard, ...]:
    cards = [
        NetworkCard(
            index=index,
            interface_types=tuple(group["interface_types"]),
            max_interfaces=group["max_interfaces"],
            peak_gbps=group["peak_gbps"],
        )
        for group in groups
        for index in card_indexes(group["cards"])
    ]
    return tuple(sorted(cards, key=lambda card: card.index))


def _tuples(row: Mapping[str, list[Any]]) -> dict[str, tuple[Any, ...]]:
    return {key: tuple(value) for key, value in row.items()}


def _layouts(row: Mapping[str, list[list[Any]]]) -> dict[str, tuple[tuple[int, int, str], ...]]:
    return {name: tuple((card, device, kind) for card, device, kind in rows) for name, rows in row.items()}


def _source_keys(row: Mapping[str, str | list[str]]) -> dict[str, tuple[str, ...]]:
    return {name: (keys,) if isinstance(keys, str) else tuple(keys) for name, keys in row.items()}


def _disputed(rows: list[dict[str, Any]]) -> tuple[Disputed, ...]:
    return tuple(
        Disputed(field=row["field"], others=tuple((value, key) for value, key in row["others"]), why=row["why"])
        for row in rows
    )


_READERS: dict[str, Callable[[Any], object]] = {
    "network_cards": _cards,
    "documented_layouts": _layouts,
    "nvme_disks": lambda rows: tuple(NvmeDisk(**row) for row in rows),
    "offered_az_ids": _tuples,
    "ultraservers": lambda rows: tuple(UltraServer(**row) for row in rows),
    "disputed": _disputed,
    "sources": _source_keys,
}


def _instance_type(name: str, row: Mapping[str, Any]) -> InstanceType:
    values: dict[str, Any] = {
        key: _READERS[key](value) if key in _READERS else tuple(value) if isinstance(value, list) else value
        for key, value in row.items()
        if key != "kept"
    }
    price = row["sources"]["on_demand_usd_per_hour"]
    price_as_of = sources()[price].as_of if row["on_demand_usd_per_hour"] else None
    return InstanceType(name=name, price_as_of=price_as_of, **values)


class UnknownInstanceType(FindingsError):  # noqa: N818 - reads as what it is; a FindingsError already
    """The name is in no catalogue; the one finding (UC-SPC-010) names the nearest types.

    Attributes:
        name: the name that was asked for.
        nearest: the nearest known names, best first; empty when none is near.
    """

    def __init__(self, name: str, *, subject: str, nearest: tuple[str, ...], reason: str) -> None:
        """Explain in one finding what is known instead."""
        self.name = name
        self.nearest = nearest
        near = f"use {_or(nearest)}, or " if nearest else ""
        fix = f"{near}add the type with a DescribeInstanceTypes record (instance_type_records)"
        super().__init__((finding("UC-SPC-010", subject, f"{name!r} {reason}", fix),))


def _or(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def instance_type(
    name: str, *, catalog: Mapping[str, InstanceType] | None = None, subject: str = "instance_type"
) -> InstanceType:
    """The facts of one type.

    Args:
        name: the EC2 name, for example `p5.48xlarge`.
        catalog: the types to search; all of `catalog()` by default.
        subject: the path of the value in the user's terms, for the message.

    Raises:
        UnknownInstanceType: no such type; the message names the nearest ones.
    """
    known = _known(catalog)
    found = known.get(name)
    if found is not None:
        return found
    raise UnknownInstanceType(name, subject=subject, nearest=nearest_types(name, catalog=known), reason=_reason(name))


def _known(types: Mapping[str, InstanceType] | None) -> Mapping[str, InstanceType]:
    return catalog() if types is None else types


def _reason(name: str) -> str:
    for row in _document()["announced"]:
        if name.lower().startswith(row["prefix"]):
            return f"is not available: {row['name']} is {row['reason']}"
    return f"is not in the catalogue of {catalog_as_of()}"


def nearest_types(name: str, *, catalog: Mapping[str, InstanceType] | None = None, limit: int = 4) -> tuple[str, ...]:
    """Known names near to a wrong one, best first.

    Family and size are compared apart, so that `p5.48xlarg`, `p7.48xlarge` and `p6.48xlarge` find what was meant
    while a general-purpose type finds nothing. A bare family gives its sizes, the name of an accelerator the types
    that have it.

    Args:
        name: what was asked for.
        catalog: the types to search; all of `catalog()` by default.
        limit: at most so many.
    """
    known = _known(catalog)
    wanted = name.strip().lower().removeprefix("ml.")  # SageMaker's form
    scores = {entry: _likeness(wanted, facts) for entry, facts in known.items()}
    near = [entry for entry, score in scores.items() if score >= _NEAR]
    return tuple(sorted(near, key=lambda entry: -scores[entry])[:limit])


# The size counts less than the family: a name with a strange size still means its family, not another type of
# that size.
_FAMILY_SHARE = 0.6
_NEAR = 0.7
# `p6` for `p6-b200`: before a slip such as `p5` for `p6`.
_GENERATION = 0.9
# Likeness of the whole name from which it counts as a slip of the pen, wherever the dot went.
_SLIP = 0.9


def _likeness(wanted: str, facts: InstanceType) -> float:
    from difflib import SequenceMatcher  # only when something is wrong

    def ratio(one: str, other: str) -> float:
        return SequenceMatcher(None, one, other).ratio()

    whole = ratio(wanted, facts.name)
    family, _, size = wanted.partition(".")
    if family and not size:
        named = family == facts.family or family in facts.accelerator_name.lower().split()
        return 1.0 if named else whole
    known_family, _, known_size = facts.name.partition(".")
    family_likeness = ratio(family, known_family)
    if family and known_family.startswith((family + "-", family + "e-")):
        family_likeness = max(family_likeness, _GENERATION)
    parts = _FAMILY_SHARE * family_likeness + (1 - _FAMILY_SHARE) * ratio(size, known_size)
    return max(parts, whole) if whole >= _SLIP else parts
