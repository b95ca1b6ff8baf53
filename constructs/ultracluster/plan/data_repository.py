"""Associations of an FSx for Lustre file system with S3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["DataRepositoryPlan", "DataRepositoryRequest", "Event"]

Event = Literal["NEW", "CHANGED", "DELETED"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRepositoryRequest:
    """A directory that mirrors an S3 prefix.

    Attributes:
        file_system_path: directory on the file system, from its root (`/data`); at most 4096 characters.
        bucket: the user's name of the bucket, or an `s3://` URI; equal names mean the same bucket.
        prefix: prefix in the bucket, without a leading slash; empty for all of it.
        auto_import: events in the bucket that reach the file system; everything unless said otherwise.
        auto_export: events on the file system that reach the bucket; nothing unless said otherwise, because exporting
            writes to the bucket.
        imported_file_chunk_size_mib: 1 to 512000 MiB per disk of an imported file; 1024 as in the API.
        import_metadata_on_create: list what is in the bucket once, when the association is made.
        bucket_region: Region of the bucket, when known.
    """

    file_system_path: str
    bucket: str
    prefix: str = ""
    auto_import: tuple[str, ...] = ("NEW", "CHANGED", "DELETED")
    auto_export: tuple[str, ...] = ()
    imported_file_chunk_size_mib: int = 1024
    import_metadata_on_create: bool = True
    bucket_region: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRepositoryPlan:
    """What was decided; fields as in the request, events in the order of the API."""

    file_system_path: str
    bucket: str
    prefix: str
    auto_import: tuple[str, ...]
    auto_export: tuple[str, ...]
    imported_file_chunk_size_mib: int
    import_metadata_on_create: bool
