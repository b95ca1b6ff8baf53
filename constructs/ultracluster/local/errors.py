"""Errors of the embedded AWS; each carries a stable id, what was found and what would be right."""

from __future__ import annotations

from ultracluster.findings import Finding, FindingsError, finding

__all__ = ["LocalError", "LocalUsageError", "missing_extra"]

INSTALL_HINT = "install it with: pip install 'cdk-ultracluster[local]'"


class LocalError(FindingsError):
    """The embedded AWS could not do what was asked; the command ends with status 1."""

    exit_code = 1

    def __init__(self, rule_id: str, subject: str, message: str, fix: str = "") -> None:
        """Make the one finding of this error.

        Args:
            rule_id: an id of the registry, `UC-LOC-nnn`.
            subject: what the message is about (a port, a stack, a path).
            message: the value found and the limit.
            fix: what would be right; the registered fix when left empty.
        """
        found: Finding = finding(rule_id, subject, message, fix)
        super().__init__((found,))


class LocalUsageError(LocalError):
    """Bad usage or input (a missing extra, a file that is not there, a port in use); the command ends with status 2."""

    exit_code = 2


def missing_extra(module: str) -> LocalUsageError:
    """The error for a part of the extra `local` that is not installed."""
    return LocalUsageError(
        "UC-LOC-001",
        "ultracluster local",
        f"the embedded AWS needs the package {module!r}, which is not installed",
        INSTALL_HINT,
    )
