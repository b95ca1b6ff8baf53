"""A fleet as storage sees it: what the checks across storage and fleets need, and nothing else."""

from __future__ import annotations

from ultracluster.values import dataclass

__all__ = ["StorageClient"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageClient:
    """A fleet that mounts the storage, in the facts that the cross checks need.

    Attributes:
        name: name of the fleet.
        subject: its path in the user's terms (`fleets[0]`).
        availability_zones: zones in which it runs.
        max_nodes: most nodes at one time.
        efa_client: whether all its types can be EFA clients of FSx for Lustre (`fsx_lustre_efa_client`).
        efa_interfaces: EFA interfaces of one node that the client set-up uses: the smaller of the layout's count and
            `fsx_lustre_default_efa_interfaces`; 0 without EFA.
        os: operating system of its image (`al2023`, `ubuntu2204`, `rhel9.5`, ...), `None` when not known.
        instance_types: names, for the messages.
        cidrs: address blocks of its subnets, when known.
    """

    name: str
    subject: str
    availability_zones: tuple[str, ...]
    max_nodes: int
    efa_client: bool
    efa_interfaces: int
    os: str | None = None
    instance_types: tuple[str, ...] = ()
    cidrs: tuple[str, ...] = ()
