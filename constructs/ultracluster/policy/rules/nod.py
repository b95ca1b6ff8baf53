"""Rules on what scripts of nodes set: variables, limits, placeholders, and the form of their document."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ultracluster.facts.node_environment import forbidden_variables
from ultracluster.plan.node_limits import check_locked_memory, locked_memory_limits
from ultracluster.plan.node_variables import assignments, check_assignments
from ultracluster.plan.user_data_checks import calls_extras
from ultracluster.policy.graph.containers import JOB_DEFINITION, TASK_DEFINITION, containers_of, environment_of
from ultracluster.policy.graph.fleets import NODE_GROUP, PCS_NODE_GROUP
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, users_of
from ultracluster.policy.graph.node_scripts import SCRIPT_HOLDERS, node_script, training_script
from ultracluster.policy.graph.operating_system import AL2023, operating_system
from ultracluster.policy.graph.user_data import MARK, user_data
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown, Opaque
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_OPEN = "..."
_MERGING = ("AWS::Batch::ComputeEnvironment", NODE_GROUP, PCS_NODE_GROUP)
_USER_DATA = (LAUNCH_TEMPLATE, "AWS::EC2::Instance")
_NAMED = re.compile(r"(?<![\\$])\$\{([A-Za-z][A-Za-z0-9_:.]*)\}")
_ESCAPED = re.compile(r"\$\{!\s*([^{}]+?)\s*\}")
_SOURCES = re.compile(r"(?m)(?:^|[;&|]|\bthen|\bdo)\s*(?:source|\.)\s+[\"'$/~\w]|\bset -a\b")
_ASKS_FOR_OS = re.compile(r"os-release|lsb_release|VERSION_ID|system-release")


@rule("UC-NOD-001", "UC-NOD-002", on=SCRIPT_HOLDERS)
def variables_in_scripts(holder: Resource) -> Iterator[Problem]:
    """No script sets a variable that costs the fabric, or one that current releases have superseded."""
    script = node_script(holder)
    if script is None:
        return
    where, found = script.where, list(assignments(script.text.replace(MARK, _OPEN)))
    harmful = [each for each in found if not each.variable.needed_on]
    for each in found:
        with where.judged_apart():
            if each.variable.needed_on and operating_system(holder) not in each.variable.needed_on:
                harmful.append(each)
    yield from from_findings(check_assignments(harmful, subject=""), lambda _: where)
    _refuse_unknown_values(script.text)


def _refuse_unknown_values(text: str) -> None:
    """Where the value decides, one that only the deployment knows is no pass."""
    for row in forbidden_variables():
        if (row.value or row.value_like) and f"{row.name}={MARK}" in text:
            raise NotKnown(f"the value of {row.name}")


@rule("UC-NOD-001", "UC-NOD-002", on=(JOB_DEFINITION, TASK_DEFINITION))
def variables_in_containers(definition: Resource) -> Iterator[Problem]:
    """No container gets such a variable, in its environment or on its command line."""
    for container in containers_of(definition):
        for name, value in environment_of(container):
            with name.judged_apart():
                # Of most variables the name alone decides.
                yield from _in_container(f"{name.text()}={value.known_text(MARK) if value.known else MARK}", value)
        command = container["Command"]
        with command.judged_apart():
            yield from _in_container(" ".join(part.known_text(MARK) for part in command.one_or_many()), command)


def _in_container(text: str, where: Value) -> Iterator[Problem]:
    found = list(assignments(text.replace(MARK, _OPEN)))
    # The kernel is that of the hosts, which a definition does not name.
    harmful = [each for each in found if not each.variable.needed_on]
    yield from from_findings(check_assignments(harmful, subject=""), lambda _: where)
    if len(harmful) < len(found):
        raise NotKnown("whether the kernel of the hosts still needs what is set")
    _refuse_unknown_values(text)


@rule("UC-NOD-003", on=SCRIPT_HOLDERS)
def locked_memory_unlimited(holder: Resource) -> Iterator[Problem]:
    """Limits of locked memory that a script sets leave room for the buffers of EFA."""
    script = training_script(holder, "memlock", "MEMLOCK", "ulimit")
    if script is None:
        return
    where = script.where
    for written, size in locked_memory_limits(script.text):
        with where.judged_apart():
            if size is None:
                raise NotKnown(f"the limit in {written.replace(MARK, '...')}")
            yield from from_findings(check_locked_memory(written, size, subject=""), lambda _: where)


@rule("UC-NOD-006", on=_USER_DATA)
def placeholders_are_filled_in(holder: Resource) -> Iterator[Problem]:
    """No placeholder of user data names a value of the template that nothing puts in."""
    script = node_script(holder)
    if script is None or "${" not in script.text:
        return
    template = holder.template.model
    parameters = template.section("Parameters")
    left = [
        name
        for name in dict.fromkeys(_NAMED.findall(script.text))
        if name.startswith("AWS::") or (base := name.split(".", 1)[0]) in parameters or base in template.resources
    ]
    escaped = _escaped(script.where.written) if left else set()
    for name in left:
        if name in escaped:
            continue
        with script.where.judged_apart():
            if not _is_assigned(name, script.text):
                yield Problem(script.where, f"${{{name}}} is left as it stands: no Fn::Sub puts the value in")


def _escaped(raw: object) -> set[str]:
    """Names that an author kept from Fn::Sub on purpose, as `${!Name}`."""
    found: set[str] = set()
    stack = [raw]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            found.update(_ESCAPED.findall(value))
        elif isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return found


def _is_assigned(name: str, script: str) -> bool:
    if not name.isidentifier():
        return False
    if re.search(rf"(?<![\w${{]){name}\+?=|\b(?:read|for|getopts|printf -v|mapfile)\b[^\n;]*\b{name}\b", script):
        return True
    if _SOURCES.search(script):
        raise NotKnown(f"whether a file that the script reads sets {name}")
    return False


@rule("UC-NOD-007", on=_USER_DATA)
def tools_of_the_operating_system(holder: Resource) -> Iterator[Problem]:
    """User data of Amazon Linux 2023 calls no amazon-linux-extras."""
    script = node_script(holder)
    if script is None or not calls_extras(script.text):
        return
    found = operating_system(holder)
    if found == AL2023:
        if _ASKS_FOR_OS.search(script.text):
            raise NotKnown("whether the script calls amazon-linux-extras on Amazon Linux 2 only")
        message = "the script installs from amazon-linux-extras, which Amazon Linux 2023 does not have"
        yield Problem(script.where, message)


@rule("UC-NOD-020", on=LAUNCH_TEMPLATE)
def multipart_is_closed(launch_template: Resource) -> Iterator[Problem]:
    """Multipart user data that a service merges ends with its closing boundary."""
    data = user_data(launch_template)
    if data is None or not any(use.consumer.type in _MERGING for use in users_of(launch_template)):
        return
    boundary = data.boundary
    if boundary is None or data.is_closed:
        return
    if data.parts and isinstance(data.parts[-1], Opaque):
        raise NotKnown("how the user data ends")
    last = data.text.rstrip().rsplit("\n", 1)[-1].strip()
    yield Problem(data.value, f"it ends with {last[:40]!r}, not with --{boundary}--")
