"""Makes what a service would make: ids, ARNs and other attributes of a resource, in the form its schema asks for.

For each attribute several spellings are tried, from the documented one to one derived from the schema's pattern, and
the first that the schema accepts is taken.
"""

from __future__ import annotations

import json
import random
import re
import string
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from ultracluster.local.keywords import format_pattern
from ultracluster.local.patterns import example
from ultracluster.local.registry import TypeSchema
from ultracluster.local.validation import accepts

__all__ = ["Scope", "attributes_of", "physical_id", "with_names"]

_FORMATS = Path(__file__).with_name("id_formats.json")
_WORD = string.ascii_lowercase + string.digits
_SETTLED = (
    "ACTIVE",
    "Active",
    "AVAILABLE",
    "Available",
    "available",
    "InService",
    "READY",
    "Ready",
    "ENABLED",
    "SUCCESS",
)
"""States, best first, that a resource has once it stands."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a resource is made and what it would be called.

    Attributes:
        region: for example `us-east-1`.
        account: twelve digits.
        name: the physical name that a name-less resource gets (stack, logical id, suffix).
        rng: the source of choices.
    """

    region: str
    account: str
    name: str
    rng: random.Random = field(default_factory=random.Random)

    def word(self, length: int, letters: str = _WORD) -> str:
        """Random letters and digits."""
        return "".join(self.rng.choice(letters) for _ in range(length))


@cache
def _documented() -> dict[str, dict[str, str]]:
    formats: dict[str, dict[str, str]] = json.loads(_FORMATS.read_text(encoding="utf-8"))["formats"]
    return formats


def with_names(schema: TypeSchema, properties: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """The properties, with a generated value for each part of the identifier that the template may give but does not.

    Args:
        schema: the schema of the type.
        properties: the resolved properties.
        scope: names the resource.
    """
    named = dict(properties)
    for path in schema.primary_identifier:
        if len(path) == 1 and path[0] in schema.settable and path[0] not in named:
            candidates = chain(_names(schema, path, scope), _values(schema, schema.node(path), path, named, scope))
            named[path[0]] = _first_accepted(schema, path, candidates)
    return named


def attributes_of(schema: TypeSchema, properties: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """Every attribute that `Fn::GetAtt` can read, keyed as templates spell it (`Endpoint.Address`).

    Args:
        schema: the schema of the type.
        properties: the properties, names included (`with_names`).
        scope: where the resource is made.
    """
    known: dict[str, Any] = {name: value for name, value in properties.items() if isinstance(value, str | int)}
    made: dict[str, Any] = {}
    paths = sorted(
        (path for path in schema.read_only if "*" not in path and _applies(schema, path, properties)),
        key=lambda path: _rank(schema, path),
    )
    for path in paths:
        made[".".join(path)] = known[path[-1]] = _first_accepted(schema, path, _spellings(schema, path, known, scope))
    return made


def physical_id(schema: TypeSchema, properties: Mapping[str, Any], attributes: Mapping[str, Any]) -> str:
    """What `Ref` returns: the parts of the primary identifier, joined with `|`."""
    parts = [attributes.get(".".join(path), _given(properties, path)) for path in schema.primary_identifier]
    return "|".join(str(part) for part in parts if part is not None)


def _given(properties: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    current: Any = properties
    for name in path:
        current = current.get(name) if isinstance(current, Mapping) else None
    return current


def _applies(schema: TypeSchema, path: tuple[str, ...], properties: Mapping[str, Any]) -> bool:
    # A read-only part of an object that the template may give exists only when the object was given.
    return len(path) == 1 or path[0] not in schema.settable or path[0] in properties


def _rank(schema: TypeSchema, path: tuple[str, ...]) -> tuple[int, int]:
    # A documented order first, then ids, then what is spelled with them.
    documented = list(_documented().get(schema.type_name, {}))
    attribute = ".".join(path)
    return (
        documented.index(attribute) if attribute in documented else len(documented),
        0 if attribute.endswith("Id") else 1,
    )


def _first_accepted(schema: TypeSchema, path: tuple[str, ...], candidates: Iterator[Any]) -> Any:
    node = schema.node(path)
    last: Any = ""
    for candidate in candidates:
        if candidate is None:
            continue
        if accepts(schema, node, candidate):
            return candidate
        last = candidate
    return last


def _names(schema: TypeSchema, path: tuple[str, ...], scope: Scope) -> Iterator[str | None]:
    longest = int(schema.node(path).get("maxLength", 128))
    for name in (scope.name, scope.name.lower()):
        cut = name if len(name) <= longest else name[: max(longest - 13, 0)] + name[-13:]
        yield cut[-longest:]
        yield re.sub("[^A-Za-z0-9]", "", cut)[-longest:]
        yield cut.replace("-", "_")[-longest:]


def _spellings(schema: TypeSchema, path: tuple[str, ...], known: Mapping[str, Any], scope: Scope) -> Iterator[Any]:
    documented = _documented().get(schema.type_name, {}).get(".".join(path))
    if documented:
        yield _fill(documented, known, scope)
    yield from _values(schema, schema.node(path), path, known, scope)


def _values(
    schema: TypeSchema, node: Mapping[str, Any], path: tuple[str, ...], known: Mapping[str, Any], scope: Scope
) -> Iterator[Any]:
    options = list(node.get("enum", node.get("enumCaseInsensitive", ())))
    yield from (state for state in _SETTLED if state in options)
    yield from options
    for branch in (*node.get("oneOf", ()), *node.get("anyOf", ())):
        yield from _values(schema, {"type": node.get("type"), **schema.resolve(branch)}, path, known, scope)
    kinds = node.get("type") or "string"
    match kinds if isinstance(kinds, str) else kinds[0]:
        case "boolean":
            yield False
        case "integer" | "number":
            yield max(1, int(node.get("minimum", 1)))
        case "array":
            items = schema.resolve(node.get("items", {}))
            yield []
            yield [_member(schema, items, path, known, scope) for _ in range(int(node.get("minItems", 1)))]
        case "object":
            yield {
                name: _member(schema, schema.resolve(node["properties"][name]), (*path, name), known, scope)
                for name in node.get("required", ())
                if name in node.get("properties", {})
            }
        case _:
            yield from _texts(schema, path, known, scope)
            yield from _by_pattern(node, scope)


def _member(
    schema: TypeSchema, node: Mapping[str, Any], path: tuple[str, ...], known: Mapping[str, Any], scope: Scope
) -> Any:
    made = None
    for made in _values(schema, node, path, known, scope):
        if accepts(schema, node, made):
            break
    return made


def _texts(schema: TypeSchema, path: tuple[str, ...], known: Mapping[str, Any], scope: Scope) -> Iterator[str]:
    _, service, kind = schema.type_name.split("::")
    service, kind = service.lower(), re.sub("(?<!^)(?=[A-Z])", "-", kind).lower()
    last = path[-1].lower()
    ident = _identity(schema, known, scope)
    if last.endswith("arn"):
        yield from _arns(service, kind, ident, scope)
    host = f"{ident.lower()}.{service}.{scope.region}.amazonaws.com"
    for endings, text in (
        (("url", "uri"), f"https://{host}"),
        (("endpoint", "address", "dnsname", "domainname", "dns"), host),
        (("name",), scope.name),
        (("message", "reason", "description"), ""),
        (("time", "date", "at", "timestamp"), "2026-01-01T00:00:00Z"),
        (("version", "number"), "1"),
    ):
        if last.endswith(endings):
            yield text
    yield f"{''.join(part[0] for part in kind.split('-'))}-{scope.word(17, '0123456789abcdef')}"
    yield scope.word(10)
    yield scope.word(17, string.digits)
    yield str(uuid.UUID(int=scope.rng.getrandbits(128), version=4))


def _arns(service: str, kind: str, ident: str, scope: Scope) -> Iterator[str]:
    for where in (f"{scope.region}:{scope.account}", f":{scope.account}", ":"):
        for middle in (f"{kind}/{ident}", f"{kind.replace('-', '')}/{ident}", f"{kind}:{ident}", ident):
            yield f"arn:aws:{service}:{where}:{middle}"


def _identity(schema: TypeSchema, known: Mapping[str, Any], scope: Scope) -> str:
    kind = schema.type_name.split("::")[-1]
    for name in (*(path[-1] for path in schema.primary_identifier), "Id", "Name", f"{kind}Name", f"{kind}Id"):
        value = known.get(name)
        if isinstance(value, str) and not value.startswith("arn:"):
            return value
    return scope.name


def _by_pattern(node: Mapping[str, Any], scope: Scope) -> Iterator[str | None]:
    patterns = [node.get("pattern"), format_pattern(node.get("format"))]
    longest = int(node.get("maxLength", 0))
    for pattern in patterns * 8:
        if pattern:
            made = example(pattern, scope.rng)
            yield made
            if made is not None and longest:
                yield made[:longest]
    length = max(int(node.get("minLength", 1)), min(12, int(node.get("maxLength", 12))))
    yield scope.word(length, string.ascii_lowercase)


def _fill(template: str, known: Mapping[str, Any], scope: Scope) -> str:
    def value(found: re.Match[str]) -> str:
        name = found.group(1)
        if name in known:
            return str(known[name])
        if sized := re.fullmatch(r"(hex|word)(\d+)", name):
            return scope.word(int(sized.group(2)), "0123456789abcdef" if sized.group(1) == "hex" else _WORD)
        plain = {"region": scope.region, "account": scope.account, "name": scope.name}
        if name in plain:
            return plain[name]
        if name == "octet":
            return str(scope.rng.randint(1, 254))
        return str(uuid.UUID(int=scope.rng.getrandbits(128), version=4))

    return re.sub(r"\{(\w+)\}", value, template)
