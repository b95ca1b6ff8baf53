"""User data of one launch template: what a node does between its first boot and the end of its launch life-cycle hook.

The document writes settings, the configuration of the CloudWatch agent, the user's own script and a small program
that fetches all others (`ultracluster/node/`, one file, checked against its digest), then starts
`ultracluster-node boot --first`: limits and tuning, agent, scratch, mounts, fabric, health, the user's script. Only
when all of that is through does the node report itself as ready; anything else abandons the launch, so that the group
replaces the node. At every later boot a unit brings scratch and Lustre networking back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from ultracluster.facts.instances import catalog
from ultracluster.findings import Finding, raise_if_errors
from ultracluster.plan.decision import Decision
from ultracluster.plan.mime import MARKER, mime_parts
from ultracluster.plan.node_files import node_files
from ultracluster.plan.node_settings import lustre_over_efa
from ultracluster.plan.user_data_checks import check_document, check_fields, check_script
from ultracluster.plan.user_data_parts import Part, Shared, Slot, Text, part_length
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.facts.instance_type import InstanceType
    from ultracluster.plan.node_files import NodeFile

__all__ = [
    "LIMIT_BYTES",
    "MARKER",
    "MountRequest",
    "NodeType",
    "Part",
    "Shared",
    "Slot",
    "Text",
    "UserDataPlan",
    "UserDataRequest",
    "check_user_data",
    "node_type",
    "plan_user_data",
]

LIMIT_BYTES = 16_384
"""Most bytes of user data before base64 (EC2 User Guide, instance user data)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeType:
    """What the programs of a node are told of one instance type.

    Attributes:
        name: the EC2 name, for example `p5.48xlarge`.
        efa: EFA devices that the launch template attaches to this type; 0 without EFA.
        nitro_version: generation of the Nitro card; EFA reliability counters exist from 4 on.
        lustre_efa_interfaces: EFA devices that Lustre uses on it, 0 for all; None when it can be no EFA client.
        record: the facts of a type that the library's catalogue does not have, as JSON; empty for any other.
    """

    name: str
    efa: int
    nitro_version: int
    lustre_efa_interfaces: int | None = None
    record: str = ""


def node_type(instance_type: InstanceType, *, efa: int) -> NodeType:
    """The facts of an instance type that user data needs.

    Args:
        instance_type: a row of the catalogue.
        efa: EFA devices that the launch template attaches.
    """
    client = instance_type.fsx_lustre_efa_client and efa > 0
    known = catalog().get(instance_type.name) == instance_type
    record = "" if known else json.dumps(_facts_of(instance_type), separators=(",", ":"))
    return NodeType(
        name=instance_type.name,
        efa=efa,
        nitro_version=instance_type.nitro_version or 0,
        lustre_efa_interfaces=(instance_type.fsx_lustre_default_efa_interfaces or 0) if client else None,
        record=record,
    )


def _facts_of(instance_type: InstanceType) -> dict[str, Any]:
    # The tables behind it are read only for a type that the library does not know.
    from ultracluster.plan.node_facts import type_facts

    return type_facts(instance_type)


@dataclass(frozen=True, slots=True, kw_only=True)
class MountRequest:
    """One shared file system that every node mounts.

    Attributes:
        kind: `lustre` or `efs`.
        mount_path: absolute path on the node.
        efa: whether the Lustre client should talk over EFA; a type that cannot stays on TCP.
        options: mount options.
        access_point: whether an EFS access point is named by its slot.
    """

    kind: Literal["lustre", "efs"]
    mount_path: str
    efa: bool = False
    options: tuple[str, ...] = ("_netdev",)
    access_point: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UserDataRequest:
    """What the user data of one launch template has to do.

    Attributes:
        fleet_name: name of the fleet, for messages.
        vendor: `nvidia` or `aws` (Trainium, Inferentia).
        node_types: the types that the launch template can start, one unless the fleet is a mixed one.
        auto_scaling_group_name: literal name of the group.
        lifecycle_hook_name: launch life-cycle hook that the node completes; empty when nothing waits for it.
        terminate_hook_name: termination life-cycle hook that the node completes once its jobs have ended; likewise.
        log_group_name: log group of the fleet.
        metrics_namespace: CloudWatch namespace of the agent's metrics.
        mounts: shared file systems in the order in which they are mounted.
        scratch: whether local NVMe becomes one file system at `/scratch`.
        spot: whether the node watches for interruption notices.
        user_script: the user's own program with its `#!` line. It runs once as root, after everything else stands and
            before the node is reported as ready; a status other than 0 fails the launch. What it prints goes to the
            log group.
        suspend_zone_rebalancing: whether the node stops its group from moving nodes between zones. CloudFormation can
            suspend that process only while it updates a group, so a fleet over several zones does it itself.
        capacity_block_end: when the node's Capacity Block ends, in UTC as `2030-01-15T11:30:00Z`; empty when unknown.
        os: operating system of the image as in `ImagePlan.os`; empty when unknown. Only for warnings: the programs
            find out by themselves.
        nodes: largest size of the fleet.
        tuning: settings that are not applied unasked.
    """

    fleet_name: str
    vendor: str
    node_types: tuple[NodeType, ...]
    auto_scaling_group_name: str
    lifecycle_hook_name: str
    log_group_name: str
    terminate_hook_name: str = ""
    metrics_namespace: str = "UltraCluster"
    mounts: tuple[MountRequest, ...] = ()
    scratch: bool = True
    spot: bool = False
    user_script: str | None = None
    suspend_zone_rebalancing: bool = False
    capacity_block_end: str = ""
    os: str = ""
    nodes: int = 0
    tuning: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserDataPlan:
    """The user data; `parts` joined in order are one MIME multipart document.

    Attributes:
        parts: what to join.
        size_upper_bound_bytes: bytes before base64, with every slot at its longest.
        marker: the text by which the first line is known.
        warnings: what is legal but doubtful.
        decisions: what was decided, and why.
    """

    parts: tuple[Part, ...]
    size_upper_bound_bytes: int
    marker: str = MARKER
    warnings: tuple[Finding, ...] = ()
    decisions: tuple[Decision, ...] = ()

    def text(self, slots: Mapping[str, str]) -> str:
        """The whole document with the given values in its slots.

        Raises:
            KeyError: a slot has no value.
        """
        return "".join(slots[part.name] if isinstance(part, Slot) else part.text for part in self.parts)

    @property
    def slot_names(self) -> tuple[str, ...]:
        """Names of all slots, each once, in order of appearance."""
        return tuple(dict.fromkeys(part.name for part in self.parts if isinstance(part, Slot)))


def check_user_data(request: UserDataRequest, *, subject: str) -> tuple[Finding, ...]:
    """Everything that is wrong with the request."""
    findings = (*check_fields(request, subject=subject), *check_script(request, subject=subject))
    if any(found.severity.stops for found in findings):
        return findings
    files, parts = _document(request)
    return (*findings, *check_document(files, _size(parts), limit=LIMIT_BYTES, subject=subject))


def plan_user_data(request: UserDataRequest, *, subject: str) -> UserDataPlan:
    """Decide the user data.

    Args:
        request: what it has to do.
        subject: path of the fleet in the user's terms.

    Raises:
        FindingsError: a value cannot be written into the script, or the document is over 16,384 bytes.
    """
    warnings = raise_if_errors(check_user_data(request, subject=subject))
    _, parts = _document(request)
    return UserDataPlan(
        parts=parts,
        size_upper_bound_bytes=_size(parts),
        warnings=warnings,
        decisions=tuple(_decisions(request, _size(parts), subject=subject)),
    )


def _size(parts: tuple[Part, ...]) -> int:
    return sum(map(part_length, parts))


@lru_cache(maxsize=16)
def _document(request: UserDataRequest) -> tuple[tuple[NodeFile, ...], tuple[Part, ...]]:
    """Files and document; kept for a moment, because checking and planning both need them."""
    files = node_files(request)
    return files, mime_parts(files)


def _decisions(request: UserDataRequest, size: int, *, subject: str) -> list[Decision]:
    decisions = [
        Decision(
            subject=f"{subject}.user_data",
            value=f"{size} bytes of plain text, {LIMIT_BYTES - size} left for the user's script",
            because=f"EC2 takes {LIMIT_BYTES} bytes; the programs come from the bootstrap bucket, checked by digest",
        )
    ]
    if any(mount.efa for mount in request.mounts):
        slow = [node.name for node in request.node_types if node.lustre_efa_interfaces is None]
        decisions.append(
            Decision(
                subject=f"{subject}.lustre",
                value="over EFA" if lustre_over_efa(request) else "over TCP",
                because=f"{', '.join(slow)} cannot be an EFA client" if slow else "every type can be an EFA client",
            )
        )
    return decisions
