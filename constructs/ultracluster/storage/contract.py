"""What storage gives a fleet: a mount and a security group. A fleet needs to know nothing else about it.

The client group is made beside the file system and holds every rule between clients and servers. A fleet attaches it to
its interfaces (the primary one, or every one when `mount.efa`), so that no security-group rule crosses two stacks and
adding a fleet changes nothing in the storage stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Protocol

from ultracluster.values import dataclass

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2

__all__ = ["Mount", "SharedMount", "SharedStorage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """How a node mounts the storage. Values of `slots` may be CDK tokens; everything else is plain.

    Attributes:
        kind: the client: FSx for Lustre or EFS.
        mount_path: directory on the node.
        slots: what is known only at deployment. Lustre: `dns_name`, `mount_name`. EFS: `file_system_id`,
            `access_point_id` (empty for the root of the file system).
        efa: whether the node should bring up Lustre networking over EFA first.
        options: mount options.
    """

    kind: Literal["lustre", "efs"]
    mount_path: str
    slots: Mapping[str, str]
    efa: bool = False
    options: tuple[str, ...] = ()


class SharedStorage(Protocol):
    """Storage that a fleet can mount; satisfied structurally (a construct cannot inherit a protocol)."""

    @property
    def mount(self) -> Mount:
        """How a node mounts it."""
        ...

    @property
    def client_security_group(self) -> ec2.ISecurityGroup:
        """The group to attach to a client's interfaces."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class SharedMount:
    """Shared storage with another group for its clients than the one beside it.

    Attributes:
        mount: how a node mounts it.
        client_security_group: the group to attach to a client's interfaces.
    """

    mount: Mount
    client_security_group: ec2.ISecurityGroup
