"""User data as cloud-init reads it."""

from __future__ import annotations

import base64
import email
import json
from collections.abc import Mapping
from email.message import Message
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
PROGRAM = f"s3://cdk-hnb659fds-assets-111122223333-us-east-1/{'0' * 64}.pyz {'0' * 64}"
SLOTS = {"program": PROGRAM} | {
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
        case other:
            raise AssertionError(f"{entry['path']}: encoding {other}")


def files_of(*names: str, **changes: Any) -> dict[str, str]:
    """The files of a node for such a request."""
    return written_files(planned(*names, **changes).text(SLOTS))


def settings_of(*names: str, **changes: Any) -> dict[str, Any]:
    """What the programs of a node read, for such a request."""
    settings: dict[str, Any] = json.loads(files_of(*names, **changes)["/etc/ultracluster/node.json"])
    return settings
