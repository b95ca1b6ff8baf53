"""Questions of which one answer decides, whatever else is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from ultracluster.policy.states import NotKnown

__all__ = ["any_known"]

_T = TypeVar("_T")


def any_known(values: Iterable[_T], holds: Callable[[_T], bool]) -> bool:
    """Whether something certainly holds for one of the values.

    Raises:
        NotKnown: it holds for none that is known, and one is not known.
    """
    doubt: NotKnown | None = None
    for value in values:
        try:
            if holds(value):
                return True
        except NotKnown as found:
            doubt = found
    if doubt is not None:
        raise doubt
    return False
