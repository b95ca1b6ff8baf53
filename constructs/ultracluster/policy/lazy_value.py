"""A value in the world of a reading: what it resolves to, and for how long that holds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

from ultracluster.policy.memo import EVERY_READING, Memo
from ultracluster.policy.plain import doubt_of
from ultracluster.policy.resolve import is_settled, resolve
from ultracluster.policy.states import ABSENT, Node, NotKnown, Path, Text, Unknown
from ultracluster.policy.world import World

if TYPE_CHECKING:
    from ultracluster.policy.value import Value
    from ultracluster.policy.view import Resource

__all__ = ["LazyValue", "dotted", "missing", "shortened"]

_LONG = 60


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


class Held:
    """What a value resolves to.

    Attributes:
        node: the resolved node.
        entries: entries that were asked for.
        items: the entries of a list, where they are the same in every reading.
        memo: the entries of a list otherwise.
    """

    __slots__ = ("entries", "items", "memo", "node")

    def __init__(self, node: Node) -> None:
        """Nothing was asked for yet."""
        self.node = node
        self.entries: dict[str | int, Value] = {}
        self.items: list[Value] | None = None
        self.memo: Memo | None = None


def _likeness(held: Held) -> Hashable:
    """Equal for the same state in the same place, and for the same object or list of a template."""
    node = held.node
    raw = node.raw
    plain = id(raw) if isinstance(raw, dict | list) else raw
    return (type(raw), plain, id(node.template), node.path)


class LazyValue:
    """The part of a value that follows intrinsics; see `Value`.

    Attributes:
        world: the reading that it belongs to.
        owner: the resource in which it was read; None for sections of a template.
        label: keys from the properties of its owner down to it.
    """

    __slots__ = ("_held", "_memo", "_node", "label", "owner", "world")

    def __init__(self, node: Node, world: World, owner: Resource | None, label: Path) -> None:
        """Wrap a node that is resolved on first use."""
        self._node = node
        # What it resolves to in every reading; None while that is not known, or depends on decisions.
        self._held: Held | None = None
        self._memo: Memo | None = None
        self.world = world
        self.owner = owner
        self.label = label

    @property
    def held(self) -> Held:
        """What it resolves to in this reading."""
        if self._held is not None:
            return self._held
        if is_settled(self._node.raw):
            self._held = Held(self._node)
            return self._held
        memo = self._memo
        if memo is None:
            memo = self._memo = Memo()
        found: Held = self.world.give(self.world.recall(memo, self._hold, _likeness))
        if memo.reading == EVERY_READING:
            self._held = found
        return found

    def _hold(self) -> Held:
        return Held(resolve(self._node, self.world))

    @property
    def node(self) -> Node:
        """The resolved node."""
        return self.held.node

    @property
    def state(self) -> object:
        """Plain scalar, list, object or a state of `policy.states`; rules seldom need it."""
        held = self._held  # known in nearly all cases, and nothing is asked more often
        return (held if held is not None else self.held).node.raw

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
