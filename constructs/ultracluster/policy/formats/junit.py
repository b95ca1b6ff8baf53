"""The report as JUnit XML, for the test views of build servers: one suite per template, one case per finding."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ultracluster.findings import Severity
from ultracluster.policy.report import Report, TemplateFinding

__all__ = ["render_junit"]


def render_junit(report: Report, threshold: Severity = Severity.ERROR) -> str:
    """A finding at or above the threshold is a failure, one below it a passed case with its text as output.

    Args:
        report: the report.
        threshold: what fails.
    """
    root = Element("testsuites", name="ultracluster check")
    by_file: dict[str, list[TemplateFinding]] = {}
    for found in report.findings:
        by_file.setdefault(found.file, []).append(found)
    for file, findings in by_file.items():
        _suite(root, file, findings, threshold)
    for entry in report.not_read:
        suite = SubElement(root, "testsuite", name=_clean(entry.name), tests="1", failures="0", errors="1", skipped="0")
        case = SubElement(suite, "testcase", name="UC-DOC-001", classname=_clean(entry.name))
        SubElement(case, "error", message=_clean(entry.reason), type="unreadable")
    if not len(root):
        suite = SubElement(root, "testsuite", name="templates", tests="1", failures="0", errors="0", skipped="0")
        SubElement(suite, "testcase", name=f"{report.templates} templates", classname="ultracluster")
    _accepted(root, report)
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True)


def _suite(root: Element, file: str, findings: Iterable[TemplateFinding], threshold: Severity) -> None:
    cases = list(findings)
    failing = [found for found in cases if Report(findings=(found,)).fails(threshold)]
    suite = SubElement(
        root,
        "testsuite",
        name=_clean(file),
        tests=str(len(cases)),
        failures=str(len(failing)),
        errors="0",
        skipped="0",
    )
    for found in cases:
        case = SubElement(suite, "testcase", name=_clean(f"{found.rule_id} {found.subject}"), classname=_clean(file))
        if found.line:
            case.set("file", _clean(file))
            case.set("line", str(found.line))
        if found in failing:
            failure = SubElement(case, "failure", message=_clean(found.message), type=found.severity)
            failure.text = _clean(_body(found))
        else:
            SubElement(case, "system-out").text = _clean(_body(found))


def _accepted(root: Element, report: Report) -> None:
    if not report.acknowledged:
        return
    count = str(len(report.acknowledged))
    suite = SubElement(root, "testsuite", name="acknowledged", tests=count, failures="0", errors="0", skipped=count)
    for each in report.acknowledged:
        found = each.finding
        case = SubElement(
            suite, "testcase", name=_clean(f"{found.rule_id} {found.subject}"), classname=_clean(found.file)
        )
        SubElement(case, "skipped", message=_clean(each.reason))


def _body(found: TemplateFinding) -> str:
    place = f"{found.file}:{found.line}:{found.column}" if found.line else found.file
    when = f"\nwhen: {', '.join(found.scenario)}" if found.scenario else ""
    return f"{place}\n{found}{when}"


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _NO_XML.sub("?", text)


_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
