"""Where in a cluster file a key belongs, for keys that stand in the wrong place."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import get_args

from ultracluster.spec.base import SpecModel
from ultracluster.spec.cluster import ClusterSpec
from ultracluster.spec.paths import Place

__all__ = ["other_place"]

_MAX_PLACES = 2
"""A key that belongs in more places is a common word and says nothing."""


def other_place(place: Place) -> str | None:
    """The part of the file in which a key is known, for example `storage` for `lustre`; None when that says nothing.

    Args:
        place: the place of the key that is unknown there.
    """
    here = ".".join(step for step in place[:-1] if isinstance(step, str))
    places = _places().get(str(place[-1]), ())
    return " or ".join(places) if 0 < len(places) <= _MAX_PLACES and here not in places else None


@cache
def _places() -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for place, model in _models(ClusterSpec, ""):
        for key in model.model_fields:
            entries = places.setdefault(key, [])
            if place and place not in entries:
                entries.append(place)
    return places


def _models(model: type[SpecModel], place: str) -> Iterator[tuple[str, type[SpecModel]]]:
    yield place, model
    for key, field in model.model_fields.items():
        inner = f"{place}.{key}" if place else key
        for part in _parts(field.annotation):
            yield from _models(part, inner)


def _parts(annotation: object) -> Iterator[type[SpecModel]]:
    if isinstance(annotation, type) and issubclass(annotation, SpecModel):
        yield annotation
    for member in get_args(annotation):
        yield from _parts(member)
