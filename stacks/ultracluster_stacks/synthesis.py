"""The CDK app around one cluster file, synthesized.

Faults of the file, of the plan or of a finished template end the process with one line each and exit status 1 before
the CLI deploys anything.
"""

from __future__ import annotations

import sys
from pathlib import Path

import aws_cdk as cdk

from ultracluster.findings import FindingsError
from ultracluster_stacks.assemble import assemble
from ultracluster_stacks.budget import check_assembly

__all__ = ["synthesize"]


def synthesize(app: cdk.App, default_cluster: Path | None) -> None:
    """Synthesize the cluster of one file.

    Args:
        app: the app.
        default_cluster: the file that is meant when the context names none (`cdk deploy -c cluster=PATH`).

    Raises:
        SystemExit: with status 1 and every finding on standard error; with status 2 when no file is named.
    """
    path = _cluster_file(app, default_cluster)
    try:
        assemble(app, path)
        check_assembly(app.synth())
    except FindingsError as error:
        sys.exit(str(error))


def _cluster_file(app: cdk.App, default: Path | None) -> Path:
    named = app.node.try_get_context("cluster") or default
    if named is None:
        sys.stderr.write("which cluster? name its file: cdk deploy --all -c cluster=PATH\n")
        sys.exit(2)
    return Path(str(named))
