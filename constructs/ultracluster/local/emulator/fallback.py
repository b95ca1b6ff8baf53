"""The provider of every resource type that MiniStack lacks: nothing runs, but ids, attributes and read back are right.

The properties have been validated before a provider is called (`pipeline.py`); what stands is kept in Cloud Control's
store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ultracluster.local.emulator import records
from ultracluster.local.emulator.internals import OURS, account_and_region, handlers, part
from ultracluster.local.identifiers import Scope, attributes_of, physical_id, with_names
from ultracluster.local.registry import registry

__all__ = ["register_missing_types"]

_NEVER = frozenset({"AWS::CloudFormation::CustomResource", "AWS::CDK::Metadata"})


def register_missing_types(types: frozenset[str]) -> tuple[str, ...]:
    """Register a provider for each resource type that MiniStack does not implement.

    Args:
        types: the names of all types.

    Returns:
        the names of the types that were added.
    """
    table = handlers()
    added = tuple(sorted(name for name in types - table.keys() - _NEVER if name.startswith("AWS::")))
    for type_name in added:
        table[type_name] = _provider(type_name)
    return added


def _provider(type_name: str) -> dict[str, Any]:
    def create(logical_id: str, properties: Mapping[str, Any], stack_name: str) -> tuple[str, dict[str, Any]]:
        return _create(type_name, logical_id, properties, stack_name)

    def update(
        current: str, _: Mapping[str, Any], properties: Mapping[str, Any], __: str, ___: str | None = None
    ) -> tuple[str, dict[str, Any]]:
        # Read-only attributes belong to the resource, not to its settings: they stay what they were.
        del properties
        return current, records.attributes(type_name, current)

    def delete(_: str, __: Mapping[str, Any]) -> None:
        # The record is withdrawn by the pipeline; there is nothing else.
        return

    return {"create": create, "update": update, "update_with_logical_id": True, "delete": delete, OURS: True}


def _create(
    type_name: str, logical_id: str, properties: Mapping[str, Any], stack_name: str
) -> tuple[str, dict[str, Any]]:
    account, region = account_and_region()
    schema = registry(region).schema(type_name)
    scope = Scope(region=region, account=account, name=_name(type_name, logical_id, stack_name))
    named = with_names(schema, properties, scope)
    attributes = attributes_of(schema, named, scope)
    return physical_id(schema, named, attributes), attributes


def _name(type_name: str, logical_id: str, stack_name: str) -> str:
    """A generated name; another one when a retained resource has it, as AWS draws a new suffix each time."""
    provisioners = part("services.cloudformation.provisioners")
    name = str(provisioners._physical_name(stack_name, logical_id))
    if records.exists(type_name, name):
        provisioners._NAME_SEED.set(records.fresh_seed())
        name = str(provisioners._physical_name(stack_name, logical_id))
    return name
