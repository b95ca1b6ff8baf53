"""Reader of the CloudFormation registry schemas that cfn-lint ships as plain JSON files.

One index per Region maps a resource type to the file of its schema. The files are read directly: importing `cfnlint`
itself takes about three seconds, and only the schemas of the types in use are wanted.

Errors raised: `LocalUsageError` (UC-LOC-001) without cfn-lint, `UnknownResourceTypeError` for a type without
schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ultracluster.local.constraints import constraints_of
from ultracluster.local.errors import missing_extra

__all__ = ["SchemaRegistry", "TypeSchema", "UnknownResourceTypeError", "registry"]

FALLBACK_REGION = "us-east-1"
"""The Region whose index is read when cfn-lint has none for the one asked for; it has the most types."""

Path_ = tuple[str, ...]


class UnknownResourceTypeError(LookupError):
    """No schema is registered for a resource type in a Region."""

    def __init__(self, type_name: str, region: str) -> None:
        """Say which type is missing where."""
        super().__init__(f"resource type {type_name} does not exist in {region}")


@dataclass(frozen=True)
class TypeSchema:
    """The registry schema of one resource type.

    Attributes:
        type_name: for example `AWS::FSx::FileSystem`.
        document: the schema as it was read.
        constraints: further JSON schemas the properties have to satisfy (`constraints.py`).
    """

    type_name: str
    document: Mapping[str, Any]
    constraints: tuple[Mapping[str, Any], ...] = ()

    def _paths(self, key: str) -> tuple[Path_, ...]:
        return tuple(tuple(pointer.split("/")[2:]) for pointer in self.document.get(key, ()))

    @cached_property
    def primary_identifier(self) -> tuple[Path_, ...]:
        """The properties that name the resource, in the order in which `Ref` joins them with `|`."""
        return self._paths("primaryIdentifier")

    @cached_property
    def read_only(self) -> tuple[Path_, ...]:
        """The properties that the service sets; nobody may set them, and `Fn::GetAtt` returns them."""
        return self._paths("readOnlyProperties")

    @cached_property
    def create_only(self) -> tuple[Path_, ...]:
        """The properties whose change replaces the resource."""
        return self._paths("createOnlyProperties")

    @cached_property
    def settable(self) -> frozenset[str]:
        """The names of the top-level properties that a template may set."""
        hidden = {path[0] for path in self.read_only if len(path) == 1}
        shared = {path[0] for path in (*self.create_only, *self._paths("writeOnlyProperties"))}
        return frozenset(name for name in self.document.get("properties", {}) if name not in hidden - shared)

    def node(self, path: Path_) -> Mapping[str, Any]:
        """The schema of a property, references resolved; empty when there is none.

        Args:
            path: property names; `*` steps into the items of a list.
        """
        current: Mapping[str, Any] = self.document
        for name in path:
            inner = current.get("items") if name == "*" else current.get("properties", {}).get(name)
            if not isinstance(inner, Mapping):
                return {}
            current = self.resolve(inner)
        return current

    def resolve(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Follow `$ref` until a schema without one is reached."""
        while isinstance(reference := schema.get("$ref"), str):
            target: Any = self.document
            for part in reference.removeprefix("#/").split("/"):
                target = target[part]
            schema = target
        return schema


class SchemaRegistry:
    """The schemas of one Region."""

    def __init__(self, region: str, folder: Path) -> None:
        """Read the Region's index only.

        Args:
            region: for example `us-east-1`.
            folder: the folder with `providers/`, `resources/` and `extensions/`.
        """
        self.region = region
        self._folder = folder
        index = folder / "providers" / f"{region}.json"
        chosen = index if index.is_file() else folder / "providers" / f"{FALLBACK_REGION}.json"
        self._index: dict[str, str] = json.loads(chosen.read_text(encoding="utf-8"))
        self._loaded: dict[str, TypeSchema] = {}

    @property
    def types(self) -> frozenset[str]:
        """The names of all resource types of the Region."""
        return frozenset(self._index)

    def __contains__(self, type_name: str) -> bool:
        """Whether the Region has the type."""
        return type_name in self._index

    def schema(self, type_name: str) -> TypeSchema:
        """The schema of a type, read once.

        Raises:
            UnknownResourceTypeError: the Region does not have the type.
        """
        if type_name not in self._index:
            raise UnknownResourceTypeError(type_name, self.region)
        if type_name not in self._loaded:
            self._loaded[type_name] = TypeSchema(
                type_name,
                json.loads((self._folder / "resources" / f"{self._index[type_name]}.json").read_text(encoding="utf-8")),
                tuple(constraints_of(type_name, self._folder)),
            )
        return self._loaded[type_name]


@cache
def schema_folder() -> Path:
    """Where cfn-lint keeps its schemas.

    Raises:
        LocalUsageError: cfn-lint is not installed.
    """
    spec = find_spec("cfnlint")
    locations = spec.submodule_search_locations if spec else None
    if not locations:
        raise missing_extra("cfn-lint")
    return Path(next(iter(locations))) / "data" / "schemas"


@cache
def registry(region: str) -> SchemaRegistry:
    """The registry of a Region, read once per process."""
    return SchemaRegistry(region, schema_folder())
