"""What the fleets of one stack have in common and only the CDK knows: looked up once, as every look crosses into it.

The programs of a node are a file asset: bytes and digest come from the plan, the synthesizer says where it is uploaded
to. All that stands of it in the template is the address in the user data and the permission in the role.
"""

from __future__ import annotations

import hashlib
from typing import cast
from weakref import WeakKeyDictionary

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

from ultracluster.fleet.role import NodeAccess, common_policy
from ultracluster.fleet.wildcards import acknowledge_wildcards
from ultracluster.node_asset import node_program_asset
from ultracluster.plan.node_program import node_program
from ultracluster.values import dataclass

__all__ = ["StackWide", "image_parameter", "nodes_policy", "stack_wide"]

_IMAGE = "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"


@dataclass(frozen=True, slots=True, kw_only=True)
class StackWide:
    """Values may be tokens.

    Attributes:
        program: where the programs are and their digest, as user data has it: `s3://bucket/key 0123...`.
        program_arn: the object that holds them.
        event_bus_arn: the default event bus of the account.
    """

    program: str
    program_arn: str
    event_bus_arn: str


_policies: WeakKeyDictionary[cdk.Stack, dict[str, iam.ManagedPolicy]] = WeakKeyDictionary()
_known: WeakKeyDictionary[cdk.Stack, StackWide] = WeakKeyDictionary()
_images: WeakKeyDictionary[cdk.Stack, dict[str, str]] = WeakKeyDictionary()


def stack_wide(stack: cdk.Stack) -> StackWide:
    """The values of a stack; the first call adds the asset.

    Args:
        stack: the stack of the fleets. Its synthesizer has to take assets, as all do but the bootstrapless one.
    """
    found = _known.get(stack)
    if found is None:
        found = _known[stack] = _look_up(stack)
    return found


def image_parameter(stack: cdk.Stack, name: str) -> str:
    """The image that a parameter names when the stack is deployed; one template parameter per stack and image.

    Its id is short, since every launch template repeats it: the CDK's own would hold the whole name. A template
    parameter always takes the newest version; a name with a version behind it (`/images/train:3`) is a dynamic
    reference.

    Args:
        stack: the stack of the fleets.
        name: of the parameter in Systems Manager.
    """
    path, _, version = name.partition(":")
    if version:
        return f"{{{{resolve:ssm:{path}:{version}}}}}"
    known = _images.setdefault(stack, {})
    if name not in known:
        construct_id = f"Image{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        made = stack.node.try_find_child(construct_id) or cdk.CfnParameter(
            stack, construct_id, type=_IMAGE, default=name, description="image of nodes, read at deployment"
        )
        known[name] = cast("cdk.CfnParameter", made).value_as_string
    return known[name]


def nodes_policy(stack: cdk.Stack, access: NodeAccess) -> iam.ManagedPolicy:
    """The policy that the roles of all fleets of a stack have; one for each namespace of metrics.

    Args:
        stack: the stack of the fleets.
        access: what the nodes of one of them have to reach.
    """
    known = _policies.setdefault(stack, {})
    namespace = access.metrics_namespace
    if namespace not in known:
        document = common_policy(access)
        known[namespace] = policy = iam.ManagedPolicy(
            stack,
            f"Nodes{hashlib.sha256(namespace.encode()).hexdigest()[:8]}",
            description="what nodes of every fleet may do",
            document=iam.PolicyDocument.from_json(document),
        )
        acknowledge_wildcards(policy, document)
    return known[namespace]


def _look_up(stack: cdk.Stack) -> StackWide:
    asset = node_program_asset(stack)
    bucket, key = asset.s3_bucket_name, asset.s3_object_key
    return StackWide(
        program=f"s3://{bucket}/{key} {node_program().sha256}",
        program_arn=stack.format_arn(service="s3", region="", account="", resource=bucket, resource_name=key),
        event_bus_arn=stack.format_arn(service="events", resource="event-bus", resource_name="default"),
    )
