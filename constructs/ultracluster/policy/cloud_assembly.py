"""The folder that `cdk synth` writes: its stacks, their environments, nested templates and acknowledgements."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ultracluster.policy.document import MOST_BYTES, Document, read_document
from ultracluster.policy.linking import Reader, nest
from ultracluster.policy.model import AssemblyModel, Environment, TemplateModel
from ultracluster.policy.unreadable import Unreadable

__all__ = ["MANIFEST", "is_cloud_assembly", "read_cloud_assembly"]

MANIFEST = "manifest.json"
_ACKNOWLEDGED = "aws:cdk:acknowledged-rules"
_UNKNOWN = "unknown-"
_MOST_STAGES = 5

Failure = tuple[str, str]


def is_cloud_assembly(folder: Path) -> bool:
    """Whether a folder is the output of `cdk synth`."""
    if not (folder / MANIFEST).is_file():
        return False
    manifest = _json(folder / MANIFEST)
    return isinstance(manifest.get("version"), str) and isinstance(manifest.get("artifacts", {}), dict)


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
    for artifact in _json(folder / MANIFEST).get("artifacts", {}).values():
        properties = artifact.get("properties") if isinstance(artifact, dict) else None
        if not isinstance(properties, dict):
            continue
        kind, name = artifact.get("type"), properties.get("directoryName")
        if kind == "cdk:cloud-assembly" and isinstance(name, str) and depth < _MOST_STAGES:
            yield from read_cloud_assembly(folder / Path(name).name, depth=depth + 1)
        elif kind == "aws:cloudformation:stack" and isinstance(properties.get("templateFile"), str):
            file = folder / Path(properties["templateFile"]).name
            try:
                templates.append(_stack(folder, file, artifact))
            except (Unreadable, OSError) as error:
                yield (str(file), str(error))
    if templates:
        yield AssemblyModel(nest(templates, _reader(folder)), is_app=True)


def _read(file: Path) -> Document:
    if file.stat().st_size > MOST_BYTES:
        raise Unreadable(f"more than {MOST_BYTES} bytes (CloudFormation takes 1 MB)")
    return read_document(str(file), file.read_bytes())


def _stack(folder: Path, file: Path, artifact: Mapping[str, Any]) -> TemplateModel:
    name = artifact["properties"].get("stackName") or artifact.get("displayName")
    model = TemplateModel(_read(file), environment=_environment(artifact.get("environment"), name))
    metadata = artifact.get("additionalMetadataFile")
    if isinstance(metadata, str):
        model.acknowledged = _acknowledged(_json(folder / Path(metadata).name))
    elif isinstance(artifact.get("metadata"), dict):
        model.acknowledged = _acknowledged(artifact["metadata"])
    return model


def _environment(text: object, stack_name: object) -> Environment:
    account, _, region = str(text).removeprefix("aws://").partition("/")
    return Environment(
        region=region if region and not region.startswith(_UNKNOWN) else None,
        account=account if account.isdecimal() else None,
        stack_name=stack_name if isinstance(stack_name, str) else None,
    )


def _acknowledged(metadata: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(construct path, id, reason) of every acknowledgement that the CDK notes for a stack."""
    found: list[tuple[str, str, str]] = []
    for path, entries in metadata.items():
        for entry in entries if isinstance(entries, list) else ():
            data = entry.get("data") if isinstance(entry, dict) and entry.get("type") == _ACKNOWLEDGED else None
            for rule_id, reason in data.items() if isinstance(data, dict) else ():
                found.append((path.strip("/"), str(rule_id), str(reason)))
    return found


def _reader(folder: Path) -> Reader:
    cache: dict[str, Document | None] = {}

    def read(name: str) -> Document | None:
        if name not in cache:
            try:
                cache[name] = _read(folder / Path(name).name)
            except (Unreadable, OSError):
                cache[name] = None
        return cache[name]

    return read
