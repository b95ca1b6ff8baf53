"""Pre-training on Trn1 nodes, or on Trn2 nodes in a Capacity Block (`cluster-trn2.yaml`).

From the root of the checkout: `cdk deploy --all --app "python apps/trn_pretrain/app.py"`, or
`cdk deploy --all -c cluster=apps/trn_pretrain/cluster-trn2.yaml`.
"""

from pathlib import Path

from ultracluster_stacks.app import run

run(Path(__file__).with_name("cluster.yaml"))
