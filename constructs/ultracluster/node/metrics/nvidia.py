"""Memory health of NVIDIA GPUs: what the agent's own GPU section does not read."""

import time
from typing import Any

from .statsd import growth, run, send, total


def watch(settings: dict[str, Any]) -> None:
    """Ask the driver again and again."""
    totals: dict[object, int] = {}
    while True:
        ask(totals)
        time.sleep(settings["period_s"])


def ask(totals: dict[object, int]) -> None:
    """Uncorrected memory errors since the last time, and GPUs that wait for a row remapping or failed at one."""
    errors = run("nvidia-smi", "--query-gpu=ecc.errors.uncorrected.volatile.total", "--format=csv,noheader,nounits")
    send("gpu_ecc_uncorrected", sum(growth(totals, gpu, total(line)) for gpu, line in enumerate(errors)))
    fields = "remapped_rows.pending,remapped_rows.failure"
    rows = run("nvidia-smi", f"--query-remapped-rows={fields}", "--format=csv,noheader")
    send("gpu_row_remap_faults", sum(total(line) > 0 or "Yes" in line for line in rows), "g")
