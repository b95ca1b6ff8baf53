"""Security groups of a file system: one of its servers, one of its clients, every rule between them a resource.

The servers' group is the only entry of the file system's list, because another list replaces the file system; rules
come and go instead. The clients' group is attached by the fleets, so that no rule crosses two stacks. Rules name
groups, never addresses: they stay right when subnets move, EFA is let through by group only, and no scanner meets a
CIDR that it cannot read.

Rules are made between groups of which at least one is made here. An existing group brings its own self rules along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from ultracluster.plan.lustre_request import PortRange
from ultracluster.values import dataclass

__all__ = ["StorageSecurityGroups"]

_NOWHERE = ec2.CfnSecurityGroup.EgressProperty(
    cidr_ip="255.255.255.255/32",
    ip_protocol="icmp",
    from_port=252,
    to_port=86,
    description="no traffic: an empty list would be replaced by the default rule to everywhere",
)
_SERVERS, _CLIENTS = "Servers", "Clients"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flow:
    """Traffic from one group to another: an egress rule here, an ingress rule there."""

    source: str
    target: str


class StorageSecurityGroups(Construct):
    """Both groups of a file system and the rules between them.

    Args:
        scope: the file system.
        construct_id: the id in it.
        vpc: VPC of the groups.
        ports: TCP ports; none lets all traffic through (EFA).
        both_ways: whether servers also open connections to clients, and peers among themselves (Lustre); else only
            clients to servers (NFS).
        servers: an existing group of the servers.
        clients: an existing group of the clients.
        servers_removal_policy: what becomes of a new servers' group and its self rules when they leave the template. A
            file system that stays behind keeps its interfaces in the group: it cannot be deleted then, and without its
            rules the servers would lose each other.

    Attributes:
        servers, clients: the groups.
        cfn_servers, cfn_clients: the groups made here; `None` for an existing one.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        vpc: ec2.IVpc,
        ports: Sequence[PortRange],
        both_ways: bool,
        servers: ec2.ISecurityGroup | None = None,
        clients: ec2.ISecurityGroup | None = None,
        servers_removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.DESTROY,
    ) -> None:
        super().__init__(scope, construct_id)
        self._kept = None if servers_removal_policy is cdk.RemovalPolicy.DESTROY else servers_removal_policy
        vpc_id = vpc.vpc_id
        path = scope.node.path
        self.cfn_servers = None if servers else self._group(_SERVERS, vpc_id, path)
        self.cfn_clients = None if clients else self._group(_CLIENTS, vpc_id, path)
        self.servers, servers_id = self._group_and_id(_SERVERS, servers, self.cfn_servers)
        self.clients, clients_id = self._group_and_id(_CLIENTS, clients, self.cfn_clients)
        if self.cfn_servers is not None and self._kept is not None:
            self.cfn_servers.apply_removal_policy(self._kept)
        made = {name for name, cfn in ((_SERVERS, self.cfn_servers), (_CLIENTS, self.cfn_clients)) if cfn}
        ids = {_SERVERS: servers_id, _CLIENTS: clients_id}
        for flow in _flows(both_ways=both_ways):
            if {flow.source, flow.target} & made:
                self._rules(flow, ids, ports)

    def _group(self, name: str, vpc_id: str, path: str) -> ec2.CfnSecurityGroup:
        return ec2.CfnSecurityGroup(
            self,
            name,
            vpc_id=vpc_id,
            group_description=f"{name.lower()} of {path}"[:255],
            security_group_egress=[_NOWHERE],
            tags=[cdk.CfnTag(key="Name", value=f"{path} {name.lower()}"[:255])],
        )

    def _group_and_id(
        self, name: str, given: ec2.ISecurityGroup | None, made: ec2.CfnSecurityGroup | None
    ) -> tuple[ec2.ISecurityGroup, str]:
        if given is not None:
            return given, given.security_group_id
        if made is None:
            raise ValueError(f"{self.node.path}: no group {name}")
        group_id = made.ref  # short, and repeated on every interface of every node
        group = ec2.SecurityGroup.from_security_group_id(self, f"{name}Group", group_id, allow_all_outbound=False)
        return group, group_id

    def _rules(self, flow: _Flow, ids: dict[str, str], ports: Sequence[PortRange]) -> None:
        for each in ports or (None,):
            protocol = "-1" if each is None else "tcp"
            first, last = (None, None) if each is None else (each.first, each.last)
            suffix = "All" if each is None else str(each.first)
            ingress = ec2.CfnSecurityGroupIngress(
                self,
                f"{flow.target}From{flow.source}{suffix}",
                group_id=ids[flow.target],
                source_security_group_id=ids[flow.source],
                ip_protocol=protocol,
                from_port=first,
                to_port=last,
                description=f"{flow.target.lower()} from {flow.source.lower()}",
            )
            egress = ec2.CfnSecurityGroupEgress(
                self,
                f"{flow.source}To{flow.target}{suffix}",
                group_id=ids[flow.source],
                destination_security_group_id=ids[flow.target],
                ip_protocol=protocol,
                from_port=first,
                to_port=last,
                description=f"{flow.source.lower()} to {flow.target.lower()}",
            )
            if self._kept is not None and flow == _Flow(source=_SERVERS, target=_SERVERS):
                ingress.apply_removal_policy(self._kept)
                egress.apply_removal_policy(self._kept)


def _flows(*, both_ways: bool) -> Iterator[_Flow]:
    yield _Flow(source=_CLIENTS, target=_SERVERS)
    if both_ways:
        yield _Flow(source=_SERVERS, target=_CLIENTS)
        yield _Flow(source=_SERVERS, target=_SERVERS)
        yield _Flow(source=_CLIENTS, target=_CLIENTS)
