"""Pre-training on P6-B200 nodes under a reservation, or on P6-B300 nodes in a Capacity Block (`cluster-b300.yaml`).

From the root of the checkout: `cdk deploy --all --app "python apps/p6_pretrain/app.py"`, or
`cdk deploy --all -c cluster=apps/p6_pretrain/cluster-b300.yaml`.
"""

from pathlib import Path

from ultracluster_stacks.app import run

run(Path(__file__).with_name("cluster.yaml"))
