"""DCGM's own diagnostics, and what their severities lead to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import NodeError
from ..fabric.software import older
from ..results import Result, UnreadableError, Verdicts, worst

if TYPE_CHECKING:
    from ..host import Node

__all__ = ["Outcome", "checks", "parse_diagnostics"]

_ROOTS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")  # DCGM 4 and 3
_FAILED = ("fail", "warn")
_VERSION = re.compile(r"version:\s*(\d+(?:\.\d+)+)")


@dataclass(frozen=True)
class Outcome:
    """What one test found.

    Attributes:
        test: its name.
        status: `pass`, `fail`, `warn`, `skip` or `not run`, in small letters.
        where: entity that it is about, such as `GPU 3`; empty for the test as a whole.
        severities: DCGM's severities of what was found.
        text: what was found.
    """

    test: str
    status: str
    where: str
    severities: tuple[int, ...]
    text: str


def checks(node: Node, kind: Mapping[str, Any], verdicts: Verdicts, level: int) -> Iterator[Result]:
    """Run the diagnostics of a level: GPUs are busy for minutes, at level 4 for hours.

    Args:
        node: the node.
        kind: record of its type.
        verdicts: makes the results.
        level: 1 to 4.
    """
    facts = node.facts["health"]["dcgm"]
    least = facts["first"].get(str(kind["name"]).partition(".")[0])
    if least and (have := _version(node)) and older(have, least):
        yield verdicts.unknown("dcgm", f"DCGM {have} does not know these GPUs; install {least} or later")
        return
    command = ["dcgmi", "diag", "-r", str(level), "-j"]
    if level > 1 and kind.get("nvlinks"):
        command += ["-p", f"pcie.gpu_nvlinks_expected_up={kind['nvlinks']}"]
    try:
        done = node.run(*command, check=False, timeout=facts["levels"][str(level)]["timeout_s"])
        outcomes = parse_diagnostics(done.stdout)
    except NodeError as error:
        yield verdicts.unknown("dcgm", f"level {level}: {error}")
        return
    failed = [outcome for outcome in outcomes if outcome.status in _FAILED]
    for outcome in failed:
        yield _fault(outcome, facts["severities"], verdicts)
    if failed:
        return
    ran = sum(outcome.status == "pass" for outcome in outcomes)
    if ran and not done.status:
        yield verdicts.passed("dcgm", f"level {level}: {ran} tests passed in {done.seconds:.0f} s", level)
    else:
        yield verdicts.unknown("dcgm", f"level {level} ended with status {done.status} and {ran} tests passed")


def _version(node: Node) -> str:
    """Of DCGM; empty when it does not tell."""
    try:
        found = _VERSION.search(node.run("dcgmi", "--version", check=False, timeout=20).stdout)
    except NodeError:
        return ""
    return found[1] if found else ""


def _fault(outcome: Outcome, severities: Mapping[str, str], verdicts: Verdicts) -> Result:
    named = [severities.get(str(number), "isolate") for number in outcome.severities if number]
    action = worst(named, verdicts.scale) if named else ("monitor" if outcome.status == "warn" else "")
    where = f" on {outcome.where}" if outcome.where else ""
    message = f"{outcome.test}{where}: {outcome.text or outcome.status}"
    part = f"{outcome.test}-{outcome.where}".strip("-")
    return verdicts.failed("dcgm", "dcgm", message, outcome.status, part=part, action=action)


def parse_diagnostics(text: str) -> tuple[Outcome, ...]:
    """Read `dcgmi diag -j`, of DCGM 3 and 4; lines before and after the document are left out.

    Raises:
        UnreadableError: it is cut off, something else, or the diagnostics did not run.
    """
    start, end = text.find("{"), text.rfind("}")
    try:
        document = json.loads(text[start : end + 1])
    except ValueError as error:
        raise UnreadableError(f"the output of dcgmi cannot be read ({error})") from error
    found: dict[str, Any] = next((document[name] for name in _ROOTS if isinstance(document.get(name), dict)), {})
    if found.get("runtime_error"):
        raise UnreadableError(f"the diagnostics did not run: {found['runtime_error']}")
    categories = found.get("test_categories")
    if not isinstance(categories, list) or not categories:
        raise UnreadableError("the output of dcgmi has no tests")
    return tuple(outcome for category in categories for test in _rows(category, "tests") for outcome in _test(test))


def _rows(value: Any, key: str) -> list[Any]:  # noqa: ANN401 - any part of the document
    rows = value.get(key) if isinstance(value, dict) else None
    return rows if isinstance(rows, list) else []


def _test(test: Any) -> Iterator[Outcome]:  # noqa: ANN401 - any part of the document
    name = str(test.get("name", "test")) if isinstance(test, dict) else "test"
    found = [_outcome(name, entry, _entity(entry)) for entry in _rows(test, "results") if isinstance(entry, dict)]
    summary = test.get("test_summary") if isinstance(test, dict) else None
    if isinstance(summary, dict) and not any(outcome.status in _FAILED for outcome in found):
        found.append(_outcome(name, summary, ""))
    yield from found


def _entity(entry: Mapping[str, Any]) -> str:
    if "entity_id" in entry:
        return f"{entry.get('entity_group', 'entity')} {entry['entity_id']}"
    ids = entry.get("gpu_ids", entry.get("gpu_id"))
    return "" if ids is None else f"GPU {ids}"


def _outcome(name: str, entry: Mapping[str, Any], where: str) -> Outcome:
    rows = entry.get("warnings")
    listed = rows if isinstance(rows, list) else [rows] if rows else []
    texts = [str(row.get("warning", row)) if isinstance(row, dict) else str(row) for row in listed]
    numbers = [row.get("error_severity") for row in listed if isinstance(row, dict)]
    return Outcome(
        test=name,
        status=str(entry.get("status", "")).strip().lower(),
        where=where,
        severities=tuple(number for number in numbers if isinstance(number, int)),
        text=" ".join(" ".join(texts).split()),
    )
