"""What `cdk synth` and `cdk deploy` run: the entry of every reference app."""

from __future__ import annotations

import gc
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["run"]


def run(default_cluster: Path | None = None) -> None:
    """Synthesize the cluster of one file and end the process.

    Args:
        default_cluster: the file that is meant when the context names none (`cdk deploy -c cluster=PATH`).

    Raises:
        SystemExit: with status 1 and every finding on standard error; with status 2 when no file is named.
    """
    # The stubs of CDK are a million objects that live as long as the process: looking for garbage among them while they
    # load takes a tenth of the start and finds none. And while Node reads the CDK, Python can load what plans.
    gc.disable()
    kernel = Thread(target=import_module, args=("aws_cdk",))
    kernel.start()
    import_module("ultracluster.plan.cluster_file")
    import_module("ultracluster.spec.loader")
    kernel.join()
    from ultracluster_stacks.synthesis import synthesize

    synthesize(default_cluster)
