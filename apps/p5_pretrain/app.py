"""Pre-training on P5 nodes in a Capacity Block.

From the root of the checkout: `cdk deploy --all` (this is the default app), or with a file of your own
`cdk deploy --all --app "python apps/p5_pretrain/app.py" -c cluster=my-cluster.yaml`.
"""

from pathlib import Path

from ultracluster_stacks.app import run

run(Path(__file__).with_name("cluster.yaml"))
