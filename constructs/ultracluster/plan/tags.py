"""Tags within what AWS takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from ultracluster.facts.compute_limits import limit
from ultracluster.findings import Finding, finding

__all__ = ["check_tag", "check_tag_count", "is_plain"]

_RESERVED = "aws:"


def check_tag_count(count: int, *, subject: str) -> tuple[Finding, ...]:
    """UC-TPL-011 when a resource has more tags than a user can give it."""
    most = limit("resource_tags")
    if count <= most:
        return ()
    return (finding("UC-TPL-011", subject, f"{count} tags, a resource takes {most}"),)


def check_tag(key: str | None, value: str | None, *, subject: str) -> tuple[Finding, ...]:
    """UC-TPL-011 for a tag that is too long or has a reserved key.

    Args:
        key: of the tag; None when it is not known.
        value: likewise.
        subject: the tag's path in the user's terms.
    """
    return tuple(_faults(key, value, subject))


def _faults(key: str | None, value: str | None, subject: str) -> Iterator[Finding]:
    if key is not None and key.lower().startswith(_RESERVED):
        yield finding("UC-TPL-011", subject, f"{key} begins with {_RESERVED}, which AWS keeps for itself")
    for text, name, what in ((key, "tag_key_length", "key"), (value, "tag_value_length", "value")):
        if text is not None and len(text) > limit(name):
            message = f"the {what} {text[:20]}... has {len(text)} characters, {limit(name)} are allowed"
            yield finding("UC-TPL-011", subject, message)


def is_plain(tags: Iterable[tuple[object, object]]) -> bool:
    """A quick look at tags: whether their keys are literals and none can be at fault.

    A value that is no literal is put together at deployment and has no length yet.
    """
    most, most_key, most_value = _limits()
    count = 0
    for key, value in tags:
        count += 1
        if not isinstance(key, str) or len(key) > most_key or key[:4].lower() == _RESERVED:
            return False
        if isinstance(value, str) and len(value) > most_value:
            return False
    return count <= most


@cache
def _limits() -> tuple[int, int, int]:
    return limit("resource_tags"), limit("tag_key_length"), limit("tag_value_length")
