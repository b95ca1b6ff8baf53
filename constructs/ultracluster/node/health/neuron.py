"""Light checks of Neuron devices: their number, and their counters of memory errors in sysfs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import NodeError
from ..files import read_text
from ..host import ToolMissing
from ..results import Result, UnreadableError, Verdicts

if TYPE_CHECKING:
    from ..host import Node

__all__ = ["Devices", "checks", "parse_devices"]

_SYSFS = "/sys/devices/virtual/neuron_device"
_COUNTERS = ("mem_ecc_uncorrected", "sram_ecc_uncorrected")


@dataclass(frozen=True)
class Devices:
    """What `neuron-ls` lists.

    Attributes:
        count: of devices.
        cores: of logical cores on all of them.
    """

    count: int
    cores: int


def checks(node: Node, kind: Mapping[str, Any], verdicts: Verdicts) -> Iterator[Result]:
    """All checks of a node with Neuron devices; see `nvidia.checks` for the arguments."""
    try:
        devices = parse_devices(node.run("neuron-ls", "--json-output", timeout=60).stdout)
    except ToolMissing:
        message = "neuron-ls is not on this node: the image has no Neuron tools, and no reboot brings them"
        yield verdicts.failed("driver", "driver", message, action="isolate")
    except UnreadableError as error:
        yield verdicts.unknown("driver", str(error))
    except NodeError as error:
        yield verdicts.failed("driver", "driver", f"the Neuron driver does not answer: {error}")
    else:
        yield verdicts.passed("driver", "the Neuron driver answers")
        yield _count(devices, kind, verdicts)
    yield from _counters(node, verdicts)


def parse_devices(text: str) -> Devices:
    """Read `neuron-ls --json-output`: a list of devices, in newer tools below `neuron_devices`.

    Raises:
        UnreadableError: it is cut off, or something else.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise UnreadableError(f"the output of neuron-ls cannot be read ({error})") from error
    rows = document.get("neuron_devices") if isinstance(document, dict) else document
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "neuron_device" in row for row in rows):
        raise UnreadableError("the output of neuron-ls lists no devices")
    shared = document.get("logical_neuroncore_config") if isinstance(document, dict) else None
    return Devices(len(rows), sum(_cores(row, shared) for row in rows))


def _cores(row: Mapping[str, Any], shared: object) -> int:
    """Logical cores of a device: several physical ones can make one."""
    together = row.get("logical_neuroncore_config", shared)
    count = row.get("nc_count")
    if not isinstance(count, int):
        return 0
    return count // together if isinstance(together, int) and together > 0 else count


def _count(devices: Devices, kind: Mapping[str, Any], verdicts: Verdicts) -> Result:
    have, want = devices.count, int(kind["accelerators"])
    value = {"have": have, "want": want}
    if have >= want:
        return verdicts.passed("accelerators", f"{have} of {want} Neuron devices", value)
    message = f"{kind['name']} shows {have} of {want} Neuron devices"
    return verdicts.failed("accelerators", "accelerators", message, value)


def _counters(node: Node, verdicts: Verdicts) -> Iterator[Result]:
    folder = node.path(_SYSFS)
    devices = sorted(folder.glob("neuron[0-9]*")) if folder.is_dir() else []
    if not devices:
        yield verdicts.unknown("neuron_counters", f"{_SYSFS} shows no device")
        return
    found = 0
    for device in devices:
        for name in _COUNTERS:
            count = _counter(device / "stats/hardware" / name)
            if count:
                found += 1
                message = f"{device.name}: {name} is {count}"
                yield verdicts.failed(
                    "neuron_counters", "neuron_counters", message, count, part=f"{device.name}-{name}"
                )
    if not found:
        yield verdicts.passed("neuron_counters", f"no uncorrected memory errors on {len(devices)} devices")


def _counter(path: Path) -> int:
    """A counter is a folder with its sum since the driver was loaded, in some releases a plain file."""
    file = path / "total" if path.is_dir() else path
    text = read_text(file, "0").strip()
    return int(text) if text.isdigit() else 0
