"""The part of the Amazon FSx API that reads back what stands: file systems and data repository associations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ultracluster.local.emulator import records
from ultracluster.local.emulator.internals import account_and_region, part

__all__ = ["install_fsx"]

_TARGET = "AWSSimbaAPIService_v20180301"
Answer = tuple[int, dict[str, str], bytes]


def install_fsx() -> None:
    """Route requests to FSx here; MiniStack has no such service."""
    part("core.router").SERVICE_PATTERNS["fsx"] = {
        "target_prefixes": [_TARGET],
        "host_patterns": [r"fsx\."],
        "credential_scope": "fsx",
    }
    part("app").SERVICE_HANDLERS["fsx"] = _handle


async def _handle(_: str, __: str, headers: Mapping[str, str], body: bytes, ___: Mapping[str, Any]) -> Answer:
    name = headers.get("x-amz-target", "").rpartition(".")[2]
    request = json.loads(body or b"{}")
    operation = _OPERATIONS.get(name)
    if operation is None:
        return _answer(400, {"__type": "UnsupportedOperation", "message": f"{name} is not part of the embedded AWS"})
    return operation(request)


def _answer(status: int, content: Mapping[str, Any]) -> Answer:
    return status, {"Content-Type": "application/x-amz-json-1.1"}, json.dumps(content).encode()


def _file_system(record: Mapping[str, Any]) -> dict[str, Any]:
    model = records.model(record)
    account, _ = account_and_region()
    lustre = {**model.get("LustreConfiguration", {}), "MountName": model["LustreMountName"]}
    return {
        "OwnerId": account,
        "CreationTime": record["Created"],
        "FileSystemId": model["Id"],
        "FileSystemType": model["FileSystemType"],
        "Lifecycle": "AVAILABLE",
        "StorageCapacity": int(model.get("StorageCapacity", 0)),
        "StorageType": model.get("StorageType", "SSD"),
        "SubnetIds": model["SubnetIds"],
        "DNSName": model["DNSName"],
        "ResourceARN": model["ResourceARN"],
        "KmsKeyId": model.get("KmsKeyId", ""),
        "Tags": model.get("Tags", []),
        "FileSystemTypeVersion": model.get("FileSystemTypeVersion", ""),
        **({"LustreConfiguration": lustre} if model["FileSystemType"] == "LUSTRE" else {}),
    }


def _association(record: Mapping[str, Any]) -> dict[str, Any]:
    model = records.model(record)
    shown = (
        "AssociationId",
        "ResourceARN",
        "FileSystemId",
        "FileSystemPath",
        "DataRepositoryPath",
        "BatchImportMetaDataOnCreate",
        "ImportedFileChunkSize",
        "S3",
        "Tags",
    )
    return {
        **{key: model[key] for key in shown if key in model},
        "Lifecycle": "AVAILABLE",
        "CreationTime": record["Created"],
    }


def _listing(
    type_name: str, present: Callable[[Mapping[str, Any]], dict[str, Any]], *, key: str, answer: str, missing: str
) -> Callable[[Mapping[str, Any]], Answer]:
    def listed(request: Mapping[str, Any]) -> Answer:
        wanted = request.get(f"{key}s") or []
        found = [present(record) for record in records.of_type(type_name)]
        found = [
            item
            for item in found
            if (not wanted or item[key] in wanted) and _passes(item, request.get("Filters") or [])
        ]
        absent = [identifier for identifier in wanted if identifier not in {item[key] for item in found}]
        if absent:
            return _answer(400, {"__type": missing, "message": f"{key} {', '.join(absent)} does not exist"})
        return _answer(200, {answer: found})

    return listed


def _passes(item: Mapping[str, Any], filters: list[Mapping[str, Any]]) -> bool:
    by_name = {"file-system-id": "FileSystemId", "file-system-type": "FileSystemType"}
    return all(str(item.get(by_name.get(wanted["Name"], ""))) in wanted["Values"] for wanted in filters)


_OPERATIONS: Mapping[str, Callable[[Mapping[str, Any]], Answer]] = {
    "DescribeFileSystems": _listing(
        "AWS::FSx::FileSystem",
        _file_system,
        key="FileSystemId",
        answer="FileSystems",
        missing="FileSystemNotFound",
    ),
    "DescribeDataRepositoryAssociations": _listing(
        "AWS::FSx::DataRepositoryAssociation",
        _association,
        key="AssociationId",
        answer="Associations",
        missing="DataRepositoryAssociationNotFound",
    ),
}
