"""Rules on EKS clusters, the way between nodes and control plane, and pods that use EFA."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ultracluster.facts.eks import eks_facts
from ultracluster.policy.graph.attached_groups import attached_groups
from ultracluster.policy.graph.interfaces import interface_list
from ultracluster.policy.graph.node_groups import NODE_GROUP, launch_template_of
from ultracluster.policy.graph.traffic import Side, closed_ports, rules_of, side_of
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_CLUSTER = "AWS::EKS::Cluster"
_MANIFEST = "Custom::AWSCDK-EKS-KubernetesResource"
_CLUSTER_GROUP = "ClusterSecurityGroupId"
_WORLD = ("0.0.0.0/0", "::/0")


@rule("UC-EKS-014", on=NODE_GROUP)
def control_plane_reaches_nodes(group: Resource) -> Iterator[Problem]:
    """Own groups in the launch template replace the cluster security group, so they have to do its work."""
    launch_template = launch_template_of(group)
    groups = _primary_groups(launch_template) if launch_template is not None else []
    if not groups:
        return  # EKS attaches the cluster security group
    cluster = _cluster_of(group)
    if cluster is None:
        raise NotKnown("the control plane, which is made elsewhere")
    marks = {value.symbol() for value in groups}
    own = ("reference", id(cluster.model), _CLUSTER_GROUP)
    plane = _control_plane(cluster, own) if own not in marks else None
    if plane is None or not plane.marks.isdisjoint(marks):
        return
    port = eks_facts().kubelet_port
    if closed_ports(rules_of(groups, "ingress"), [(port, port)], plane):
        named = ", ".join(value.shown for value in groups)
        message = f"{named} without the cluster security group, and no rule lets the control plane in on TCP {port}"
        yield Problem(groups[0], message)


def _cluster_of(group: Resource) -> Resource | None:
    """The cluster that a group names: by reference, or by the name that both are given."""
    name = group.get("ClusterName")
    for each in group.assembly.resources(_CLUSTER):
        own = each.get("Name")
        if own.exists and own.symbol() == name.symbol():
            return each
    return name.resource(_CLUSTER)


def _primary_groups(launch_template: Resource) -> list[Value]:
    """The groups of the interface that carries the address of the node."""
    found = interface_list(launch_template)
    if found is None:
        return attached_groups(launch_template)
    primary = next((entry for entry in found.values if _is_primary(entry)), None)
    return primary["Groups"].items() if primary is not None else []


def _is_primary(entry: Value) -> bool:
    return entry["NetworkCardIndex"].integer(0) == 0 and entry["DeviceIndex"].integer(0) == 0


def _control_plane(cluster: Resource, own: Hashable) -> Side:
    """The interfaces of the control plane, which carry a group of EKS and those that the cluster names."""
    network = cluster.get("ResourcesVpcConfig")
    subnets = network["SubnetIds"]
    listed = subnets.items() if subnets.is_list else None
    side = side_of("the control plane", network["SecurityGroupIds"].items(), listed)
    return replace(side, marks=side.marks | {own})


@rule("UC-EKS-018", on=_CLUSTER)
def endpoint_is_not_open(cluster: Resource) -> Iterator[Problem]:
    """The API endpoint is private, or open to a list of addresses."""
    network = cluster.get("ResourcesVpcConfig")
    public, ranges = network["EndpointPublicAccess"], network["PublicAccessCidrs"]
    if not public.boolean(True):
        return
    if not ranges.exists:
        shown = "" if public.exists else ", the default"
        yield Problem(public, f"true{shown}, and no PublicAccessCidrs: the endpoint is open to every address")
        return
    for entry in ranges.items():
        with entry.judged_apart():
            if entry.text() in _WORLD:
                yield Problem(entry, f"{entry.shown}: the endpoint is open to every address")
                return


@rule("UC-EKS-019", on=_MANIFEST)
def pods_ask_for_huge_pages(manifest: Resource) -> Iterator[Problem]:
    """A container that asks for EFA asks for huge pages too."""
    written = manifest.get("Manifest")
    if eks_facts().efa_resource not in written.known_text():
        return
    try:
        document = json.loads(written.known_text("0"))
    except (ValueError, RecursionError):
        raise NotKnown("a manifest of which parts are filled in at deployment") from None
    for name in _without_pages(document):
        yield Problem(written, f"container {name} asks for {eks_facts().efa_resource} without huge pages")


@rule("UC-EKS-019", on="AWS::Batch::JobDefinition")
def batch_pods_ask_for_huge_pages(definition: Resource) -> Iterator[Problem]:
    """Likewise in pods of AWS Batch."""
    ranges = definition.get("NodeProperties", "NodeRangeProperties").items()
    for properties in (definition.get("EksProperties"), *(entry["EksProperties"] for entry in ranges)):
        for container in properties.get("PodProperties", "Containers").items():
            with container.judged_apart():
                wanted = {name for key in ("Limits", "Requests") for name in container.get("Resources", key).fields()}
                if _lacks_pages(wanted):
                    message = f"{eks_facts().efa_resource} without huge pages"
                    yield Problem(container["Resources"], message)


def _lacks_pages(wanted: set[str]) -> bool:
    return eks_facts().efa_resource in wanted and eks_facts().huge_pages_resource not in wanted


def _without_pages(document: object) -> Iterator[str]:
    """Names of containers that ask for EFA alone, in order."""
    stack = [document]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack.extend(reversed(value))
        elif isinstance(value, dict):
            if _lacks_pages(_wanted(value.get("resources"))):
                yield str(value.get("name", "?"))
            stack.extend(reversed(list(value.values())))


def _wanted(resources: Any) -> set[str]:  # noqa: ANN401 - whatever the manifest holds
    found: set[str] = set()
    for key in ("limits", "requests"):
        entry = resources.get(key) if isinstance(resources, Mapping) else None
        found |= set(entry) if isinstance(entry, Mapping) else set()
    return found
