"""User data as cloud-init reads it, and a folder that looks like a node, in which its programs really run."""

from __future__ import annotations

import base64
import email
import gzip
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any

import yaml

from ultracluster.facts.instances import instance_type
from ultracluster.plan.user_data import MountRequest, UserDataPlan, UserDataRequest, node_type, plan_user_data

LUSTRE = MountRequest(kind="lustre", mount_path="/fsx", options=("noatime", "flock", "_netdev"))
LUSTRE_EFA = MountRequest(kind="lustre", mount_path="/fsx", options=("noatime", "flock", "_netdev"), efa=True)
HOME = MountRequest(
    kind="efs", mount_path="/home/shared", options=("_netdev", "noresvport", "tls", "iam"), access_point=True
)
SUBJECT = "fleets[0]"
SLOTS = {
    f"{kind}_{index}_{name}": value
    for index in range(4)
    for kind, name, value in (
        ("lustre", "dns_name", "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com"),
        ("lustre", "mount_name", "abcdefgh"),
        ("efs", "file_system_id", "fs-0123456789abcdef1"),
        ("efs", "access_point_id", "fsap-0123456789abcdef0"),
    )
}


def request(*names: str, **changes: Any) -> UserDataRequest:
    """The user data of a launch template for the given instance types, `p5.48xlarge` by default."""
    types = [instance_type(name) for name in names or ("p5.48xlarge",)]
    arguments: dict[str, Any] = {
        "fleet_name": "train",
        "vendor": types[0].vendor,
        "node_types": tuple(node_type(facts, efa=facts.max_efa_interfaces or 0) for facts in types),
        "auto_scaling_group_name": "demo-train",
        "lifecycle_hook_name": "ultracluster-launch",
        "log_group_name": "/ultracluster/demo-train",
    }
    return UserDataRequest(**arguments | changes)


def planned(*names: str, **changes: Any) -> UserDataPlan:
    """The plan for such a request."""
    return plan_user_data(request(*names, **changes), subject=SUBJECT)


def parts_of(document: str) -> list[Message]:
    """The parts of a MIME document."""
    message = email.message_from_string(document)
    payload = message.get_payload()
    assert isinstance(payload, list), "no multipart document"
    return [part for part in payload if isinstance(part, Message)]


def part_text(part: Message) -> str:
    """A part's text, read as cloud-init does."""
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload.decode(part.get_content_charset() or "utf-8")


def cloud_config(document: str) -> dict[str, Any]:
    """The one cloud-config part of a document."""
    (text,) = [part_text(part) for part in parts_of(document) if part.get_content_type() == "text/cloud-config"]
    config: dict[str, Any] = yaml.safe_load(text)
    return config


def written_files(document: str) -> dict[str, str]:
    """What the document writes on a node, by path."""
    return {entry["path"]: _content(entry) for entry in cloud_config(document)["write_files"]}


def _content(entry: Mapping[str, str]) -> str:
    match entry.get("encoding"):
        case None:
            return entry["content"]
        case "b64":
            return base64.b64decode(entry["content"]).decode()
        case "gz+b64":
            return gzip.decompress(base64.b64decode(entry["content"])).decode()
        case other:
            raise AssertionError(f"{entry['path']}: encoding {other}")


def files_of(*names: str, **changes: Any) -> dict[str, str]:
    """The files of a node for such a request."""
    return written_files(planned(*names, **changes).text(SLOTS))


# Commands that a node has and this machine may not, or that must not touch this machine. Each call is noted; what a
# test puts into `behaviour` runs after that.
STUBS = (
    *("apt-get", "aws", "blkid", "chmod", "curl", "df", "dnf", "gpg", "ip", "lnetctl", "logger", "lsblk", "mdadm"),
    *("mkfs.xfs", "modinfo", "modprobe", "mount", "mountpoint", "nvidia-smi", "sleep", "snap", "systemctl"),
)
ABSENT = {"dnf", "nvidia-smi", "snap", "lnetctl"}
_MOUNTPOINT = 'grep -qxF "${@: -1}" "$STATE/mounted" 2>/dev/null'
_MOUNT = 'echo "${@: -1}" >>"$STATE/mounted"'


@dataclass
class Node:
    """A folder that looks like a node.

    Attributes:
        root: what the programs take for `/`.
        behaviour: shell text by command; a command of `ABSENT` exists only when it stands here.
    """

    root: Path
    behaviour: dict[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        """Where stubs remember things."""
        return self.root / "state"

    @property
    def calls(self) -> list[str]:
        """Commands that were called, with their arguments; paths as on a node."""
        log = self.state / "calls"
        return log.read_text().replace(str(self.root), "").splitlines() if log.exists() else []

    def called(self, start: str) -> list[str]:
        """The calls that begin with a text."""
        return [call for call in self.calls if call.startswith(start)]

    def write(self, path: str, text: str = "", *, mode: int = 0o644) -> Path:
        """Write a file of the node."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    def read(self, path: str) -> str:
        """Read a file of the node."""
        return (self.root / path.lstrip("/")).read_text()

    def install(self, files: Mapping[str, str]) -> None:
        """Write what user data writes."""
        for path, text in files.items():
            self.write(path, text)

    def disks(self, **models: str) -> None:
        """Give the node NVMe devices by name and model."""
        for name, model in models.items():
            self.write(f"/sys/block/{name}/device/model", f"{model}\n")

    def efa(self, *names: str, driver: str = "efa") -> None:
        """Give the node RDMA devices of a driver."""
        for name in names:
            device = self.root / "sys/class/infiniband" / name / "device"
            device.mkdir(parents=True)
            (device / "driver").symlink_to(f"../../bus/pci/drivers/{driver}")

    def imds(self, **values: str) -> None:
        """Answer the instance metadata service; dots stand for slashes in the names."""
        cases = "".join(
            f"*/meta-data/{name.replace('__', '/').replace('_', '-')}) echo {value};;" for name, value in values.items()
        )
        self.behaviour["curl"] = f'case "${{@: -1}}" in */api/token) echo token;; {cases} *) exit 22;; esac'

    def run(self, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run shell text with the node's commands first on the path."""
        folder = self._stubs()
        return subprocess.run(
            ["bash", "-c", script],
            env={
                "PATH": f"{folder}:{os.defpath}:/usr/sbin:/sbin",
                "ROOT": str(self.root),
                "STATE": str(self.state),
                "FLUSH_SECONDS": "0",
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def program(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run the node program with one of its commands: `boot`, `first`, or any function of it."""
        return self.run(f'bash "$ROOT/opt/ultracluster/node.sh" {command}')

    def reason(self, function: str) -> subprocess.CompletedProcess[str]:
        """Run one function of the node program; what it says of a failure is printed as `why: ...`."""
        inner = f'set -- true; . "$ROOT/opt/ultracluster/node.sh"; trap "echo why: \\$WHY" EXIT; {function}'
        return self.run(f"bash -c '{inner}'")

    def _stubs(self) -> Path:
        folder = self.root / "stubs"
        folder.mkdir(parents=True, exist_ok=True)
        self.state.mkdir(parents=True, exist_ok=True)
        known = {"mount": _MOUNT, "mountpoint": _MOUNTPOINT} | self.behaviour
        for name in {*STUBS, *known}:
            if name in ABSENT and name not in known:
                continue
            stub = folder / name
            stub.write_text(f'#!/bin/bash\necho "{name} $*" >>"$STATE/calls"\n{known.get(name, "")}\n')
            stub.chmod(0o755)
        return folder
