"""Reader of `data/pcs.json`: what AWS PCS accepts in clusters, compute node groups and queues."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.values import dataclass

__all__ = ["PcsFacts", "pcs_facts"]

DATA_FILE = Path(__file__).with_name("data") / "pcs.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PcsFacts:
    """What PCS accepts.

    Attributes:
        cluster_nodes: compute nodes by cluster size.
        node_groups_per_cluster: default quota of node groups.
        queues_per_cluster: default quota of queues.
        name_pattern: shape of all names.
        cluster_name_length: shortest and longest name of a cluster.
        group_name_length: likewise of a node group or queue.
        slurm_versions: versions with which a cluster can be made, oldest first.
        feature_versions: oldest version by feature.
        controller_port: TCP port of the controller.
        node_port: TCP port of the daemon of a node.
        role_name_prefix: how the name of the role of a node begins.
        role_path: the path that stands for such a name.
        register_action: what a node has to be allowed.
        register_policies: AWS managed policies that allow it.
        prolog_flags: flags of Slurm that the IMEX prolog of UltraServers needs.
        slurm_places: what names the Slurm version of an image or node.
    """

    cluster_nodes: Mapping[str, int]
    node_groups_per_cluster: int
    queues_per_cluster: int
    name_pattern: re.Pattern[str]
    cluster_name_length: tuple[int, int]
    group_name_length: tuple[int, int]
    slurm_versions: tuple[str, ...]
    feature_versions: Mapping[str, str]
    controller_port: int
    node_port: int
    role_name_prefix: str
    role_path: str
    register_action: str
    register_policies: tuple[str, ...]
    prolog_flags: tuple[str, ...]
    slurm_places: tuple[re.Pattern[str], ...]


@cache
def pcs_facts() -> PcsFacts:
    """The facts, read once."""
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    value: dict[str, Any] = {
        key: tuple(row["value"]) if isinstance(row["value"], list) else row["value"]
        for key, row in document.items()
        if isinstance(row, dict) and "value" in row
    }
    value["name_pattern"] = re.compile(value["name_pattern"])
    value["slurm_places"] = tuple(map(re.compile, value["slurm_places"]))
    return PcsFacts(**value)
