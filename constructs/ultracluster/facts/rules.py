"""Reader of the rule registry: one JSON file per area in `data/rules/`, one row per stable id."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ultracluster.findings import Severity
from ultracluster.values import dataclass

__all__ = ["RuleFacts", "rule_facts", "rule_registry"]

DATA_FOLDER = Path(__file__).with_name("data") / "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFacts:
    """What the registry says of one id.

    Attributes:
        rule_id: `UC-<AREA>-<nnn>`, stable for ever.
        title: one line.
        severity: how a finding with this id is treated.
        stages: where it can be judged: file, plan, construct, template, diff, preflight, deploy.
        why: what goes wrong otherwise.
        passes: what is accepted.
        fails: an example that is not.
        fix: the usual change.
        source: where the limit comes from.
    """

    rule_id: str
    title: str
    severity: Severity
    stages: tuple[str, ...]
    why: str
    passes: str
    fails: str
    fix: str
    source: str


def _read(rule_id: str, row: Mapping[str, object]) -> RuleFacts:
    text = {key: str(row[key]) for key in ("title", "why", "passes", "fails", "fix", "source")}
    stages = row["stages"]
    if not isinstance(stages, list):
        raise TypeError(f"{rule_id}.stages: a list is needed")
    return RuleFacts(rule_id=rule_id, severity=Severity(str(row["severity"])), stages=tuple(map(str, stages)), **text)


@cache
def rule_registry() -> Mapping[str, RuleFacts]:
    """All registered rules by id, in the order of their ids."""
    rows: dict[str, RuleFacts] = {}
    for file in sorted(DATA_FOLDER.glob("*.json")):
        area = json.loads(file.read_text(encoding="utf-8"))
        rows.update({rule_id: _read(rule_id, row) for rule_id, row in area.items()})
    return dict(sorted(rows.items()))


def rule_facts(rule_id: str) -> RuleFacts:
    """The registered facts of one id.

    Raises:
        KeyError: no such id.
    """
    return rule_registry()[rule_id]
