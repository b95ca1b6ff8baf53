"""Data repository associations: their siblings, and the bucket and prefix that each of them links."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from ultracluster.policy.graph.file_systems import ASSOCIATION, FILE_SYSTEM, associations_of
from ultracluster.policy.states import NotKnown, Opaque, Reference
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["BUCKET", "Repository", "bucket_of", "events", "repository", "siblings"]

BUCKET = "AWS::S3::Bucket"
_SCHEME = "s3://"
_TOKEN = re.compile("\ufffc(\\d+)\ufffc")


@dataclass(frozen=True, slots=True)
class Repository:
    """What an association links.

    Attributes:
        value: the property.
        bucket: name of the bucket, or how the template calls it; equal texts are equal buckets.
        is_literal: whether that is its name.
        resource: the bucket of the assembly.
        open_prefix: the prefix; None when it is not known.
    """

    value: Value
    bucket: str
    is_literal: bool
    resource: Resource | None
    open_prefix: str | None

    @property
    def prefix(self) -> str:
        """The prefix.

        Raises:
            NotKnown: it is not known.
        """
        if self.open_prefix is None:
            raise NotKnown(f"the prefix in {self.value.shown}")
        return self.open_prefix


@remembered
def siblings(association: Resource) -> list[Resource]:
    """All associations of its file system, itself included, in the order of the templates.

    A file system that is not in the assembly has those that name it in the same way.
    """
    value = association.get("FileSystemId")
    state = value.state
    if isinstance(state, Reference) and state.type == FILE_SYSTEM:
        return associations_of(Resource(state.target, association.world))
    return _by_symbol(association)[value.symbol()]


def _by_symbol(association: Resource) -> Mapping[Hashable, list[Resource]]:
    def make() -> Mapping[Hashable, list[Resource]]:
        found: dict[Hashable, list[Resource]] = {}
        for each in association.assembly.resources(ASSOCIATION):
            found.setdefault(each.get("FileSystemId").symbol(), []).append(each)
        return found

    return association.world.remember("associations by file system", make)


@remembered
def repository(association: Resource) -> Repository | None:
    """What an association links; None when it is certainly no S3 location.

    Raises:
        NotKnown: the path, or how it begins, is not known.
    """
    value = association.get("DataRepositoryPath")
    parts = value.parts()
    first = parts[0] if parts else ""
    if isinstance(first, Opaque):
        raise NotKnown(first.reason)
    if not first.startswith(_SCHEME):
        return None
    opaque = [part for part in parts if isinstance(part, Opaque)]
    marked = "".join(part if isinstance(part, str) else f"\ufffc{opaque.index(part)}\ufffc" for part in parts)
    bucket, _, prefix = marked.removeprefix(_SCHEME).partition("/")
    tokens = [opaque[int(at)] for at in _TOKEN.findall(bucket)]
    names = {at: _name(part, association) for at, part in enumerate(opaque) if part in tokens}
    return Repository(
        value,
        _TOKEN.sub(lambda found: names[int(found.group(1))], bucket),
        not tokens,
        _resource(tokens, bucket, association),
        None if _TOKEN.search(prefix) else prefix.strip("/"),
    )


def _name(part: Opaque, association: Resource) -> str:
    """How the template calls something that is not known; the same text is the same thing."""
    reference = part.reference
    if reference is None and not part.name:
        raise NotKnown(part.reason)
    name = str(reference.logical_id) if reference is not None else part.name
    template = reference.target.template if reference is not None else association.model.template
    alone = len(association.world.assembly.templates) == 1
    return f"${{{name}}}" if alone else f"${{{name} of {PurePath(template.name).name}}}"


def _resource(tokens: list[Opaque], bucket: str, association: Resource) -> Resource | None:
    if not tokens:
        return _by_name(association).get(bucket)
    reference = tokens[0].reference
    is_bucket = reference is not None and reference.type == BUCKET and _TOKEN.fullmatch(bucket)
    return Resource(reference.target, association.world) if reference is not None and is_bucket else None


def _by_name(association: Resource) -> Mapping[str, Resource]:
    def make() -> Mapping[str, Resource]:
        buckets = association.assembly.resources(BUCKET)
        named = ((bucket, bucket.get("BucketName")) for bucket in buckets)
        return {name.text(): bucket for bucket, name in named if name.is_scalar and name.known}

    return association.world.remember("buckets by name", make)


def bucket_of(association: Resource) -> Resource:
    """The bucket of the assembly that an association links.

    Raises:
        NotKnown: it links one of elsewhere, or it is not known what it links.
    """
    found = repository(association)
    if found is None or found.resource is None:
        raise NotKnown(f"bucket {found.bucket if found else ''} is not in the templates".replace("  ", " "))
    return found.resource


def events(association: Resource, policy: str) -> tuple[str, ...]:
    """The events of AutoImportPolicy or AutoExportPolicy; none when the direction is off.

    Raises:
        NotKnown: they are not known.
    """
    return tuple(event.text() for event in association.get("S3", policy, "Events").items())
