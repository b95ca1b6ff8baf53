"""Rules about keys that exclude or need each other, as small functions over the keys that a mapping gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pydantic_core import PydanticCustomError

from ultracluster.spec.wording import either

__all__ = ["KeyFault", "KeyRule", "at_most_one", "exactly_one", "fault", "needs"]

KeyFault = tuple[str, PydanticCustomError]
"""The key at fault (empty for the mapping itself) and what is wrong."""

KeyRule = Callable[[Mapping[str, object]], Iterator[KeyFault]]
"""Takes the keys that are given a value and yields the faults."""


def fault(rule_id: str, message: str, fix: str, *, near: str | None = None) -> PydanticCustomError:
    """An error of a model that carries its rule id and its fix.

    Args:
        rule_id: an id of the registry.
        message: the value and the limit; lower case, no final period.
        fix: what would be right; lower case, no final period.
        near: the key that a misspelt one probably stands for.
    """
    return PydanticCustomError(rule_id, "{message}", {"message": message, "fix": fix, "near": near})


def at_most_one(*keys: str) -> KeyRule:
    """Of these keys one at most is given."""

    def rule(given: Mapping[str, object]) -> Iterator[KeyFault]:
        found = [key for key in keys if key in given]
        for extra in found[1:]:
            yield (
                extra,
                fault("UC-SPC-009", f"stands beside {found[0]}, and only one of them can be", f"keep {either(found)}"),
            )

    return rule


def exactly_one(*keys: str, example: str) -> KeyRule:
    """Of these keys one is given, and only one.

    Args:
        keys: the alternatives.
        example: how the usual one is written.
    """
    not_two = at_most_one(*keys)

    def rule(given: Mapping[str, object]) -> Iterator[KeyFault]:
        if not any(key in given for key in keys):
            yield "", fault("UC-SPC-004", f"one of {either(keys)} is needed and neither is given", f"add {example}")
        yield from not_two(given)

    return rule


def needs(key: str, *others: str) -> KeyRule:
    """A key makes sense only beside each of the others."""

    def rule(given: Mapping[str, object]) -> Iterator[KeyFault]:
        for other in others:
            if key in given and other not in given:
                yield key, fault("UC-SPC-009", f"has no meaning without {other}", f"add {other}, or drop {key}")

    return rule
