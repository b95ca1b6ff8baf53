"""Wildcards of the node policy, each acknowledged with its reason for scanners that report them one by one.

cdk-nag names a wildcard by the resolved resource (`AwsSolutions-IAM5[Resource::...]`), and a reference to another stack
gets its final form only during synthesis. So the acknowledgements are written when the tree is validated, after
references are settled and before plugins look at it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import aws_cdk as cdk
import jsii
from constructs import Construct, IValidation

from ultracluster.acknowledge import acknowledge

__all__ = ["acknowledge_wildcards"]

_EVERY = (
    "none of these actions can be tied to a resource before the node exists: ec2:DescribeTags, registration and "
    "channels of Session Manager, and cloudwatch:PutMetricData, which a condition ties to the fleet's namespace"
)
_GROUP = "the id in the middle of a group's ARN is not known before the group; the name at its end is the fleet's own"
_OBJECTS = "objects of a bucket, below the prefix that the fleet was given"


def acknowledge_wildcards(scope: Construct, document: Mapping[str, object]) -> None:
    """Acknowledge every wildcard resource of a policy on a construct, during synthesis."""
    scope.node.add_validation(_Wildcards(construct=scope, document=document))


@jsii.implements(IValidation)
class _Wildcards:
    def __init__(self, *, construct: Construct, document: Mapping[str, object]) -> None:
        self._construct = construct
        self._document = document

    def validate(self) -> list[str]:
        """Write the acknowledgements; finds nothing wrong."""
        resources = cdk.Stack.of(self._construct).resolve(list(_resources(self._document)))
        names = [name for name in map(_flat, resources) if "*" in name]
        acknowledge(self._construct, {f"AwsSolutions-IAM5[Resource::{name}]": _reason(name) for name in names})
        return []


def _resources(document: Mapping[str, object]) -> Iterable[object]:
    statements = document["Statement"]
    if isinstance(statements, list):
        yield from (statement["Resource"] for statement in statements)


def _reason(name: str) -> str:
    if name == "*":
        return _EVERY
    return _GROUP if ":autoScalingGroup:*:" in name else _OBJECTS


def _flat(value: object) -> str:
    """A resolved value in the form in which cdk-nag names it."""
    match value:
        case str():
            return value.replace("${", "<").replace("}", ">")
        case {"Fn::Join": [str(separator), list(parts)]}:
            return separator.join(map(_flat, parts))
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{_flat(resource)}.{_flat(attribute)}>"
        case {"Fn::ImportValue": name}:
            return _flat(name)
        case {"Ref": name}:
            return f"<{_flat(name)}>"
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
