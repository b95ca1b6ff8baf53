"""UC-HPD-003 to 006 and 008 to 011: clusters of HyperPod."""

from __future__ import annotations

import pytest

from support.orchestrators import NONE, P5, either, ids, pod_app, pod_group, resource, switch
from support.policy import assert_finds, assert_not_judged, assert_passes, judged

TEXT = {"Ref": "Text"}
EKS = {"Eks": {"ClusterArn": "arn:aws:eks:us-east-1:111122223333:cluster/train"}}
SLURM = {"Slurm": {"SlurmConfigStrategy": "Managed"}}
GROUP = "Pods InstanceGroups[0]"


def test_a_plain_app_is_clean():
    assert ids("HPD", pod_app()) == set()


# UC-HPD-003


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (P5, f"{GROUP}.InstanceType: p5.48xlarge without ml., types of SageMaker begin with it"),
        ("m7i.large", f"{GROUP}.InstanceType: m7i.large without ml."),
        ("ml.trn2u.48xlarge", f"{GROUP}.InstanceType: ml.trn2u.48xlarge, which HyperPod does not offer"),
        ("ml.inf2.48xlarge", "ml.inf2.48xlarge, which HyperPod does not offer"),
    ],
)
def test_a_type_that_hyperpod_does_not_have(kind, said):
    found = pod_app(pod_group(kind))
    assert_finds("UC-HPD-003", found, place=said)
    assert ids("HPD", found) == {"UC-HPD-003"}


def test_types_in_requirements_and_restricted_groups():
    flexible = pod_group(None, InstanceRequirements={"InstanceTypes": [f"ml.{P5}", P5]})
    assert_finds("UC-HPD-003", pod_app(flexible), place="InstanceRequirements.InstanceTypes[1]: p5.48xlarge without")
    restricted = pod_app(cluster={"RestrictedInstanceGroups": [pod_group(P5)]})
    assert_finds("UC-HPD-003", restricted, place="Pods RestrictedInstanceGroups[0].InstanceType")


@pytest.mark.parametrize("kind", [f"ml.{P5}", "ml.p6-b300.48xlarge", "ml.trn2.48xlarge"])
def test_a_type_that_hyperpod_has(kind):
    assert_passes("UC-HPD-003", pod_app(pod_group(kind)))


@pytest.mark.parametrize("kind", [TEXT, "ml.m7i.large", "ml.p9.48xlarge"])
def test_a_type_that_is_not_known(kind):
    assert_not_judged("UC-HPD-003", pod_app(pod_group(kind)))


# UC-HPD-004

PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/{}"


def planned(*pairs, **more):
    return pod_app(*(pod_group(kind, TrainingPlanArn=plan) for kind, plan in pairs), **more)


def test_one_plan_for_two_types():
    found = planned((f"ml.{P5}", PLAN.format("one")), ("ml.p6-b200.48xlarge", PLAN.format("one")))
    (said,) = judged(found).of("UC-HPD-004")
    assert said.startswith("Pods InstanceGroups[1].TrainingPlanArn: ")
    assert said.endswith("for ml.p6-b200.48xlarge, and for ml.p5.48xlarge too: a plan has one type")
    assert ids("HPD", found) == {"UC-HPD-004"}
    assert_finds("UC-HPD-004", planned((f"ml.{P5}", TEXT), ("ml.p5e.48xlarge", TEXT)))


@pytest.mark.parametrize(
    "pairs",
    [
        [(f"ml.{P5}", PLAN.format("one")), ("ml.p6-b200.48xlarge", PLAN.format("two"))],
        [(f"ml.{P5}", PLAN.format("one")), (f"ml.{P5}", PLAN.format("one"))],
        [(f"ml.{P5}", PLAN.format("one")), ("ml.p6-b200.48xlarge", None)],
        [(f"ml.{P5}", None), ("ml.p6-b200.48xlarge", None)],
    ],
)
def test_plans_of_their_own(pairs):
    assert_passes("UC-HPD-004", planned(*pairs))


def test_a_plan_for_types_that_are_not_known():
    assert_not_judged("UC-HPD-004", planned((f"ml.{P5}", PLAN.format("one")), (TEXT, PLAN.format("one"))))


def test_plans_under_opposite_conditions():
    parameters, conditions = switch()
    plan = PLAN.format("one")
    pairs = [(f"ml.{P5}", either("Big", plan, NONE)), ("ml.p6-b200.48xlarge", either("Big", NONE, plan))]
    assert_passes("UC-HPD-004", planned(*pairs, parameters=parameters, conditions=conditions))
    pairs[1] = ("ml.p6-b200.48xlarge", either("Big", plan, NONE))
    assert_finds("UC-HPD-004", planned(*pairs, parameters=parameters, conditions=conditions))


# UC-HPD-005


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        (
            {"Orchestrator": {**EKS, **SLURM}},
            "Pods Orchestrator.Slurm: Slurm beside Eks, a cluster has one orchestrator",
        ),
        ({"Orchestrator": {}}, "Pods Orchestrator: neither Eks nor Slurm"),
        ({"VpcConfig": None}, "Pods VpcConfig: absent, and a cluster on EKS needs the VPC of its control plane"),
    ],
)
def test_an_orchestrator_too_many_or_few(cluster, said):
    found = pod_app(cluster=cluster)
    assert_finds("UC-HPD-005", found, place=said)
    assert ids("HPD", found) == {"UC-HPD-005"}


@pytest.mark.parametrize(
    "cluster", [{}, {"Orchestrator": SLURM}, {"Orchestrator": SLURM, "VpcConfig": None}, {"Orchestrator": None}]
)
def test_one_orchestrator(cluster):
    assert_passes("UC-HPD-005", pod_app(cluster=cluster))


def test_an_orchestrator_that_is_not_known():
    assert_not_judged("UC-HPD-005", pod_app(cluster={"Orchestrator": TEXT}))


@pytest.mark.parametrize(("swapped", "expected"), [(False, set()), (True, {"UC-HPD-005"})])
def test_orchestrator_and_vpc_under_one_condition(swapped, expected):
    parameters, conditions = switch()
    vpc = {"SecurityGroupIds": [{"Ref": "Efa"}], "Subnets": ["subnet-0123456789abcdef0"]}
    networks = (vpc, NONE) if not swapped else (NONE, vpc)
    cluster = {"Orchestrator": either("Big", EKS, SLURM), "VpcConfig": either("Big", *networks)}
    found = pod_app(cluster=cluster, parameters=parameters, conditions=conditions)
    assert {"UC-HPD-005"} & ids("HPD", found) == expected


# UC-HPD-006


def override(subnets=("subnet-1",), groups=({"Ref": "Efa"},), kind=f"ml.{P5}", **more):
    network = {"Subnets": list(subnets), "SecurityGroupIds": list(groups)}
    return pod_app(pod_group(kind, OverrideVpcConfig=network), **more)


def subnet(zone):
    return resource("EC2::Subnet", VpcId="vpc-1", CidrBlock="10.0.0.0/20", AvailabilityZone=zone)


ZONES = {"A": subnet("us-east-1a"), "B": subnet("us-east-1b"), "C": subnet("us-east-1a")}
A, B, C = ({"Ref": name} for name in ZONES)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            override((A, B), **ZONES),
            f"{GROUP}.OverrideVpcConfig.Subnets[1]: us-east-1a and us-east-1b for nodes with EFA",
        ),
        (override([f"subnet-{at}" for at in range(17)], kind="ml.c5.large"), "OverrideVpcConfig.Subnets: a list of 17"),
        (override(groups=[f"sg-{at}" for at in range(6)]), "SecurityGroupIds: a list of 6, HyperPod takes 5"),
        (
            override(cluster={"Orchestrator": SLURM, "VpcConfig": None}),
            f"{GROUP}.OverrideVpcConfig: an own network, and the cluster has none: with Slurm the cluster needs",
        ),
        (override(cluster={"Orchestrator": None, "VpcConfig": None}), "OverrideVpcConfig: an own network"),
    ],
)
def test_a_network_beyond_the_limits(found, said):
    assert_finds("UC-HPD-006", found, place=said)
    assert ids("HPD", found) == {"UC-HPD-006"}


@pytest.mark.parametrize(
    "found",
    [
        pod_app(),
        override((A,), **ZONES),
        override((A, C), **ZONES),
        override((A, B), kind="ml.trn1.2xlarge", **ZONES),
        override(cluster={"Orchestrator": SLURM}),
    ],
)
def test_a_network_within_the_limits(found):
    assert_passes("UC-HPD-006", found)


@pytest.mark.parametrize(
    "found",
    [
        override((A, "subnet-1"), **ZONES),
        override((A, B), kind="ml.c5.large", **ZONES),
        pod_app(pod_group(OverrideVpcConfig={"Subnets": TEXT, "SecurityGroupIds": [{"Ref": "Efa"}]})),
    ],
)
def test_a_network_that_is_not_known(found):
    assert_not_judged("UC-HPD-006", found)


# UC-HPD-008


@pytest.mark.parametrize(
    ("recovery", "said"),
    [
        ("None", "Pods NodeRecovery: None: a broken node may stay until somebody replaces it"),
        (None, "Pods NodeRecovery: absent, and the default is not documented"),
    ],
)
def test_no_recovery(recovery, said):
    found = pod_app(cluster={"NodeRecovery": recovery})
    assert_finds("UC-HPD-008", found, place=said)
    assert ids("HPD", found) == {"UC-HPD-008"}


def test_recovery():
    assert_passes("UC-HPD-008", pod_app())
    assert_not_judged("UC-HPD-008", pod_app(cluster={"NodeRecovery": TEXT}))


# UC-HPD-009

CHECKS = ["InstanceStress", "InstanceConnectivity"]
TAINTS = {"Taints": [{"Key": "training", "Effect": "NoSchedule"}]}


def test_checks_beside_taints():
    found = pod_app(pod_group(OnStartDeepHealthChecks=CHECKS, KubernetesConfig=TAINTS))
    said = (
        "Pods InstanceGroups[0].KubernetesConfig.Taints: a list of 1 beside OnStartDeepHealthChecks, which bring taints"
    )
    assert_finds("UC-HPD-009", found, place=said)
    assert ids("HPD", found) == {"UC-HPD-009"}


@pytest.mark.parametrize(
    "more",
    [
        {"OnStartDeepHealthChecks": CHECKS},
        {"KubernetesConfig": TAINTS},
        {"OnStartDeepHealthChecks": CHECKS, "KubernetesConfig": {"Labels": {"a": "b"}}},
        {"OnStartDeepHealthChecks": CHECKS, "KubernetesConfig": {"Taints": []}},
    ],
)
def test_checks_or_taints(more):
    assert_passes("UC-HPD-009", pod_app(pod_group(**more)))


def test_checks_that_are_not_known():
    more = {"OnStartDeepHealthChecks": CHECKS, "KubernetesConfig": {"Taints": TEXT}}
    assert_not_judged("UC-HPD-009", pod_app(pod_group(**more)))


@pytest.mark.parametrize(("swapped", "expected"), [(False, set()), (True, {"UC-HPD-009"})])
def test_checks_and_taints_under_one_condition(swapped, expected):
    parameters, conditions = switch()
    taints = (NONE, TAINTS) if not swapped else (TAINTS, NONE)
    group = pod_group(OnStartDeepHealthChecks=either("Big", CHECKS, NONE), KubernetesConfig=either("Big", *taints))
    assert ids("HPD", pod_app(group, parameters=parameters, conditions=conditions)) == expected


# UC-HPD-010

KEY = "arn:aws:kms:us-east-1:111122223333:key/1"


def stored(*configs, **more):
    return pod_app(pod_group(InstanceStorageConfigs=list(configs)), **more)


def volume(**settings):
    return {"EbsVolumeConfig": settings}


def lustre(name):
    return {"FsxLustreConfig": {"DnsName": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com", "MountName": name}}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            stored(volume(RootVolume=True, VolumeKmsKeyId=KEY, VolumeSizeInGB=500)),
            f"{GROUP}.InstanceStorageConfigs[0].EbsVolumeConfig.VolumeSizeInGB: 500 GB for the root volume",
        ),
        (stored(volume(RootVolume=True)), "EbsVolumeConfig.VolumeKmsKeyId: absent for the root volume"),
        (stored(volume(VolumeKmsKeyId=KEY)), "EbsVolumeConfig.VolumeSizeInGB: absent for a data volume"),
        (stored(lustre("ninechars")), "FsxLustreConfig.MountName: ninechars has 9 characters, a mount name has 8"),
        (stored(*[volume(VolumeSizeInGB=1)] * 5), f"{GROUP}.InstanceStorageConfigs: 5 entries, HyperPod takes 4"),
    ],
)
def test_storage_that_is_refused(found, said):
    assert_finds("UC-HPD-010", found, place=said)
    assert ids("HPD", found) == {"UC-HPD-010"}


@pytest.mark.parametrize(
    "found",
    [
        stored(volume(RootVolume=True, VolumeKmsKeyId=KEY), volume(VolumeSizeInGB=500), lustre("abcdefgh")),
        stored(volume(RootVolume="false", VolumeSizeInGB=500, VolumeKmsKeyId=KEY)),
        stored(),
        pod_app(pod_group(InstanceStorageConfigs=None)),
    ],
)
def test_storage_that_is_taken(found):
    assert_passes("UC-HPD-010", found)


@pytest.mark.parametrize("config", [volume(RootVolume=TEXT), lustre(TEXT)])
def test_storage_that_is_not_known(config):
    assert_not_judged("UC-HPD-010", stored(config))


@pytest.mark.parametrize(("swapped", "expected"), [(False, set()), (True, {"UC-HPD-010"})])
def test_root_and_size_under_one_condition(swapped, expected):
    parameters, conditions = switch()
    size = (NONE, 500) if not swapped else (500, NONE)
    config = volume(RootVolume=either("Big", True, False), VolumeKmsKeyId=KEY, VolumeSizeInGB=either("Big", *size))
    assert ids("HPD", stored(config, parameters=parameters, conditions=conditions)) == expected


# UC-HPD-011

DATABASE = {"Slurm": {"AccountingDatabase": {"Endpoint": "db.example.com", "SecretArn": "arn"}}}


def test_a_database_without_continuous():
    found = pod_app(cluster={"Orchestrator": DATABASE, "NodeProvisioningMode": None})
    said = "Pods NodeProvisioningMode: absent beside AccountingDatabase, which needs Continuous"
    assert judged(found).of("UC-HPD-011") == [said]
    assert ids("HPD", found) == {"UC-HPD-011"}


@pytest.mark.parametrize("cluster", [{"Orchestrator": DATABASE}, {"Orchestrator": SLURM, "NodeProvisioningMode": None}])
def test_a_database_with_continuous(cluster):
    assert_passes("UC-HPD-011", pod_app(cluster=cluster))


def test_a_mode_that_is_not_known():
    assert_not_judged("UC-HPD-011", pod_app(cluster={"Orchestrator": DATABASE, "NodeProvisioningMode": TEXT}))


@pytest.mark.parametrize(("swapped", "expected"), [(False, set()), (True, {"UC-HPD-011"})])
def test_database_and_mode_under_one_condition(swapped, expected):
    parameters, conditions = switch()
    modes = ("Continuous", NONE) if not swapped else (NONE, "Continuous")
    cluster = {"Orchestrator": either("Big", DATABASE, SLURM), "NodeProvisioningMode": either("Big", *modes)}
    found = pod_app(cluster=cluster, parameters=parameters, conditions=conditions)
    assert ids("HPD", found) == expected
