"""Output of tools for deep checks, in the shapes that they print; numbers are made up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

GIB = 2**30


def dcgm4(failed: Mapping[str, Mapping[str, Any]] | None = None, *, tests: Sequence[str] = ("memory", "pcie")) -> str:
    """`dcgmi diag -j` of DCGM 4: results by entity, and a summary of each test."""
    rows = []
    for name in tests:
        fault = (failed or {}).get(name)
        rows.append(
            {
                "name": name,
                "results": [
                    {"entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu, "status": "Pass"}
                    | (fault if fault and gpu == 3 else {})
                    for gpu in range(4)
                ],
                "test_summary": {"status": "Fail" if fault else "Pass"},
            }
        )
    document = {
        "DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": rows}]},
        "entity_groups": [
            {
                "entity_group": "GPU",
                "entity_group_id": 1,
                "entities": [{"device_id": "2330", "entity_id": gpu, "serial_num": "1650"} for gpu in range(4)],
            }
        ],
        "metadata": {"Driver Version Detected": "570.172.08", "version": "4.5.2"},
    }
    return json.dumps(document, indent=2)


def dcgm3(status: str = "Pass") -> str:
    """`dcgmi diag -j` of DCGM 3: results by GPU, warnings as text."""
    result = {"gpu_ids": "0", "status": status} | ({"warnings": "GPU 0 is slow"} if status != "Pass" else {})
    tests = [
        {"name": "Denylist", "results": [{"gpu_ids": "0,1", "status": "Skip"}]},
        {"name": "Diagnostic", "results": [result]},
    ]
    return json.dumps({"DCGM GPU Diagnostic": {"test_categories": [{"category": "Stress", "tests": tests}]}})


def warning(severity: int, text: str) -> dict[str, Any]:
    """What a failed test of DCGM 4 says."""
    entry = {"error_category": 7, "error_id": 40, "error_severity": severity, "warning": text}
    return {"status": "Fail", "warnings": [entry]}


def nccl(rows: Iterable[tuple[int, float, int]], *, root: bool = True, prefix: str = "") -> str:
    """`all_reduce_perf`: size, out-of-place bus bandwidth, wrong values."""
    lines = [
        "# nThread 1 nGpus 8 minBytes 268435456 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20",
        "# Using devices",
        "#  Rank  0 Group  0 Pid  18001 on ip-10-0-1-5 device  0 [0x53] NVIDIA H100 80GB HBM3",
        "#                                                              out-of-place                       in-place",
        (
            "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw"
            "   busbw #wrong"
        ),
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)",
    ]
    middle = "     float     sum" + ("      -1" if root else "")
    for size, busbw, wrong in rows:
        time = f"{size / 4e5:8.1f}  {busbw / 1.9:6.2f}"
        lines.append(
            f"{size:>12}{size // 4:>14}{middle}   {time}  {busbw:6.2f}  {wrong:>5}   {time}  {busbw + 1:6.2f}    N/A"
        )
    lines += ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 123.456", "#"]
    return "".join(f"{prefix}{line}\n" for line in lines)


NCCOM = """\
     size(B)    count(elems)     type    time(us)    algbw(GB/s)    busbw(GB/s)
    33554432         8388608     fp32         768          40.69          78.84
  1073741824       268435456     fp32       18930          52.83         102.36
Avg bus bandwidth:      90.6000GB/s
"""
NCCOM_FAILED = """\
     size(B)    count(elems)    type    time(us)    algbw(GB/s)    busbw(GB/s)
    33554432    Failure running neuron-bench - log file /tmp/nccom_test_log_7pqpdfjf.log
1 errors found - test failed
"""


def neuron_ls(devices: int, *, cores: int = 8, together: int | None = 2, wrapped: bool = False) -> str:
    """`neuron-ls --json-output`, as a list and as newer tools wrap it."""
    rows = [
        {
            "neuron_device": device,
            "bdf": f"0000:{0xA0 + device:02x}:00.0",
            "cpu_affinity": "0-95",
            "numa_node": "0",
            "connected_to": [(device + 1) % devices],
            "nc_count": cores,
            "memory_size": 103079215104,
            "neuroncore_ids": list(range(cores)),
            "neuron_processes": [],
            **({"logical_neuroncore_config": together} if together else {}),
        }
        for device in range(devices)
    ]
    document = {"instance_type": "trn2.48xlarge", "neuron_devices": rows} if wrapped else rows
    return json.dumps(document, indent=4)
