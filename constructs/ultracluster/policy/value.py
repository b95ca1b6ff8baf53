"""A property as rules see it: read lazily, in the world of the reading, with its place in the template."""

from __future__ import annotations

import math
from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, TypeVar, overload

from ultracluster.policy.conditions import symbol_of
from ultracluster.policy.lazy_value import LazyValue, dotted, missing, shortened
from ultracluster.policy.memo import Memo
from ultracluster.policy.parameters import as_text
from ultracluster.policy.plain import doubt_of, plain
from ultracluster.policy.resolve import is_settled, list_entries
from ultracluster.policy.states import ABSENT, Encoded, NotKnown, Opaque, Reference, Text, Unknown
from ultracluster.policy.world import World

if TYPE_CHECKING:
    from ultracluster.policy.view import Resource

__all__ = ["Value", "dotted", "shortened"]

_T = TypeVar("_T")


class _Needed:
    """Marks a default that was not given."""


_NEEDED: Final = _Needed()
_TRUTH = {"true": True, "false": False}


class _Apart:
    """Notes a doubt and goes on."""

    __slots__ = ("_world",)

    def __init__(self, world: World) -> None:
        self._world = world

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Keep the reason of a doubt; let everything else through."""
        if isinstance(error, NotKnown):
            self._world.doubts.append(error.reason)
            return True
        return False


class Value(LazyValue):
    """One property, or one entry of a list, or something below.

    Reading never fails on strange input. Asking for a literal (`text`, `integer`, ...) of something that only the
    deployment knows raises `NotKnown`, which ends the rule for this resource as *not judged*. A default answers for
    absence alone.

    Attributes:
        world: the reading that it belongs to.
        owner: the resource in which it was read; None for sections of a template.
        label: keys from the properties of its owner down to it.
    """

    __slots__ = ()

    # Down

    def get(self, *keys: str | int) -> Value:
        """A value below; one that is absent when a key is missing on the way."""
        found = self
        for key in keys:
            found = found[key]
        return found

    def __getitem__(self, key: str | int) -> Value:
        """One entry of an object or list; one that is absent when it is not there."""
        held = self._held or self.held
        known = held.entries.get(key)
        if known is not None:
            return known
        node = held.node
        raw = node.raw
        if isinstance(raw, list) and isinstance(key, int):
            items = self.items()
            if key < len(items):
                return items[key]
            inner: object = ABSENT
        elif isinstance(raw, dict):
            inner = raw[key] if key in raw else missing(raw, key)
        elif raw is ABSENT:
            inner = ABSENT
        else:
            inner = Unknown(doubt_of(raw) or "a single value in the place of an object", may_be_absent=True)
        found = Value(node.child(key, inner), self.world, self.owner, (*self.label, key))
        held.entries[key] = found
        return found

    def items(self) -> list[Value]:
        """The entries of a list, those under AWS::NoValue left out; none when the list is absent.

        Raises:
            NotKnown: it is no list, or not known.
        """
        held, world = self.held, self.world
        if held.node.raw is ABSENT:
            return []
        if held.items is None and isinstance(held.node.raw, list) and all(map(is_settled, held.node.raw)):
            held.items = self._listed()
        if held.items is not None:
            return list(held.items)
        if held.memo is None:
            held.memo = Memo()
        return list(world.give(world.recall(held.memo, self._listed)))

    def _listed(self) -> list[Value]:
        entries = list_entries(self.node, self.world)
        return [Value(item, self.world, self.owner, (*self.label, at)) for at, item in entries]

    def one_or_many(self) -> list[Value]:
        """The entries of a list, or the single value alone, as IAM policies write it; none when absent."""
        if self.state is ABSENT:
            return []
        return self.items() if self.is_list else [self]

    def fields(self) -> dict[str, Value]:
        """The entries of an object that exist; empty when it is absent.

        Raises:
            NotKnown: it is no object, or not known.
        """
        raw = self.state
        if raw is ABSENT:
            return {}
        if not isinstance(raw, dict):
            raise NotKnown(doubt_of(raw) or "a single value or list in the place of an object")
        return {key: value for key in raw if (value := self.get(key)).exists}

    # Literals

    @overload
    def text(self) -> str: ...
    @overload
    def text(self, default: _T) -> str | _T: ...
    def text(self, default: object = _NEEDED) -> object:
        """The text; numbers and booleans as CloudFormation writes them.

        Args:
            default: the answer when it is absent.

        Raises:
            NotKnown: not known, no single value, or absent without a default.
        """
        state = self.state
        if type(state) is str:
            return state
        if state is ABSENT:
            return self._default(default)
        text = as_text(state)
        if text is None:
            raise NotKnown(doubt_of(state) or "a list or object in the place of a text")
        return text

    @overload
    def integer(self) -> int: ...
    @overload
    def integer(self, default: _T) -> int | _T: ...
    def integer(self, default: object = _NEEDED) -> object:
        """The whole number, also when it is written as a text.

        Raises:
            NotKnown: not known, no whole number, or absent without a default.
        """
        state = self.state
        if type(state) is int:
            return state
        if state is ABSENT:
            return self._default(default)
        number = self.number()
        if number != int(number):
            raise NotKnown(f"{number} in the place of a whole number")
        return int(number)

    @overload
    def number(self) -> float: ...
    @overload
    def number(self, default: _T) -> float | _T: ...
    def number(self, default: object = _NEEDED) -> object:
        """The number, also when it is written as a text.

        Raises:
            NotKnown: not known, no number, or absent without a default.
        """
        state = self.state
        if state is ABSENT:
            return self._default(default)
        text = self.text()
        try:
            number = float(text)
        except ValueError:
            raise NotKnown(f"{shortened(text)} in the place of a number") from None
        if isinstance(state, bool) or not math.isfinite(number):
            raise NotKnown(f"{text} in the place of a number")
        return number

    @overload
    def boolean(self) -> bool: ...
    @overload
    def boolean(self, default: _T) -> bool | _T: ...
    def boolean(self, default: object = _NEEDED) -> object:
        """The truth, also when it is written as a text.

        Raises:
            NotKnown: not known, neither true nor false, or absent without a default.
        """
        state = self.state
        if state is True or state is False:
            return state
        if state is ABSENT:
            return self._default(default)
        truth = _TRUTH.get(self.text().lower())
        if truth is None:
            raise NotKnown(f"{shortened(self.text())} in the place of true or false")
        return truth

    def plain(self) -> object:
        """Everything below as plain JSON values; None when it is absent.

        Raises:
            NotKnown: something in it is not known.
        """
        found = plain(self.node, self.world)
        return None if found is ABSENT else found

    def _default(self, default: object) -> object:
        if default is _NEEDED:
            raise NotKnown(f"{self.path or 'a value'} is absent")
        return default

    # Texts that are known in part

    def parts(self) -> tuple[str | Opaque, ...]:
        """The text in parts, what is not known as `Opaque`; through Fn::Base64; empty when absent.

        Raises:
            NotKnown: it is no text at all, or one of which nothing is known.
        """
        state = self.state
        if isinstance(state, Encoded):
            return Value(state.inner, self.world, self.owner, self.label).parts()
        if state is ABSENT:
            return ()
        if isinstance(state, Text):
            return state.parts
        if isinstance(state, Reference):
            return (Opaque(f"{state} is known at deployment only", state, str(state)),)
        return (self.text(),)

    def known_text(self, mark: str = "\ufffc") -> str:
        """The text with `mark` in the place of every part that is not known."""
        return "".join(part if isinstance(part, str) else mark for part in self.parts())

    def prefix(self) -> str:
        """The known text before the first part that is not known."""
        parts = self.parts()
        return parts[0] if parts and isinstance(parts[0], str) else ""

    @property
    def is_encoded(self) -> bool:
        """Whether it is Fn::Base64 of something."""
        return isinstance(self.state, Encoded)

    # References

    def reference(self) -> Reference | None:
        """The resource and attribute that it names; None for a literal or an absent value.

        Raises:
            NotKnown: it is not known what it is, for example an import from a stack that is not at hand.
        """
        state = self.state
        if isinstance(state, Reference):
            return state
        if isinstance(state, Unknown):
            raise NotKnown(state.reason)
        return None

    def resource(self, *types: str) -> Resource | None:
        """The resource that it names, when it is one of these types (any without types); else None.

        Raises:
            NotKnown: as `reference`.
        """
        found = self.reference()
        if found is None or (types and found.type not in types):
            return None
        from ultracluster.policy.view import Resource

        return Resource(found.target, self.world)

    def symbol(self) -> Hashable:
        """A mark for comparing values that may not be known: equal marks are equal values for certain.

        Different marks are different values only where both are literals (`("literal", text)`).
        """
        state = self.state
        if isinstance(state, Reference):
            return ("reference", id(state.target), state.attribute)
        if isinstance(state, Unknown) and state.symbol is not None:
            return state.symbol
        if isinstance(state, Text):
            return ("text", state.parts)
        text = as_text(state)
        return ("literal", text) if text is not None else symbol_of(self.node)

    # Report

    @property
    def shown(self) -> str:
        """The value in short, for a message."""
        state = self.state
        if state is ABSENT:
            return "absent"
        if isinstance(state, str | Text):
            return shortened("".join(p if isinstance(p, str) else f"<{p.name or '?'}>" for p in self.parts()))
        if isinstance(state, list):
            return f"a list of {len(state)}"
        if isinstance(state, Reference):
            return str(state)
        return "an object" if isinstance(state, dict) else shortened(as_text(state) or str(doubt_of(state)))

    def judged_apart(self) -> AbstractContextManager[None]:
        """A part of a rule that may end as not judged without ending the rest."""
        return _Apart(self.world)

    def __repr__(self) -> str:
        """For debugging."""
        return f"<Value {self.path}: {self.shown}>"
