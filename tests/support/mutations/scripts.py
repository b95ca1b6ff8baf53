"""Changes of what nodes run when they boot, and of what images are built from."""

from __future__ import annotations

import base64
import json
from typing import Any

from support.mutations.tools import Body, Change, Mutation, Place, each, needs, put
from support.orchestrators import encoded

_LT, _COMPONENT, _RECIPE = "EC2::LaunchTemplate", "ImageBuilder::Component", "ImageBuilder::ImageRecipe"
_BUILDER = "ImageBuilder::InfrastructureConfiguration"
_DATA = "LaunchTemplateData"


def runs(*lines: str) -> Change:
    """Add lines to a script: to a file that the user data of a cluster writes, or to the script of a plain one."""
    text = "\n".join(lines)

    def change(place: Place) -> None:
        data = place.at(_DATA, "UserData")
        if isinstance(data, str):
            script = base64.b64decode(data).decode()
            place.data["UserData"] = encoded(script.replace("\n--b--", f"\n{text}\n--b--"))
            return
        parts = place.at(_DATA, "UserData", "Fn::Base64", "Fn::Join", 1)
        at = next((at for at, part in enumerate(parts) if str(part).startswith('   {"schema"')), None)
        needs(at is not None)
        indented = "".join(f"   {line}\n" for line in text.split("\n"))
        parts[at] = f"{indented}{parts[at]}"

    return change


def _on(*types: str) -> Change:
    return lambda place: needs(place.data.get("InstanceType") in types)


def _steps(place: Place, phase: str) -> tuple[Body, list[Any]]:
    document: Body = json.loads(place.at("Data"))
    return document, next(each for each in document["phases"] if each["name"] == phase)["steps"]


def _builds(*commands: str) -> Change:
    """Add a step to the build phase of a component, behind all others."""

    def change(place: Place) -> None:
        document, steps = _steps(place, "build")
        step = {"name": "More", "action": "ExecuteBash", "inputs": {"commands": list(commands)}}
        steps.insert(place.pick.randint(2, len(steps)), step)  # behind the reboot
        place.properties["Data"] = json.dumps(document)

    return change


def _fabric_is_tested(place: Place) -> None:
    document, steps = _steps(place, "test")
    steps.append({"name": "Fabric", "action": "ExecuteBash", "inputs": {"commands": ["fi_info -p efa"]}})
    place.properties["Data"] = json.dumps(document)


def _image(name: str) -> Change:
    """Give a launch template another image."""

    def change(place: Place) -> None:
        needs(not any(body["Type"] == "AWS::EKS::Nodegroup" for body in place.template["Resources"].values()))
        needs("ImageId" not in place.data)
        place.data["ImageId"] = f"resolve:ssm:{name}"

    return change


def _many_components(place: Place) -> None:
    arn = "arn:aws:imagebuilder:us-east-1:aws:component/amazon-cloudwatch-agent-linux/1.0.1"
    place.at("Components").extend({"ComponentArn": arn} for _ in range(place.pick.choice([20, 24])))


def _another_key(place: Place) -> None:
    ours = [body for body in place.template["Resources"].values() if body["Type"] == f"AWS::{_LT}"]
    needs(len(ours) > 1)
    key = "arn:aws:kms:us-east-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"
    place.at(_DATA, "BlockDeviceMappings", 0, "Ebs")["KmsKeyId"] = key


_LATEST = "https://efa-installer.amazonaws.com/aws-efa-installer-latest.tar.gz"
_PLUGIN = "git clone -b v1.17.1 https://github.com/aws/aws-ofi-nccl.git"
_INSTALLER = "curl -O https://efa-installer.amazonaws.com/aws-efa-installer-1.43.2.tar.gz"
_SHARE = "fs-0123456789abcdef0:/"
_MOUNT = "mount -t lustre -o noatime fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com@tcp:/abcd /data"

SCRIPTS = (
    Mutation("NOD-008", _LT, runs('{"data-root": "/home/docker"}')),
    Mutation("NOD-009", _LT, each(_on("p5.48xlarge"), runs("mkfs.xfs /dev/nvme1n1"))),
    Mutation("NOD-010", _LT, each(_on("p5.48xlarge"), runs(f"echo '{_SHARE}abcd /data lustre noatime 0 0' >> fstab"))),
    Mutation("NOD-011", _LT, runs("options kefalnd credits=2048"), at="*"),
    Mutation("NOD-013", _LT, runs("systemctl enable --now dnf-automatic.timer")),
    Mutation("NOD-013", _COMPONENT, _builds("systemctl unmask dnf-makecache.timer")),
    Mutation("NOD-014", _LT, runs("$nrconf{restart} = 'a';")),
    Mutation("NOD-015", _LT, runs("echo 'pool 2.pool.ntp.org iburst' > /etc/chrony.conf")),
    Mutation("NOD-016", _LT, runs("export NCCL_MIN_BUS_BW=99000")),
    Mutation("NOD-017", _LT, runs("command -v dcgmi >/dev/null 2>&1 || exit 0", "dcgmi diag -r 2")),
    Mutation("NOD-018", _LT, runs("wget -qO- https://own.example/get.sh | sudo -E sh")),
    Mutation("NOD-018", _COMPONENT, _builds("curl -LO https://own.example/get.sh", "sudo bash ./get.sh")),
    Mutation("NOD-019", _LT, runs("N=$(ibv_devices | tail -n +3 | wc -l)")),
    Mutation("EFS-004", _LT, runs(f"mount -t efs -o iam,_netdev {_SHARE} /shared")),
    Mutation("EFS-004", _LT, runs(f"echo '{_SHARE} /shared efs _netdev,accesspoint=fsap-0123456789abcdef0 0 0'")),
    Mutation("IAM-008", _LT, runs("export AWS_ACCESS_KEY_ID=AKIA" + "2QWERTZUIOPASDFG")),
    Mutation(
        "ALM-016",
        _LT,
        each(
            _on("p6-b200.48xlarge", "p6-b300.48xlarge"),
            runs("docker run -d nvcr.io/nvidia/k8s/dcgm-exporter:2.1.4-2.3.1-ubuntu20.04"),
        ),
    ),
    Mutation("IMG-012", _LT, runs(f"curl -O {_LATEST}")),
    Mutation("IMG-012", _COMPONENT, _builds("docker pull nvcr.io/nvidia/pytorch:latest")),
    Mutation(
        "IMG-013",
        _COMPONENT,
        each(_builds(_INSTALLER, "cd aws-efa-installer && ./efa_installer.sh -y", _PLUGIN), _fabric_is_tested),
        at=_RECIPE,
    ),
    Mutation(
        "IMG-005",
        _LT,
        _image("/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64"),
        frozenset({"IMG-010"}),
    ),
    Mutation("IMG-005", _BUILDER, put("InstanceTypes", ["p6e-gb200.36xlarge"])),
    Mutation("IMG-010", _LT, _image("/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64")),
    Mutation("IMG-011", _RECIPE, _many_components),
    Mutation(
        "IMG-015",
        _RECIPE,
        put("ParentImage", "arn:aws:imagebuilder:us-east-1:aws:image/ubuntu-server-20-lts-x86/x.x.x"),
    ),
    Mutation("IMG-016", _BUILDER, put("InstanceTypes", ["m7i.4xlarge"])),
    Mutation("IMG-017", _LT, _another_key, at="*"),
    Mutation(
        "IMG-018",
        "ImageBuilder::DistributionConfiguration",
        put("Distributions", 0, "AmiDistributionConfiguration", "LaunchPermissionConfiguration", "UserGroups", ["all"]),
    ),
)
