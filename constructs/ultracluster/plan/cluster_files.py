"""Files that a cluster file names: the users' scripts and records of further instance types."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ultracluster.findings import Finding, FindingsError, finding

if TYPE_CHECKING:
    from ultracluster.facts.instances import InstanceType

__all__ = ["read_catalog", "read_script"]

MAX_SCRIPT_BYTES = 1_000_000
"""Far above what user data can hold; a larger file is not a script."""


def read_script(path: str, base_dir: Path, *, subject: str) -> tuple[str | None, tuple[Finding, ...]]:
    """The text of a user's script, or why there is none.

    Args:
        path: the file, relative to the folder of the cluster file.
        base_dir: that folder.
        subject: where the cluster file names it.
    """
    try:
        content = (base_dir / path).read_bytes()[: MAX_SCRIPT_BYTES + 1]
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        return None, (finding("UC-SPC-016", subject, f'"{path}" cannot be read: {reason}'),)
    if len(content) > MAX_SCRIPT_BYTES:
        return None, (
            finding("UC-SPC-016", subject, f'"{path}" is larger than {MAX_SCRIPT_BYTES:,} bytes', "name a script"),
        )
    try:
        return content.decode("utf-8"), ()
    except UnicodeDecodeError:
        return None, (finding("UC-SPC-016", subject, f'"{path}" is not text', "name a script, not a program"),)


def read_catalog(
    records: tuple[str, ...], base_dir: Path
) -> tuple[Mapping[str, InstanceType] | None, tuple[Finding, ...]]:
    """The catalogue with the types of further records; None for the library's own.

    Args:
        records: files with DescribeInstanceTypes records, relative to the folder of the cluster file.
        base_dir: that folder.
    """
    if not records:
        return None, ()
    from ultracluster.facts.instance_record import catalog_with_records

    known: Mapping[str, InstanceType] | None = None
    findings: list[Finding] = []
    for at, name in enumerate(records):
        subject = f"instance_type_records[{at}]"
        try:
            known = catalog_with_records([base_dir / name], base=known)
        except FindingsError as error:
            findings += [
                finding(found.rule_id, subject, f"{found.subject}: {found.message}", found.fix)
                for found in error.findings
            ]
    return known, tuple(findings)
