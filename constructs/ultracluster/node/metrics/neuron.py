"""Use and health of Neuron devices, from the reports of neuron-monitor."""

import json
import subprocess
from pathlib import Path
from typing import Any

from .statsd import fault, growth, send

GROUPS = ("neuroncore_counters", "memory_used", "execution_stats")
ERRORS = ("generic", "model", "runtime", "hardware")  # not the recoverable ones and not NaN in the user's numbers


def watch(settings: dict[str, Any]) -> None:
    """Read one report per period."""
    setup = {
        "period": f"{settings['period_s']}s",
        "neuron_runtimes": [{"tag_filter": ".*", "metrics": [{"type": group} for group in GROUPS]}],
        "system_metrics": [{"type": "neuron_hw_counters"}],
    }
    file = Path("/run/ultracluster/neuron.json")
    file.write_text(json.dumps(setup))
    totals: dict[object, int] = {}
    with subprocess.Popen(
        ["/opt/aws/neuron/bin/neuron-monitor", "-c", str(file)], stdout=subprocess.PIPE, text=True
    ) as monitor:
        for line in monitor.stdout or ():
            read(json.loads(line), totals)


def read(report: dict[str, Any], totals: dict[object, int]) -> None:
    """Send averages over all cores and memory of the node, idle ones as well, and the growth of its error counters."""
    node = report["neuron_hardware_info"]
    devices = node["neuron_device_count"]
    cores = devices * node["neuroncore_per_device_count"] // (node.get("logical_neuroncore_config") or 1)
    busy = used = errors = bad = 0
    for runtime in report.get("neuron_runtime_data") or ():
        data = runtime.get("report") or {}
        in_use = data.get("neuroncore_counters", {}).get("neuroncores_in_use") or {}
        busy += sum(core["neuroncore_utilization"] for core in in_use.values())
        used += data.get("memory_used", {}).get("neuron_runtime_used_bytes", {}).get("neuron_device", 0)
        summary = data.get("execution_stats", {}).get("error_summary") or {}
        errors += sum(summary.get(kind, 0) for kind in ERRORS)
    for device in report["system_data"]["neuron_hw_counters"].get("neuron_devices") or ():
        count = device.get("mem_ecc_uncorrected", 0) + device.get("sram_ecc_uncorrected", 0)
        bad += growth(totals, device["neuron_device_index"], count)
    send("neuroncore_utilization", round(busy / max(cores, 1), 2), "g")
    send("accelerator_memory_percent", round(100 * used / max(devices * node["neuron_device_memory_size"], 1), 2), "g")
    fault("neuron_execution_errors", errors)
    fault("neuron_ecc_uncorrected", bad)
