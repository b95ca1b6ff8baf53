"""UC-BAT-006 and 007: containers of Batch jobs."""

from __future__ import annotations

import pytest

from support.orchestrators import (
    NONE,
    P5,
    container,
    either,
    environment,
    ids,
    job,
    parameter,
    resource,
    switch,
    template,
)
from support.policy import assert_finds, assert_not_judged, assert_passes, judged

UNKNOWN = {"Ref": "Text"}
VERBS = "/dev/infiniband/uverbs"
WHERE = "Job NodeProperties.NodeRangeProperties[0].Container"


def made(body=None, parameters=None, conditions=None, /, **more):
    """A job of one range."""
    ranges = [{"TargetNodes": "0:", "Container": body if body is not None else container(**more)}]
    return template({"Text": parameter(), **(parameters or {})}, conditions, Job=job(*ranges))


def linux(devices=32, shared=65536, **more):
    listed = [{"HostPath": f"{VERBS}{number}"} for number in range(devices)]
    settings = {"Devices": listed, "SharedMemorySize": shared, **more}
    return {"LinuxParameters": {key: value for key, value in settings.items() if value is not None}}


# UC-BAT-006


@pytest.mark.parametrize(
    ("more", "place"),
    [
        (
            {"devices": 4},
            f"{WHERE}.LinuxParameters.Devices: 4 of the 32 EFA devices of {P5}, {VERBS}4 is absent",
        ),
        ({"devices": 33}, f"LinuxParameters.Devices: {VERBS}32 does not exist, {P5} has 32 EFA devices"),
        ({"devices": 32, "InstanceType": "p4d.24xlarge"}, f"{VERBS}4 does not exist, p4d.24xlarge has 4 EFA devices"),
        ({"Ulimits": None}, f"{WHERE}.Ulimits: no entry for memlock, EFA needs locked memory without limit"),
        (
            {"Ulimits": [{"Name": "memlock", "SoftLimit": 65536, "HardLimit": -1}]},
            f"{WHERE}.Ulimits[0].SoftLimit: 65536 for memlock",
        ),
        (linux(shared=None), f"{WHERE}.LinuxParameters.SharedMemorySize: absent, and processes of a node"),
        (
            {"ResourceRequirements": [{"Type": "VCPU", "Value": "190"}]},
            f"{WHERE}.ResourceRequirements: no GPU of the 8 of {P5}",
        ),
        (
            {"ResourceRequirements": [{"Type": "GPU", "Value": "16"}]},
            f"{WHERE}.ResourceRequirements[0].Value: 16 GPU, {P5} has 8",
        ),
        (
            {"devices": 16, "InstanceType": "trn2.48xlarge", "ResourceRequirements": None},
            f"{WHERE}.LinuxParameters.Devices: no /dev/neuron device of trn2.48xlarge",
        ),
    ],
)
def test_a_container_that_lacks_something(more, place):
    found = made(**more)
    assert_finds("UC-BAT-006", found, place=place)
    assert ids("BAT", found) == {"UC-BAT-006"}
    assert len(judged(found).of("UC-BAT-006")) == 1


def test_everything_that_is_missing_is_told():
    body = container(1, Ulimits=None, ResourceRequirements=None)
    del body["LinuxParameters"]["SharedMemorySize"]
    assert len(judged(made(body)).of("UC-BAT-006")) == 4


def neuron():
    devices = [{"HostPath": f"{VERBS}{number}"} for number in range(16)]
    devices += [{"HostPath": f"/dev/neuron{number}"} for number in range(16)]
    return container(
        InstanceType="trn2.48xlarge",
        ResourceRequirements=[{"Type": "VCPU", "Value": "190"}],
        LinuxParameters={"SharedMemorySize": 65536, "Devices": devices},
    )


def ecs(*containers):
    tasks = [{"Containers": list(containers)}]
    return template(Job=job({"TargetNodes": "0:", "InstanceTypes": [P5], "EcsProperties": {"TaskProperties": tasks}}))


@pytest.mark.parametrize(
    "found",
    [
        made(),
        made(ResourceRequirements=[{"Type": "gpu", "Value": 4}]),
        made(neuron()),
        # Without EFA devices it is not known that the job wants them.
        made({"Image": "train:1", "InstanceType": P5}),
        ecs(container(InstanceType=None), {"Image": "logs:1"}),
        template(Job=resource("Batch::JobDefinition", Type="container", ContainerProperties=container(1))),
    ],
)
def test_a_container_that_has_all(found):
    assert_passes("UC-BAT-006", found)


def test_the_type_may_stand_elsewhere():
    by_range = {"TargetNodes": "0:", "InstanceTypes": [P5], "Container": container(4, InstanceType=None)}
    assert_finds("UC-BAT-006", template(Job=job(by_range)), place=f"4 of the 32 EFA devices of {P5}")
    by_environment = {"TargetNodes": "0:", "Container": container(4, InstanceType=None)}
    assert_finds("UC-BAT-006", template(Job=job(by_environment), Env=environment()), place="4 of the 32")


def test_every_range_is_judged():
    ranges = [{"TargetNodes": "0:0", "Container": {"Image": "lead:1", "InstanceType": P5}}]
    ranges.append({"TargetNodes": "1:", "Container": container()})
    found = judged(template(Job=job(*ranges))).of("UC-BAT-006")
    assert len(found) == 4
    assert all(text.startswith(WHERE) for text in found)


def test_a_helper_beside_the_container_is_left_alone():
    assert_finds("UC-BAT-006", ecs(container(4, InstanceType=None), {"Image": "logs:1"}), place="Containers[0].Linux")


def test_a_privileged_container_sees_all_devices():
    ranges = [{"TargetNodes": "0:0", "Container": container()}]
    privileged = {**container(0), "Privileged": True}
    ranges.append({"TargetNodes": "1:", "Container": privileged})
    assert_passes("UC-BAT-006", template(Job=job(*ranges)))


@pytest.mark.parametrize(
    "more",
    [
        {"InstanceType": None},
        {"InstanceType": "p9.48xlarge"},
        {"InstanceType": "p6e-gb200.36xlarge", "ResourceRequirements": [{"Type": "GPU", "Value": 4}]},
        {"InstanceType": UNKNOWN},
        {"Ulimits": UNKNOWN},
        {"ResourceRequirements": [{"Type": "GPU", "Value": UNKNOWN}]},
        linux(shared=UNKNOWN),
    ],
)
def test_a_container_of_which_little_is_known(more):
    assert_not_judged("UC-BAT-006", made(**more))


@pytest.mark.parametrize(("types", "expected"), [((P5, "p4d.24xlarge"), set()), (("p4d.24xlarge", P5), {"UC-BAT-006"})])
def test_devices_and_type_under_one_condition(types, expected):
    parameters, conditions = switch()
    body = container(32)
    for device in range(4, 32):
        body["LinuxParameters"]["Devices"][device] = either("Big", {"HostPath": f"{VERBS}{device}"}, NONE)
    body["InstanceType"] = either("Big", *types)
    assert ids("BAT", made(body, parameters, conditions)) == expected


# UC-BAT-007


def mapped(**device):
    body = container(31)
    body["LinuxParameters"]["Devices"].append({"HostPath": f"{VERBS}31", **device})
    return body


@pytest.mark.parametrize(
    ("device", "place"),
    [
        (
            {"ContainerPath": "/dev/efa31"},
            f"{WHERE}.LinuxParameters.Devices[31].ContainerPath: /dev/efa31 for",
        ),
        ({"Permissions": ["READ", "WRITE"]}, f"Devices[31].Permissions: without MKNOD for {VERBS}31"),
        ({"Permissions": []}, "Permissions: without READ, WRITE, MKNOD"),
    ],
)
def test_a_device_under_another_path(device, place):
    found = made(mapped(**device))
    assert_finds("UC-BAT-007", found, place=place)
    assert ids("BAT", found) == {"UC-BAT-007"}


def test_single_containers_count_too():
    single = resource("Batch::JobDefinition", Type="container", ContainerProperties=mapped(ContainerPath="/dev/other"))
    assert_finds("UC-BAT-007", template(Job=single), place="Job ContainerProperties.LinuxParameters.Devices[31]")


@pytest.mark.parametrize(
    "device",
    [
        {},
        {"ContainerPath": f"{VERBS}31"},
        {"Permissions": ["READ", "WRITE", "MKNOD"]},
        {"ContainerPath": f"{VERBS}31", "Permissions": ["mknod", "write", "read"]},
    ],
)
def test_a_device_in_its_place(device):
    assert_passes("UC-BAT-007", made(mapped(**device)))


def test_other_devices_may_be_moved():
    body = container(32)
    body["LinuxParameters"]["Devices"].append({"HostPath": "/dev/fuse", "ContainerPath": "/dev/other"})
    assert_passes("UC-BAT-007", made(body))


@pytest.mark.parametrize("device", [{"ContainerPath": UNKNOWN}, {"Permissions": UNKNOWN}, {"Permissions": [UNKNOWN]}])
def test_a_device_of_which_little_is_known(device):
    assert_not_judged("UC-BAT-007", made(mapped(**device)))


def test_paths_under_one_condition():
    parameters, conditions = switch()
    path = either("Big", f"{VERBS}31", f"{VERBS}30")
    assert_passes("UC-BAT-007", made(mapped(HostPath=path, ContainerPath=path), parameters, conditions))
    other = either("Big", f"{VERBS}30", f"{VERBS}31")
    assert_finds("UC-BAT-007", made(mapped(HostPath=path, ContainerPath=other), parameters, conditions))
