"""`rules.md`: every registered rule, by area, each with an anchor of its own."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from reference_pages.markdown import bullets, code, linked, page, prose, section, table
from ultracluster.facts.rules import RuleFacts, rule_registry

__all__ = ["AREAS", "rules_page"]

AREAS: Mapping[str, str] = {
    "ACK": "Acknowledgements",
    "ALM": "Alarms",
    "API": "Arguments of constructs and plans",
    "BAT": "AWS Batch",
    "CAP": "Reservations and Capacity Blocks",
    "CST": "Cost",
    "DOC": "Documents that hold templates",
    "DRA": "Links between Lustre and S3",
    "EFA": "Elastic Fabric Adapter",
    "EFS": "Shared home",
    "EKS": "Amazon EKS",
    "HPD": "SageMaker HyperPod",
    "IAM": "Permissions",
    "IMG": "Machine images and root volumes",
    "LOC": "Embedded AWS",
    "LUS": "FSx for Lustre",
    "NET": "Network",
    "NIC": "Network interfaces",
    "NOD": "Nodes and user data",
    "PCS": "AWS PCS",
    "PLC": "Placement groups",
    "SPC": "The cluster file",
    "SPT": "Spot",
    "STG": "Arguments of storage",
    "TPL": "Templates",
}

_INTRO = """
Everything that the library checks has an id that never changes. A message ends with it, `ultracluster rules ID`
explains it on the command line, and this page holds the same text.

| severity | meaning |
|---|---|
| fatal | the service refuses it; it cannot be acknowledged |
| error | almost always wrong; it stops the stage, and in a template it can be acknowledged with a reason |
| warning | legal, but wasteful or fragile; it never stops anything |

Stages say where a rule can be judged: on the cluster `file`, on the `plan`, when a `construct` is made, on a
`template`, on the `diff` against an earlier one, against an account (`preflight`), and by the embedded AWS at `deploy`.
"""


def rules_page() -> str:
    """The page."""
    areas = [(area, list(rules)) for area, rules in groupby(rule_registry().values(), key=_area)]
    contents = table(
        ("Area", "Rules", "About"),
        ((f"[{code(area)}](#{area.lower()})", str(len(rules)), AREAS.get(area, area)) for area, rules in areas),
    )
    return page("Rules", _INTRO, contents, *(_area_section(area, rules) for area, rules in areas))


def _area(rule: RuleFacts) -> str:
    return rule.rule_id.split("-")[1]


def _area_section(area: str, rules: list[RuleFacts]) -> str:
    listing = table(
        ("Id", "Severity", "Rule"),
        ((f"[{rule.rule_id}](#{rule.rule_id.lower()})", str(rule.severity), prose(rule.title)) for rule in rules),
    )
    return section(area, f"{AREAS.get(area, area)}.", listing, *(_rule(rule) for rule in rules))


def _rule(rule: RuleFacts) -> str:
    stages = ", ".join(map(code, rule.stages))
    return section(
        rule.rule_id,
        f"**{prose(rule.title)}.** {str(rule.severity).capitalize()}; judged at {stages}.",
        bullets(
            f"*{label}:* {linked(getattr(rule, label.lower()))}"
            for label in ("Why", "Passes", "Fails", "Fix", "Source")
        ),
        level=3,
    )
