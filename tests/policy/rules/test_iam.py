"""UC-IAM-001 to 005, 009: what node roles may do, passing roles, launches, endpoint policies."""

from __future__ import annotations

import pytest

from support.networks import UNKNOWN, allow, hyperpod, made, only, profile, role, template
from support.policy import assert_not_judged, assert_passes

CASES = {"Case": {"Fn::Equals": [UNKNOWN, "yes"]}}


def aws(name):
    return f"arn:aws:iam::aws:policy/{name}"


NODE_GROUP = made("AWS::EKS::Nodegroup", NodeRole={"Fn::GetAtt": ["Role", "Arn"]}, Subnets=["subnet-1"])
HYPERPOD = hyperpod(ExecutionRole={"Fn::GetAtt": ["Role", "Arn"]}, groups=())
CARRIERS = {"profile": profile(), "node group": NODE_GROUP, "hyperpod": HYPERPOD}

# Managed policies

BROAD = [
    "AdministratorAccess",
    "AmazonEC2FullAccess",
    "AmazonFSxFullAccess",
    "AmazonS3FullAccess",
    "IAMFullAccess",
    "PowerUserAccess",
]


@pytest.mark.parametrize("name", BROAD)
def test_broad_policies(name):
    found = template(Role=role(ManagedPolicyArns=[aws("AmazonSSMManagedInstanceCore"), aws(name)]), Profile=profile())
    only("UC-IAM-001", found, place=f"Role ManagedPolicyArns[1]: {name} on a role of nodes")


@pytest.mark.parametrize("carrier", CARRIERS.values(), ids=CARRIERS)
def test_whose_policies_are_judged(carrier):
    found = template(Role=role(ManagedPolicyArns=[aws("AmazonS3FullAccess")]), Carrier=carrier)
    only("UC-IAM-001", found, place="AmazonS3FullAccess")
    read = template(Role=role(ManagedPolicyArns=[aws("AmazonS3ReadOnlyAccess")]), Carrier=carrier)
    only("UC-IAM-009", read, place="ManagedPolicyArns[0]: AmazonS3ReadOnlyAccess on a role of nodes reads every bucket")


def test_the_role_of_hyperpod_by_its_own_policy():
    arns = [aws("AmazonSageMakerClusterInstanceRolePolicy"), aws("AmazonS3FullAccess")]
    only("UC-IAM-001", template(Role=role(ManagedPolicyArns=arns)), place="ManagedPolicyArns[1]")


@pytest.mark.parametrize(
    "arn",
    [
        {"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/AmazonS3FullAccess"},
        {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":iam::aws:policy/AmazonS3FullAccess"]]},
    ],
)
def test_partitions(arn):
    only("UC-IAM-001", template(Role=role(ManagedPolicyArns=[arn]), Profile=profile()), place="AmazonS3FullAccess")


@pytest.mark.parametrize("rule_id", ["UC-IAM-001", "UC-IAM-009"])
def test_policies_that_are_fine(rule_id):
    narrow = role(ManagedPolicyArns=[aws("AmazonSSMManagedInstanceCore"), aws("CloudWatchAgentServerPolicy")])
    assert_passes(rule_id, template(Role=narrow, Profile=profile()))
    broad = role(ManagedPolicyArns=[aws("AdministratorAccess"), aws("AmazonS3ReadOnlyAccess")])
    assert_passes(rule_id, template(Role=broad))  # no role of nodes
    own = role(ManagedPolicyArns=["arn:aws:iam::111122223333:policy/AmazonS3FullAccess", {"Ref": "Policy"}])
    assert_passes(rule_id, template(Role=own, Profile=profile(), Policy=made("AWS::IAM::ManagedPolicy")))
    assert_not_judged(rule_id, template(Role=role(ManagedPolicyArns=[UNKNOWN]), Profile=profile()))
    assert_not_judged(rule_id, template(Role=role(ManagedPolicyArns=UNKNOWN), Profile=profile()))


def test_policies_under_one_condition():
    arn = {"Fn::If": ["Case", aws("AmazonS3FullAccess"), aws("AmazonSSMManagedInstanceCore")]}
    bearer = {**profile(), "Condition": "Not"}
    conditions = {**CASES, "Not": {"Fn::Not": [{"Condition": "Case"}]}}
    assert_passes("UC-IAM-001", template(conditions=conditions, Role=role(ManagedPolicyArns=[arn]), Profile=bearer))


# Stars

STARS = ["*", "s3:*", "ec2:*", "iam:*", "kms:*", "ssm:*", "secretsmanager:*", "S3:*"]


@pytest.mark.parametrize("action", STARS)
def test_stars(action):
    found = template(
        Role=role(allow("logs:PutLogEvents"), allow(["fsx:DescribeFileSystems", action])), Profile=profile()
    )
    place = "Role Policies[0].PolicyDocument.Statement[1].Action[1]"
    only("UC-IAM-002", found, place=f"{place}: {action} on every resource")


@pytest.mark.parametrize(
    "resource", ["*", ["arn:aws:s3:::data/*", "*"], "arn:aws:s3:::*", {"Fn::Sub": "arn:${AWS::Partition}:s3:::*"}]
)
def test_every_resource(resource):
    only("UC-IAM-002", template(Role=role(allow("s3:*", resource)), Profile=profile()), place="s3:* on every resource")


ATTACHED = {
    "policy": made("AWS::IAM::Policy", Roles=[{"Ref": "Role"}], PolicyDocument={"Statement": allow("kms:*")}),
    "managed": made("AWS::IAM::ManagedPolicy", Roles=[{"Ref": "Role"}], PolicyDocument={"Statement": [allow("kms:*")]}),
    "role policy": made(
        "AWS::IAM::RolePolicy", RoleName={"Ref": "Role"}, PolicyDocument={"Statement": [allow("kms:*")]}
    ),
}


@pytest.mark.parametrize("policy", ATTACHED.values(), ids=ATTACHED)
def test_policies_that_are_attached(policy):
    only("UC-IAM-002", template(Role=role(), Profile=profile(), Policy=policy), place="Policy PolicyDocument.Statement")
    assert_passes("UC-IAM-002", template(Other=role(), Role=role(), Profile=profile("Other"), Policy=policy))


@pytest.mark.parametrize(
    "statement",
    [
        allow("s3:*", ["arn:aws:s3:::data", "arn:aws:s3:::data/*"]),
        allow("s3:*", Condition={"StringEquals": {"aws:ResourceAccount": "111122223333"}}),
        allow(["ec2:DescribeInstances", "ecr:GetAuthorizationToken", "ec2:CreateNetworkInterface"]),
        allow("ec2:Describe*"),
        {"Effect": "Deny", "Action": "s3:*", "Resource": "*"},
        allow("s3:*", {"Fn::GetAtt": ["Bucket", "Arn"]}),
        allow("s3:*", {"Fn::Sub": "arn:aws:s3:::${Unknown}/*"}),
    ],
    ids=["named", "condition", "no resource level", "describe", "deny", "reference", "parameter"],
)
def test_statements_that_are_fine(statement):
    assert_passes("UC-IAM-002", template(Role=role(statement), Profile=profile(), Bucket=made("AWS::S3::Bucket")))


@pytest.mark.parametrize("statement", [allow(UNKNOWN), allow("s3:*", UNKNOWN), allow("s3:*", Effect=UNKNOWN)])
def test_statements_that_cannot_be_known(statement):
    assert_not_judged("UC-IAM-002", template(Role=role(statement), Profile=profile()))


def test_action_and_resource_under_one_condition():
    statement = allow({"Fn::If": ["Case", "s3:*", "s3:GetObject"]}, {"Fn::If": ["Case", "arn:aws:s3:::data/*", "*"]})
    assert_passes("UC-IAM-002", template(conditions=CASES, Role=role(statement), Profile=profile()))


# Endpoints


def endpoint(*statements, service="s3", **properties):
    document = {"Statement": list(statements)} if statements else None
    name = {"Fn::Sub": "com.amazonaws.${AWS::Region}." + service}
    return made("AWS::EC2::VPCEndpoint", VpcId="vpc-1", ServiceName=name, PolicyDocument=document, **properties)


EVERYBODY = allow("*", Principal="*")


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (endpoint(), "E : without PolicyDocument everybody"),
        (endpoint(service="dynamodb"), "E : without PolicyDocument"),
        (endpoint(EVERYBODY), "E PolicyDocument.Statement[0]: everybody may do everything"),
        (endpoint(allow(["*"], ["*"], Principal={"AWS": "*"})), "Statement[0]"),
        (endpoint(allow("s3:*", "arn:aws:s3:::*", Principal={"AWS": ["*"]})), "Statement[0]"),
        (endpoint(allow("s3:GetObject", Principal="*"), EVERYBODY), "Statement[1]"),
        (
            endpoint(EVERYBODY, service="ecr.api", VpcEndpointType="Interface", SecurityGroupIds=["sg-1"]),
            "Statement[0]",
        ),
    ],
)
def test_endpoints_for_everybody(found, place):
    only("UC-IAM-003", template(E=found), place=place)


@pytest.mark.parametrize(
    "found",
    [
        endpoint(allow("s3:*", "arn:aws:s3:::data/*", Principal="*")),
        endpoint(allow("*", Principal="*", Condition={"StringEquals": {"aws:PrincipalOrgID": "o-1"}})),
        endpoint(allow("s3:GetObject", Principal="*")),
        endpoint(allow("*", Principal={"AWS": "arn:aws:iam::111122223333:root"})),
        endpoint(service="logs", VpcEndpointType="Interface", SecurityGroupIds=["sg-1"]),
    ],
    ids=["buckets", "organisation", "action", "principal", "default of another service"],
)
def test_endpoints_for_some(found):
    assert_passes("UC-IAM-003", template(E=found))


@pytest.mark.parametrize(
    "statement", [allow("*", Principal=UNKNOWN), allow(UNKNOWN, Principal="*"), allow("*", UNKNOWN, Principal="*")]
)
def test_endpoints_that_cannot_be_known(statement):
    assert_not_judged("UC-IAM-003", template(E=endpoint(statement)))


# Passing roles and launching

EVERY_ROLE = [
    "*",
    "arn:aws:iam::111122223333:role/*",
    {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/*"},
]
HOLDERS = {
    "role": (role, "Holder Policies[0].PolicyDocument.Statement[0].Action"),
    "policy": (
        lambda statement: made("AWS::IAM::Policy", PolicyDocument={"Statement": [statement]}),
        "Holder PolicyDocument.Statement[0].Action",
    ),
    "managed": (
        lambda statement: made("AWS::IAM::ManagedPolicy", PolicyDocument={"Statement": statement}),
        "Holder PolicyDocument.Statement.Action",
    ),
    "user": (
        lambda statement: made("AWS::IAM::User", Policies=[{"PolicyDocument": {"Statement": [statement]}}]),
        "Holder Policies[0]",
    ),
    "group policy": (
        lambda statement: made("AWS::IAM::GroupPolicy", PolicyDocument={"Statement": [statement]}),
        "Holder PolicyDocument",
    ),
}


@pytest.mark.parametrize(("holder", "place"), HOLDERS.values(), ids=HOLDERS)
def test_passing_every_role(holder, place):
    for resource in EVERY_ROLE:
        only("UC-IAM-004", template(Holder=holder(allow("iam:PassRole", resource))), place=place)
    only("UC-IAM-004", template(Holder=holder(allow(["iam:GetRole", "iam:Pass*"]))), place="iam:Pass* on every role")
    only("UC-IAM-005", template(Holder=holder(allow("ec2:RunInstances"))), place=place)
    only(
        "UC-IAM-005", template(Holder=holder(allow(["ec2:CreateTags", "ec2:CreateFleet"]))), place="ec2:CreateFleet on"
    )


@pytest.mark.parametrize(
    "statement",
    [
        allow("iam:PassRole", {"Fn::GetAtt": ["Other", "Arn"]}),
        allow("iam:PassRole", "arn:aws:iam::111122223333:role/train-*"),
        allow("iam:PassRole", Condition={"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}),
        allow(["iam:GetRole", "iam:List*"]),
        allow("*"),
        {"Effect": "Deny", "Action": "iam:PassRole", "Resource": "*"},
        {"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"},
    ],
    ids=["reference", "prefix", "condition", "other actions", "administrator", "deny", "not action"],
)
def test_passing_some_roles(statement):
    assert_passes("UC-IAM-004", template(Holder=role(statement), Other=role()))


@pytest.mark.parametrize(
    "statement",
    [
        allow("ec2:RunInstances", Condition={"StringEquals": {"aws:RequestTag/team": "llm"}}),
        allow("ec2:RunInstances", ["arn:aws:ec2:*:*:launch-template/lt-1", "arn:aws:ec2:*:*:subnet/subnet-1"]),
        allow(["ec2:CreateTags", "ec2:DescribeInstances", "ec2:CreateLaunchTemplate"]),
        allow("ec2:*"),
    ],
)
def test_launches_that_are_limited(statement):
    assert_passes("UC-IAM-005", template(Holder=role(statement)))


@pytest.mark.parametrize(("rule_id", "action"), [("UC-IAM-004", "iam:PassRole"), ("UC-IAM-005", "ec2:RunInstances")])
def test_permissions_that_cannot_be_known(rule_id, action):
    assert_not_judged(rule_id, template(Holder=role(allow(action, UNKNOWN))))
    assert_not_judged(rule_id, template(Holder=role(allow(UNKNOWN))))
    assert_not_judged(rule_id, template(Holder=made("AWS::IAM::Policy", PolicyDocument=UNKNOWN)))
    assert_passes(rule_id, template(Holder=role(allow(UNKNOWN, "arn:aws:s3:::data/*"))))


@pytest.mark.parametrize(("rule_id", "action"), [("UC-IAM-004", "iam:PassRole"), ("UC-IAM-005", "ec2:RunInstances")])
def test_permissions_under_one_condition(rule_id, action):
    statement = allow({"Fn::If": ["Case", action, "logs:PutLogEvents"]}, {"Fn::If": ["Case", "arn:aws:x:::y/z", "*"]})
    assert_passes(rule_id, template(conditions=CASES, Holder=role(statement)))
