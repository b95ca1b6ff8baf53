"""`dataclass` of the standard library, cheaper to define: for the many small frozen classes that one plan needs.

The decorator of the standard library compiles six methods for each frozen class, 0.7 ms a class, and the start of every
app and of `ultracluster plan` defines more than a hundred. Here a frozen class with slots compiles its `__init__` and
shares the rest with its like. It is a dataclass in every respect: `fields`, `replace`, `asdict`, copies, pickles,
patterns and type checkers see no difference.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass

    from _typeshed import DataclassInstance

__all__ = ["dataclass"]


def _set_once(self: object, name: str, value: object) -> None:
    """`__init__` gives each field its value; a second one is refused."""
    if hasattr(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _keep(_self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _show(self: DataclassInstance) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


@cache
def _compared(cls: type[DataclassInstance]) -> Callable[[object], object]:
    """What reads the fields that make two values equal."""
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    return attrgetter(*names) if names else lambda _: ()


def _equal(self: DataclassInstance, other: object) -> object:
    if type(other) is not type(self):
        return NotImplemented
    compared = _compared(type(self))
    return compared(self) == compared(other)


def _hash(self: DataclassInstance) -> int:
    return hash(_compared(type(self))(self))


_SHARED = {"__setattr__": _set_once, "__delattr__": _keep, "__repr__": _show}
_SHARED_BY_EQUALS = {"__eq__": _equal, "__hash__": _hash}

if not TYPE_CHECKING:

    def dataclass(
        cls: type | None = None, /, *, frozen: bool = False, eq: bool = True, slots: bool = False, **options: bool
    ) -> object:
        """The decorator, with the arguments of the standard library.

        Args:
            cls: the class.
            frozen: with `slots`, the class shares its methods; without either it is left to the standard library, and
                so is one that is derived from another dataclass.
            eq: whether instances with the same values are equal.
            slots: see `frozen`.
            **options: all others; nothing is shared when any but `kw_only` is given.
        """
        if cls is None:
            return lambda given: dataclass(given, frozen=frozen, eq=eq, slots=slots, **options)
        derived = any(map(dataclasses.is_dataclass, cls.__mro__[1:]))
        if derived or not (frozen and slots and options.keys() <= {"kw_only"}):
            return dataclasses.dataclass(cls, frozen=frozen, eq=eq, slots=slots, **options)
        for name, method in {**_SHARED, **(_SHARED_BY_EQUALS if eq else {})}.items():
            if vars(cls).get(name) is None:  # a class with its own `__eq__` has None for its hash
                setattr(cls, name, method)
        made = dataclasses.dataclass(cls, eq=False, repr=False, slots=True, **options)
        made.__dataclass_params__.frozen = True  # which classes derived from it have to be, too
        return made
