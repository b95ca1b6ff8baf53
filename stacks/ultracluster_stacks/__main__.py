"""`python -m ultracluster_stacks`, the app of `cdk.json`: the cluster file comes from `-c cluster=PATH`."""

from __future__ import annotations

from ultracluster_stacks.app import run

run()
