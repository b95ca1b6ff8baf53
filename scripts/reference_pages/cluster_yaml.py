"""`cluster-yaml.md`: every key of the cluster file, from the JSON Schema that its models give."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from reference_pages.markdown import anchor, code, page, prose, section, table
from ultracluster.spec import forms
from ultracluster.spec.schema import cluster_schema

__all__ = ["cluster_yaml_page"]

Schema = Mapping[str, Any]

_INTRO = """
What a cluster file may say. Keys that are not listed here are refused with the nearest name that exists; all faults of
a file are reported together, each with its line. `constructs/ultracluster/spec/cluster.schema.json` holds the same as
a JSON Schema, so an editor can complete and check the file while it is written.

`[]` marks an entry of a list. *Required* keys have no default.
"""
_FORMS = """
Types that are named in italics are texts of a fixed form.
"""


def cluster_yaml_page() -> str:
    """The page."""
    schema = cluster_schema()
    places = dict(_places(schema, schema["$defs"], ""))
    parts = [
        section(_heading(place), prose(model["description"]), _keys(place, model, places))
        for place, model in places.items()
    ]
    return page("cluster.yaml", _INTRO, *parts, section("Forms of text", _FORMS, _forms()))


def _heading(place: str) -> str:
    return code(place) if place else "The file"


def _places(model: Schema, models: Mapping[str, Schema], place: str) -> Iterator[tuple[str, Schema]]:
    """Every mapping of the file by its place, outer ones first."""
    yield place, model
    for key, field in model["properties"].items():
        inner = f"{place}.{key}" if place else key
        if "discriminator" in field:
            for kind, reference in field["discriminator"]["mapping"].items():
                yield from _places(_find(reference, models), models, f"{inner} ({kind})")
            continue
        for reference in _references(field):
            yield from _places(_find(reference, models), models, f"{inner}[]" if "items" in field else inner)


def _find(reference: str, models: Mapping[str, Schema]) -> Schema:
    return models[reference.rpartition("/")[2]]


def _references(field: Schema) -> Iterator[str]:
    if "$ref" in field:
        yield field["$ref"]
    for member in (field.get("items"), *field.get("anyOf", ()), *field.get("oneOf", ())):
        if member:
            yield from _references(member)


def _keys(place: str, model: Schema, places: Mapping[str, Schema]) -> str:
    required = model.get("required", ())
    rows = (
        (
            code(key),
            _type(field, f"{place}.{key}" if place else key, places),
            "*required*" if key in required else _default(field),
            prose(field.get("description", "")) + _example(key, field),
        )
        for key, field in model["properties"].items()
    )
    return table(("Key", "Type", "Default", "Meaning"), rows)


def _type(field: Schema, place: str, places: Mapping[str, Schema]) -> str:
    if "discriminator" in field:
        kinds = field["discriminator"]["mapping"]
        return "by `kind`: " + ", ".join(f"[{kind}](#{anchor(f'{place} ({kind})')})" for kind in kinds)
    if "items" in field:
        length = _limits(field, "minItems", "maxItems")
        return f"list of {_type(field['items'], f'{place}[]', places)}" + (f" ({length} of them)" if length else "")
    members = [*field.get("anyOf", ()), *field.get("oneOf", ())]
    if members:
        return " or ".join(_type(member, place, places) for member in members)
    if "$ref" in field:
        return f"[mapping](#{anchor(place)})" if place in places else "mapping"
    return _plain_type(field)


def _plain_type(field: Schema) -> str:
    if "const" in field or "enum" in field:
        return ", ".join(code(value) for value in field.get("enum", [field.get("const")]))
    kind = field["type"]
    if kind == "string":
        return _text_type(field)
    if kind == "object":
        return f"tags (at most {field['maxProperties']})"
    limits = _limits(field, "minimum", "maximum")
    above = f"above {field['exclusiveMinimum']:g}" if "exclusiveMinimum" in field else ""
    name = {"integer": "integer", "number": "number", "boolean": "`true` or `false`"}[kind]
    return ", ".join(part for part in (name, limits, above) if part)


def _text_type(field: Schema) -> str:
    if field.get("format") == "date-time":
        return "date and time with zone"
    name = _form_names().get(field.get("pattern", ""))
    length = _limits(field, "minLength", "maxLength")
    text = f"*[{name}](#forms-of-text)*" if name else "text"
    return f"{text}, {length} characters" if length else text


def _limits(field: Schema, least: str, most: str) -> str:
    if least in field and most in field:
        return f"{field[least]} to {field[most]}" if field[least] != field[most] else f"{field[least]}"
    if least in field:
        return f"{field[least]} or more"
    return f"at most {field[most]}" if most in field else ""


def _default(field: Schema) -> str:
    value = field.get("default")
    if value is None:
        return ""
    if isinstance(value, dict):
        kind = value.get("kind")
        return code(f"kind: {kind}") if kind and kind != "none" else "its defaults" if value else "none"
    return code(_yaml(value)) if value not in ([], "") else "none"


def _example(key: str, field: Schema) -> str:
    """The first example; for texts of a fixed form the form shows one."""
    examples = field.get("examples")
    if not examples or field.get("pattern", "") in _form_names():
        return ""
    return f" Example: {code(f'{key}: {_yaml(examples[0])}')}"


def _yaml(value: object) -> str:
    """A value in YAML's flow style."""
    match value:
        case dict():
            return "{" + ", ".join(f"{key}: {_yaml(entry)}" for key, entry in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_yaml, value)) + "]"
        case bool():
            return "true" if value else "false"
        case str() if value[:1].isdigit() and value.replace(".", "").isdigit():
            return json.dumps(value)
    return str(value)


def _form_names() -> dict[str, str]:
    """Words for the texts of a fixed form, by the pattern in the schema."""
    return {f"^(?:{form.pattern})$": name for name, form in _named_forms()}


def _named_forms() -> Iterator[tuple[str, forms.Form]]:
    for name in forms.__all__:
        for extra in get_args(getattr(forms, name))[1:]:
            if isinstance(extra, forms.Form):
                yield "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip(), extra


def _forms() -> str:
    rows = ((f"*{name}*", prose(form.words), code(form.example)) for name, form in sorted(_named_forms()))
    return table(("Type", "Form", "Example"), rows)
