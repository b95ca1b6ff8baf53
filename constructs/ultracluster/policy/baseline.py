"""Known findings, so that only new ones fail."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ultracluster.policy.report import TemplateFinding
from ultracluster.policy.settings import BadSettings

__all__ = ["read_baseline", "write_baseline"]

_VERSION = 1


def write_baseline(file: Path, findings: Iterable[TemplateFinding]) -> int:
    """Write the findings of today; each with words, so that a review sees what is put up with.

    Args:
        file: the baseline.
        findings: open and known findings.

    Returns:
        How many there are.
    """
    rows = {
        found.fingerprint: {
            "fingerprint": found.fingerprint,
            "rule": found.rule_id,
            "file": found.file,
            "subject": found.subject,
            "message": found.message,
        }
        for found in findings
    }
    document = {"version": _VERSION, "findings": sorted(rows.values(), key=lambda row: (row["file"], row["rule"]))}
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    file.write_text(text, encoding="utf-8", errors="backslashreplace")  # a file name may hold what is no UTF-8
    return len(rows)


def _told(error: Exception) -> str:
    return str(error.strerror).lower() if isinstance(error, OSError) and error.strerror else str(error)


def read_baseline(file: Path) -> frozenset[str]:
    """The fingerprints of a baseline.

    Raises:
        BadSettings: the file cannot be read, or is no baseline.
    """
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        rows = document["findings"]
        return frozenset(str(row["fingerprint"]) for row in rows)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadSettings(f"{file}: no baseline: {_told(error)}") from None
