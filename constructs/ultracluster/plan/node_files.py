"""Files that the user data writes: the node program, its settings, the agent's configuration, the environment."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ultracluster.facts.agent_metrics import agent_facts
from ultracluster.facts.node_environment import environment_rows
from ultracluster.facts.node_packages import node_packages
from ultracluster.plan.agent_config import AgentProfile, agent_configuration, node_program
from ultracluster.plan.user_data_parts import Part, Shared, Slot, Text

if TYPE_CHECKING:
    from ultracluster.plan.user_data import MountRequest, UserDataRequest

__all__ = ["NodeFile", "agent_profile", "node_files"]

FOLDER = "/opt/ultracluster"
_BOOT = Path(__file__).with_name("boot")
_METRICS = Path(__file__).parents[1] / "node" / "metrics"
_INDENT = {".py": 4, ".sh": 2, ".service": 1}
_LOG_GROUP = "log-group-of-the-fleet"
_NAMESPACE = "namespace-of-the-fleet"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFile:
    """One file.

    Attributes:
        path: where it is written.
        parts: its content; no slots or own text when `label` is set.
        label: name under which fleets share it; empty for a file of this fleet alone.
        squeeze: order in which files are compressed when the document is too large; None for never.
    """

    path: str
    parts: tuple[Part, ...]
    label: str = ""
    squeeze: int | None = None


def agent_profile(request: UserDataRequest) -> AgentProfile:
    """What the nodes of the launch template publish."""
    return AgentProfile(
        vendor=request.vendor,
        efa=all(node.efa for node in request.node_types),
        nitro_version=min(node.nitro_version for node in request.node_types),
        spot=request.spot,
        namespace=request.metrics_namespace,
    )


def node_files(request: UserDataRequest) -> tuple[NodeFile, ...]:
    """All files of a node, in the order in which they are written."""
    profile = agent_profile(request)
    files = [
        NodeFile(path="/etc/ultracluster/node.env", parts=tuple(_settings(request))),
        NodeFile(path=f"{FOLDER}/agent.json", parts=tuple(_agent(profile, request.log_group_name))),
        _shared(f"{FOLDER}/metrics.json", "Settings", _compact(node_program(profile))),
        *_environment(profile),
        *(_shared(f"/etc/systemd/system/{name}", "Unit", _source(_BOOT / name)) for name in _UNITS),
        *(
            _shared(f"{FOLDER}/metrics/{name}.py", "Metrics", _source(_METRICS / f"{name}.py"), squeeze=1)
            for name in ("__main__", "statsd", *_sources(profile))
        ),
        _shared(f"{FOLDER}/node.sh", "Node", _node_program(request), squeeze=2),
    ]
    if request.user_script is not None:
        script = request.user_script.rstrip("\n") + "\n"
        files.append(NodeFile(path=f"{FOLDER}/user-script", parts=(Text(text=script),), squeeze=3))
    return tuple(files)


_UNITS = ("ultracluster-node.service", "ultracluster-metrics.service")


def _shared(path: str, label: str, text: str, *, squeeze: int | None = None) -> NodeFile:
    return NodeFile(path=path, parts=(Text(text=text),), label=label, squeeze=squeeze)


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def _sources(profile: AgentProfile) -> list[str]:
    sources = node_program(profile)["sources"]
    return [str(name) for name in sources] if isinstance(sources, list) else []


@cache
def _source(path: Path) -> str:
    """A program's text without comments, docstrings and blank lines: user data has 16 KB."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = re.sub(r'^ *""".*?"""\n', "", text, flags=re.DOTALL | re.MULTILINE)
    lines = text.splitlines()
    kept = (line for i, line in enumerate(lines) if line and (i == 0 or not line.lstrip().startswith("#")))
    return "".join(f"{_tabs(line, _INDENT[path.suffix])}\n" for line in kept)


def _tabs(line: str, width: int) -> str:
    """One tab for each step of indentation."""
    bare = line.lstrip(" ")
    return "\t" * ((len(line) - len(bare)) // width) + bare


def _node_program(request: UserDataRequest) -> str:
    """One shell program of the pieces that such nodes need, with the constants of the facts after its first line."""
    kinds = {mount.kind for mount in request.mounts}
    names = ["lib", "scratch", "devices", *sorted(kinds), "agent", "mounts", "main"]
    if any(mount.efa for mount in request.mounts):
        names.insert(3, "lnet")
    packages = node_packages()
    constants = {
        "AGENT_MINIMUM": agent_facts().minimum_version,
        "AGENT_URL": packages.agent_address,
        "AGENT_KEY": packages.agent_key,
        **(
            {"LUSTRE_REPOSITORY": packages.lustre_repository, "LUSTRE_KEY": packages.lustre_key}
            if "lustre" in kinds
            else {}
        ),
        "MASKED": " ".join(row.name for row in environment_rows() if row.kind == "timer"),
    }
    first, rest = _source(_BOOT / "lib.sh").split("\n", 1)
    body = "".join(line for name in names[1:] for line in _source(_BOOT / f"{name}.sh").splitlines(keepends=True)[1:])
    return "\n".join([first, *(f"{name}='{value}'" for name, value in constants.items()), rest]) + body


def _environment(profile: AgentProfile) -> Iterable[NodeFile]:
    rows = [row for row in environment_rows() if row.vendor in {None, profile.vendor} and (profile.efa or not row.efa)]
    variables = "".join(f"{row.name}={row.value}\n" for row in rows if row.kind == "variable")
    limits = {row.name: row.value for row in rows if row.kind == "limit"}
    if variables:
        yield _shared("/etc/ultracluster/environment", "Environment", variables)
        export = "set -a\n. /etc/ultracluster/environment\nset +a\n"
        yield _shared("/etc/profile.d/ultracluster.sh", "Profile", export)
    logins = "".join(f"{who} - {name} {value}\n" for name, value in limits.items() for who in ("*", "root"))
    yield _shared("/etc/security/limits.d/ultracluster.conf", "Limits", logins)
    services = "".join(
        f"DefaultLimit{name.upper()}={'infinity' if value == 'unlimited' else value}\n"
        for name, value in limits.items()
    )
    yield _shared("/etc/systemd/system.conf.d/ultracluster.conf", "Services", f"[Manager]\n{services}")


def _agent(profile: AgentProfile, log_group_name: str) -> Iterable[Part]:
    """The agent's configuration, cut where the fleet's own names stand so that fleets share the rest."""
    own = {_LOG_GROUP: log_group_name, _NAMESPACE: profile.namespace}
    general = AgentProfile(
        vendor=profile.vendor,
        efa=profile.efa,
        nitro_version=profile.nitro_version,
        spot=profile.spot,
        namespace=_NAMESPACE,
    )
    text = _compact(agent_configuration(general, log_group_name=_LOG_GROUP))
    for piece in re.split(f"({'|'.join(own)})", text):
        yield Text(text=own[piece]) if piece in own else Shared(key="Agent", text=piece)


def _settings(request: UserDataRequest) -> Iterable[Part]:
    types = " ".join(f"'{node.name} {node.accelerators} {node.efa}'" for node in request.node_types)
    yield Text(
        text=f"VENDOR='{request.vendor}'\nGROUP='{request.auto_scaling_group_name}'\nHOOK='{request.lifecycle_hook_name}'\n"
        + ("SUSPEND=AZRebalance\n" if request.suspend_zone_rebalancing else "")
        + f"SCRATCH={int(request.scratch)}\nLUSTRE_EFA={_lustre_efa(request)}\nTYPES=({types})\nMOUNTS=("
    )
    for index, mount in enumerate(request.mounts):
        yield from _mount(index, mount, over_efa=mount.efa and _lustre_efa(request) != "none")
    yield Text(text=")\n")


def _lustre_efa(request: UserDataRequest) -> str:
    """Devices for Lustre over EFA: `none`, 0 for all, or a number that every type of the launch template has."""
    counts = [node.lustre_efa_interfaces for node in request.node_types]
    if not any(mount.efa for mount in request.mounts) or any(count is None for count in counts):
        return "none"
    return str(min((count for count in counts if count), default=0))


def _mount(index: int, mount: MountRequest, *, over_efa: bool) -> Iterable[Part]:
    options = ",".join(mount.options)
    yield Text(text=f"{' ' if index else ''}'{mount.kind} {mount.mount_path} ")
    if mount.kind == "lustre":
        yield Slot(name=f"lustre_{index}_dns_name")
        yield Text(text="@tcp:/")
        yield Slot(name=f"lustre_{index}_mount_name")
    else:
        yield Slot(name=f"efs_{index}_file_system_id")
        yield Text(text=":/")
    yield Text(text=f" {options}")
    if mount.access_point:
        yield Text(text=",accesspoint=")
        yield Slot(name=f"efs_{index}_access_point_id")
    yield Text(text=f" {'efa' if over_efa else 'tcp'}'")
