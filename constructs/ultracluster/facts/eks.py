"""Reader of `data/eks.json`: AMI types of managed node groups, and what a launch template of one may hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.values import dataclass

__all__ = ["AmiType", "EksFacts", "eks_facts"]

DATA_FILE = Path(__file__).with_name("data") / "eks.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class AmiType:
    """One AMI type of a managed node group.

    Attributes:
        architecture: of the image.
        vendors: whose accelerators it carries drivers for (`nvidia`, `aws` for Neuron).
        wrapping: form of the user data that EKS merges with its own: `mime`, `toml` or `powershell`.
        accelerated: whether the image is made for accelerators; plain ones may carry a driver too.
    """

    architecture: str
    vendors: tuple[str, ...]
    wrapping: str
    accelerated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EksFacts:
    """What EKS accepts.

    Attributes:
        ami_types: by name.
        own_image_ami_type: the name that stands for an image of the launch template.
        preferred_ami_types: the type for accelerators, by `<vendor> <architecture>`.
        default_instance_type: what a group gets that names no type.
        launch_template_bans: properties that a launch template must not have, each with what stands in its place.
        beside_launch_template_bans: properties that a node group must not have beside a launch template.
        beside_own_image_bans: likewise beside a launch template with an image.
        node_config_fields: cluster settings that the node configuration of an own image needs.
        repair_threshold_pairs: properties of NodeRepairConfig that exclude each other.
        efa_resource: name under which a pod asks for EFA.
        huge_pages_resource: name under which it asks for huge pages.
        huge_pages_of_efa: how much it asks for.
        kubelet_port: TCP port on which the control plane reaches a node.
        create_only: properties whose change replaces a node group.
        accelerated_families: letters with which the names of accelerated families begin.
    """

    ami_types: Mapping[str, AmiType]
    own_image_ami_type: str
    preferred_ami_types: Mapping[str, str]
    default_instance_type: str
    launch_template_bans: Mapping[str, str]
    beside_launch_template_bans: tuple[str, ...]
    beside_own_image_bans: tuple[str, ...]
    node_config_fields: tuple[str, ...]
    repair_threshold_pairs: tuple[tuple[str, str], ...]
    efa_resource: str
    huge_pages_resource: str
    huge_pages_of_efa: str
    kubelet_port: int
    create_only: tuple[str, ...]
    accelerated_families: frozenset[str]


@cache
def eks_facts() -> EksFacts:
    """The facts, read once."""
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    value = {key: row["value"] for key, row in document.items() if isinstance(row, dict) and "value" in row}
    types = value.pop("ami_types").items()
    pairs = value.pop("repair_threshold_pairs")
    families = value.pop("accelerated_families")
    rest: dict[str, Any] = {key: tuple(row) if isinstance(row, list) else row for key, row in value.items()}
    return EksFacts(
        ami_types={name: AmiType(**{**row, "vendors": tuple(row["vendors"])}) for name, row in types},
        repair_threshold_pairs=tuple((one, other) for one, other in pairs),
        accelerated_families=frozenset(families),
        **rest,
    )
