"""The report as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from ultracluster.policy.report import Report, TemplateFinding

__all__ = ["finding_row", "render_json"]


def render_json(report: Report) -> str:
    """The whole report; keys are the attributes of `Report`, with the counts beside them."""
    document: dict[str, Any] = {
        "counts": {str(severity): count for severity, count in sorted(report.counts.items())},
        "templates": report.templates,
        "resources": report.resources,
        "judged": report.judged,
        "skipped": report.skipped,
        "serverless": report.serverless,
        "findings": [finding_row(found) for found in report.findings],
        "acknowledged": [
            {"reason": each.reason, "noted_in": each.noted_in, "finding": finding_row(each.finding)}
            for each in report.acknowledged
        ],
        "known": [finding_row(found) for found in report.known],
        "not_judged": [asdict(entry) for entry in report.not_judged],
        "not_read": [asdict(entry) for entry in report.not_read],
        "failures": list(report.failures),
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def finding_row(found: TemplateFinding) -> dict[str, Any]:
    """One finding as plain values."""
    return {
        **asdict(found),
        "excerpt": found.snippet,
        "scenario": list(found.scenario),
        "fingerprint": found.fingerprint,
    }
