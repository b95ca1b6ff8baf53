"""UC-PCS-003, 008, 009 and 013: roles, Slurm versions and UltraServers of PCS."""

from __future__ import annotations

import pytest

from support.orchestrators import (
    MIME,
    NONE,
    P5,
    either,
    encoded,
    ids,
    pcs_app,
    pcs_cluster,
    pcs_nodes,
    pcs_queue,
    resource,
    switch,
)
from support.policy import assert_finds, assert_not_judged, assert_passes
from ultracluster.policy.document import Document
from ultracluster.policy.engine import judge
from ultracluster.policy.load import assembly_of
from ultracluster.policy.model import Environment

TEXT = {"Ref": "Text"}
AWS = "arn:aws:iam::aws:policy/"
NODE_POLICY = f"{AWS}AWSPCSComputeNodePolicy"

# UC-PCS-003


def inline(*actions, effect="Allow"):
    statement = {"Effect": effect, "Action": list(actions), "Resource": "*"}
    return [{"PolicyName": "node", "PolicyDocument": {"Version": "2012-10-17", "Statement": [statement]}}]


def roled(parameters=None, conditions=None, profile=None, /, **role):
    role = {"ManagedPolicyArns": [NODE_POLICY], **role}
    return pcs_app(
        None,
        parameters,
        conditions,
        group={"IamInstanceProfileArn": {"Fn::GetAtt": ["Profile", "Arn"]}},
        Role=resource("IAM::Role", AssumeRolePolicyDocument={}, **role),
        Profile=resource("IAM::InstanceProfile", Roles=[{"Ref": "Role"}], **(profile or {})),
    )


NAMED = {"RoleName": "AWSPCS-train"}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            roled(RoleName="train-node"),
            "role name train-node of Role begins not with AWSPCS, and its path is no /aws-pcs/",
        ),
        (roled(), "a generated role name of Role begins not with AWSPCS"),
        (roled(RoleName={"Fn::Sub": "train-${AWS::Region}"}), "role name train-<AWS::Region>"),
        (roled(Path="/service-role/"), "its path is no /aws-pcs/"),
        (roled(**NAMED, ManagedPolicyArns=None), "role Role lacks pcs:RegisterComputeNodeGroupInstance"),
        (roled(**NAMED, ManagedPolicyArns=[f"{AWS}AmazonSSMManagedInstanceCore"]), "Role lacks pcs:Register"),
        (roled(**NAMED, ManagedPolicyArns=None, Policies=inline("pcs:Get*")), "Role lacks"),
        (
            roled(**NAMED, ManagedPolicyArns=None, Policies=inline("pcs:*", effect="Deny")),
            "Nodes IamInstanceProfileArn: role Role lacks",
        ),
    ],
)
def test_a_role_that_pcs_refuses(found, said):
    assert_finds("UC-PCS-003", found, place=said)
    assert ids("PCS", found) == {"UC-PCS-003"}


@pytest.mark.parametrize(
    "found",
    [
        roled(**NAMED),
        roled(Path="/aws-pcs/"),
        roled(RoleName={"Fn::Sub": "AWSPCS-${AWS::StackName}-node"}),
        roled(**NAMED, ManagedPolicyArns=None, Policies=inline("pcs:RegisterComputeNodeGroupInstance")),
        roled(**NAMED, ManagedPolicyArns=None, Policies=inline("pcs:*")),
        roled(
            **NAMED, ManagedPolicyArns=[{"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/AWSPCSComputeNodePolicy"}]
        ),
        # Older texts ask for name or path of the profile.
        roled(None, None, {"InstanceProfileName": "AWSPCS-train"}),
        roled(None, None, {"Path": "/aws-pcs/"}),
    ],
)
def test_a_role_that_pcs_takes(found):
    assert_passes("UC-PCS-003", found)


def test_a_generated_name_begins_with_the_stack():
    model = assembly_of([Document("a.yaml", "", roled())], environment=Environment(stack_name="AWSPCS-train"))
    assert not [fault for fault in judge(model).faults if fault.rule_id == "UC-PCS-003"]


@pytest.mark.parametrize(
    "found",
    [
        pcs_app(),
        pcs_app(group={"IamInstanceProfileArn": TEXT}),
        roled(RoleName=TEXT),
        roled(RoleName={"Fn::Sub": "${Text}-node"}),
        roled(RoleName={"Fn::Sub": "AWS${Text}"}),
        roled(**NAMED, ManagedPolicyArns=["arn:aws:iam::111122223333:policy/node"]),
        roled(**NAMED, ManagedPolicyArns=[TEXT]),
        roled(**NAMED, ManagedPolicyArns=None, Policies=inline(TEXT)),
    ],
)
def test_a_role_that_is_not_known(found):
    assert_not_judged("UC-PCS-003", found)


@pytest.mark.parametrize(("paths", "expected"), [(("/aws-pcs/", NONE), set()), ((NONE, "/aws-pcs/"), {"UC-PCS-003"})])
def test_name_and_path_under_one_condition(paths, expected):
    parameters, conditions = switch()
    name = either("Big", "train-node", "AWSPCS-train")
    assert ids("PCS", roled(parameters, conditions, RoleName=name, Path=either("Big", *paths))) == expected


# UC-PCS-008


def versioned(version, script="", parameters=None, conditions=None, **more):
    data = {"InstanceType": P5}
    if script:
        data["UserData"] = encoded(MIME.format("text/x-shellscript", f"#!/bin/bash\n{script}\n"))
    cluster = pcs_cluster(Scheduler={"Type": "SLURM", "Version": version})
    return pcs_app(data, parameters, conditions, Pcs=cluster, **more)


def component(text):
    return resource("ImageBuilder::Component", Name="slurm", Platform="Linux", Version="1.0.0", Data=text)


PATH = "export PATH=/opt/aws/pcs/scheduler/slurm-{}/bin:$PATH"
INSTALLER = "tar -xf aws-pcs-slurm-{}-installer-25.11.2-1.tar.gz"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (versioned("23.11"), "Pcs Scheduler.Version: 23.11, PCS makes clusters with 24.11, 25.05, 25.11, 26.05"),
        (versioned(24.05), "24.05, PCS makes clusters with"),
        (versioned("25.05", PATH.format("25.11")), "25.05, and Lt is set up for Slurm 25.11"),
        (versioned("25.11", Part=component(INSTALLER.format("25.05"))), "25.11, and Part is set up for Slurm 25.05"),
    ],
)
def test_two_versions(found, said):
    assert_finds("UC-PCS-008", found, place=said)
    assert ids("PCS", found) == {"UC-PCS-008"}


@pytest.mark.parametrize(
    "found",
    [
        versioned("25.11"),
        versioned("25.11", PATH.format("25.11")),
        versioned("25.11", Part=component(f"{INSTALLER.format('25.05')}\n{INSTALLER.format('25.11')}")),
        versioned("25.11", "echo /opt/slurm-25.05"),
        # The image of one of two clusters.
        versioned("25.11", Part=component(INSTALLER.format("25.05")), Other=pcs_cluster(Name="other")),
    ],
)
def test_one_version(found):
    assert_passes("UC-PCS-008", found)


@pytest.mark.parametrize("version", [TEXT, "27.02", "newest"])
def test_a_version_that_is_not_known(version):
    assert_not_judged("UC-PCS-008", versioned(version))


def test_a_version_that_is_a_parameter():
    parameters = {"Slurm": {"Type": "String", "Default": 25.11, "AllowedValues": [25.05, 25.11]}}
    assert_passes("UC-PCS-008", versioned({"Ref": "Slurm"}, parameters=parameters))
    parameters["Slurm"]["AllowedValues"].append("23.11")
    assert_finds("UC-PCS-008", versioned({"Ref": "Slurm"}, parameters=parameters), place="23.11, PCS makes")


# UC-PCS-009


def featured(version, configuration=None, group=None, *types, parameters=None, conditions=None):
    body = {"Accounting": {"Mode": "STANDARD"}, **(configuration or {})}
    settings = [
        {"ParameterName": "Prolog", "ParameterValue": "/opt/imex.sh"},
        {"ParameterName": "PrologFlags", "ParameterValue": "Alloc,NoHold"},
    ]
    body["SlurmCustomSettings"] = [*body.get("SlurmCustomSettings", []), *settings]
    cluster = pcs_cluster(Scheduler={"Type": "SLURM", "Version": version}, SlurmConfiguration=body)
    nodes = pcs_nodes(*(types or (P5,)), **(group or {}))
    return pcs_app(None, parameters, conditions, Pcs=cluster, Nodes=nodes)


METRICS = {"SlurmCustomSettings": [{"ParameterName": "MetricsType", "ParameterValue": "metrics/openmetrics"}]}
REST = {"SlurmRest": {"Mode": "STANDARD"}}
IDLE = {"SlurmConfiguration": {"ScaleDownIdleTimeInSeconds": 600}}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            featured("25.05", METRICS),
            "Pcs SlurmConfiguration.SlurmCustomSettings[0].ParameterName: MetricsType with Slurm 25.05, it exists",
        ),
        (
            featured("24.11", REST),
            "Pcs SlurmConfiguration.SlurmRest.Mode: SlurmRest with Slurm 24.11, it exists from 25.05",
        ),
        (
            featured("25.05", None, IDLE),
            "Nodes SlurmConfiguration.ScaleDownIdleTimeInSeconds: ScaleDownIdleTimeInSeconds with Slurm 25.05",
        ),
        (
            featured("24.11", None, None, "p6e-gb200.36xlarge"),
            "Nodes InstanceConfigs[0].InstanceType: UltraServer with Slurm 24.11, it exists from 25.05",
        ),
    ],
)
def test_a_setting_that_comes_later(found, said):
    assert_finds("UC-PCS-009", found, place=said)
    assert ids("PCS", found) == {"UC-PCS-009"}


@pytest.mark.parametrize(
    "found",
    [
        featured("25.11", {**METRICS, **REST}, IDLE, "p6e-gb200.36xlarge"),
        featured("26.05", METRICS),
        featured("24.11", {"SlurmRest": {"Mode": "NONE"}}),
        featured("24.11"),
    ],
)
def test_a_setting_that_exists(found):
    assert_passes("UC-PCS-009", found)


@pytest.mark.parametrize(
    "found",
    [
        featured(TEXT, METRICS),
        featured("24.11", {"SlurmRest": {"Mode": TEXT}}),
        featured("24.11", None, {**IDLE, "ClusterId": TEXT}),
        featured("24.11", {"SlurmCustomSettings": [{"ParameterName": TEXT, "ParameterValue": "1"}]}),
    ],
)
def test_a_setting_that_is_not_known(found):
    assert_not_judged("UC-PCS-009", found)


@pytest.mark.parametrize(("versions", "expected"), [(("25.11", "25.05"), set()), (("25.05", "25.11"), {"UC-PCS-009"})])
def test_setting_and_version_under_one_condition(versions, expected):
    """The form of a public template: metrics where the version has them."""
    parameters, conditions = switch()
    setting = either("Big", METRICS["SlurmCustomSettings"][0], NONE)
    found = featured(
        either("Big", *versions), {"SlurmCustomSettings": [setting]}, parameters=parameters, conditions=conditions
    )
    assert ids("PCS", found) == expected


# UC-PCS-013

SERVER = "p6e-gb200.36xlarge"
PROLOG = {"ParameterName": "Prolog", "ParameterValue": "/opt/imex.sh"}
FLAGS = {"ParameterName": "PrologFlags", "ParameterValue": "Alloc, NoHold"}


def served(sizes=(18,), others=(), settings=(PROLOG, FLAGS), queue=None):
    body = {"Accounting": {"Mode": "STANDARD"}, "SlurmCustomSettings": list(settings)}
    groups = {f"Server{at}": pcs_nodes(SERVER, most=size) for at, size in enumerate(sizes)}
    groups |= {f"Other{at}": pcs_nodes(kind) for at, kind in enumerate(others)}
    return pcs_app(
        Pcs=pcs_cluster(SlurmConfiguration=body), Work=queue or pcs_queue(*groups), Nodes=pcs_nodes(), **groups
    )


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            served(others=[P5]),
            "Work ComputeNodeGroupConfigurations: UltraServer group Server0 beside Other0, which has none",
        ),
        (served((18, 54)), "Server1 has 54 nodes, another group of the queue 18: the ratio is no power of two"),
        (served((18, 20)), "Server1 has 20 nodes, another group of the queue 18"),
        (served(settings=()), "Pcs SlurmConfiguration.SlurmCustomSettings: no Prolog, which sets up IMEX"),
        (
            served(settings=(PROLOG,)),
            "SlurmCustomSettings: PrologFlags without Alloc, NoHold for the UltraServers of Server0",
        ),
        (
            served(settings=(PROLOG, {"ParameterName": "PrologFlags", "ParameterValue": "Alloc"})),
            "PrologFlags without NoHold",
        ),
    ],
)
def test_ultraservers_without_what_they_need(found, said):
    assert_finds("UC-PCS-013", found, place=said)
    assert ids("PCS", found) == {"UC-PCS-013"}


@pytest.mark.parametrize("found", [served(), served((18, 36, 72)), pcs_app(), served((18, 18))])
def test_ultraservers_with_what_they_need(found):
    assert_passes("UC-PCS-013", found)


@pytest.mark.parametrize(
    "found",
    [
        served(queue=pcs_queue(TEXT)),
        served((18, TEXT)),
        served(settings=({"ParameterName": TEXT, "ParameterValue": "1"},)),
        served(settings=(PROLOG, {"ParameterName": "PrologFlags", "ParameterValue": TEXT})),
        pcs_app(Nodes=pcs_nodes(TEXT)),
    ],
)
def test_ultraservers_that_are_not_known(found):
    assert_not_judged("UC-PCS-013", found)
