"""Renderers of a report, one file per format."""

from __future__ import annotations

from ultracluster.findings import Severity
from ultracluster.policy.report import Report

__all__ = ["MACHINE_FORMATS", "render_for_machines"]

MACHINE_FORMATS = ("json", "sarif", "junit", "github")


def render_for_machines(report: Report, form: str, threshold: Severity) -> str:
    """The report in one of `MACHINE_FORMATS`."""
    if form == "json":
        from ultracluster.policy.formats.json import render_json

        return render_json(report)
    if form == "sarif":
        from ultracluster.policy.formats.sarif import render_sarif

        return render_sarif(report)
    if form == "junit":
        from ultracluster.policy.formats.junit import render_junit

        return render_junit(report, threshold)
    from ultracluster.policy.formats.github import render_github

    return render_github(report)
