"""Reader of `data/node_packages.json`: what the bootstrap installs when an image lacks it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from ultracluster.values import dataclass

__all__ = ["NodePackages", "node_packages"]

DATA_FILE = Path(__file__).with_name("data") / "node_packages.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePackages:
    """Where the packages come from.

    Attributes:
        agent_address: folder of the CloudWatch agent's packages.
        agent_key: fingerprint of the key that signs them.
        lustre_repository: repository of the Lustre client for Ubuntu.
        lustre_key: address of the key of that repository.
        efs_in_ubuntu: whether Ubuntu's archive has the EFS mount helper.
    """

    agent_address: str
    agent_key: str
    lustre_repository: str
    lustre_key: str
    efs_in_ubuntu: bool


@cache
def node_packages() -> NodePackages:
    """The facts, read once."""
    document = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    agent, lustre = document["cloudwatch_agent"], document["lustre_client"]
    return NodePackages(
        agent_address=agent["address"],
        agent_key=agent["key_fingerprint"],
        lustre_repository=lustre["ubuntu_repository"],
        lustre_key=lustre["ubuntu_key"],
        efs_in_ubuntu=document["efs_client"]["ubuntu_archive"],
    )
