"""What was worked out, kept by what was decided on the way.

A reading of a template asks for decisions: does this condition hold, what is this parameter worth. What it works out
depends on the answers and on nothing else. So a memo keeps the questions in the order in which they were asked, and
the result at the end of each row of answers. In another reading the questions are asked again, which makes the same
decisions in the same order as working it out would; where all answers are those of an earlier reading, its result
stands, and where one differs it is worked out anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

__all__ = ["EVERY_READING", "IN_WORK", "Ask", "Leaf", "Likeness", "Memo"]

EVERY_READING = -1
"""Instead of the number of a reading: nothing was asked, so the result holds in all of them."""
IN_WORK = -2
"""Instead of the number of a reading: it is being worked out."""

# As many as the readings of one rule.
_MOST_WAYS = 512

Ask = Callable[[], Any]
Likeness = Callable[[Any], Hashable]


class Leaf:
    """What was worked out: a result, or the exception that it ended in, and the doubts that were noted on the way."""

    __slots__ = ("doubts", "value")

    def __init__(self, value: Any, doubts: tuple[str, ...]) -> None:  # noqa: ANN401 - whatever is worked out
        """Keep the outcome."""
        self.value = value
        self.doubts = doubts


class _Question:
    __slots__ = ("answers", "ask", "key")

    def __init__(self, key: Hashable, ask: Ask) -> None:
        self.key = key
        self.ask = ask
        self.answers: dict[Hashable, _Question | Leaf] = {}


class Memo:
    """The outcomes of one calculation.

    Attributes:
        leaf: the latest outcome.
        reading: the reading for which it holds, or `EVERY_READING`.
    """

    __slots__ = ("_alike", "_first", "_ways", "leaf", "reading")

    leaf: Leaf

    def __init__(self) -> None:
        """Nothing is known yet."""
        self.reading = 0
        self._first: dict[Hashable, _Question | Leaf] = {}
        self._alike: dict[Hashable, Leaf] = {}
        self._ways = 0

    def find(self) -> Leaf | None:
        """The outcome of an earlier reading in which all answers were those of this one."""
        step = self._first.get(None)
        while type(step) is _Question:
            step = step.answers.get(step.ask())
        return step if type(step) is Leaf else None

    def keep(self, asked: Mapping[Hashable, tuple[Ask, Hashable]], leaf: Leaf, likeness: Hashable) -> Leaf:
        """Keep an outcome.

        Args:
            asked: questions in the order in which they were asked, with their answers.
            leaf: the outcome.
            likeness: equal for outcomes that are as good as each other; None when it equals nothing.

        Returns:
            The outcome, or one that is alike: who depends on this calculation need not be worked out anew then.
        """
        if self._ways >= _MOST_WAYS:
            self._first, self._alike, self._ways = {}, {}, 0
        self._ways += 1
        if likeness is not None:
            leaf = self._alike.setdefault(likeness, leaf)
        answers, given = self._first, None
        for key, (ask, answer) in asked.items():
            step = answers.get(given)
            if type(step) is not _Question or step.key != key:
                step = answers[given] = _Question(key, ask)
            answers, given = step.answers, answer
        answers[given] = leaf
        return leaf
