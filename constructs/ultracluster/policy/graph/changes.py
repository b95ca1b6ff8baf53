"""Whether an update changes a property."""

from __future__ import annotations

from ultracluster.policy.value import Value

__all__ = ["has_changed"]


def has_changed(before: Value, after: Value, *, ordered: bool = True) -> bool:
    """Whether the value of a property differs between two versions of a template.

    Args:
        before: in the old version.
        after: in the new version.
        ordered: whether the order of a list counts.

    Raises:
        NotKnown: it is written differently, and one of the two is not known.
    """
    if before.written == after.written:
        return False
    if before.is_list and after.is_list and len(before.items()) != len(after.items()):
        return True
    old, new = before.plain(), after.plain()
    if not ordered and isinstance(old, list) and isinstance(new, list):
        return sorted(map(repr, old)) != sorted(map(repr, new))
    return old != new
