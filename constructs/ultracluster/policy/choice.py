"""One decision of a world, and how the other ways to take it are explored."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Enum
from typing import Any

__all__ = ["Choice", "ChoiceKind"]


class ChoiceKind(Enum):
    """How the options of a choice are explored."""

    ALLOWED_VALUE = "allowed value"
    """A parameter with AllowedValues: one at a time, the others at their default."""
    EITHER_WAY = "either way"
    """Anything else: every combination."""


class Choice:
    """One decision of a world.

    Attributes:
        key: what was decided.
        options: all options, the default one first.
        taken: index of the one that was taken.
        kind: how the others are explored.
        has_default: whether the first option is what the author of the template set as default.
    """

    __slots__ = ("_tell", "has_default", "key", "kind", "options", "taken")

    def __init__(
        self,
        key: Hashable,
        options: tuple[Any, ...],
        taken: int,
        kind: ChoiceKind,
        tell: Callable[[Any], str],
        *,
        has_default: bool,
    ) -> None:
        """Keep a decision."""
        self.key = key
        self.options = options
        self.taken = taken
        self.kind = kind
        self.has_default = has_default
        self._tell = tell

    @property
    def at_default(self) -> bool:
        """Whether the default was taken."""
        return self.taken == 0 and self.has_default

    @property
    def told(self) -> str:
        """How the decision reads in a finding."""
        return self._tell(self.options[self.taken])
