"""Light checks of NVIDIA GPUs: seconds, and nothing that disturbs a job."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .. import NodeError
from ..host import ToolMissing
from ..results import PASS, Result, UnreadableError, Verdicts
from .kernel_log import Event, kernel_messages, parse_events, recovery_of
from .nvidia_smi import Driver, Gpu, by_place, parse_links, parse_query

if TYPE_CHECKING:
    from ..host import Node

__all__ = ["checks"]

_TIMEOUT_S = 60
_FABRIC_VERSION = re.compile(r"version is\s*:\s*(\d+(?:\.\d+)+)")
_FABRIC_UNREADY = ("Not Started", "In Progress")
_RECOVERY_XID = 154


def checks(node: Node, kind: Mapping[str, Any], verdicts: Verdicts) -> Iterator[Result]:
    """All checks of a node with such GPUs.

    Args:
        node: the node.
        kind: record of its type.
        verdicts: makes the results.
    """
    driver = _driver(node, verdicts)
    if isinstance(driver, Result):
        yield driver
        yield from _log(node, {}, verdicts)
        return
    yield verdicts.passed("driver", f"NVIDIA driver {driver.version}", driver.version)
    yield _count(driver, kind, verdicts)
    yield from _memory(driver, node, kind, verdicts)
    yield from _recovery(driver, node, verdicts)
    yield from _log(node, by_place(driver), verdicts)
    yield from _nvlinks(node, kind, verdicts)
    yield from _fabric_manager(node, driver, kind, verdicts)
    yield from _clocks(driver, node, kind, verdicts)
    yield from _pcie(driver, verdicts)


def _driver(node: Node, verdicts: Verdicts) -> Driver | Result:
    try:
        return parse_query(node.run("nvidia-smi", "-q", "-x", timeout=_TIMEOUT_S).stdout)
    except ToolMissing:
        message = "nvidia-smi is not on this node: the image has no NVIDIA driver, and no reboot brings one"
        return verdicts.failed("driver", "driver", message, action="isolate")
    except UnreadableError as error:
        return verdicts.unknown("driver", str(error))
    except NodeError as error:
        return verdicts.failed("driver", "driver", f"the driver does not answer: {error}")


def _count(driver: Driver, kind: Mapping[str, Any], verdicts: Verdicts) -> Result:
    have, want = len(driver.gpus), int(kind["accelerators"])
    value = {"have": have, "want": want}
    if have >= want:
        return verdicts.passed("accelerators", f"{have} of {want} GPUs", value)
    return verdicts.failed("accelerators", "accelerators", f"{kind['name']} shows {have} of {want} GPUs", value)


def _memory(driver: Driver, node: Node, kind: Mapping[str, Any], verdicts: Verdicts) -> Iterator[Result]:
    limit = node.facts["health"]["limits"]["retired_pages"]
    judged = str(kind["name"]).partition(".")[0] in limit["families"]
    found = []
    for gpu in driver.gpus:
        if gpu.remap_failed:
            found.append(_of(gpu, verdicts, "row_remap_failure", "no spare memory row is left"))
        if gpu.remap_pending:
            found.append(_of(gpu, verdicts, "row_remap_pending", "a memory row is replaced at the next reset"))
        if gpu.uncorrected:
            found.append(_of(gpu, verdicts, "ecc_uncorrected", f"{gpu.uncorrected} uncorrected memory errors"))
        if judged and (gpu.retired or 0) > limit["value"]:
            found.append(_of(gpu, verdicts, "retired_pages", f"{gpu.retired} memory pages are retired"))
    yield from found
    if not found:
        silent = sum(gpu.uncorrected is None for gpu in driver.gpus)
        message = f"no uncorrected errors; ECC is off or not reported on {silent} GPUs" if silent else "no errors"
        yield verdicts.passed("gpu_memory", message)


def _of(
    gpu: Gpu, verdicts: Verdicts, fault: str, message: str, *, action: str = "", check: str = "gpu_memory"
) -> Result:
    return verdicts.failed(check, fault, f"GPU {gpu.place}: {message}", part=gpu.uuid or gpu.place, action=action)


def _recovery(driver: Driver, node: Node, verdicts: Verdicts) -> Iterator[Result]:
    facts = node.facts["health"]["recovery_actions"]
    asked = [(gpu, gpu.recovery) for gpu in driver.gpus if gpu.recovery is not None]
    wanted = [(gpu, said, facts["texts"].get(said, facts["otherwise"])) for gpu, said in asked]
    for gpu, said, action in wanted:
        if action != "none":
            message = f"the driver asks for: {said}"
            yield _of(gpu, verdicts, "recovery_action", message, action=action, check="recovery_action")
    if not asked:
        yield verdicts.skipped("recovery_action", "this driver does not report it")
    elif all(action == "none" for _, _, action in wanted):
        yield verdicts.passed("recovery_action", "the driver asks for nothing")


def _log(node: Node, uuids: Mapping[str, str], verdicts: Verdicts) -> Iterator[Result]:
    try:
        events = parse_events(kernel_messages(node))
    except NodeError as error:
        yield verdicts.unknown("xid", str(error))
        return
    found = [result for event in events if (result := _event(event, node, uuids, verdicts)) is not None]
    yield from found
    if not found:
        harmless = sum(event.count for event in events)
        yield verdicts.passed("xid", f"none but {harmless} of jobs" if harmless else "none in the kernel log", harmless)


def _event(event: Event, node: Node, uuids: Mapping[str, str], verdicts: Verdicts) -> Result | None:
    """The fault that a message stands for; None for what only the job has to know."""
    times = f", {event.count} times" if event.count > 1 else ""
    part = uuids.get(event.place) or event.place
    if event.switch:
        message = f"NVSwitch {event.place}: SXid {event.number}{times}: {event.text}"
        return verdicts.failed("xid", "nvswitch_fatal", message, event.number, part=f"{event.number}-{part}")
    xid = node.facts["xid"]
    if event.number == _RECOVERY_XID:
        action = recovery_of(event.text, node.facts["health"]["recovery_actions"])
        meaning = event.text or "the recovery action changed"
    else:
        action = xid["actions"].get(str(event.number), "monitor")
        meaning = xid["meanings"].get(str(event.number)) or event.text or "not in the table"
    if action in ("ignore", "none"):
        return None
    message = f"GPU {event.place}: XID {event.number}{times}: {meaning}"
    return verdicts.failed("xid", f"xid-{event.number}", message, event.number, part=part, action=action)


def _nvlinks(node: Node, kind: Mapping[str, Any], verdicts: Verdicts) -> Iterator[Result]:
    want, gpus = int(kind.get("nvlinks") or 0), int(kind["accelerators"])
    if not want:
        yield verdicts.skipped("nvlink", f"{kind['name']} has no NVLink")
        return
    try:
        links = parse_links(node.run("nvidia-smi", "nvlink", "-s", timeout=_TIMEOUT_S).stdout)
    except NodeError as error:
        yield verdicts.unknown("nvlink", str(error))
        return
    if not links:
        yield verdicts.failed("nvlink", "nvlink", f"no GPU has an active NVLink, and each should have {want}", 0)
        return
    last = links[-1]
    if len(links) < gpus or (last.up + last.down < want and not last.down):
        yield verdicts.unknown("nvlink", f"nvidia-smi shows links of {len(links)} of {gpus} GPUs, or not all of them")
        return
    weak = [each for each in links if each.up < want]
    for each in weak:
        message = f"GPU {each.index}: {each.up} of {want} NVLinks are up"
        yield verdicts.failed("nvlink", "nvlink", message, each.up, part=each.uuid)
    if not weak:
        yield verdicts.passed("nvlink", f"{want} NVLinks are up on each GPU", want)


def _fabric_manager(node: Node, driver: Driver, kind: Mapping[str, Any], verdicts: Verdicts) -> Iterator[Result]:
    name = "fabric_manager"
    if not kind.get("fabric_manager"):
        yield verdicts.skipped(name, f"{kind['name']} has no NVSwitch")
        return
    try:
        state = node.run("systemctl", "is-active", "nvidia-fabricmanager", check=False).stdout.strip()
        version = _FABRIC_VERSION.search(node.run("nv-fabricmanager", "--version").stdout)
    except NodeError as error:
        yield verdicts.unknown(name, str(error))
        return
    waiting = [gpu.place for gpu in driver.gpus if gpu.fabric in _FABRIC_UNREADY]
    if state != "active":
        yield verdicts.failed(name, name, f"the fabric manager is {state or 'not known to systemd'}", state)
    elif waiting:
        yield verdicts.failed(name, name, f"{len(waiting)} GPUs are not registered: {', '.join(waiting)}", state)
    elif version is None:
        yield verdicts.unknown(name, "the fabric manager does not tell its version")
    elif version[1] != driver.version:
        message = f"the fabric manager is {version[1]} and the driver {driver.version}; install one version of both"
        yield verdicts.failed(name, "fabric_manager_version", message, version[1])
    else:
        yield verdicts.passed(name, f"active, {version[1]} like the driver", version[1])


def _clocks(driver: Driver, node: Node, kind: Mapping[str, Any], verdicts: Verdicts) -> Iterator[Result]:
    slow = set(node.facts["health"]["throttle_reasons"]["faults"])
    throttled = {gpu.place: sorted(slow & set(gpu.reasons)) for gpu in driver.gpus if slow & set(gpu.reasons)}
    for place, reasons in throttled.items():
        yield verdicts.failed(
            "throttle", "throttle", f"GPU {place} is slowed: {', '.join(reasons)}", reasons, part=place
        )
    if not throttled:
        yield verdicts.passed("throttle", "no GPU is slowed")
    highest = kind.get("clocks_mhz")
    told = [gpu for gpu in driver.gpus if gpu.clocks_mhz is not None]
    if not highest or not told:
        yield verdicts.skipped("clocks", "no application clocks are documented or reported")
        return
    low = [gpu for gpu in told if any(have < want for have, want in zip(gpu.clocks_mhz or (), highest))]
    if low:
        message = f"{_places(low)}: application clocks below {highest[0]},{highest[1]} MHz (memory, graphics)"
        yield verdicts.failed("clocks", "clocks", message, [list(gpu.clocks_mhz or ()) for gpu in low])
    else:
        yield verdicts.passed("clocks", f"application clocks are {highest[0]},{highest[1]} MHz")


def _pcie(driver: Driver, verdicts: Verdicts) -> Iterator[Result]:
    """A GPU against the others of its node: some types wire fewer lanes than the GPU could have, and all alike."""
    widths = Counter(gpu.width for gpu in driver.gpus if gpu.width is not None)
    if not widths:
        yield verdicts.skipped("pcie", "this driver reports no PCIe link")
        return
    found = []
    for gpu in driver.gpus:
        if gpu.width is not None and gpu.width < max(widths):
            message = f"{gpu.width} PCIe lanes, and others of the node have {max(widths)}"
            found.append(_of(gpu, verdicts, "pcie_width", message, check="pcie"))
        elif gpu.generation and gpu.newest and gpu.generation < gpu.newest and "gpu_idle" not in gpu.reasons:
            # An idle GPU lowers its link to save power.
            message = f"busy on PCIe {gpu.generation}, and the link can do {gpu.newest}"
            found.append(_of(gpu, verdicts, "pcie_generation", message, check="pcie"))
    yield from found or [Result("pcie", PASS, message=f"{max(widths)} lanes on each GPU", value=max(widths))]


def _places(gpus: Iterable[Gpu]) -> str:
    return "GPU " + ", ".join(gpu.place for gpu in gpus)
