"""The reference cluster with many fleets of two nodes in place of its one; all mount its Lustre over EFA and its home.

Prints one line of JSON: bytes and resources of each template by its stack. Usage: cluster_app.py COUNT
"""

import json
import sys
import tempfile
from pathlib import Path

import aws_cdk as cdk
import yaml

from ultracluster_stacks.assemble import assemble

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "apps/p5_pretrain/cluster.yaml"


def main() -> None:
    """Write the cluster file, synthesize, measure."""
    count = int(sys.argv[1])
    cluster = yaml.safe_load(CLUSTER.read_text(encoding="utf-8"))
    (fleet,) = cluster["fleets"]
    del fleet["capacity"]  # a Capacity Block holds one of them
    cluster["fleets"] = [{**fleet, "name": f"fleet-{index:03}", "count": 2} for index in range(count)]
    context = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.yaml"
        file.write_text(yaml.safe_dump(cluster), encoding="utf-8")
        app = cdk.App(outdir=f"{folder}/out", builtin_cloud_formation_validation=False, context=context)
        assemble(app, file)
        app.synth()
        templates = {
            path.name.removesuffix(".template.json"): path.read_text(encoding="utf-8")
            for path in sorted(Path(folder, "out").glob("*.template.json"))
        }
    sizes = {name: [len(text.encode()), len(json.loads(text)["Resources"])] for name, text in templates.items()}
    print(json.dumps(sizes))


main()
