"""The role of build and test instances: what the component manager, Session Manager and the components call.

No managed policy is attached: `EC2InstanceProfileForImageBuilder` reads every component of the account, and
`AmazonSSMManagedInstanceCore` every parameter.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from ultracluster.acknowledge import acknowledge
from ultracluster.values import dataclass

__all__ = ["BuildAccess", "build_role"]

_EVERY = (
    "registration, channels and messages of the Systems Manager agent, by which Image Builder runs its steps, know no "
    "resources"
)
_COMPONENTS = "every version of this image's own components: the one that is built next is not known yet"
_OBJECTS = "logs of builds below their own prefix, and the component manager itself in buckets of AWS"
_STREAMS = "streams of the image's own log group; their names are those of builds to come"
_KEY = "data keys of the one key of this image; AWS names the actions with a wildcard"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildAccess:
    """What the instances have to reach; values may be tokens.

    Attributes:
        component_name_prefix: beginning of the names of the image's components.
        program_arn: the object that holds the programs of the nodes.
        log_bucket_arn: bucket of the logs.
        log_prefix: below which they are written.
        log_group_arn: log group of the image, with `:*` for its streams.
        key_arn: customer key of the image and its logs.
    """

    component_name_prefix: str
    program_arn: str
    log_bucket_arn: str
    log_prefix: str
    log_group_arn: str
    key_arn: str


def build_role(scope: Construct, construct_id: str, *, access: BuildAccess) -> iam.Role:
    """Make the role.

    Args:
        scope: the parent.
        construct_id: the id in the parent.
        access: what its instances have to reach.
    """
    stack = cdk.Stack.of(scope)
    component = stack.format_arn(
        service="imagebuilder", resource="component", resource_name=f"{access.component_name_prefix.lower()}-*"
    )
    manager = stack.format_arn(service="s3", region="", account="", resource="ec2imagebuilder-*", resource_name="*")
    logs = f"{access.log_bucket_arn}/{access.log_prefix}/*"
    statements = [
        _allow("Agent", _AGENT, ["*"]),
        _allow("Components", ["imagebuilder:GetComponent"], [component]),
        _allow("Manager", ["s3:GetObject"], [manager]),
        _allow("Programs", ["s3:GetObject"], [access.program_arn]),
        _allow("Logs", ["s3:PutObject"], [logs]),
        _allow("LogStreams", ["logs:CreateLogStream", "logs:PutLogEvents"], [access.log_group_arn]),
        _allow("Key", ["kms:Decrypt", "kms:GenerateDataKey*"], [access.key_arn]),
    ]
    role = iam.Role(
        scope,
        construct_id,
        assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
        inline_policies={"Build": iam.PolicyDocument(statements=statements)},
    )
    reasons = {"*": _EVERY, component: _COMPONENTS, manager: _OBJECTS, logs: _OBJECTS, access.log_group_arn: _STREAMS}
    acknowledge(
        role,
        {f"AwsSolutions-IAM5[Resource::{named(stack, arn)}]": reason for arn, reason in reasons.items()}
        | {"AwsSolutions-IAM5[Action::kms:GenerateDataKey*]": _KEY},
    )
    return role


_AGENT = [
    "ec2messages:AcknowledgeMessage",
    "ec2messages:DeleteMessage",
    "ec2messages:FailMessage",
    "ec2messages:GetEndpoint",
    "ec2messages:GetMessages",
    "ec2messages:SendReply",
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
]
"""What Run Command and Session Manager need, and the channel that older agents use."""


def _allow(sid: str, actions: list[str], resources: list[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid=sid, actions=actions, resources=resources)


def named(stack: cdk.Stack, arn: str) -> str:
    """An ARN in the form in which scanners name it in a finding."""
    return _flat(stack.resolve(arn))


def _flat(value: object) -> str:
    match value:
        case str():
            return value.replace("${", "<").replace("}", ">")
        case {"Fn::Join": [str(separator), list(parts)]}:
            return separator.join(map(_flat, parts))
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{resource}.{attribute}>"
        case {"Ref": name}:
            return f"<{name}>"
    return str(value)
