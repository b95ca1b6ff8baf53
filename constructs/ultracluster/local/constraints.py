"""What the services refuse beyond the registry schemas, as further JSON schemas per resource type.

Three sources: files of cfn-lint, the service models in botocore (enumerations and bounds of the request that a
resource becomes), and a few limits from the services' own documentation. The data file says which.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["constraints_of", "service_shape", "shape_schema"]

_DATA = Path(__file__).with_name("constraints.json")
Schema = Mapping[str, Any]


@cache
def _data() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(_DATA.read_text(encoding="utf-8"))
    return content


def constraints_of(type_name: str, folder: Path) -> Iterator[Schema]:
    """Every further schema of a resource type.

    Args:
        type_name: for example `AWS::FSx::FileSystem`.
        folder: the folder of cfn-lint's schemas.
    """
    data = _data()
    for name in data["cfn_lint"]["files"].get(type_name, ()):
        yield json.loads((folder / "extensions" / name).read_text(encoding="utf-8"))
    if chosen := data["service_models"]["shapes"].get(type_name):
        schema = shape_schema(service_shape(chosen["service"], chosen["shape"]), frozenset(chosen.get("except", ())))
        yield {"properties": {chosen["property"]: schema}} if "property" in chosen else schema
    if type_name in data["documented"]:
        yield data["documented"][type_name]["schema"]


@cache
def _model(service: str) -> Any:
    from botocore.loaders import Loader
    from botocore.model import ServiceModel

    return ServiceModel(Loader().load_service_model(service, "service-2"))


def service_shape(service: str, name: str) -> Any:
    """A shape of an AWS service model, for example `("ec2", "RequestLaunchTemplateData")`."""
    return _model(service).shape_for(name)


def shape_schema(shape: Any, skipped: frozenset[str] = frozenset(), _seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """The enumerations and bounds of a shape as a JSON schema; names and types are left to the registry schema.

    Args:
        shape: a shape of a service model.
        skipped: members, at any depth, that are not judged.
    """
    if shape.name in _seen:
        return {}
    seen = (*_seen, shape.name)
    if shape.type_name == "structure":
        inner = {
            name: shape_schema(member, skipped, seen) for name, member in shape.members.items() if name not in skipped
        }
        return {"properties": {name: schema for name, schema in inner.items() if schema}} if any(inner.values()) else {}
    if shape.type_name == "list":
        items = shape_schema(shape.member, skipped, seen)
        return {"items": items} if items else {}
    if shape.type_name == "string":
        return {"enum": list(shape.enum)} if shape.enum else {}
    if shape.type_name in ("integer", "long"):
        bounds = {"minimum": shape.metadata.get("min"), "maximum": shape.metadata.get("max")}
        return {key: value for key, value in bounds.items() if value is not None}
    return {}
