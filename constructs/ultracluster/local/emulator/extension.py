"""Puts everything in place inside the server process, in the order in which it has to happen."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from ultracluster.local.emulator import conditions, pipeline
from ultracluster.local.emulator.bridges import register_bridges
from ultracluster.local.emulator.events import UpdateEvents, in_order
from ultracluster.local.emulator.fallback import register_missing_types
from ultracluster.local.emulator.fsx_api import install_fsx
from ultracluster.local.emulator.internals import check_installed, part, replace
from ultracluster.local.emulator.repairs import install_repairs
from ultracluster.local.emulator.seeds import install_public_parameters
from ultracluster.local.registry import FALLBACK_REGION, registry

__all__ = ["install", "save_state"]

logger = logging.getLogger("ultracluster.local")


def install(region: str) -> None:
    """Extend MiniStack in this process; before the first request.

    Args:
        region: the Region whose resource types are registered.

    Raises:
        LocalUsageError: MiniStack is missing or is a release that the extension does not fit.
    """
    release = check_installed()
    bridged = register_bridges()
    # us-east-1 has the most types; whether a Region has one is asked when a stack of that Region makes it.
    added = register_missing_types(registry(region).types | registry(FALLBACK_REGION).types)
    install_repairs()
    install_fsx()
    install_public_parameters()
    _wrap_engine()
    # Cloud Control holds what the fallback types made; MiniStack does not keep it over a restart by itself.
    part("app")._state_map["cloudcontrol"] = "cloudcontrol"
    logger.info("ministack %s: %d types bridged, %d types from the registry schemas", release, len(bridged), len(added))


def _wrap_engine() -> None:
    events = UpdateEvents()
    replace("_evaluate_conditions", conditions.evaluate)
    replace("_replacing_change", pipeline.replacing_change)
    replace("_property_recreation", pipeline.property_recreation)
    replace("_with_stack_tags", pipeline.stack_tags)
    replace("_provision_resource", lambda original: events.provision(pipeline.provision(original)))
    replace("_update_resource", lambda original: events.update(pipeline.update(original)))
    replace("_delete_resource", pipeline.delete)
    replace("_add_event", lambda original: events.add_event(in_order(original)))
    replace("_deploy_stack_async", _saving)
    replace("_delete_stack_async", _saving)


def _saving(original: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Write the state after each stack operation, so that a killed server loses nothing that stands."""

    async def saved(*arguments: Any, **named: Any) -> None:
        try:
            await original(*arguments, **named)
        finally:
            save_state()

    return saved


def save_state() -> None:
    """Write what stands to the state folder."""
    part("core.persistence").save_all(part("app")._build_persistence_save_dict())
