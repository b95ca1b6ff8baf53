"""cdk-nag's AwsSolutions pack over an application: what it still finds, and what was acknowledged with which reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks


def nag_report(app: cdk.App) -> dict[str, Any]:
    """Synthesize with the pack and give its part of the validation report; empty when it has nothing to say."""
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app, verbose=True))
    try:
        app.synth()
    except RuntimeError as error:
        if "ValidationFailed" not in str(error):
            raise
    report = json.loads(Path(app.outdir, "validation-report.json").read_text(encoding="utf-8"))
    parts = [part for part in report["pluginReports"] if part["pluginName"] == "AwsSolutions"]
    return parts[0] if parts else {}


def unacknowledged(report: dict[str, Any]) -> list[str]:
    """Rule and construct of each finding that is left."""
    return [
        f"{found['ruleName']} {place['constructPath']}: {found['description']}"
        for found in report.get("violations", ())
        for place in found["violatingConstructs"]
    ]


def reasons(report: dict[str, Any]) -> dict[str, str]:
    """The reason of each acknowledged finding."""
    return {found["acknowledgedId"]: found["reason"] for found in report.get("suppressedViolations", ())}
