"""The folder that `cdk synth` writes: its stacks, their environments, nested templates and acknowledgements."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ultracluster.policy.document import MOST_BYTES, Document, read_document
from ultracluster.policy.linking import Reader, nest
from ultracluster.policy.model import AssemblyModel, Environment, ResourceModel, TemplateModel
from ultracluster.policy.unreadable import Unreadable

__all__ = ["MANIFEST", "is_broken_assembly", "is_cloud_assembly", "read_cloud_assembly"]

MANIFEST = "manifest.json"
_MARKER = "cdk.out"
_ACKNOWLEDGED = "aws:cdk:acknowledged-rules"
_LOGICAL_ID = "aws:cdk:logicalId"
_UNKNOWN = "unknown-"
_MOST_STAGES = 5

Failure = tuple[str, str]


def is_cloud_assembly(folder: Path) -> bool:
    """Whether a folder is the output of `cdk synth`."""
    try:
        if not (folder / MANIFEST).is_file():
            return False
    except OSError:
        return False  # whoever lists it will say so
    manifest = _json(folder / MANIFEST)
    return isinstance(manifest.get("version"), str) and isinstance(manifest.get("artifacts", {}), dict)


def is_broken_assembly(folder: Path) -> bool:
    """Whether a folder is marked as output of `cdk synth`, and its manifest does not tell what it holds."""
    return (folder / _MARKER).is_file() and not is_cloud_assembly(folder)


def _json(file: Path) -> Mapping[str, Any]:
    try:
        if file.stat().st_size > MOST_BYTES:
            return {}
        value = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def read_cloud_assembly(folder: Path, *, depth: int = 0) -> Iterator[AssemblyModel | Failure]:
    """The stacks of a folder as one app, and those of each stage as another.

    Yields:
        Assemblies, and (file, reason) of templates that cannot be read.
    """
    templates: list[TemplateModel] = []
    for artifact, properties in _artifacts(folder):
        kind, name = artifact.get("type"), properties.get("directoryName")
        if kind == "cdk:cloud-assembly" and isinstance(name, str) and depth < _MOST_STAGES:
            yield from read_cloud_assembly(folder / Path(name).name, depth=depth + 1)
        elif kind == "aws:cloudformation:stack":
            file = folder / Path(str(properties.get("templateFile"))).name
            try:
                templates.append(_stack(folder, file, artifact))
            except (Unreadable, OSError) as error:
                yield (str(file), _reason(error))
    if templates:
        yield AssemblyModel(_with_nested(folder, templates), is_app=True)


def _reason(error: Exception) -> str:
    return str(error.strerror or error).lower() if isinstance(error, OSError) else str(error)


def _artifacts(folder: Path) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for artifact in _json(folder / MANIFEST).get("artifacts", {}).values():
        properties = artifact.get("properties") if isinstance(artifact, dict) else None
        if isinstance(properties, dict):
            yield artifact, properties


def _with_nested(folder: Path, templates: list[TemplateModel]) -> list[TemplateModel]:
    everything = nest(templates, _reader(folder))
    for template in everything:
        if template.parent is not None:
            template.construct_paths = _below(template.parent)
    return everything


def _read(file: Path) -> Document:
    if file.stat().st_size > MOST_BYTES:
        raise Unreadable(f"more than {MOST_BYTES} bytes (CloudFormation takes 1 MB)")
    return read_document(str(file), file.read_bytes())


def _stack(folder: Path, file: Path, artifact: Mapping[str, Any]) -> TemplateModel:
    name = artifact["properties"].get("stackName") or artifact.get("displayName")
    model = TemplateModel(_read(file), environment=_environment(artifact.get("environment"), name))
    beside = artifact.get("additionalMetadataFile")
    metadata = _json(folder / Path(beside).name) if isinstance(beside, str) else artifact.get("metadata")
    if isinstance(metadata, dict):
        model.acknowledged = [
            (path, str(rule_id), str(reason))
            for path, data in _noted(metadata, _ACKNOWLEDGED)
            if isinstance(data, dict)
            for rule_id, reason in data.items()
        ]
        model.construct_paths = {str(data): path for path, data in _noted(metadata, _LOGICAL_ID)}
    return model


def _noted(metadata: Mapping[str, Any], kind: str) -> Iterator[tuple[str, object]]:
    """(construct path, data) of every entry of one kind that the CDK notes for a stack."""
    for path, entries in metadata.items():
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and entry.get("type") == kind:
                yield path.strip("/"), entry.get("data")


def _below(stack: ResourceModel) -> Mapping[str, str]:
    """Construct paths of a nested stack: those of its parent that lie below it."""
    prefix = f"{stack.construct_path.split('.NestedStack/')[0]}/"
    paths = stack.template.construct_paths
    return {logical_id: path for logical_id, path in paths.items() if path.startswith(prefix)}


def _environment(text: object, stack_name: object) -> Environment:
    account, _, region = str(text).removeprefix("aws://").partition("/")
    return Environment(
        region=region if region and not region.startswith(_UNKNOWN) else None,
        account=account if account.isdecimal() else None,
        stack_name=stack_name if isinstance(stack_name, str) else None,
    )


def _reader(folder: Path) -> Reader:
    """From the file, or the address of the asset, that a nested stack names to its template."""
    cache: dict[str, Document | None] = {}
    sources: dict[str, str] = {}

    def read(place: str) -> Document | None:
        if not sources:
            sources.update(_asset_sources(folder))
        name = Path(place).name
        name = sources.get(name, name)
        if name not in cache:
            try:
                cache[name] = _read(folder / name)
            except (Unreadable, OSError):
                cache[name] = None
        return cache[name]

    return read


def _asset_sources(folder: Path) -> Iterator[tuple[str, str]]:
    """(object key, file) of every file asset."""
    for manifest in sorted(folder.glob("*.assets.json")):
        files = _json(manifest).get("files")
        for asset in files.values() if isinstance(files, dict) else ():
            if not isinstance(asset, dict):
                continue
            source, destinations = asset.get("source"), asset.get("destinations")
            path = source.get("path") if isinstance(source, dict) else None
            for destination in destinations.values() if isinstance(destinations, dict) else ():
                key = destination.get("objectKey") if isinstance(destination, dict) else None
                if isinstance(key, str) and isinstance(path, str):
                    yield key, Path(path).name
