"""Memory health of NVIDIA GPUs: what the agent's own GPU section does not read."""

import time
from typing import Any

from .statsd import fault, growth, numbers, run, send


def watch(settings: dict[str, Any]) -> None:
    """Ask the driver again and again."""
    totals: dict[object, int] = {}
    while True:
        ask(totals)
        time.sleep(settings["period_s"])


def ask(totals: dict[object, int]) -> None:
    """Memory in use, uncorrected errors since the last time, GPUs with a row remapping that is pending or failed."""
    fields = "memory.used,memory.total,ecc.errors.uncorrected.volatile.total"
    lines = run("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits")
    # A driver that fails prints its complaint in place of the values.
    gpus = [found for found in map(numbers, lines) if len(found) == fields.count(",") + 1]
    send("accelerator_memory_percent", round(max((100 * used / (of or 1) for used, of, _ in gpus), default=0), 2), "g")
    fault("gpu_ecc_uncorrected", sum(growth(totals, gpu, errors) for gpu, (_, _, errors) in enumerate(gpus)))
    fields = "remapped_rows.pending,remapped_rows.failure"
    rows = run("nvidia-smi", f"--query-remapped-rows={fields}", "--format=csv,noheader")
    fault("gpu_row_remap_faults", sum(any(numbers(line.replace("Yes", "1"))) for line in rows), "g")
