"""The role of the nodes: what their programs, the agents and the job need, and nothing else.

What is the same for every fleet stands once per stack, in a policy that all roles made here have: repeated in fifty
roles, it would be a tenth of their template. What names the fleet, its buckets and its file systems stands in its role.

No managed policy of AWS is attached. `AmazonSSMManagedInstanceCore` would let every node read every parameter of the
account and run inventory, patching and associations; a session needs five actions of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from ultracluster.fleet.bucket_policy import bucket_statements
from ultracluster.plan.names import EVENT_SOURCE
from ultracluster.storage.bucket_access import BucketAccess
from ultracluster.storage.contract import Mount
from ultracluster.values import dataclass

__all__ = ["NodeAccess", "attach_policy", "common_policy", "node_actions", "node_policy", "node_role", "own_policy"]

Statement = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAccess:
    """What the nodes of one fleet have to reach; values may be tokens.

    Attributes:
        log_group_arn: the fleet's own log group, with `:*` for its streams.
        group_arn_pattern: ARN of the fleet's own Auto Scaling group; the id in its middle is not known beforehand.
        metrics_namespace: the only CloudWatch namespace that nodes may publish in.
        program_arn: the object that holds the programs of the nodes.
        event_bus_arn: the default event bus, on which nodes say what happens to them.
        suspends_rebalancing: whether nodes suspend zone rebalancing of their group (fleets over several zones).
        buckets: buckets and prefixes.
        mounts: shared file systems; only EFS asks for permissions.
    """

    log_group_arn: str
    group_arn_pattern: str
    metrics_namespace: str
    program_arn: str
    event_bus_arn: str
    suspends_rebalancing: bool
    buckets: Sequence[BucketAccess]
    mounts: Sequence[Mount]


def node_policy(stack: cdk.Stack, access: NodeAccess) -> dict[str, object]:
    """All that a node may do: the document for a role that is not made here."""
    return _document([*_common(access), *_own(stack, access)])


def common_policy(access: NodeAccess) -> dict[str, object]:
    """The part of it that is the same for every fleet that publishes in the same namespace."""
    return _document(_common(access))


def own_policy(stack: cdk.Stack, access: NodeAccess) -> dict[str, object]:
    """The part of it that is the fleet's own."""
    return _document(_own(stack, access))


def node_role(scope: Construct, document: dict[str, object], common: iam.IManagedPolicy) -> iam.Role:
    """A role for EC2 with the fleet's own policy and the common one."""
    return iam.Role(
        scope,
        "Role",
        assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
        managed_policies=[common],
        inline_policies={"Node": iam.PolicyDocument.from_json(document)},
    )


def attach_policy(scope: Construct, role: iam.IRole, document: dict[str, object]) -> tuple[iam.Policy, bool]:
    """Give an existing role that policy.

    Returns:
        The policy, and whether the role took it: one that was imported as not to be changed ignores what is attached,
        and so does one of another account.
    """
    policy = iam.Policy(scope, "NodePolicy", document=iam.PolicyDocument.from_json(document))
    role.attach_inline_policy(policy)
    resource = policy.node.default_child
    taken = isinstance(resource, iam.CfnPolicy) and cdk.Stack.of(scope).resolve(resource.roles)
    return policy, bool(taken)


def node_actions(document: dict[str, object]) -> list[str]:
    """What a node policy allows, in alphabetical order."""
    statements = document["Statement"]
    actions: set[str] = set()
    for statement in statements if isinstance(statements, list) else ():
        written = statement["Action"]
        actions.update([written] if isinstance(written, str) else written)
    return sorted(actions)


def _document(statements: Iterable[Statement]) -> dict[str, object]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _common(access: NodeAccess) -> Iterable[Statement]:
    yield {
        # Session Manager, and the agent's look at the tags of its node; none of these actions knows resources.
        "Sid": "Agents",
        "Effect": "Allow",
        "Action": [
            "ec2:DescribeTags",
            "ssm:UpdateInstanceInformation",
            "ssmmessages:CreateControlChannel",
            "ssmmessages:CreateDataChannel",
            "ssmmessages:OpenControlChannel",
            "ssmmessages:OpenDataChannel",
        ],
        "Resource": "*",
    }
    yield {
        "Sid": "OwnMetrics",
        "Effect": "Allow",
        "Action": "cloudwatch:PutMetricData",
        "Resource": "*",
        "Condition": {"StringEquals": {"cloudwatch:namespace": access.metrics_namespace}},
    }
    yield {"Sid": "OwnPrograms", "Effect": "Allow", "Action": "s3:GetObject", "Resource": access.program_arn}
    yield {
        "Sid": "OwnEvents",
        "Effect": "Allow",
        "Action": "events:PutEvents",
        "Resource": access.event_bus_arn,
        "Condition": {"StringEquals": {"events:source": EVENT_SOURCE}},
    }


def _own(stack: cdk.Stack, access: NodeAccess) -> Iterable[Statement]:
    yield {
        "Sid": "OwnLogGroup",
        "Effect": "Allow",
        "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
        "Resource": access.log_group_arn,
    }
    suspend = ["autoscaling:SuspendProcesses"] if access.suspends_rebalancing else []
    yield {
        "Sid": "OwnGroup",
        "Effect": "Allow",
        "Action": ["autoscaling:CompleteLifecycleAction", "autoscaling:SetInstanceHealth", *suspend],
        "Resource": access.group_arn_pattern,
    }
    for bucket in access.buckets:
        yield from bucket_statements(bucket)
    yield from _file_systems(stack, access.mounts)


def _file_systems(stack: cdk.Stack, mounts: Sequence[Mount]) -> Iterable[Statement]:
    for mount in mounts:
        if mount.kind != "efs":
            continue
        file_system = stack.format_arn(
            service="elasticfilesystem", resource="file-system", resource_name=mount.slots["file_system_id"]
        )
        statement: Statement = {
            "Effect": "Allow",
            "Action": ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"],
            "Resource": file_system,
        }
        access_point = mount.slots.get("access_point_id")
        if access_point:
            arn = stack.format_arn(service="elasticfilesystem", resource="access-point", resource_name=access_point)
            statement["Condition"] = {"StringEquals": {"elasticfilesystem:AccessPointArn": arn}}
        yield statement
