"""The parts of a cluster file that can be read, so that a fault in one part does not hide the faults of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from ultracluster.findings import Finding, finding
from ultracluster.spec.cluster import ClusterSpec
from ultracluster.spec.fleet import FleetSpec
from ultracluster.spec.locate import model_findings, unknown_keys
from ultracluster.spec.lustre import LustreSpec
from ultracluster.spec.network import NetworkSpec
from ultracluster.spec.observability import ObservabilitySpec
from ultracluster.spec.paths import Place, path_text
from ultracluster.spec.storage import BucketSpec, HomeSpec
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.spec.base import SpecModel

__all__ = ["ClusterParts", "parts_of", "readable_parts"]

Model = TypeVar("Model", bound="SpecModel")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterParts:
    """What of a cluster file could be read; list entries keep their index in the file.

    Attributes:
        name: name of the cluster.
        region: its Region; None when that is faulty.
        network: None when the network is faulty.
        fleets: readable fleets by index, and so on.
        storage_names: names under which file systems are declared, those of faulty entries too, so that a mention of
            one is not called unknown.
        bucket_names: likewise for buckets.
    """

    name: str | None
    region: str | None
    instance_type_records: tuple[str, ...] = ()
    network: NetworkSpec | None
    fleets: Mapping[int, FleetSpec]
    lustre: Mapping[int, LustreSpec]
    home: HomeSpec | None
    buckets: Mapping[int, BucketSpec]
    observability: ObservabilitySpec | None
    storage_names: tuple[str, ...]
    bucket_names: tuple[str, ...]


def parts_of(spec: ClusterSpec) -> ClusterParts:
    """All parts of a spec without faults."""
    storage = spec.storage
    return ClusterParts(
        name=spec.name,
        region=spec.region,
        instance_type_records=spec.instance_type_records,
        network=spec.network,
        fleets=dict(enumerate(spec.fleets)),
        lustre=dict(enumerate(storage.lustre)),
        home=storage.home,
        buckets=dict(enumerate(storage.buckets)),
        observability=spec.observability,
        storage_names=(*(entry.name for entry in storage.lustre), *(("home",) if storage.home else ())),
        bucket_names=tuple(entry.name for entry in storage.buckets),
    )


def readable_parts(data: Mapping[str, object]) -> tuple[ClusterParts, ClusterSpec | None, tuple[Finding, ...]]:
    """What can be read of plain data: the parts, the whole spec when nothing is wrong, and the faults of the models.

    Args:
        data: the plain data of a cluster file.
    """
    empty = tuple(_empty_values(data))
    try:
        spec = ClusterSpec.model_validate(data)
    except ValidationError as error:
        faulty = {str(found["loc"][0]) for found in error.errors(include_url=False) if found["loc"]}
        told = {found.subject for found in empty}
        more = [found for found in model_findings(error, data) if found.subject not in told]
        return _salvaged(data, faulty), None, (*empty, *more)
    return parts_of(spec), None if empty else spec, empty


def _empty_values(data: object, place: Place = ()) -> Iterator[Finding]:
    """Keys without a value. The models take nothing for "not given", but who leaves a key empty means something."""
    if data is None:
        fix = (
            "give it a value or remove the key" if isinstance(place[-1], str) else "give it a value or remove the entry"
        )
        yield finding("UC-SPC-005", path_text(place), "has no value", fix)
    for key, value in _entries(data).items() if isinstance(data, list | tuple) else _mapping(data).items():
        yield from _empty_values(value, (*place, key))


def _salvaged(data: Mapping[str, object], faulty: set[str]) -> ClusterParts:
    """Each part on its own; its faults are told already, so a part that does not validate is left out."""
    storage = _mapping(data.get("storage"))
    lustre = _entries(storage.get("lustre"))
    buckets = _entries(storage.get("buckets"))
    home = storage.get("home")
    return ClusterParts(
        name=_text(data, "name", faulty),
        region=_text(data, "region", faulty),
        instance_type_records=_records(data, faulty),
        network=_model(NetworkSpec, data.get("network")),
        fleets=_models(FleetSpec, _entries(data.get("fleets"))),
        lustre=_models(LustreSpec, lustre),
        home=None if home is None else _model(HomeSpec, home),
        buckets=_models(BucketSpec, buckets),
        observability=_model(ObservabilitySpec, data.get("observability", {})),
        storage_names=(*_names(lustre), *(("home",) if home is not None else ())),
        bucket_names=tuple(_names(buckets)),
    )


def _text(data: Mapping[str, object], key: str, faulty: set[str]) -> str | None:
    value = None if key in faulty else data.get(key)
    return value if isinstance(value, str) else None


def _records(data: Mapping[str, object], faulty: set[str]) -> tuple[str, ...]:
    key = "instance_type_records"
    return () if key in faulty else tuple(map(str, _entries(data.get(key)).values()))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _entries(value: object) -> Mapping[int, object]:
    return dict(enumerate(value)) if isinstance(value, list | tuple) else {}


def _names(entries: Mapping[int, object]) -> Iterator[str]:
    for entry in entries.values():
        name = _mapping(entry).get("name")
        if isinstance(name, str):
            yield name


def _model(kind: type[Model], value: object) -> Model | None:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        unknown = unknown_keys(error, value)
    # A misspelt key must not hide the faults of the rest of its part: read it as it was meant.
    mended = _mended(value, unknown)
    return None if mended == value else _model(kind, mended)


def _mended(value: object, unknown: Mapping[Place, str | None]) -> object:
    """The value with its unknown keys renamed to what they probably mean, or left out."""
    mended = deepcopy(value)
    for (*parents, key), near in unknown.items():
        inside: Any = mended
        for step in parents:
            inside = inside[step]
        kept = inside.pop(key, None)
        if near is not None and kept is not None:
            inside.setdefault(near, kept)
    return mended


def _models(kind: type[Model], entries: Mapping[int, object]) -> dict[int, Model]:
    found = {index: _model(kind, value) for index, value in entries.items()}
    return {index: model for index, model in found.items() if model is not None}
