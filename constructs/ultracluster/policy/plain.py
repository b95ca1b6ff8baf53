"""Whole values as plain JSON, every intrinsic below them resolved."""

from __future__ import annotations

from ultracluster.policy.resolve import list_items, resolve
from ultracluster.policy.states import ABSENT, Encoded, Node, NotKnown, Opaque, Reference, Text, Unknown
from ultracluster.policy.world import World

__all__ = ["doubt_of", "plain"]


def plain(node: Node, world: World) -> object:
    """The value with everything below it.

    Raises:
        NotKnown: something in it is known at deployment only.
    """
    state = resolve(node, world)
    raw = state.raw
    if isinstance(raw, dict):
        with world.deeper():
            entries = {key: plain(state.child(key, inner), world) for key, inner in raw.items()}
        return {key: value for key, value in entries.items() if value is not ABSENT}
    if isinstance(raw, list):
        with world.deeper():
            return [plain(item, world) for item in list_items(state, world)]
    reason = doubt_of(raw)
    if reason is not None:
        raise NotKnown(reason)
    return raw


def doubt_of(raw: object) -> str | None:
    """Why a resolved value is not known; None when it is."""
    if isinstance(raw, Unknown | Text | Opaque):
        return raw.reason
    if isinstance(raw, Reference):
        return f"{raw} is known at deployment only"
    return "an encoded text" if isinstance(raw, Encoded) else None
