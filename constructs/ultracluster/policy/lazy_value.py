"""A value in the world of a reading: what it resolves to, and for how long that holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ultracluster.policy.plain import doubt_of
from ultracluster.policy.resolve import resolve
from ultracluster.policy.states import ABSENT, Node, NotKnown, Path, Text, Unknown
from ultracluster.policy.world import World

if TYPE_CHECKING:
    from ultracluster.policy.value import Value
    from ultracluster.policy.view import Resource

__all__ = ["LazyValue", "dotted", "missing", "shortened"]

_LONG = 60
_EVERY_READING = -1
"""Instead of the number of a reading: what was resolved holds in all of them."""


def dotted(label: Path) -> str:
    """Keys as a person writes them: `NetworkInterfaces[5].DeviceIndex`."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in label)
    return text.removeprefix(".")


def shortened(text: str) -> str:
    """A text on one line that fits a message."""
    line = " ".join(text.split())
    return line if len(line) <= _LONG else f"{line[: _LONG - 3]}..."


def missing(raw: Mapping[str, object], key: str | int) -> object:
    """What stands for a key that an object does not show."""
    for name in raw:
        if name[:4] == "Fn::" and (name == "Fn::Transform" or name.startswith("Fn::ForEach::")):
            return Unknown(f"{name} may add {key}", may_be_absent=True)
    return ABSENT


class LazyValue:
    """The part of a value that follows intrinsics; see `Value`.

    Attributes:
        world: the reading that it belongs to.
        owner: the resource in which it was read; None for sections of a template.
        label: keys from the properties of its owner down to it.
    """

    __slots__ = ("_entries", "_items", "_node", "_reading", "_resolved", "label", "owner", "world")

    def __init__(self, node: Node, world: World, owner: Resource | None, label: Path) -> None:
        """Wrap a node that is resolved on first use."""
        self._node = node
        self._resolved: Node | None = None
        self._reading = _EVERY_READING
        # Entries that were asked for, kept while what this value resolves to holds for every reading.
        self._entries: dict[str | int, Value] = {}
        self._items: list[Value] | None = None
        self.world = world
        self.owner = owner
        self.label = label

    @property
    def node(self) -> Node:
        """The resolved node."""
        reading = self._reading
        if reading == _EVERY_READING and self._resolved is not None:
            return self._resolved
        world = self.world
        if self._resolved is None or reading != world.reading:
            touches = world.touches
            self._resolved = resolve(self._node, world)
            self._reading = _EVERY_READING if world.touches == touches else world.reading
            self._entries = {}
            self._items = None
        else:
            world.touches += 1
        return self._resolved

    @property
    def state(self) -> object:
        """Plain scalar, list, object or a state of `policy.states`; rules seldom need it."""
        return self.node.raw

    @property
    def place(self) -> Node:
        """Where it is written: the branch that was taken, when that stands in the same property."""
        taken = self.node
        written = self._node
        same = taken.template is written.template and taken.path[: len(written.path)] == written.path
        return taken if same else written

    @property
    def written(self) -> object:
        """The value as it is written, intrinsics and all."""
        return self._node.raw

    # What it is

    @property
    def exists(self) -> bool:
        """Whether it is written, and not removed with AWS::NoValue.

        Raises:
            NotKnown: it lies below something that is not known.
        """
        state = self.state
        if isinstance(state, Unknown) and state.may_be_absent:
            raise NotKnown(state.reason)
        return state is not ABSENT

    @property
    def known(self) -> bool:
        """Whether this level is known: a literal, a list, an object, or absent."""
        return doubt_of(self.state) is None

    @property
    def is_list(self) -> bool:
        """Whether it is a list."""
        return isinstance(self.state, list)

    @property
    def is_object(self) -> bool:
        """Whether it is an object."""
        return isinstance(self.state, dict)

    @property
    def is_scalar(self) -> bool:
        """Whether it is a single value that is known, at least in part."""
        return isinstance(self.state, str | int | float | Text)

    @property
    def path(self) -> str:
        """The place in the user's terms, for example `NetworkInterfaces[5].DeviceIndex`."""
        return dotted(self.label)
