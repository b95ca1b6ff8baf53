"""What happens around every resource that a stack creates, updates or deletes: validation, names, attributes, record.

Each function wraps the one of MiniStack's engine with the same name.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ultracluster.local.emulator import records
from ultracluster.local.emulator.dependencies import refuse_while_in_use
from ultracluster.local.emulator.internals import OURS, account_and_region, handlers
from ultracluster.local.identifiers import Scope, attributes_of, physical_id, with_names
from ultracluster.local.registry import TypeSchema, registry
from ultracluster.local.validation import check_properties, explain

__all__ = ["delete", "property_recreation", "provision", "replacing_change", "stack_tags", "update"]

logger = logging.getLogger("ultracluster.local")

Result = tuple[str, dict[str, Any]]
_UPDATING: ContextVar[str] = ContextVar("ultracluster_updating", default="")
_ANSWER = re.compile(r"b(['\"])(<\?xml.*|\{.*\})\1", re.DOTALL)
_TAG_PREFIX = "aws:cloudformation:"


def _schema(type_name: str) -> TypeSchema | None:
    _, region = account_and_region()
    schemas = registry(region)
    if type_name in schemas:
        return schemas.schema(type_name)
    if type_name.startswith("AWS::") and type_name in registry("us-east-1"):
        raise ValueError(f"{type_name} is not available in {region}")
    return None


def _own(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The properties without the tags that the engine adds for itself, which no schema allows a template to set."""
    own = dict(properties)
    for name, value in properties.items():
        if name.endswith("Tags") and isinstance(value, list):
            own[name] = [
                tag for tag in value if not (isinstance(tag, dict) and str(tag.get("Key", "")).startswith(_TAG_PREFIX))
            ]
        elif name.endswith("Tags") and isinstance(value, dict):
            own[name] = {key: tag for key, tag in value.items() if not str(key).startswith(_TAG_PREFIX)}
        if name.endswith("Tags") and not own[name] and value:
            del own[name]
    return own


def _check(schema: TypeSchema | None, properties: Mapping[str, Any]) -> None:
    faults = check_properties(schema, properties) if schema else ()
    if schema and faults:
        raise ValueError(explain(schema.type_name, faults))


def _check_free(schema: TypeSchema | None, properties: Mapping[str, Any]) -> None:
    if not schema or not all(len(path) == 1 and path[0] in properties for path in schema.primary_identifier):
        return
    wanted = physical_id(schema, properties, {})
    if wanted != _UPDATING.get() and records.exists(schema.type_name, wanted):
        raise ValueError(f"Resource of type '{schema.type_name}' with identifier '{wanted}' already exists")


def _completed(schema: TypeSchema | None, properties: Mapping[str, Any], made: Result, name: str) -> Result:
    """Add the attributes that the schema promises and MiniStack does not return."""
    identifier, attributes = made[0], dict(made[1] or {})
    if schema is None:
        return identifier, attributes
    account, region = account_and_region()
    known = {**properties, **{key: value for key, value in attributes.items() if "." not in key}}
    single = schema.primary_identifier[0] if len(schema.primary_identifier) == 1 else ()
    if len(single) == 1:
        known.setdefault(single[0], identifier)
    promised = {".".join(path) for path in schema.read_only if "*" not in path} - attributes.keys()
    if promised:
        scope = Scope(region=region, account=account, name=name)
        spelled = attributes_of(schema, with_names(schema, known, scope), scope)
        attributes.update({key: known.get(key, spelled[key]) for key in promised & spelled.keys()})
    return identifier, attributes


def provision(original: Callable[..., Result]) -> Callable[..., Result]:
    """Create a resource: validate, refuse a taken name, create, complete, record."""

    def provisioned(type_name: str, logical_id: str, properties: dict[str, Any], stack_name: str) -> Result:
        schema = _schema(type_name)
        own = _own(properties)
        _check(schema, own)
        _check_free(schema, own)
        with _readable():
            made = original(type_name, logical_id, properties, stack_name)
        identifier, attributes = _completed(schema, own, made, f"{stack_name}-{logical_id}")
        records.publish(type_name, identifier, own, attributes, (stack_name, logical_id))
        return identifier, attributes

    return provisioned


def update(original: Callable[..., Result]) -> Callable[..., Result]:
    """Update a resource in place, or replace it when a create-only property changed."""

    def updated(*call: Any) -> Result:
        type_name, identifier, old, new, stack_name, logical_id, old_attributes = (*call, None, None)[:7]
        if old == new:
            return original(*call)
        schema, own = _schema(type_name), _own(new)
        _check(schema, own)
        token = _UPDATING.set(identifier)
        try:
            with _readable():
                made = original(*call)
        finally:
            _UPDATING.reset(token)
        kept = {**(old_attributes or {}), **made[1]} if made[0] == identifier else dict(made[1])
        name = logical_id or identifier
        current, attributes = _completed(schema, own, (made[0], kept), f"{stack_name}-{name}")
        records.publish(type_name, current, own, attributes, (stack_name, name))
        return current, attributes

    return updated


def delete(original: Callable[..., None]) -> Callable[..., None]:
    """Delete a resource and withdraw its record."""

    def deleted(
        type_name: str,
        identifier: str,
        properties: dict[str, Any],
        stack_name: str | None = None,
        logical_id: str | None = None,
    ) -> None:
        refuse_while_in_use(type_name, identifier)
        with _readable():
            original(type_name, identifier, properties, stack_name, logical_id)
        records.forget(type_name, identifier)

    return deleted


@contextmanager
def _readable() -> Iterator[None]:
    """Put the service's own words in place of the raw answer that MiniStack puts into its errors."""
    try:
        yield
    except Exception as error:
        found = _ANSWER.search(str(error))
        if found is None:
            raise
        raise ValueError(str(error)[: found.start()] + _message(found.group(2))) from error


def _message(answer: str) -> str:
    text = re.sub(r"\\+(['\"])", r"\1", answer)
    words = re.search(r"<Message>(.*?)</Message>", text) or re.search(r'"[Mm]essage": ?"(.*?)"[,}]', text)
    return words.group(1) if words else text


def _at(properties: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    current: Any = properties
    for name in path:
        if not isinstance(current, Mapping) or name not in current:
            return None
        current = current[name]
    return current


def _is_ours(type_name: str) -> bool:
    return OURS in handlers().get(type_name, {})


def replacing_change(original: Callable[..., bool]) -> Callable[..., bool]:
    """Whether an update replaces the resource; from the schema's create-only properties for the types we provide."""

    def replacing(type_name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        schema = _schema(type_name) if _is_ours(type_name) else None
        if schema is None:
            return original(type_name, old, new)
        return any(_at(old, path) != _at(new, path) for path in schema.create_only)

    return replacing


def property_recreation(original: Callable[..., str]) -> Callable[..., str]:
    """What a change set says of a changed property: Always, Conditionally or Never."""

    def recreation(type_name: str, name: str) -> str:
        schema = _schema(type_name) if _is_ours(type_name) else None
        if schema is None:
            return original(type_name, name)
        paths = [path for path in schema.create_only if path[0] == name]
        if not paths:
            return "Never"
        return "Always" if any(len(path) == 1 for path in paths) else "Conditionally"

    return recreation


def stack_tags(original: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Stack tags reach an Auto Scaling group with `PropagateAtLaunch`, which its schema requires of every tag."""

    def tagged(type_name: str, properties: dict[str, Any], *rest: Any) -> dict[str, Any]:
        merged = original(type_name, properties, *rest)
        if type_name == "AWS::AutoScaling::AutoScalingGroup" and isinstance(merged.get("Tags"), list):
            own = [tag.get("Key") for tag in properties.get("Tags") or () if isinstance(tag, dict)]
            merged["Tags"] = [
                tag if tag.get("Key") in own else {"PropagateAtLaunch": True, **tag} for tag in merged["Tags"]
            ]
        return merged

    return tagged
