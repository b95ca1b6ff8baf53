"""What the NVIDIA driver says of its GPUs: `nvidia-smi -q -x` and `nvidia-smi nvlink -s`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from ..results import UnreadableError

__all__ = ["Driver", "Gpu", "Links", "parse_links", "parse_query", "place"]

_NUMBER = re.compile(r"-?\d+")
_GPU_LINE = re.compile(r"^GPU (\d+): .*\(UUID: (GPU-[0-9a-fA-F-]+)\)\s*$")
_LINK_LINE = re.compile(r"^\s+Link (\d+): (<inactive>|[\d.]+ GB/s)\s*$")
_ALL_INACTIVE = "links are inActive"
# Drivers since 535 say `event`, older ones `throttle`.
_REASONS = re.compile(r"clocks_(?:event|throttle)_reason_(\w+)")
_UNCORRECTED = re.compile(r"(?:sram|dram)_uncorrectable(?:_parity|_secded)?|double_bit_total")


@dataclass(frozen=True)
class Gpu:
    """One GPU; None for what its driver does not report.

    Attributes:
        place: PCI address without function, as the kernel log has it: `0000:53:00`.
        uuid: by which it is known again.
        uncorrected: uncorrected memory errors since the driver was loaded.
        remap_pending: whether a row waits for the next reset to be replaced.
        remap_failed: whether no spare row is left.
        retired: pages retired after single-bit errors.
        recovery: what the driver asks for: `None`, `Reset`, `Reboot`, `Drain P2P`, `Drain and Reset`.
        reasons: why the clocks are below the highest, those that are active now.
        width: lanes of PCIe now.
        widest: lanes that the link can have.
        generation: of PCIe now.
        newest: generation that the link can do.
        clocks_mhz: application clocks of memory and graphics.
        fabric: state of its registration with the fabric manager.
    """

    place: str
    uuid: str
    uncorrected: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    retired: int | None = None
    recovery: str | None = None
    reasons: tuple[str, ...] = ()
    width: int | None = None
    widest: int | None = None
    generation: int | None = None
    newest: int | None = None
    clocks_mhz: tuple[int, int] | None = None
    fabric: str | None = None


@dataclass(frozen=True)
class Driver:
    """The driver and its GPUs.

    Attributes:
        version: of the driver.
        gpus: in the order of the driver.
    """

    version: str
    gpus: tuple[Gpu, ...]


@dataclass(frozen=True)
class Links:
    """NVLinks of one GPU.

    Attributes:
        index: of the GPU.
        uuid: of the GPU.
        up: links that are active.
        down: links that are not.
    """

    index: int
    uuid: str
    up: int
    down: int


def place(text: str) -> str:
    """A PCI address in the short form of the kernel log: `00000000:53:00.0` is `0000:53:00`."""
    domain, _, rest = text.strip().lower().partition(":")
    return f"{domain[-4:].zfill(4)}:{rest.split('.')[0]}"


def parse_query(text: str) -> Driver:
    """Read `nvidia-smi -q -x`.

    Raises:
        UnreadableError: it is cut off, or something else.
    """
    try:
        document = ET.fromstring(text)
    except (ET.ParseError, ValueError) as error:
        raise UnreadableError(f"the output of nvidia-smi cannot be read ({error})") from error
    version = document.findtext("driver_version") or ""
    if document.tag != "nvidia_smi_log" or not version:
        raise UnreadableError("the output of nvidia-smi names no driver")
    return Driver(version.strip(), tuple(map(_gpu, document.iterfind("gpu"))))


def _gpu(element: ET.Element) -> Gpu:
    links = "pci/pci_gpu_link_info"
    memory, graphics = (_number(element, f"applications_clocks/{name}_clock") for name in ("mem", "graphics"))
    return Gpu(
        place=place(element.findtext("pci/pci_bus_id") or element.get("id") or ""),
        uuid=(element.findtext("uuid") or "").strip(),
        uncorrected=_uncorrected(element),
        remap_pending=_flag(element, "remapped_rows/remapped_row_pending"),
        remap_failed=_flag(element, "remapped_rows/remapped_row_failure"),
        retired=_number(element, "retired_pages/multiple_single_bit_retirement/retired_count"),
        recovery=_said(element, "gpu_recovery_action"),
        reasons=tuple(_reasons(element)),
        width=_number(element, f"{links}/link_widths/current_link_width"),
        widest=_number(element, f"{links}/link_widths/max_link_width"),
        generation=_number(element, f"{links}/pcie_gen/current_link_gen"),
        newest=_number(element, f"{links}/pcie_gen/max_link_gen"),
        clocks_mhz=(memory, graphics) if memory is not None and graphics is not None else None,
        fabric=_said(element, "fabric/state"),
    )


def _said(element: ET.Element, path: str) -> str | None:
    text = (element.findtext(path) or "").strip()
    return None if not text or text.strip("[]") in {"N/A", "Not Supported"} or "deprecated" in text else text


def _number(element: ET.Element, path: str) -> int | None:
    found = _NUMBER.search(_said(element, path) or "")
    return int(found[0]) if found else None


def _flag(element: ET.Element, path: str) -> bool | None:
    said = _said(element, path)
    return None if said is None else said.lower() == "yes"


def _uncorrected(element: ET.Element) -> int | None:
    volatile = element.find("ecc_errors/volatile")
    if volatile is None:
        return None
    names = {child.tag for child in volatile if _UNCORRECTED.fullmatch(child.tag)}
    counts = [count for name in names if (count := _number(volatile, name)) is not None]
    return sum(counts) if counts else None


def _reasons(element: ET.Element) -> Iterator[str]:
    for child in element.iter():
        found = _REASONS.fullmatch(child.tag)
        if found and (child.text or "").strip() == "Active":
            yield found[1]


def parse_links(text: str) -> tuple[Links, ...]:
    """Read `nvidia-smi nvlink -s`: one entry for each GPU.

    Raises:
        UnreadableError: nothing in it is a GPU.
    """
    found: dict[int, Links] = {}
    current: int | None = None
    for line in text.splitlines():
        gpu, link = _GPU_LINE.match(line), _LINK_LINE.match(line)
        if gpu:
            current = int(gpu[1])
            found[current] = Links(current, gpu[2], 0, 0)
        elif link and current is not None:
            known = found[current]
            down = link[2] == "<inactive>"
            found[current] = Links(current, known.uuid, known.up + (not down), known.down + down)
    if not found and _ALL_INACTIVE not in text:
        raise UnreadableError("the output of nvidia-smi nvlink cannot be read")
    return tuple(found.values())


def by_place(driver: Driver) -> Mapping[str, str]:
    """PCI address to UUID."""
    return {gpu.place: gpu.uuid for gpu in driver.gpus}
