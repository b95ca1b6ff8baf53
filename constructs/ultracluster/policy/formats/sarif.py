"""The report as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ultracluster import __version__
from ultracluster.facts.rules import RuleFacts, rule_registry
from ultracluster.findings import Severity
from ultracluster.policy.report import Report, TemplateFinding

__all__ = ["render_sarif"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.FATAL: "error", Severity.ERROR: "error", Severity.WARNING: "warning"}
# How code scanning ranks: critical above 9, high from 7, medium from 4.
_RANKS = {Severity.FATAL: "9.5", Severity.ERROR: "7.0", Severity.WARNING: "4.0"}


def render_sarif(report: Report) -> str:
    """One run with all findings; acknowledged ones are suppressed, known ones unchanged against the baseline."""
    accepted = [each.finding for each in report.acknowledged]
    everything = [*report.findings, *report.known, *accepted]
    rules = sorted({found.rule_id for found in everything})
    at = {rule_id: index for index, rule_id in enumerate(rules)}
    results = [_result(found, at, "new" if report.known else None) for found in report.findings]
    results += [_result(found, at, "unchanged") for found in report.known]
    results += [
        {**_result(each.finding, at, None), "suppressions": [{"kind": "inSource", "justification": each.reason}]}
        for each in report.acknowledged
    ]
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "ultracluster",
                "semanticVersion": __version__,
                "rules": [_rule(rule_id, everything) for rule_id in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report)],
        "results": results,
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _rule(rule_id: str, findings: Iterable[TemplateFinding]) -> dict[str, Any]:
    facts = rule_registry().get(rule_id)
    if facts is None:  # of another engine
        engine = next(found.engine for found in findings if found.rule_id == rule_id)
        return {"id": rule_id, "shortDescription": {"text": f"{engine} {rule_id}"}}
    return {
        "id": rule_id,
        "shortDescription": {"text": facts.title},
        "fullDescription": {"text": facts.why},
        "help": {"text": _help(facts)},
        "defaultConfiguration": {"level": _LEVELS[facts.severity]},
        "properties": {"security-severity": _RANKS[facts.severity], "tags": [rule_id.split("-")[1].lower()]},
    }


def _help(facts: RuleFacts) -> str:
    return f"Passes: {facts.passes}. Fails: {facts.fails}. Fix: {facts.fix}. Source: {facts.source}."


def _result(found: TemplateFinding, at: Mapping[str, int], state: str | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": found.rule_id,
        "ruleIndex": at[found.rule_id],
        "level": _LEVELS[found.severity],
        "message": {"text": str(found)},
        "locations": [_location(found)],
        "partialFingerprints": {"ultracluster/v1": found.fingerprint},
        "properties": {"severity": str(found.severity), "engine": found.engine, "scenario": list(found.scenario)},
    }
    return result if state is None else {**result, "baselineState": state}


def _location(found: TemplateFinding) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(found.file)}}
    if found.line:
        physical["region"] = {
            "startLine": found.line,
            "startColumn": max(found.column, 1),
            "endColumn": max(found.end_column, found.column + 1, 2),
        }
        if found.excerpt:
            physical["region"]["snippet"] = {"text": found.snippet}
    location: dict[str, Any] = {"physicalLocation": physical}
    name = found.construct_path or found.logical_id
    if name:
        full = f"{name}.{found.property_path}" if found.property_path else name
        location["logicalLocations"] = [{"fullyQualifiedName": full, "kind": "resource"}]
    return location


def _uri(file: str) -> str:
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))


def _invocation(report: Report) -> dict[str, Any]:
    notes = [
        {
            "level": "error",
            "message": {"text": f"{entry.name} cannot be read: {entry.reason}"},
            "descriptor": {"id": "UC-DOC-001"},
        }
        for entry in report.not_read
    ]
    notes += [
        {
            "level": "note",
            "message": {
                "text": f"{', '.join(entry.rule_ids)} not judged on {entry.where or entry.template}: {entry.reason}"
            },
        }
        for entry in report.not_judged
    ]
    return {"executionSuccessful": not report.not_read, "toolExecutionNotifications": notes}
