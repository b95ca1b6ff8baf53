"""What keeps a subnet or a security group from being deleted: the network interfaces of what stands in it.

MiniStack has no interfaces behind file systems and endpoints, so it would delete the subnet under a retained file
system. EC2 answers with `DependencyViolation`, and the stack ends in `DELETE_FAILED`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ultracluster.local.emulator import records

__all__ = ["refuse_while_in_use"]

_INTERFACES: Mapping[str, tuple[str, ...]] = {
    "AWS::EC2::NatGateway": ("SubnetId",),
    "AWS::EC2::VPCEndpoint": ("SubnetIds", "SecurityGroupIds"),
    "AWS::EFS::MountTarget": ("SubnetId", "SecurityGroups"),
    "AWS::FSx::FileSystem": ("SubnetIds", "SecurityGroupIds"),
}
"""The types that have network interfaces, and the properties that place them."""


def refuse_while_in_use(type_name: str, identifier: str) -> None:
    """Refuse to delete a subnet or security group that something stands in.

    Args:
        type_name: the type of the resource to delete; other types pass.
        identifier: its id.

    Raises:
        ValueError: names what stands there, as a stack event shows it.
    """
    if type_name not in ("AWS::EC2::Subnet", "AWS::EC2::SecurityGroup"):
        return
    users = sorted(_users(identifier))
    if users:
        kind = "subnet" if type_name.endswith("Subnet") else "security group"
        raise ValueError(
            f"The {kind} '{identifier}' has dependencies and cannot be deleted (DependencyViolation): "
            f"{', '.join(users)} stands in it"
        )


def _users(identifier: str) -> Iterator[str]:
    for type_name, places in _INTERFACES.items():
        for record in records.of_type(type_name):
            model: Mapping[str, Any] = records.model(record)
            if any(identifier == model.get(name) or identifier in (model.get(name) or ()) for name in places):
                yield str(record["Identifier"])
