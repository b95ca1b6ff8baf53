"""One instance through its life, which all tests share: booting is what takes time.

A fleet's user data as the library makes it, cloud-init, systemd and the programs are real; so are kernel, RAID and file
system, on eight drives of the size and model of a p5.48xlarge. What no machine without GPUs can have stands in, under
`guest/root`: the driver's tool, the fabric manager, the CloudWatch agent.

Every stage leaves what tests look at, so that they may run in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from support.awstoe import Outcome, Runner
from support.boot.cloud import Cloud, make_cloud
from support.boot.machine import Instance
from support.boot.root import root_folder
from support.boot.stages import LOOKS, ONCE, image_documents, user_data

_HERE = Path(__file__).parent
# Seconds for one test: the first of a stage waits for its boots, and software emulation on a busy machine is slow.
_TIMEOUT_S = 1800


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of this folder the time that boots take."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(_TIMEOUT_S))


@dataclass(frozen=True)
class Stage:
    """What stood at one point of the instance's life.

    Attributes:
        looks: output of the commands of `LOOKS`, by name.
        hooks: results of life-cycle hooks that the group was told until then, as `hook: result`.
        refused: calls of AWS with a wrong signature until then.
    """

    looks: dict[str, str]
    hooks: list[str]
    refused: list[str]


@pytest.fixture(scope="session")
def guest_root():
    """The root file system of the guest; `root` below it is the folder itself."""
    return root_folder()


@pytest.fixture(scope="session")
def cloud(guest_root, tmp_path_factory):
    """Subnet, metadata service, AWS services, time service."""
    surroundings = make_cloud(tmp_path_factory.mktemp("cloud"), guest_root)
    surroundings.imds.values["user-data"] = user_data(surroundings.aws)
    yield surroundings
    surroundings.close()


@pytest.fixture(scope="session")
def instance(guest_root, cloud, tmp_path_factory):
    """The instance, switched off."""
    machine = Instance(tmp_path_factory.mktemp("instance"), guest_root, cloud.network)
    yield machine
    machine.close()


@pytest.fixture(scope="session")
def fit(instance, cloud):
    """After the first boot."""
    instance.start()
    return _stage(instance, cloud, more=ONCE)


@pytest.fixture(scope="session")
def rebooted(instance, cloud, fit):
    """After data were put on scratch and the image's component with the settings ran, which reboots in the middle."""
    instance.output("head -c 4M /dev/urandom >/scratch/data && sha256sum /scratch/data >/root/data.sha256")
    stages = []

    def execute(script: str, timeout_s: float) -> Outcome:
        ran = instance.emulator.agent.run("bash -s 2>&1", data=script.encode(), timeout_s=timeout_s)
        return Outcome(ran.status, ran.stdout)

    def reboot() -> None:
        instance.command_line = instance.arguments_of_grub
        instance.reboot()
        stages.append(_stage(instance, cloud))

    Runner(execute=execute, reboot=reboot).run(image_documents()["tune"], phases=("build", "validate"))
    (stage,) = stages
    return stage


@pytest.fixture(scope="session")
def moved(instance, cloud, rebooted):
    """After stop and start: another host, whose instance storage is empty."""
    instance.shut_down()
    instance.replace_host()
    instance.start()
    return _stage(instance, cloud)


@pytest.fixture
def node(instance, moved):
    """The running node, healthy, for tests that do something to it and leave it as it was."""
    return instance


def _stage(instance: Instance, cloud: Cloud, *, more: Mapping[str, str] = MappingProxyType({})) -> Stage:
    instance.wait_until_through()
    looks = instance.look({**LOOKS, **more})
    hooks = [f"{call['LifecycleHookName']}: {call['LifecycleActionResult']}" for call in cloud.aws.of(_COMPLETE)]
    return Stage(looks, hooks, list(cloud.aws.refused))


_COMPLETE = "CompleteLifecycleAction"
