"""The settings file of a node, `/etc/ultracluster/node.json`: what its programs are told about the fleet it belongs to.

Values that only the deployment knows are slots. What fleets of a kind have in common stands last: they share the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ultracluster.facts.lustre_client import lustre_client
from ultracluster.facts.node_tuning import least_nodes
from ultracluster.plan.agent_config import AgentProfile, metrics_settings
from ultracluster.plan.user_data_parts import Part, Shared, Slot, Text

if TYPE_CHECKING:
    from ultracluster.plan.user_data import MountRequest, NodeType, UserDataRequest

__all__ = ["SCHEMA", "agent_profile", "lustre_over_efa", "node_settings"]

SCHEMA = 1
"""Version of the file's shape; the programs refuse another one."""
# Braces stand in no name, path or option: the checks see to that.
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def agent_profile(request: UserDataRequest) -> AgentProfile:
    """What the nodes of the launch template publish."""
    return AgentProfile(
        vendor=request.vendor,
        efa=all(node.efa for node in request.node_types),
        nitro_version=min(node.nitro_version for node in request.node_types),
        spot=request.spot,
        namespace=request.metrics_namespace,
    )


def lustre_over_efa(request: UserDataRequest) -> bool:
    """Whether Lustre goes over EFA: a mount wants it, and every type of the launch template can."""
    wanted = any(mount.efa for mount in request.mounts)
    return wanted and all(node.lustre_efa_interfaces is not None for node in request.node_types)


def node_settings(request: UserDataRequest) -> Iterator[Part]:
    """The file, as one line of JSON."""
    own, shared = (json.dumps(half, separators=(",", ":")) for half in (_own(request), _shared(request)))
    for index, piece in enumerate(_SLOT.split(own.removesuffix("}") + ",")):
        yield Slot(name=piece) if index % 2 else Text(text=piece)
    yield Shared(label="Settings", text=shared.removeprefix("{") + "\n")


def _own(request: UserDataRequest) -> dict[str, Any]:
    over_efa = lustre_over_efa(request)
    end = {"capacity_block_end": request.capacity_block_end} if request.capacity_block_end else {}
    return {
        "schema": SCHEMA,
        "fleet": request.fleet_name,
        "group": request.auto_scaling_group_name,
        "log_group": request.log_group_name,
        **end,
        **_tuning(request),
        "mounts": [_mount(at, mount, over_efa=over_efa) for at, mount in enumerate(request.mounts)],
    }


def _tuning(request: UserDataRequest) -> dict[str, Any]:
    """What the table of settings asks for beyond the type of the node, where there is something."""
    found: dict[str, Any] = {"tuning": list(request.tuning)} if request.tuning else {}
    # A large fleet tunes its neighbour tables, a small one spares the servers of Lustre; others need not know.
    few = any(mount.kind == "lustre" for mount in request.mounts) and 0 < request.nodes <= lustre_client().skip_clients
    return found | ({"nodes": request.nodes} if few or request.nodes >= least_nodes() else {})


def _shared(request: UserDataRequest) -> dict[str, Any]:
    return {
        "vendor": request.vendor,
        "types": {node.name: _type(node) for node in request.node_types},
        "launch_hook": request.lifecycle_hook_name,
        "terminate_hook": request.terminate_hook_name,
        "scratch": request.scratch,
        "spot": request.spot,
        "suspend_zone_rebalancing": request.suspend_zone_rebalancing,
        "metrics": metrics_settings(agent_profile(request)),
    }


def _type(node: NodeType) -> dict[str, Any]:
    """What the programs' own facts do not say; all of a type that they do not know."""
    record: dict[str, Any] = json.loads(node.record) if node.record else {}
    return {**record, "efa": node.efa, "lustre_efa": node.lustre_efa_interfaces}


def _mount(at: int, mount: MountRequest, *, over_efa: bool) -> dict[str, Any]:
    lustre = mount.kind == "lustre"
    source = f"{{{{lustre_{at}_dns_name}}}}@tcp:/{{{{lustre_{at}_mount_name}}}}"
    options = [*mount.options, f"accesspoint={{{{efs_{at}_access_point_id}}}}"] if mount.access_point else mount.options
    return {
        "kind": mount.kind,
        "path": mount.mount_path,
        "source": source if lustre else f"{{{{efs_{at}_file_system_id}}}}:/",
        "options": ",".join(options),
        "efa": mount.efa and over_efa,
    }
