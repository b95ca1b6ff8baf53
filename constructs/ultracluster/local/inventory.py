"""What stands in the embedded AWS, grouped by stack, read back through the services' own APIs."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ultracluster.local.clients import Clients
from ultracluster.local.readers import READERS
from ultracluster.local.settings import RESOURCES_PATH, LocalSettings

__all__ = ["Inventory", "Resource", "Stack", "read_inventory"]

_BOOKKEEPING = ("AWS::CDK::Metadata", "AWS::CloudFormation::")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource of a stack.

    Attributes:
        logical_id: its name in the template.
        type_name: its resource type.
        physical_id: its name or id in the account.
        stands: whether the service itself answers for it.
        details: what the service says of it.
    """

    logical_id: str
    type_name: str
    physical_id: str
    stands: bool
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A stack and its resources.

    Attributes:
        name: the stack's name.
        region: the Region it is in.
        status: for example `UPDATE_COMPLETE`.
        resources: in the order of the template.
    """

    name: str
    region: str
    status: str
    resources: tuple[Resource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Everything that stands.

    Attributes:
        stacks: the stacks that have not been deleted, the CDK toolkit's left out.
        retained: resources whose stack has been deleted, or has let go of them, and that still stand.
    """

    stacks: tuple[Stack, ...]
    retained: tuple[Resource, ...]

    def only(self, names: frozenset[str]) -> Inventory:
        """The stacks with these names; what is retained stays."""
        return replace(self, stacks=tuple(stack for stack in self.stacks if stack.name in names))

    def resources(self, type_name: str) -> list[Resource]:
        """All resources of a type, over all stacks."""
        return [found for stack in self.stacks for found in stack.resources if found.type_name == type_name]


def read_inventory(settings: LocalSettings, *, toolkit: str = "CDKToolkit") -> Inventory:
    """Read what stands in every Region that anything has been deployed to.

    Args:
        settings: where the embedded AWS listens.
        toolkit: the bootstrap stack, whose resources nobody asked for.
    """
    records = _records(settings)
    regions = sorted({settings.region, *(record["region"] for record in records)})
    read = [
        _read_region(
            Clients(replace(settings, region=region)), [row for row in records if row["region"] == region], toolkit
        )
        for region in regions
    ]
    return Inventory(
        stacks=tuple(stack for inventory in read for stack in inventory.stacks),
        retained=tuple(item for inventory in read for item in inventory.retained),
    )


def _read_region(clients: Clients, records: list[dict[str, str]], toolkit: str) -> Inventory:
    summaries = clients.pages("cloudformation", "list_stacks", "StackSummaries")
    alive = [stack for stack in summaries if stack["StackStatus"] not in ("DELETE_COMPLETE", "REVIEW_IN_PROGRESS")]
    listed = {
        stack["StackName"]: clients.pages(
            "cloudformation", "list_stack_resources", "StackResourceSummaries", StackName=stack["StackName"]
        )
        for stack in alive
    }
    owned = {(item["ResourceType"], item.get("PhysicalResourceId", "")) for items in listed.values() for item in items}
    loose = [record for record in records if (record["type"], record["id"]) not in owned]
    types = {kind for kind, _ in owned} | {record["type"] for record in loose}
    seen = {kind: READERS[kind](clients) for kind in sorted(types & READERS.keys())}
    stacks = tuple(
        Stack(
            name=stack["StackName"],
            region=clients.settings.region,
            status=stack["StackStatus"],
            resources=tuple(
                _resource(
                    clients, seen, item["LogicalResourceId"], item["ResourceType"], item.get("PhysicalResourceId", "")
                )
                for item in listed[stack["StackName"]]
                if not item["ResourceType"].startswith(_BOOKKEEPING)
            ),
        )
        for stack in sorted(alive, key=lambda stack: str(stack["CreationTime"]))
        if stack["StackName"] != toolkit
    )
    retained = (_resource(clients, seen, record["logical_id"], record["type"], record["id"]) for record in loose)
    return Inventory(stacks=stacks, retained=tuple(item for item in retained if item.stands))


def _resource(
    clients: Clients, seen: Mapping[str, Mapping[str, Any]], logical_id: str, type_name: str, physical_id: str
) -> Resource:
    details: Mapping[str, Any] | None
    if type_name in seen:
        details = seen[type_name].get(physical_id)
    else:
        details = {} if _stands(clients, type_name, physical_id) else None
    return Resource(
        logical_id=logical_id,
        type_name=type_name,
        physical_id=physical_id,
        stands=details is not None,
        details=details or {},
    )


def _stands(clients: Clients, type_name: str, physical_id: str) -> bool:
    if type_name.startswith("Custom::"):
        return True  # what a custom resource makes only its function knows
    control = clients("cloudcontrol")
    try:
        control.get_resource(TypeName=type_name, Identifier=physical_id)
    except control.exceptions.ResourceNotFoundException:
        return False
    return True


def _records(settings: LocalSettings) -> list[dict[str, str]]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(settings.endpoint + RESOURCES_PATH, timeout=30) as answer:
        records: list[dict[str, str]] = json.load(answer)
    return [record for record in records if record["account"] == settings.account]
