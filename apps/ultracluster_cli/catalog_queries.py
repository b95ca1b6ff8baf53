"""Questions about a type that both the filters and the tables of `ultracluster catalog` ask."""

from __future__ import annotations

import re

from ultracluster.facts.instances import InstanceType

__all__ = ["PURCHASE_OPTIONS", "accelerator_short_name", "ranges", "ways_to_buy", "zones_in"]

PURCHASE_OPTIONS = ("on-demand", "spot", "capacity-block")
_SHORTEST_RANGE = 3


def accelerator_short_name(facts: InstanceType) -> str:
    """The accelerator without maker, form factor and edition: `H100`, `RTX PRO 6000`, `Trainium2`."""
    name = facts.accelerator_name.removeprefix("NVIDIA ").removeprefix("AWS ")
    return re.split(r"[ -]SXM| Blackwell", name, maxsplit=1)[0]


def zones_in(facts: InstanceType, region: str) -> tuple[str, ...]:
    """Zone ids and Local Zones of a Region with the type on record, without the part that names the Region."""
    zone_ids = [zone.rpartition("-")[2] for zone in facts.offered_az_ids.get(region, ())]
    return (*zone_ids, *_local_zones(facts, region))


def _local_zones(facts: InstanceType, region: str) -> list[str]:
    prefix = f"{region}-"
    return [zone.removeprefix(prefix) for zone in facts.capacity_block_local_zones if zone.startswith(prefix)]


def ways_to_buy(facts: InstanceType, region: str | None) -> tuple[str, ...]:
    """Purchase options of a type, in a Region only those on record there: offerings and Capacity Block tables."""
    if region is None:
        return tuple(option for option in PURCHASE_OPTIONS if option in facts.purchase_options)
    blocks = region in facts.capacity_block_regions or bool(_local_zones(facts, region))
    offered = region in facts.offered_az_ids
    recorded = {"on-demand": offered, "spot": offered, "capacity-block": blocks}
    return tuple(option for option in PURCHASE_OPTIONS if option in facts.purchase_options and recorded[option])


def ranges(numbers: tuple[int, ...]) -> str:
    """Ascending numbers, a run of them shortened: `0-31`, else `1, 3, 5`."""
    if len(numbers) >= _SHORTEST_RANGE and numbers == tuple(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]}-{numbers[-1]}"
    return ", ".join(map(str, numbers))
