"""Light checks of what surrounds the accelerators: mounts, scratch, locked memory, clock, root volume."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .. import NodeError
from ..files import read_text
from ..mountinfo import mounted_at
from ..results import Result, UnreadableError, Verdicts

if TYPE_CHECKING:
    from ..host import Node

__all__ = ["checks", "parse_tracking"]

_KINDS = {"lustre": "lustre", "efs": "nfs"}
_LIMIT = re.compile(r"^Max locked memory\s+(\S+)\s+\S+", re.MULTILINE)
_DEFAULT = re.compile(r"^DefaultLimitMEMLOCK=(\S+)", re.MULTILINE)
_UNLIMITED = {"unlimited", "infinity"}
_TRACKING_FIELDS, _OFFSET, _LEAP = 14, 4, 13
_ROOT_DISK = "/"


def checks(node: Node, kind: Mapping[str, Any], verdicts: Verdicts) -> Iterator[Result]:
    """All checks; see `nvidia.checks` for the arguments."""
    yield from _mounts(node, verdicts)
    yield _scratch(node, kind, verdicts)
    yield _locked_memory(node, kind, verdicts)
    yield _clock(node, verdicts)
    yield _disk(node, verdicts)


def _mounts(node: Node, verdicts: Verdicts) -> Iterator[Result]:
    wanted = node.settings.get("mounts") or []
    missing = []
    for mount in wanted:
        found = mounted_at(node, mount["path"])
        if found is None or not found.kind.startswith(_KINDS.get(mount["kind"], mount["kind"])):
            what = "nothing" if found is None else found.kind
            missing.append(f"{mount['path']} has {what} instead of {mount['kind']} from {mount['source']}")
    if missing:
        yield verdicts.failed("mounts", "mounts", "; ".join(missing), missing)
    elif wanted:
        yield verdicts.passed("mounts", f"{len(wanted)} mounted")
        yield from _lustre(node, wanted, verdicts)
    else:
        yield verdicts.skipped("mounts", "this fleet mounts nothing")


def _lustre(node: Node, wanted: list[dict[str, Any]], verdicts: Verdicts) -> Iterator[Result]:
    """Whether Lustre runs over EFA where it is to: it falls back to TCP without a word. Only counters are looked at."""
    if not any(mount["kind"] == "lustre" and mount.get("efa") for mount in wanted):
        return
    from ..lustre import lnet

    try:
        shown = lnet.interfaces(node.run("lnetctl", "net", "show", "-v", timeout=30).stdout)
    except NodeError as error:
        yield verdicts.unknown("lustre_efa", str(error))
        return
    over_efa = [each for each in shown if each.net == "efa"]
    down = [each.nid for each in over_efa if each.status != "up"]
    messages = sum(each.sent + each.received for each in over_efa)
    if not over_efa:
        yield verdicts.failed("lustre_efa", "lustre_efa", "LNet has no EFA network, so Lustre runs over TCP")
    elif down:
        yield verdicts.failed("lustre_efa", "lustre_efa", f"{', '.join(down)} of LNet are down", down)
    elif not messages:
        yield verdicts.failed("lustre_efa", "lustre_efa", "no message of LNet went over EFA, so Lustre runs over TCP")
    else:
        yield verdicts.passed("lustre_efa", f"{messages} messages over {len(over_efa)} EFA interfaces", messages)


def _scratch(node: Node, kind: Mapping[str, Any], verdicts: Verdicts) -> Result:
    size_gb = kind.get("scratch_gb") or 0
    if not node.settings.get("scratch", True) or not size_gb:
        return verdicts.skipped("scratch", "no scratch space is asked for, or the type has no local disks")
    from .. import scratch

    try:
        found = scratch.status(node)
    except NodeError as error:
        return verdicts.unknown("scratch", str(error))
    least = size_gb * 10**9 * node.facts["health"]["limits"]["scratch_share"]["value"]
    have = round(found.size_bytes / 10**9)
    value = {"have_gb": have, "disks_gb": size_gb, "source": found.source}
    if found.source == "standing":
        return verdicts.passed("scratch", f"{found.device} was mounted by somebody else: {have} GB", value)
    if found.source not in ("raid0", "disk", "dlami") or found.size_bytes < least:
        message = f"{found.path} has {have} GB ({found.source}), and the local disks have {size_gb} GB"
        return verdicts.failed("scratch", "scratch", message, value)
    return verdicts.passed("scratch", f"{have} GB at {found.path}", value)


def _locked_memory(node: Node, kind: Mapping[str, Any], verdicts: Verdicts) -> Result:
    """The limit that jobs inherit: of the services that start them, else what systemd gives to new services."""
    name = "locked_memory"
    if not kind.get("efa"):
        return verdicts.skipped(name, "only EFA needs it")
    services = node.facts["health"]["limits"]["locked_memory_services"]["value"]
    limits = dict(_running_limits(node, services))
    if not limits:
        try:
            shown = node.run("systemctl", "show", "--property=DefaultLimitMEMLOCK").stdout
        except NodeError as error:
            return verdicts.unknown(name, str(error))
        found = _DEFAULT.search(shown)
        if found is None:
            return verdicts.unknown(name, "systemd does not tell the limit of new services")
        limits = {"new services": found[1]}
    floor = node.facts["fabric"]["locked_memory"]
    low = [f"{who} may lock {limit} bytes" for who, limit in limits.items() if _below(limit, floor)]
    if low:
        message = f"{'; '.join(low)}, and EFA needs {floor} or more"
        return verdicts.failed(name, name, message, limits)
    return verdicts.passed(name, ", ".join(f"{who}: {limit}" for who, limit in limits.items()), limits)


def _running_limits(node: Node, services: list[str]) -> Iterator[tuple[str, str]]:
    folder = node.path("/proc")
    for process in sorted(folder.glob("[0-9]*")) if folder.is_dir() else ():
        try:
            name = read_text(process / "comm", "").strip()
            found = _LIMIT.search(read_text(process / "limits", "")) if name in services else None
        except OSError:
            continue  # it ended meanwhile
        if found:
            yield name, found[1]


def _below(limit: str, floor: int) -> bool:
    if limit in _UNLIMITED:
        return False
    # systemd shows its own infinity as the largest number.
    return not limit.isdigit() or int(limit) < floor


def _clock(node: Node, verdicts: Verdicts) -> Result:
    most = node.facts["health"]["limits"]["clock_skew_s"]["value"]
    try:
        offset_s, leap = parse_tracking(node.run("chronyc", "-c", "-n", "tracking", timeout=20).stdout)
    except UnreadableError as error:
        return verdicts.unknown("clock", str(error))
    except NodeError as error:
        return verdicts.failed("clock", "clock", f"nothing tells how right the clock is: {error}")
    if leap == "Not synchronised":
        return verdicts.failed("clock", "clock", "the clock is not held by any time source")
    if abs(offset_s) > most:
        return verdicts.failed("clock", "clock", f"the clock is {offset_s:+.3f} s off, {most:g} s at most", offset_s)
    return verdicts.passed("clock", f"within {abs(offset_s) * 1000:.3f} ms", offset_s)


def parse_tracking(text: str) -> tuple[float, str]:
    """Offset of the system's clock in seconds, and the leap status, out of `chronyc -c tracking`.

    Raises:
        UnreadableError: it is cut off, or something else.
    """
    fields = text.strip().split(",")
    try:
        if len(fields) == _TRACKING_FIELDS and fields[_LEAP]:
            return float(fields[_OFFSET]), fields[_LEAP]
    except ValueError:
        pass
    raise UnreadableError("the output of chronyc cannot be read")


def _disk(node: Node, verdicts: Verdicts) -> Result:
    most = node.facts["health"]["limits"]["disk_percent"]["value"]
    usage = os.statvfs(node.path(_ROOT_DISK))
    used = usage.f_blocks - usage.f_bfree
    percent = round(100 * used / ((used + usage.f_bavail) or 1), 1)
    if percent > most:
        return verdicts.failed("disk", "disk", f"the root volume is {percent:g} % full, {most} % at most", percent)
    return verdicts.passed("disk", f"the root volume is {percent:g} % full", percent)
