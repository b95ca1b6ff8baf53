"""What `cdk synth` and `cdk deploy` run: the entry of every reference app.

Node reads the CDK for as long as Python needs for the plan, the models of cluster files and the stubs of the CDK. So a
second thread starts Node and makes the app, mostly waiting, while this one imports.
"""

from __future__ import annotations

import gc
import os
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import aws_cdk as cdk

__all__ = ["run"]

_BESIDE_NODE = ("ultracluster.plan.cluster_file", "ultracluster.spec.loader", "ultracluster_stacks.synthesis")
"""Imported while Node starts, in this order: what needs no CDK first, because the others wait for its import."""


def _make_app() -> cdk.App:
    from ultracluster_stacks.start import make_app

    return make_app()


def run(default_cluster: Path | None = None) -> None:
    """Synthesize the cluster of one file and end the process.

    Args:
        default_cluster: the file that is meant when the context names none (`cdk deploy -c cluster=PATH`).

    Raises:
        SystemExit: with status 1 and every finding on standard error; with status 2 when no file is named.
    """
    # The stubs of CDK are a million objects that live as long as the process: looking for garbage among them while they
    # load takes a tenth of the start and finds none.
    gc.disable()
    # The models of the cluster file have no plugins; to find none, pydantic reads the metadata of every package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    import_module("jsii")  # all of it is Python: two threads would only take turns
    with ThreadPoolExecutor(max_workers=1) as node:
        app = node.submit(_make_app)
        for module in _BESIDE_NODE:
            import_module(module)
    from ultracluster_stacks.synthesis import synthesize

    synthesize(app.result(), default_cluster)
