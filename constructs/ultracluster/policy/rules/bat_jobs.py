"""Rules on multi-node job definitions of AWS Batch: node ranges, size, where and how long they run."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ultracluster.facts.batch import batch_facts
from ultracluster.plan.batch_nodes import check_node_ranges, node_span
from ultracluster.policy.graph.batch import (
    JOB_DEFINITION,
    JOB_QUEUE,
    any_leads_to_nodes,
    containers_of,
    environment_kind,
    environments_of,
    has_multi_node,
    has_queues,
    is_multi_node,
    leads_to_nodes,
    node_ranges,
)
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

# The longest that CloudFormation puts in for a reference, an ARN; enough to say that a definition certainly fits.
_MOST_REFERENCE = 2048


@rule("UC-BAT-003", on=JOB_DEFINITION)
def ranges_cover_all_nodes(definition: Resource) -> Iterator[Problem]:
    """Node ranges cover every node, and the main node exists."""
    if not is_multi_node(definition):
        return
    properties = definition.get("NodeProperties")
    nodes, main = properties["NumNodes"].integer(), properties["MainNode"].integer()
    spans = [_span(entry["TargetNodes"], nodes) for entry in node_ranges(definition)]
    found = check_node_ranges(spans, num_nodes=nodes, main_node=main, subject="")
    yield from from_findings(found, lambda subject: properties[subject.lstrip(".")])


def _span(target: Value, nodes: int) -> tuple[int, int]:
    found = node_span(target.text(), nodes)
    if found is None:
        raise NotKnown(f"which nodes {target.shown} names")
    return found


@rule("UC-BAT-005", on=JOB_DEFINITION)
def somewhere_to_run(definition: Resource) -> Iterator[Problem]:
    """Some queue leads to an environment that runs multi-node jobs."""
    if not is_multi_node(definition):
        return
    assembly = definition.assembly
    if has_queues(assembly) and not any_leads_to_nodes(assembly):
        queues = assembly.resources(JOB_QUEUE)
        kinds = dict.fromkeys(environment_kind(each) for queue in queues for each in environments_of(queue))
        message = f"multinode, and every queue leads to {', '.join(kinds) or 'no environment'} only: it waits for ever"
        yield Problem(definition.get("Type"), message)


@rule("UC-BAT-012", on=JOB_DEFINITION)
def definition_fits(definition: Resource) -> Iterator[Problem]:
    """A job definition is small enough."""
    if not is_multi_node(definition):
        return
    properties = definition.get("NodeProperties")
    least, unknown = _measure(properties)
    most = batch_facts().job_definition_bytes
    if least > most:
        yield Problem(properties, f"{least} bytes at least, Batch takes {most}")
    elif unknown and least + unknown * _MOST_REFERENCE > most:
        raise NotKnown("how long the values are that are filled in at deployment")


def _measure(properties: Value) -> tuple[int, int]:
    """Bytes of what is known, written without spaces, and how many parts are not known."""
    unknown = 0
    size = 0
    stack = [properties]
    while stack:
        value = stack.pop()
        if value.is_object:
            fields = value.fields()
            size += sum(len(json.dumps(key)) + 2 for key in fields) + 1
            stack.extend(fields.values())
        elif value.is_list:
            items = value.items()
            size += len(items) + 1
            stack.extend(items)
        elif value.is_scalar:
            text = value.known_text("")
            size += len(json.dumps(text) if isinstance(value.state, str) else text)
            unknown += not value.known
        else:
            unknown += 1
    return size, unknown


@rule("UC-BAT-013", on=JOB_DEFINITION)
def few_ranges_of_one_type(definition: Resource) -> Iterator[Problem]:
    """A multi-node job has a few ranges, all of one instance type."""
    if not is_multi_node(definition):
        return
    ranges = node_ranges(definition)
    most = batch_facts().most_node_ranges
    if len(ranges) > most:
        listed = definition.get("NodeProperties", "NodeRangeProperties")
        yield Problem(listed, f"{len(ranges)} ranges, Batch takes {most}")
    first: Value | None = None
    for kind in _named_types(ranges):
        with kind.judged_apart():
            if first is None:
                first = kind
            if first.symbol() != kind.symbol() and kind.text() != first.text():
                yield Problem(kind, f"{kind.shown} beside {first.shown}, all nodes of a job are of one type")
                return


def _named_types(ranges: list[Value]) -> Iterator[Value]:
    for entry in ranges:
        yield from entry["InstanceTypes"].items()
        for container in containers_of(entry):
            if container["InstanceType"].exists:
                yield container["InstanceType"]


@rule("UC-BAT-023", on=JOB_DEFINITION)
def running_has_a_limit(definition: Resource) -> Iterator[Problem]:
    """A multi-node job ends when a collective hangs."""
    if not is_multi_node(definition):
        return
    limit = definition.get("Timeout", "AttemptDurationSeconds")
    if not limit.exists:
        message = "absent, so nodes whose collective hangs run, and bill, for ever"
        yield Problem(limit, message, "set it above the longest run")


@rule("UC-BAT-023", on=JOB_QUEUE)
def waiting_has_a_limit(queue: Resource) -> Iterator[Problem]:
    """A queue of multi-node jobs gives up on one that cannot be placed."""
    if not has_multi_node(queue.assembly) or not leads_to_nodes(queue):
        return
    actions = queue.get("JobStateTimeLimitActions")
    if not actions.items():
        message = "absent, so a job that can never be placed stays RUNNABLE, and holds up those behind it, for ever"
        yield Problem(actions, message, "add an action that cancels a job RUNNABLE for longer than it may wait")
