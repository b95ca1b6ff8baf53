"""What every model of the cluster file has in common: strict types, no unknown keys, and faults in the user's words.

A model explains its own errors where its fields are known, so the same text reaches the reader of a cluster file and
the caller of `FleetSpec(...)`. Each error carries the id of its rule and the change that would make it right.

Errors raised: `pydantic.ValidationError` (a `ValueError`) from every model; the loader turns it into findings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, Strict, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from ultracluster.spec.explain import explain, is_explained
from ultracluster.spec.keys import KeyRule
from ultracluster.spec.wording import did_you_mean

__all__ = ["Many", "SpecModel"]

Item = TypeVar("Item")

Many = Annotated[tuple[Item, ...], Strict(False)]
"""A list in the file, a tuple in the model; its items stay strict."""


class SpecModel(BaseModel):
    """A part of the cluster file: strict, frozen, without unknown keys."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)

    key_rules: ClassVar[tuple[KeyRule, ...]] = ()
    """Which keys exclude or need each other; judged also when a field of the model is faulty."""

    @model_validator(mode="wrap")
    @classmethod
    def _explain_all(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Judge the fields and the key rules together, and put every error into the user's words."""
        faults = cls._key_faults(data)
        try:
            model = handler(data)
        except ValidationError as error:
            meant = cls._meant(data)
            own = [_details(cls, found) for found in error.errors(include_url=False) if not _is_echo(found, meant)]
            raise ValidationError.from_exception_data(cls.__name__, [*own, *faults]) from None
        if faults:
            raise ValidationError.from_exception_data(cls.__name__, faults)
        return model

    @classmethod
    def _meant(cls, data: object) -> frozenset[str]:
        """The keys that misspelt ones probably stand for: they are not called missing too."""
        if not isinstance(data, Mapping):
            return frozenset()
        near = (did_you_mean(key, cls.model_fields) for key in data if key not in cls.model_fields)
        return frozenset(key for key in near if key is not None and key not in data)

    @classmethod
    def _key_faults(cls, data: object) -> list[InitErrorDetails]:
        if not isinstance(data, Mapping) or not cls.key_rules:
            return []
        given = {str(key): value for key, value in data.items() if value is not None}
        given.update(dict.fromkeys(cls._meant(data)))
        return [
            InitErrorDetails(type=fault, loc=(key,) if key else (), input=given.get(key))
            for rule in cls.key_rules
            for key, fault in rule(given)
        ]


def _is_echo(error: Mapping[str, object], meant: frozenset[str]) -> bool:
    """Whether an error only follows from others that are told already.

    A list is called too short when some of its entries are faulty, and a key is called missing when it is misspelt.
    """
    if error["type"] == "missing":
        loc = error["loc"]
        return isinstance(loc, tuple) and len(loc) == 1 and loc[0] in meant
    context = error.get("ctx")
    given = error["input"]
    if error["type"] != "too_short" or not isinstance(context, dict) or not isinstance(given, list | tuple):
        return False
    return len(given) >= int(context["min_length"])


def _details(model: type[SpecModel], error: Mapping[str, object]) -> InitErrorDetails:
    """The same error, explained; one that a model further inside explained already is passed on as it is."""
    loc = cast("tuple[int | str, ...]", error["loc"])
    if is_explained(error):
        context = error["ctx"]
        fault = PydanticCustomError(str(error["type"]), "{message}", context)  # type: ignore[arg-type]
        return InitErrorDetails(type=fault, loc=loc, input=error["input"])
    return InitErrorDetails(type=explain(error, model.model_fields), loc=loc, input=error["input"])
