"""Shapes that several storage plans share: mount paths and S3 prefixes."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.findings import Finding, finding

__all__ = ["SYSTEM_PATHS", "check_choice", "check_mount_path", "check_prefix", "lies_within"]

# Mounting over one of these hides what the image needs to start; /scratch is the node's own local disks.
SYSTEM_PATHS = frozenset(
    (
        *("/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt", "/proc", "/root", "/run"),
        *("/sbin", "/scratch", "/sys", "/tmp", "/usr", "/var"),
    )
)


def check_mount_path(path: str, *, subject: str) -> Iterator[Finding]:
    """A mount path is absolute, plain, and does not hide a directory of the system."""
    plain = path.startswith("/") and not any(part in ("", ".", "..") for part in path[1:].split("/"))
    if not plain or any(character.isspace() or character in "\"'\\$`;" for character in path):
        yield finding(
            "UC-STG-002",
            subject,
            f"{path!r} is not an absolute path without special characters",
            'write it like "/fsx"',
        )
    elif path in SYSTEM_PATHS:
        yield finding(
            "UC-STG-002",
            subject,
            f"{path!r} would hide a directory of the operating system",
            'mount below it or elsewhere, like "/fsx"',
        )


def check_prefix(prefix: str, *, subject: str) -> Iterator[Finding]:
    """A prefix in a bucket has no leading slash and no empty part."""
    if prefix and ("//" in prefix or prefix.startswith(("/", "s3:"))):
        yield finding(
            "UC-STG-005", subject, f"{prefix!r} is not a prefix inside the bucket", 'write it like "data/train/"'
        )


def check_choice(value: str, allowed: tuple[str, ...], *, subject: str) -> Iterator[Finding]:
    """A value out of a closed list."""
    if value not in allowed:
        yield finding("UC-STG-001", subject, f"{value!r} is none of {', '.join(allowed)}", "use one of these")


def lies_within(inner: str, outer: str) -> bool:
    """Whether a prefix or path equals or lies below another, read part by part; the empty one holds everything."""
    inner_parts = [part for part in inner.split("/") if part]
    outer_parts = [part for part in outer.split("/") if part]
    return inner_parts[: len(outer_parts)] == outer_parts
