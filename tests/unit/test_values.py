"""The lighter `dataclass` against the one of the standard library: no reader or writer of a value sees a difference."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, is_dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.values import dataclass as ours

PAIR = pytest.mark.parametrize("decorator", [ours, dataclasses.dataclass], ids=["ours", "standard"])


@ours(frozen=True, slots=True, kw_only=True)
class Card:
    """With a default, a factory, and fields that are left out of comparisons or of the text."""

    index: int
    kinds: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list, compare=False)
    secret: str = field(default="", repr=False)


@ours(frozen=True, slots=True)
class Span:
    """Positional."""

    first: int
    last: int = 9


@ours(frozen=True, slots=True)
class Wide(Span):
    """A field more than its base."""

    step: int = 1


@ours(frozen=True, slots=True)
class Named:
    """Compares in its own way."""

    name: str

    def __hash__(self):
        return hash(self.name.lower())

    def __eq__(self, other):
        return isinstance(other, Named) and other.name.lower() == self.name.lower()

    def __repr__(self):
        return f"<{self.name}>"


@ours(frozen=True, slots=True, eq=False)
class Thing:
    """Equal to itself only."""

    name: str


@PAIR
def test_a_value_cannot_be_changed(decorator):
    @decorator(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 0

    point = Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'y'"):
        del point.y
    # 3.11 and its followers refuse a name that is no field in different ways.
    with pytest.raises((AttributeError, TypeError)):
        point.z = 3
    assert not hasattr(point, "__dict__")
    assert repr(point).endswith("Point(x=1, y=0)")


@given(st.integers(), st.lists(st.text(max_size=3), max_size=3), st.text(max_size=4))
def test_equal_values_are_equal_and_have_one_hash(index, kinds, secret):
    one, other = (Card(index=index, kinds=tuple(kinds), secret=secret, notes=[str(n)]) for n in (1, 2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != replace(one, index=index + 1)
    assert one != Span(index)


def test_what_reads_dataclasses_reads_these():
    card = Card(index=3, kinds=("efa",), secret="s")
    assert is_dataclass(card)
    assert [each.name for each in fields(card)] == ["index", "kinds", "notes", "secret"]
    assert asdict(card) == {"index": 3, "kinds": ("efa",), "notes": [], "secret": "s"}
    assert repr(card) == "Card(index=3, kinds=('efa',), notes=[])"
    assert copy.copy(card) == copy.deepcopy(card) == pickle.loads(pickle.dumps(card)) == card
    assert replace(card, kinds=()).kinds == ()
    with pytest.raises(TypeError):
        Card(3)


def test_classes_of_others_can_be_derived():
    @dataclasses.dataclass(frozen=True, slots=True)
    class Theirs(Span):
        name: str = ""

    assert Theirs(1, name="a") == Theirs(1, name="a")
    with pytest.raises(FrozenInstanceError):
        Theirs(1).first = 2
    with pytest.raises(FrozenInstanceError):
        Theirs(1).name = "b"
    with pytest.raises(TypeError, match="non-frozen"):
        dataclasses.dataclass(type("Loose", (Span,), {}))


def test_positions_patterns_and_heirs():
    match Wide(1, step=2):
        case Span(first, last):
            assert (first, last) == (1, 9)
        case _:
            pytest.fail("no match")
    assert Wide(1) != Span(1)
    assert repr(Wide(1)) == "Wide(first=1, last=9, step=1)"
    with pytest.raises(FrozenInstanceError):
        Wide(1).first = 2


def test_a_class_keeps_its_own_methods():
    assert Named("A") == Named("a")
    assert len({Named("A"), Named("a")}) == 1
    assert repr(Named("A")) == "<A>"
    assert Thing("a") != Thing("a")


@PAIR
def test_what_is_not_frozen_is_left_to_the_standard_library(decorator):
    @decorator(slots=True)
    class Counter:
        value: int = 0

    counter = Counter()
    counter.value += 1
    assert counter == Counter(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)


@PAIR
def test_order_is_left_to_the_standard_library(decorator):
    @decorator(frozen=True, slots=True, order=True)
    class Version:
        major: int

    assert Version(1) < Version(2)
