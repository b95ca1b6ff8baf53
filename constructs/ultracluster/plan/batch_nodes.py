"""Node ranges of a multi-node parallel job of AWS Batch."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ultracluster.findings import Finding, finding

__all__ = ["check_node_ranges", "node_span"]

_RANGE = re.compile(r"\s*(\d*)\s*:\s*(\d*)\s*")


def node_span(target_nodes: str, num_nodes: int) -> tuple[int, int] | None:
    """First and last node of a range (`0:3`, `:3`, `4:`).

    Args:
        target_nodes: the range.
        num_nodes: nodes of the job, which end an open range.

    Returns:
        None for a text of another form.
    """
    match = _RANGE.fullmatch(target_nodes)
    if match is None:
        return None
    first, last = match.groups()
    return int(first or 0), int(last) if last else num_nodes - 1


def check_node_ranges(
    spans: Iterable[tuple[int, int]], *, num_nodes: int, main_node: int, subject: str
) -> tuple[Finding, ...]:
    """Whether ranges cover every node, and the main node is one of them.

    Args:
        spans: first and last node of each range; nested ones are allowed.
        num_nodes: nodes of the job.
        main_node: index of the main node.
        subject: path of the node properties in the user's terms.

    Returns:
        UC-BAT-003 for a node without a range, or a main node that does not exist.
    """
    findings: list[Finding] = []
    if not 0 <= main_node < num_nodes:
        message = f"node {main_node} is the main one, and the job has nodes 0 to {num_nodes - 1}"
        findings.append(finding("UC-BAT-003", f"{subject}.MainNode", message, "name one of them"))
    gap = _first_gap(spans, num_nodes)
    if gap is not None:
        nodes = f"node {gap[0]}" if gap[0] == gap[1] else f"nodes {gap[0]} to {gap[1]}"
        message = f"no range holds {nodes} of {num_nodes}"
        findings.append(finding("UC-BAT-003", f"{subject}.NodeRangeProperties", message))
    return tuple(findings)


def _first_gap(spans: Iterable[tuple[int, int]], num_nodes: int) -> tuple[int, int] | None:
    reached = 0
    end = num_nodes
    for first, last in sorted(spans):
        if first > reached:
            end = min(first, num_nodes)
            break
        reached = max(reached, last + 1)
    return (reached, end - 1) if reached < end else None
