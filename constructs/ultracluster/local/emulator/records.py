"""What stands, of every type, in the store of Cloud Control: `GetResource` and `ListResources` read it back.

A record's properties are those of the template and the attributes that the service set, as Cloud Control shows them
on AWS.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from typing import Any

from ultracluster.local.emulator.internals import part

__all__ = ["attributes", "everything", "exists", "forget", "fresh_seed", "model", "of_type", "publish"]

_UNPUBLISHED = ("AWS::CloudFormation::", "AWS::CDK::", "Custom::")


def _store() -> Any:
    return part("services.cloudcontrol")._resources


def _key(type_name: str, identifier: str) -> str:
    return str(part("services.cloudcontrol")._resource_key(type_name, identifier))


def publish(
    type_name: str,
    identifier: str,
    properties: Mapping[str, Any],
    attributes: Mapping[str, Any],
    owner: tuple[str, str],
) -> None:
    """Record a resource that has been created or updated.

    Args:
        type_name: its type.
        identifier: its physical id.
        properties: the resolved properties.
        attributes: what `Fn::GetAtt` returns, keyed as templates spell it.
        owner: stack name and logical id.
    """
    if type_name.startswith(_UNPUBLISHED):
        return
    shown = json.loads(json.dumps(dict(properties), default=str))
    for name, value in attributes.items():
        _set(shown, name.split("."), value)
    key = _key(type_name, identifier)
    _store()[key] = {
        "TypeName": type_name,
        "Identifier": identifier,
        "Properties": json.dumps(shown, default=str),
        "Attributes": dict(attributes),
        "Owner": list(owner),
        "Created": (_store().get(key) or {}).get("Created", time.time()),
    }


def _set(target: dict[str, Any], path: list[str], value: Any) -> None:
    for part_ in path[:-1]:
        inner = target.setdefault(part_, {})
        if not isinstance(inner, dict):
            return
        target = inner
    target[path[-1]] = value


def forget(type_name: str, identifier: str) -> None:
    """Withdraw the record of a resource that has been deleted."""
    _store().pop(_key(type_name, identifier), None)


def exists(type_name: str, identifier: str) -> bool:
    """Whether a resource of a type with an identifier stands."""
    return _key(type_name, identifier) in _store()


def attributes(type_name: str, identifier: str) -> dict[str, Any]:
    """The attributes of a resource; empty when it does not stand."""
    record = _store().get(_key(type_name, identifier)) or {}
    return dict(record.get("Attributes", {}))


def model(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record's properties and attributes."""
    content: dict[str, Any] = json.loads(record["Properties"])
    return content


def of_type(type_name: str) -> list[dict[str, Any]]:
    """All records of a type in the account and Region at hand, oldest first."""
    return [record for record in _store().values() if record["TypeName"] == type_name]


def everything() -> list[dict[str, str]]:
    """Every record of every account and Region, with the stack that made it."""
    return [
        {
            "account": account,
            "region": region,
            "type": record["TypeName"],
            "id": record["Identifier"],
            "stack": record["Owner"][0],
            "logical_id": record["Owner"][1],
        }
        for (account, region, _), record in _store().all_items()
        if "Owner" in record
    ]


def fresh_seed() -> str:
    """A suffix that has not been used before."""
    return uuid.uuid4().hex[:8]
