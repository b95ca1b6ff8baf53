"""The tables that are packed with the programs of a node as `facts/*.json`: what they need of `facts/`, and no more.

A program reads a section through `Node.facts`; nothing of it stands in a `.py` file of `node/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from ultracluster.facts.agent_metrics import agent_facts
from ultracluster.facts.dcgm import first_releases
from ultracluster.facts.instance_type import InstanceType
from ultracluster.facts.instances import catalog
from ultracluster.facts.lustre_client import lustre_client
from ultracluster.facts.node_environment import forbidden_variables, locked_memory_floor
from ultracluster.facts.node_health import collective_facts, fabric_software, health_facts
from ultracluster.facts.node_packages import node_packages
from ultracluster.facts.node_tuning import tuning_rows
from ultracluster.facts.node_watch import watch_facts
from ultracluster.facts.nvidia_xid import critical_xids, xid_actions, xid_meanings
from ultracluster.facts.nvlink import nvlinks
from ultracluster.plan.capacity_rules import scale_in_lead

__all__ = ["node_facts", "type_facts"]


@cache
def node_facts() -> Mapping[str, Any]:
    """All sections by name, as plain values that JSON can hold."""
    return {name: section() for name, section in _SECTIONS.items()}


def type_facts(facts: InstanceType) -> dict[str, Any]:
    """What a node needs to know of one instance type.

    `lustre_efa` is the number of EFA devices that the Lustre client uses: 0 for all, None where it can use none.
    """
    switched = facts.vendor == "nvidia" and "NVSwitch" in (facts.scale_up_interconnect or "")
    clocks = facts.application_clocks_mhz
    return {
        "vendor": facts.vendor,
        "architecture": facts.architecture,
        "accelerators": facts.accelerator_count,
        "accelerator_name": facts.accelerator_name,
        "efa": facts.max_efa_interfaces or 0,
        "efa_gbps": facts.efa_bandwidth_gbps,
        "nitro_version": facts.nitro_version or 0,
        "vcpus": facts.vcpus,
        "memory_gib": facts.memory_gib,
        "nvlinks": nvlinks(facts.accelerator_name) if facts.scale_up_interconnect else 0,
        "fabric_manager": switched,
        "clocks_mhz": [clocks["memory"], clocks["graphics"]] if clocks else None,
        "scratch_disks": sum(disk.count for disk in facts.nvme_disks),
        "scratch_gb": sum(disk.count * disk.size_gb for disk in facts.nvme_disks),
        "lustre_efa": (facts.fsx_lustre_default_efa_interfaces or 0) if facts.fsx_lustre_efa_client else None,
        "network_cards": [card.index for card in facts.network_cards],
        # Before the end of a Capacity Block, when the fleet is scaled in.
        "block_lead_s": int(scale_in_lead((facts,)).total_seconds()),
        "efa_cards": [card.index for card in facts.efa_cards],
    }


def _types() -> dict[str, Any]:
    return {name: type_facts(facts) for name, facts in catalog().items()}


def _xid() -> dict[str, Any]:
    return {
        "actions": {str(xid): action for xid, action in xid_actions().items()},
        "meanings": {str(xid): meaning for xid, meaning in xid_meanings().items()},
        "critical": list(critical_xids()),
    }


def _fabric() -> dict[str, Any]:
    """Least versions of what EFA needs, variables that cost it, and the least limit of locked memory in bytes."""
    never = [{**asdict(row), "needed_on": list(row.needed_on)} for row in forbidden_variables()]
    return {"software": fabric_software(), "never": never, "locked_memory": locked_memory_floor()}


def _health() -> dict[str, Any]:
    """Scale, faults and limits, and the first DCGM that knows a family."""
    facts = health_facts()
    return {**facts, "dcgm": {**facts["dcgm"], "first": dict(first_releases())}}


def _packages() -> dict[str, Any]:
    packages = node_packages()
    return {
        "agent_minimum": agent_facts().minimum_version,
        "agent_address": packages.agent_address,
        "agent_key": packages.agent_key,
        "lustre_repository": packages.lustre_repository,
        "lustre_key": packages.lustre_key,
        "efs_in_ubuntu": packages.efs_in_ubuntu,
    }


def _tuning() -> list[dict[str, Any]]:
    """Without what only readers need: reasons and sources."""
    keys = ("id", "kind", "name", "value", "scope", "opt_in")
    return [{**{key: getattr(row, key) for key in keys}, "stages": list(row.stages)} for row in tuning_rows()]


def _lustre() -> dict[str, Any]:
    facts = lustre_client()
    return {
        "module_options": [asdict(row) for row in facts.module_options],
        "parameters": [asdict(row) for row in facts.parameters],
        "skip_osts": facts.skip_osts,
        "skip_clients": facts.skip_clients,
        "layouts": {name: asdict(layout) for name, layout in facts.layouts.items()},
        "efa": {"peer_credits": facts.efa_peer_credits, "interface_probe": facts.interface_probe},
    }


# One line per section; each is a function above.
_SECTIONS: Mapping[str, Callable[[], Any]] = {
    "types": _types,
    "xid": _xid,
    "fabric": _fabric,
    "health": _health,
    "collectives": collective_facts,
    "packages": _packages,
    "lustre": _lustre,
    "watch": watch_facts,
    "tuning": _tuning,
}
