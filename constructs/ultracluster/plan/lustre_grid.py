"""Arithmetic of FSx for Lustre: valid capacities, metadata rates, throughput. Pure numbers, no findings."""

from __future__ import annotations

from ultracluster.facts.lustre import lustre_facts

__all__ = ["automatic_metadata_iops", "metadata_values", "nearest_on_grid", "on_grid", "scaled", "tiering_values"]


def on_grid(value: int, *, listed: tuple[int, ...], step: int) -> bool:
    """Whether a value is listed or a positive multiple of the step."""
    return value in listed or (value > 0 and value % step == 0)


def nearest_on_grid(value: int, *, listed: tuple[int, ...], step: int) -> tuple[int, ...]:
    """The valid values next to one that is not valid: one below, if any, and one above."""
    below = [each for each in (*listed, value // step * step) if 0 < each < value]
    above = [each for each in (*listed, max(value // step + 1, 1) * step) if each > value]
    return (*((max(below),) if below else ()), min(above))


def automatic_metadata_iops(capacity_gib: int) -> int:
    """Metadata operations per second that an SSD file system of that size has in automatic mode."""
    facts = lustre_facts()
    for most_gib, iops in facts.metadata_automatic:
        if capacity_gib <= most_gib:
            return iops
    per_gib, iops = facts.metadata_beyond
    return min(capacity_gib // per_gib * iops, facts.metadata_maximum)


def metadata_values(at_least: int = 0) -> tuple[int, ...]:
    """Metadata rates that can be provisioned, from a lowest one on."""
    facts = lustre_facts()
    multiples = range(2 * facts.metadata_step, facts.metadata_maximum + 1, facts.metadata_step)
    return tuple(value for value in (*facts.metadata_values, *multiples) if value >= at_least)


def tiering_values() -> tuple[tuple[int, ...], int, int]:
    """Throughput of Intelligent-Tiering in MB/s: listed values, step and maximum."""
    facts = lustre_facts()
    return facts.tiering_throughput_values, facts.tiering_throughput_step, facts.tiering_throughput_maximum


def scaled(per_tib: int | None, capacity_gib: int) -> int | None:
    """A rate per TiB times the capacity, in MB/s, rounded down."""
    return None if per_tib is None else per_tib * capacity_gib // lustre_facts().gib_per_tib
