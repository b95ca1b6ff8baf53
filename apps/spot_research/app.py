"""Single-node research jobs on Spot capacity of three types over three zones.

From the root of the checkout: `cdk deploy --all --app "python apps/spot_research/app.py"`, or
`cdk deploy --all -c cluster=apps/spot_research/cluster.yaml`.
"""

from pathlib import Path

from ultracluster_stacks.app import run

run(Path(__file__).with_name("cluster.yaml"))
