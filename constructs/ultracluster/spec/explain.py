"""Puts pydantic's errors into the user's words: the value, what is needed, the fix, and the id of the rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, get_args

from pydantic_core import PydanticCustomError

from ultracluster.spec.keys import fault
from ultracluster.spec.wording import SHOWN_CHARACTERS, did_you_mean, either, shown, truth_word

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

__all__ = ["explain", "is_explained"]

Fields = Mapping[str, "FieldInfo"]

NEEDED = {
    "bool": "true or false",
    "date": "a date and time with its zone",
    "datetime": "a date and time with its zone",
    "dict": "a mapping of keys to values",
    "float": "a number",
    "int": "a whole number",
    "mapping": "a mapping of keys to values",
    "model": "a mapping of keys to values",
    "string": "text",
    "tuple": "a list",
}
"""What a type of the models is called in a message, by the first word of pydantic's error type."""

LIMITS = {
    "greater_than": ("must be above", "gt"),
    "greater_than_equal": ("is below the smallest value", "ge"),
    "less_than": ("must be below", "lt"),
    "less_than_equal": ("is above the largest value", "le"),
}


def is_explained(error: Mapping[str, Any]) -> bool:
    """Whether a model further inside has put this error into words already."""
    return str(error["type"]).startswith("UC-")


def explain(error: Mapping[str, Any], fields: Fields) -> PydanticCustomError:
    """One error of a model as a fault with id, message and fix.

    Args:
        error: a row of `ValidationError.errors()`.
        fields: the fields of the model that reports it.
    """
    kind = str(error["type"])
    say = _BY_TYPE.get(kind)
    if say is None and kind.endswith("_type") and kind.split("_", 1)[0] in NEEDED:
        say = _wrong_type
    return (say or _other)(error, fields)


def _other(error: Mapping[str, Any], _fields: Fields) -> PydanticCustomError:
    message = f"{shown(error['input'])} is not accepted: {str(error['msg'])[:1].lower()}{str(error['msg'])[1:]}"
    return fault("UC-SPC-005", message.rstrip("."), "")


def _example(key: str, fields: Fields) -> str:
    field = fields.get(key)
    examples = field.examples if field is not None else None
    return f"{key}: {_yaml(examples[0])}" if examples else key


def _yaml(value: object) -> str:
    """An example as it is written in the file, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_yaml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    return shown(value).strip('"')


def _missing(error: Mapping[str, Any], fields: Fields) -> PydanticCustomError:
    key = str(error["loc"][-1])
    return fault("UC-SPC-004", "is needed and not given", f"add {_example(key, fields)}")


def _unknown_key(error: Mapping[str, Any], fields: Fields) -> PydanticCustomError:
    key = str(error["loc"][-1])
    near = did_you_mean(key, fields)
    known = f"the keys here are {', '.join(fields)}" if fields else "no key is known here"
    fix = f"did you mean {near}?" if near else f"remove it; {known}"
    return fault("UC-SPC-003", f"{shown(key)} is not a key of this part of the file", fix, near=near)


def _no_kind(error: Mapping[str, Any], fields: Fields) -> PydanticCustomError:
    key = error["ctx"]["discriminator"].strip("'")
    field = fields.get(str(error["loc"][-1]))
    kinds = [
        choice
        for model in get_args(field.annotation if field is not None else None)
        for choice in get_args(model.model_fields[key].annotation)
    ]
    return fault("UC-SPC-004", f"{key} is needed and not given; there are {', '.join(kinds)}", f"add {key}: {kinds[0]}")


def _unknown_choice(error: Mapping[str, Any], _fields: Fields) -> PydanticCustomError:
    context = error["ctx"]
    expected = str(context.get("expected_tags") or context["expected"])
    choices = [word.strip(" '") for word in expected.replace(" or ", ",").split(",")]
    value = context.get("tag", error["input"])
    near = did_you_mean(value, choices)
    fix = f"did you mean {near}?" if near else f"use {either(choices)}"
    return fault("UC-SPC-006", f"{shown(value)} is not one of the choices: {', '.join(choices)}", fix)


def _wrong_type(error: Mapping[str, Any], _fields: Fields) -> PydanticCustomError:
    value = error["input"]
    needed = NEEDED[str(error["type"]).split("_", 1)[0]]
    if value is None:
        return fault("UC-SPC-005", f"has no value, {needed} is needed", "give it a value or remove the key")
    return fault("UC-SPC-005", f"{shown(value)} is {_kind_of(value)}, {needed} is needed", _retyped(value, needed))


def _kind_of(value: object) -> str:
    match value:
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case dict():
            return "not of that form"
        case _:
            return "not a single value"


def _retyped(value: object, needed: str) -> str:
    """How the same value is written in the type that is needed, where that is plain."""
    text = value if isinstance(value, str) else shown(value)
    if not text.isprintable() or len(text) > SHOWN_CHARACTERS:
        return f"write {needed}"
    if needed == "text" and not isinstance(value, dict | list | tuple):
        return f'write it in quotes: "{text}"'
    if needed == "a list" and isinstance(value, str | int):
        return f"write [{text}]"
    if isinstance(value, str) and "number" in needed and text.replace("_", "").replace(".", "", 1).isdecimal():
        return f"write {text.replace('_', '').lstrip('0') or '0'} without quotes"
    if needed == "true or false" and truth_word(text) is not None:
        return f"write {truth_word(text)}"
    return f"write {needed}"


def _fraction(error: Mapping[str, Any], _fields: Fields) -> PydanticCustomError:
    return fault("UC-SPC-005", f"{shown(error['input'])} is not a whole number", "write a whole number")


def _outside(error: Mapping[str, Any], _fields: Fields) -> PydanticCustomError:
    words, key = LIMITS[str(error["type"])]
    limit = error["ctx"][key]
    return fault("UC-SPC-007", f"{shown(error['input'])} {words} {limit}", _within(words, limit))


def _within(words: str, limit: object) -> str:
    if "smallest" in words:
        return f"use {limit} or more"
    return f"use {limit} or less" if "largest" in words else f"use a value {words.removeprefix('must be ')} {limit}"


def _not_finite(_error: Mapping[str, Any], _fields: Fields) -> PydanticCustomError:
    return fault("UC-SPC-007", "is not a finite number", "write a number")


def _length(error: Mapping[str, Any], _fields: Fields) -> PydanticCustomError:
    context = error["ctx"]
    what = "characters" if str(error["type"]).startswith("string") else "entries"
    if "min_length" in context:
        limit = context["min_length"]
        return fault("UC-SPC-007", f"{shown(error['input'])} has fewer than {limit} {what}", f"give at least {limit}")
    limit = context["max_length"]
    return fault("UC-SPC-007", f"{shown(error['input'])} has more than {limit} {what}", f"give at most {limit}")


def _no_zone(error: Mapping[str, Any], _fields: Fields) -> PydanticCustomError:
    return fault(
        "UC-SPC-008",
        f"{error['input']} has no time zone",
        f"write {error['input'].isoformat()}Z when it is meant in UTC",
    )


Say = Callable[[Mapping[str, Any], Fields], PydanticCustomError]

_BY_TYPE: Mapping[str, Say] = {
    "extra_forbidden": _unknown_key,
    "finite_number": _not_finite,
    "greater_than": _outside,
    "greater_than_equal": _outside,
    "int_from_float": _fraction,
    "less_than": _outside,
    "less_than_equal": _outside,
    "literal_error": _unknown_choice,
    "missing": _missing,
    "string_too_long": _length,
    "string_too_short": _length,
    "timezone_aware": _no_zone,
    "too_long": _length,
    "too_short": _length,
    "union_tag_invalid": _unknown_choice,
    "union_tag_not_found": _no_kind,
}
