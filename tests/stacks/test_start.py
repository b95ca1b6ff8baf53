"""The start of an app: two threads that never ask Node at the same time, and faults of either come out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
APP = ROOT / "apps/p5_pretrain/app.py"

NO_CALLS = """
import jsii, aws_cdk
from jsii._kernel.providers.process import _NodeProcess

calls = []
_NodeProcess.send = lambda self, request, *_: calls.append(request)
from ultracluster_stacks.app import _BESIDE_NODE
from importlib import import_module

for module in _BESIDE_NODE:
    import_module(module)
print(calls)
"""


def python(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_imported_beside_node_asks_it_nothing():
    ended = python("-c", NO_CALLS)
    assert (ended.returncode, ended.stdout) == (0, "[]\n"), ended.stderr


def test_a_node_that_cannot_be_started_is_told():
    ended = python(str(APP), JSII_NODE="/nonexistent/node")
    assert ended.returncode == 1
    assert "No such file or directory: '/nonexistent/node'" in ended.stderr
