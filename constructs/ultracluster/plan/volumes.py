"""The root volume: size, IOPS and throughput that go together, under the device name of the image.

A gp3 volume carries 0.25 MiB/s per IOPS, so a throughput above 750 MiB/s needs more than the 3,000 IOPS that come with
it; EC2 refuses the launch otherwise. IOPS that are left out are therefore chosen to carry the throughput.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ultracluster.facts.ebs import gp3
from ultracluster.findings import finding, raise_if_errors
from ultracluster.plan.decision import Decision
from ultracluster.plan.numbers import no_whole_number
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.findings import Finding

__all__ = ["RootVolume", "RootVolumePlan", "check_root_volume", "plan_root_volume"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RootVolume:
    """The gp3 root volume of a node.

    Attributes:
        size_gib: size in GiB; 500 by default, because images with drivers and frameworks and the container layers of a
            training job outgrow 300 GiB.
        iops: IOPS; left out, as many as the throughput needs, at least the 3,000 that are included.
        throughput_mibps: throughput in MiB/s; left out, the 125 MiB/s that are included.
    """

    size_gib: int = 500
    iops: int | None = None
    throughput_mibps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RootVolumePlan:
    """The block device mapping of the root volume: gp3, encrypted, deleted with the instance.

    Attributes:
        device_name: the root device name of the image; under another name the size would make a second volume.
        size_gib: size in GiB.
        iops: IOPS.
        throughput_mibps: throughput in MiB/s.
        decisions: why it looks like this.
        warnings: findings that do not stop the plan.
    """

    device_name: str
    size_gib: int
    iops: int
    throughput_mibps: int
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]


def check_root_volume(
    volume: RootVolume, *, recommended_size_gib: int | None = None, subject: str
) -> tuple[Finding, ...]:
    """All faults of a root volume; see `plan_root_volume` for the arguments."""
    place = f"{subject}.root_volume"
    ranges = _check_ranges(volume, place)
    # Ratios of numbers that are out of range would only repeat the fault.
    found = ranges or _check_ratios(volume, place)
    if not ranges and recommended_size_gib is not None and volume.size_gib < recommended_size_gib:
        message = (
            f"{volume.size_gib} GiB fill up with this kind of image, which was seen to need {recommended_size_gib}"
        )
        fix = f"make it {recommended_size_gib} or more"
        found = (*found, finding("UC-IMG-007", f"{place}.size_gib", message, fix))
    return found


def plan_root_volume(
    volume: RootVolume, *, device_name: str, recommended_size_gib: int | None = None, subject: str
) -> RootVolumePlan:
    """Fill in IOPS and throughput.

    Args:
        volume: what was asked for.
        device_name: the root device name of the image.
        recommended_size_gib: the size in GiB below which the image is known to run out of space; None when unknown.
        subject: the fleet's path in the user's terms.

    Raises:
        FindingsError: UC-IMG-008, a number outside the limits of gp3 or a ratio that EBS refuses.
    """
    findings = check_root_volume(volume, recommended_size_gib=recommended_size_gib, subject=subject)
    warnings = raise_if_errors(findings)
    iops, throughput = _iops(volume), _throughput(volume)
    because = f"gp3 with {gp3().max_throughput_mibps_per_iops} MiB/s per IOPS"
    if volume.iops is None and iops > gp3().baseline_iops:
        because = f"{throughput} MiB/s need {iops} IOPS at {gp3().max_throughput_mibps_per_iops} MiB/s per IOPS"
    return RootVolumePlan(
        device_name=device_name,
        size_gib=volume.size_gib,
        iops=iops,
        throughput_mibps=throughput,
        decisions=(
            Decision(
                subject=f"{subject}.root_volume",
                value=f"{volume.size_gib} GiB at {device_name}, {iops} IOPS, {throughput} MiB/s",
                because=because,
            ),
        ),
        warnings=warnings,
    )


def _throughput(volume: RootVolume) -> int:
    return gp3().baseline_throughput_mibps if volume.throughput_mibps is None else volume.throughput_mibps


def _iops_for(throughput_mibps: int) -> int:
    """The fewest IOPS that carry a throughput."""
    return math.ceil(throughput_mibps / gp3().max_throughput_mibps_per_iops)


def _iops(volume: RootVolume) -> int:
    if volume.iops is not None:
        return volume.iops
    return max(gp3().baseline_iops, _iops_for(_throughput(volume)))


def _check_ranges(volume: RootVolume, place: str) -> tuple[Finding, ...]:
    limits = gp3()
    checks = (
        ("size_gib", volume.size_gib, limits.min_size_gib, limits.max_size_gib, "GiB"),
        ("iops", volume.iops, limits.baseline_iops, limits.max_iops, "IOPS"),
        (
            "throughput_mibps",
            volume.throughput_mibps,
            limits.baseline_throughput_mibps,
            limits.max_throughput_mibps,
            "MiB/s",
        ),
    )
    given = [check for check in checks if check[1] is not None]
    strange = [(name, fault) for name, value, *_ in given if (fault := no_whole_number(value)) is not None]
    if strange:
        return tuple(finding("UC-IMG-008", f"{place}.{name}", fault, "write a number") for name, fault in strange)
    return tuple(
        finding(
            "UC-IMG-008",
            f"{place}.{name}",
            f"{value} {unit} is outside what gp3 offers ({least} to {most})",
            f"use {min(max(value, least), most)}",
        )
        for name, value, least, most, unit in checks
        if value is not None and not least <= value <= most
    )


def _check_ratios(volume: RootVolume, place: str) -> tuple[Finding, ...]:
    limits = gp3()
    iops, throughput = _iops(volume), _throughput(volume)
    needed = _iops_for(throughput)
    if iops < needed:
        most = math.floor(iops * limits.max_throughput_mibps_per_iops)
        message = f"{throughput} MiB/s with {iops} IOPS, gp3 carries {limits.max_throughput_mibps_per_iops} per IOPS"
        fix = f"raise iops to {needed} (or leave it out), or lower the throughput to {most}"
        return (finding("UC-IMG-008", f"{place}.throughput_mibps", message, fix),)
    most = max(limits.baseline_iops, limits.max_iops_per_gib * volume.size_gib)
    if iops > most:
        size = math.ceil(iops / limits.max_iops_per_gib)
        why = "" if volume.iops is not None else f" (for {throughput} MiB/s)"
        message = f"{iops} IOPS{why} on {volume.size_gib} GiB, gp3 allows {limits.max_iops_per_gib} per GiB"
        fix = f"use {size} GiB or more, or at most {most} IOPS"
        return (finding("UC-IMG-008", f"{place}.iops", message, fix),)
    return ()
