"""Reader of `data/hyperpod.json`: what SageMaker HyperPod accepts, and what the role of a cluster needs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.values import dataclass

__all__ = ["HyperPodFacts", "hyperpod_facts"]

DATA_FILE = Path(__file__).with_name("data") / "hyperpod.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class HyperPodFacts:
    """What HyperPod accepts.

    Attributes:
        type_prefix: how instance types begin in SageMaker.
        most_subnets: subnets of a network configuration.
        most_groups: security groups of a network configuration.
        most_storage_configs: storage entries of an instance group.
        mount_name_length: most characters of a Lustre mount name.
        bucket_prefix: how buckets begin that the managed policy of a cluster may read.
        bucket_policies: AWS managed policies that may read any bucket.
        some_bucket_policies: AWS managed policies that may read some buckets, by name or tag.
        interface_actions: what the role of a cluster in an own VPC needs.
        policy_actions: which of these actions AWS managed policies hold; `*` stands for all.
    """

    type_prefix: str
    most_subnets: int
    most_groups: int
    most_storage_configs: int
    mount_name_length: int
    bucket_prefix: str
    bucket_policies: tuple[str, ...]
    some_bucket_policies: tuple[str, ...]
    interface_actions: tuple[str, ...]
    policy_actions: Mapping[str, tuple[str, ...]]


@cache
def hyperpod_facts() -> HyperPodFacts:
    """The facts, read once."""
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    value: dict[str, Any] = {
        key: tuple(row["value"]) if isinstance(row["value"], list) else row["value"]
        for key, row in document.items()
        if isinstance(row, dict) and "value" in row
    }
    value["policy_actions"] = {name: tuple(actions) for name, actions in value["policy_actions"].items()}
    return HyperPodFacts(**value)
