import os

import pytest

from support import gpus
from ultracluster.node import health


@pytest.fixture
def p5(machine, monkeypatch):
    """A healthy P5; its root volume is a third full, whatever this machine's is."""
    usage = os.statvfs_result((4096, 4096, 1000, 700, 650, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: usage)
    return gpus.healthy(machine)


@pytest.fixture
def found(p5):
    """Results of the light checks by name, the failed one where there are several."""

    def look():
        results = health.light(p5.node()).results
        order = {"pass": 0, "skipped": 1, "unknown": 2, "fail": 3}
        return {each.check: each for each in sorted(results, key=lambda each: order[each.status])}

    return look
