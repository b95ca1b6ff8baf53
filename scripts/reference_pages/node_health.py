"""`node-health.md`: every fault that a node looks for, what it leads to and why, with its source."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from reference_pages.markdown import code, page, prose, section, table
from ultracluster.facts import node_health, nvidia_xid

__all__ = ["node_health_page"]

_INTRO = """
What `ultracluster-node health` looks for. Every fault leads to one action on one scale; the heaviest is the node's, and
from `{unfit_from}` on it takes no work. How to use it: [node health](../guides/node-health.md).
"""
_SOFTWARE = {
    "libfabric": "libfabric",
    "plugin": "aws-ofi-nccl",
    "efa_installer": "EFA installer",
    "driver": "NVIDIA driver",
    "kernel": "kernel",
}


def node_health_page() -> str:
    """The page."""
    facts: dict[str, Any] = json.loads(node_health.DATA_FILE.read_text(encoding="utf-8"))
    xids: dict[str, Any] = json.loads(nvidia_xid.DATA_FILE.read_text(encoding="utf-8"))
    sources = {**xids["sources"], **facts["sources"]}
    steps = facts["recurring"]["after_reboot"].items()
    again = ", ".join(f"{code(before)} becomes {code(after)}" for before, after in steps)
    days, held = facts["recurring"]["within_days"], facts["collectives"]
    return page(
        "Faults of a node",
        _INTRO.format(unfit_from=facts["unfit_from"]),
        section(
            "Actions", table(("Action", "Meaning"), ((code(a["name"]), prose(a["meaning"])) for a in facts["actions"]))
        ),
        section(
            "Faults",
            f"*Recurs*: when it is seen again after a reboot within {days} days, {again}.",
            table(("Fault", "Action", "Recurs", "Why", "Source"), _faults(facts)),
        ),
        section("XIDs", prose(xids["note"]), table(("XID", "Meaning", "Action", "Source"), _xids(xids))),
        section("Limits", table(("Limit", "Value", "Why", "Source"), _limits(facts))),
        section(
            "Floors of collectives",
            prose(f"{held['reason']}. Messages of {held['least_message_gib']} GiB or more."),
            table(("Collective", "Nodes", "Share of the line rate", "Evidence", "Confidence"), _floors(facts)),
        ),
        section("Least versions", table(("Families", "Versions", "Why", "Source", "Confidence"), _versions(facts))),
        section("Sources", table(("Key", "Source", "As of"), _sources(sources))),
    )


def _source(row: Mapping[str, Any]) -> str:
    return f"[{row['source']}](#sources)"


def _faults(facts: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for row in facts["faults"]:
        recurs = "yes" if row["recurs"] else ""
        yield code(row["fault"]), code(row["action"]), recurs, prose(row["reason"]), _source(row)


def _xids(xids: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for row in xids["xids"]:
        yield str(row["xid"]), prose(row["meaning"]), code(row["action"]), _source(row)


def _limits(facts: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, row in facts["limits"].items():
        value = row["value"]
        shown = ", ".join(value) if isinstance(value, list) else str(value)
        yield code(name), shown, prose(row["reason"]), _source(row)


def _floors(facts: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for row in facts["collectives"]["floors"]:
        least, most = row["nodes"]
        nodes = str(least) if least == most else f"{least} to {most}" if most else f"{least} and more"
        yield code(row["collective"]), nodes, f"{row['of_line']:g}", prose(row["evidence"]), row["confidence"]


def _versions(facts: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for row in facts["fabric_software"]:
        versions = ", ".join(f"{title} {row[key]}" for key, title in _SOFTWARE.items() if key in row)
        yield ", ".join(row["families"]) or "all", versions, prose(row["reason"]), _source(row), row["confidence"]


def _sources(sources: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for key, source in sorted(sources.items()):
        yield key, f"[{prose(source['title'])}]({source['url']})", source["as_of"]
