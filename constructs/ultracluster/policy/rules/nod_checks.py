"""Rules on health checks of nodes, and on scripts that nodes fetch and run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ultracluster.facts.instances import catalog
from ultracluster.plan.collectives import check_collective_floor, check_collective_message
from ultracluster.policy.graph.fleets import PCS_NODE_GROUP
from ultracluster.policy.graph.node_scripts import SCRIPT_HOLDERS, node_script, node_types, training_script
from ultracluster.policy.graph.user_data import MARK
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_ASSIGNED = re.compile(r"(?<![\w$])(?P<name>\w+)=[\"']?(?P<value>\d+(?:\.\d+)?)(?![\w.])")
_BANDWIDTH = re.compile(r"BUS_?BW|BANDWIDTH|_BW", re.IGNORECASE)
_LEAST = re.compile(r"MIN|FLOOR|THRESH|EXPECT", re.IGNORECASE)
_LARGEST = re.compile(r"\b(?:all_reduce|alltoall|all_gather|reduce_scatter|sendrecv)_perf\b[^\n]*\s-e\s+(\d+)([KMG]?)")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_TOOLS = r"(?:dcgmi|nvidia-smi|fi_info|ibv_devinfo|neuron-ls|neuron-monitor|nvqual)"
_QUIET = r"[^\n;|&]*(?:2>&1|&>\s*/dev/null)?\s*"
_ASKED = rf"(?:command\s+-v|which|type(?:\s+-\w+)?|hash)\s+\S*{_TOOLS}\b{_QUIET}"
_MISSING_PASSES = re.compile(
    rf"{_ASKED}\|\|\s*(?:\{{[^}}\n]*?)?\bexit\s+0\b|if\s+!\s*{_ASKED};?\s*then(?:(?!\bfi\b|\belse\b)[\s\S])*?\bexit\s+0\b"
)
_IS_CHECK = re.compile(r"health|prolog|dcgmi\s+(?:diag|health)|\bcheck", re.IGNORECASE)
# What a script holds for certain that tests a checksum.
_TESTS = ("sum", "--verify", "dgst", "cosign", "--version-id")
_TESTED = re.compile(r"\bsha\d*sum\b|\bshasum\b|gpg2?\s+(?:--\S+\s+)*--verify|openssl\s+dgst|\bcosign\b|--version-id\b")
_PIPED = re.compile(
    r"\b(?:curl|wget)\b(?P<piped>[^\n|;]*)\|\s*(?:sudo\s+(?:-\S+\s+)*)?(?:ba|da|z)?sh\b"
    r"|\b(?:ba|da|z)?sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\()\s*(?:curl|wget)\b(?P<inside>[^\n)]*)"
)
_FETCHED = re.compile(
    r"\baws\s+s3\s+cp\s+[\"']?(?P<object>s3://[^\s\"']+)[\"']?\s+[\"']?(?P<copy>[^\s\"';&|]+)"
    r"|\b(?:curl|wget)\b[^\n;|]*?(?:(?<=\s)-\w{0,8}[oO]|--output|--remote-name)\s+[\"']?(?P<file>[^\s\"';&|]+)[^\n;|]*"
    r"|\bwget\b[^\n;|&]*"
)
_FETCHERS = ("curl", "wget", "aws s3")
_URL = re.compile(r"https?://[^\s\"')]+")
_PINNED = re.compile(r"[0-9a-f]{40}|\d+\.\d+")
_RUN = re.compile(r"(?:(?<![\w.])(?:ba|da|z)?sh\s+(?:-\w+\s+)*|\bpython3?\s+|\bchmod\s+\S+\s+|\bsource\s+)(?=(\S*))")
_SCRIPT_NAME = re.compile(r"\.(?:sh|py|bash|pl|run)$")
_SERVICE_BUCKET = "s3://aws-pcs-repo-"
_COUNTED = re.compile(r"\bibv_dev(?:ices|info)\b(?![^\n]*(?:rdmap|efa))[^\n]*\|[^\n]*(?:\bwc\s+-l|\bgrep\s+-\w*c)")


@rule("UC-NOD-016", on=SCRIPT_HOLDERS)
def floor_is_within_reach(holder: Resource) -> Iterator[Problem]:
    """The bandwidth that a check asks of a collective is one that the fabric has, at messages that reach it."""
    script = training_script(holder, "BW", "bw", "BANDWIDTH", "bandwidth")
    floor = _floor(script.text) if script is not None else None
    if script is None or floor is None:
        return
    where = script.where
    largest = _LARGEST.search(script.text)
    if largest is not None:
        size = int(largest[1]) * _UNITS[largest[2]]
        yield from from_findings(check_collective_message(size, subject=""), lambda _: where)
    types = node_types(holder)
    if not types:
        raise NotKnown("on which instance type the check runs")
    for value in types:
        with value.judged_apart():
            facts = catalog().get(value.text())
            found = check_collective_floor(float(floor["value"]), facts, subject="") if facts is not None else ()
            for problem in from_findings(found, lambda _: where):
                yield Problem(where, f"{floor['name']} asks for {problem.message}", problem.fix, "UC-NOD-016")
                return


def _floor(script: str) -> re.Match[str] | None:
    """The variable that holds the least bandwidth between nodes; that of NVLink is another matter."""
    for found in _ASSIGNED.finditer(script):
        name = found["name"]
        if _BANDWIDTH.search(name) and _LEAST.search(name) and "NVLINK" not in name.upper():
            return found
    return None


@rule("UC-NOD-017", on=SCRIPT_HOLDERS)
def missing_tools_are_told(holder: Resource) -> Iterator[Problem]:
    """A health check whose tool is missing does not report success."""
    script = training_script(holder, "exit 0")
    if script is None or not _IS_CHECK.search(script.text):
        return
    found = _MISSING_PASSES.search(script.text)
    if found is not None:
        tool = re.search(_TOOLS, found[0])
        name = tool[0] if tool else "the tool"
        yield Problem(script.where, f"the check ends with exit 0 when {name} is missing, so a broken node passes")


@rule("UC-NOD-018", on=PCS_NODE_GROUP)
def lifecycle_scripts_are_pinned(group: Resource) -> Iterator[Problem]:
    """Lifecycle scripts of PCS nodes are fetched with a checksum or in one version."""
    loose: list[Value] = []
    for stage in group.get("NodeLifecycleActions", "Stages").fields().values():
        for script in stage.items():
            source = script["ScriptSource"]
            with source.judged_apart():
                if source.exists and not (source["Checksum"].exists or source["S3VersionId"].exists or _is_aws(source)):
                    loose.append(source)
    if loose:
        location = loose[0]["ScriptLocation"]
        more = f" ({len(loose) - 1} more like it)" if len(loose) > 1 else ""
        message = f"{location.shown} has neither Checksum nor S3VersionId, so whoever writes there runs as root{more}"
        yield Problem(loose[0], message)


def _is_aws(source: Value) -> bool:
    """Whether a script comes from the bucket of the service itself."""
    location = source["ScriptLocation"]
    return location.is_scalar and location.prefix().startswith(_SERVICE_BUCKET)


@rule("UC-NOD-018", on=SCRIPT_HOLDERS)
def fetched_scripts_are_pinned(holder: Resource) -> Iterator[Problem]:
    """Scripts that user data fetches and runs are pinned, or their checksum is tested."""
    script = node_script(holder)
    if script is None or not any(word in script.text for word in _FETCHERS):
        return
    if any(word in script.text for word in _TESTS) and _TESTED.search(script.text):
        return
    source = _run_unpinned(script.text)
    if source is None:
        return
    if MARK in source or "$" in source:
        raise NotKnown("whether the address of a script that is fetched and run is that of one version")
    yield Problem(script.where, f"{source} is fetched and run as it is at every start, without a checksum")


@lru_cache(maxsize=64)
def _runs(script: str) -> tuple[str, ...]:
    """What a script runs, reads in or makes executable."""
    return tuple(dict.fromkeys(_RUN.findall(script)))


def _run_unpinned(script: str) -> str | None:
    """The address of the first script that is fetched and run without a version in it."""
    for found in _PIPED.finditer(script):
        piped = _URL.search(found["piped"] or found["inside"] or "")
        if piped is not None and not _PINNED.search(piped[0]):
            return piped[0]
    for found in _FETCHED.finditer(script):
        address: str | None = found["object"] or next(iter(_URL.findall(found[0])), None)
        if address is None or _PINNED.search(address):
            continue
        # Into a folder, or without a place, it keeps its name.
        target = next(
            (text for text in (found["copy"] or found["file"] or "", address) if _SCRIPT_NAME.search(text)), None
        )
        if target is None:
            continue
        name = target.rsplit("/", 1)[-1]
        if any(name in run for run in _runs(script)):
            return address
    return None


@rule("UC-NOD-019", on=SCRIPT_HOLDERS)
def fabric_counted_by_libfabric(holder: Resource) -> Iterator[Problem]:
    """Checks count the domains of libfabric, not the names of RDMA devices."""
    script = training_script(holder, "ibv_dev")
    found = _COUNTED.search(script.text) if script is not None else None
    if script is not None and found is not None:
        tool = found[0].split()[0]
        message = f"{tool} lists devices that are no EFA on some types, so the count is wrong there"
        yield Problem(script.where, message)
