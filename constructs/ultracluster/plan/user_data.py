"""User data of one launch template: what a node does between its first boot and the end of its launch life-cycle hook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ultracluster.findings import Finding, raise_if_errors
from ultracluster.plan.decision import Decision

__all__ = [
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
    "plan_user_data",
]

MARKER = "ultracluster-bootstrap"
"""Stands in the first line of the user data of every launch template that this library makes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeType:
    """What a healthy node of one instance type shows.

    Attributes:
        name: the EC2 name, for example `p5.48xlarge`.
        accelerators: GPUs or Neuron devices, from the catalogue.
        efa: EFA devices that the launch template attaches to this type; 0 without EFA.
        nitro_version: generation of the Nitro card; EFA reliability counters exist from 4 on.
    """

    name: str
    accelerators: int
    efa: int
    nitro_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MountRequest:
    """One shared file system that every node mounts.

    Attributes:
        kind: `lustre` or `efs`.
        mount_path: absolute path on the node.
        efa: whether the Lustre client has to talk over EFA.
        options: mount options; empty takes the default of the kind.
        access_point: whether an EFS access point is named by its slot.
    """

    kind: Literal["lustre", "efs"]
    mount_path: str
    efa: bool = False
    options: tuple[str, ...] = ()
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
        log_group_name: log group of the fleet.
        metrics_namespace: CloudWatch namespace of the agent's metrics.
        mounts: shared file systems in the order in which they are mounted.
        scratch: whether local NVMe becomes one file system at `/scratch`.
        spot: whether the node watches for interruption notices.
        user_script: the user's own program with its `#!` line; it runs once, before the node is reported as ready.
    """

    fleet_name: str
    vendor: str
    node_types: tuple[NodeType, ...]
    auto_scaling_group_name: str
    lifecycle_hook_name: str
    log_group_name: str
    metrics_namespace: str = "UltraCluster"
    mounts: tuple[MountRequest, ...] = ()
    scratch: bool = True
    spot: bool = False
    user_script: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Literal text of this fleet."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Literal text that is the same in every fleet of the same kind: written once per stack.

    Attributes:
        key: letters and digits only; the same key always stands for the same text.
        text: the text.
    """

    key: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A value known only when the stack is deployed: `region`, `lustre_<i>_dns_name`, `lustre_<i>_mount_name`,
    `efs_<i>_file_system_id`, `efs_<i>_access_point_id`, with i the index of the mount in the request.
    """

    name: str


Part = Text | Shared | Slot


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
    return ()


def plan_user_data(request: UserDataRequest, *, subject: str) -> UserDataPlan:
    """Decide the user data.

    Raises:
        FindingsError: a value cannot be written into the script, or the document is over 16,384 bytes.
    """
    warnings = raise_if_errors(check_user_data(request, subject=subject))
    head = f'Content-Type: multipart/mixed; boundary="{MARKER}"\nMIME-Version: 1.0\n\n'
    return UserDataPlan(parts=(Text(text=head),), size_upper_bound_bytes=len(head), warnings=warnings)
