"""Locations in S3 as texts that can be compared although a bucket may be known at deployment only."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

from ultracluster.policy.model import TemplateModel
from ultracluster.policy.states import NotKnown, Opaque
from ultracluster.policy.value import Value

__all__ = ["arn_covers", "marked", "object_in"]

_SCHEME, _OPEN, _CLOSE = "s3://", "\ufff9", "\ufffb"


def marked(parts: Iterable[str | Opaque], template: TemplateModel) -> str:
    """A text in which the same unknown part always has the same mark.

    Raises:
        NotKnown: a part has no name by which it could be told from others.
    """
    return "".join(part if isinstance(part, str) else _mark(part, template) for part in parts)


def _mark(part: Opaque, template: TemplateModel) -> str:
    if part.reference is not None:
        target = part.reference.target
        return f"{_OPEN}{id(target.template)}.{target.logical_id}{_CLOSE}"
    if not part.name:
        raise NotKnown(part.reason)
    return f"{_OPEN}{id(template)}.{part.name}{_CLOSE}"


def object_in(text: str) -> str:
    """Bucket and key of an `s3://` address; empty for any other text."""
    return text.removeprefix(_SCHEME) if text.startswith(_SCHEME) else ""


def arn_covers(resource: Value, place: str) -> bool:
    """Whether the resource of a statement, an ARN with wildcards, covers an object.

    Args:
        resource: an entry of Resource.
        place: bucket and key, with the marks of `marked`.

    Raises:
        NotKnown: it is not known what the statement names.
    """
    text = marked(resource.parts(), resource.place.template)
    name = text.partition(":::")[2] if text.startswith("arn:") else text
    return fnmatch.fnmatchcase(place, name)
