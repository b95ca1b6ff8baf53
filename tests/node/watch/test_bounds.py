"""What the watcher promises: a second from notice to signal, 15 MB, a five-hundredth of a core."""

from __future__ import annotations

import math
import random
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from .conftest import SPOT, Station, eventually, system_python

NOTICES = 100
RESIDENT_KB = 15_000_000 // 1024
OF_A_CORE = 0.002


def delays(station: Station, chance: random.Random) -> list[float]:
    """Seconds from notice to signal, for many notices at any moment of the watcher's period."""
    station.watch()
    _, signals = station.trainer("pass")
    found = []
    for number in range(NOTICES // 2):
        time.sleep(chance.uniform(0, 0.5))
        given = time.time()
        station.service.set(SPOT, f'{{"action": "terminate", "time": "2030-01-01T00:00:{number:02}Z"}}')
        eventually(lambda count=number + 1: signals.exists() and len(signals.read_text().split()) == count)
        found.append(float(signals.read_text().split()[-1]) - given)
        station.service.set(SPOT, None)
        eventually(lambda count=number + 1: len(station.events("withdrawn")) == count)
    return found


@pytest.mark.slow
def test_from_notice_to_signal_it_takes_a_second_at_most(stations):
    with ThreadPoolExecutor() as pool:
        both = pool.map(delays, (stations(), stations()), (random.Random(4), random.Random(5)))
        found = sorted(delay for each in both for delay in each)
    assert len(found) == NOTICES
    assert found[math.ceil(0.99 * NOTICES) - 1] <= 1.0, found[-5:]
    assert sum(found) / NOTICES < 0.5


def on_core(pid: int) -> float:
    """Seconds that a process spent on a core."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


@pytest.mark.slow
def test_it_is_small_and_hardly_takes_any_time(station):
    station.settings["capacity_block_end"] = "2099-01-01T11:30:00Z"
    watcher = station.watch()
    station.trainer("pass")
    time.sleep(3)
    before, asked = on_core(watcher.pid), len(station.service.requests)
    time.sleep(15)
    share = (on_core(watcher.pid) - before) / 15
    assert len(station.service.requests) - asked >= 15 / 0.5, "it did look all the time"
    assert share < OF_A_CORE, f"{share:.3%} of a core"
    station.service.set(SPOT, '{"action": "terminate", "time": "2030-01-01T00:00:00Z"}')
    eventually(lambda: station.events("lifecycle") or station.events("waiting"))
    status = Path(f"/proc/{watcher.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    assert int(found[1]) - interpreter_kb() < 7_000, "what the program itself adds"
    if system_python().startswith("/usr/bin"):
        assert int(found[1]) < RESIDENT_KB, "at its most, a notice included, with the Python of a distribution"
    watcher.send_signal(signal.SIGTERM)
    assert watcher.wait(5) == 0


def interpreter_kb() -> int:
    """What the interpreter takes for nothing."""
    import subprocess

    code = "print(open('/proc/self/status').read().split('VmRSS:')[1].split()[0])"
    return int(subprocess.run([system_python(), "-I", "-c", code], capture_output=True, text=True, check=True).stdout)
