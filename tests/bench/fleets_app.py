"""Many fleets of p5.48xlarge in stacks of at most fifty, the number whose resources fit one template.

Prints one line of JSON: seconds of construction and synthesis (imports left out), size and resources of the largest
template. Usage: fleets_app.py COUNT
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import aws_cdk as cdk

from ultracluster import ClusterNetwork, TrainingFleet

PER_STACK = 50


def main() -> None:
    """Build, synthesize, measure."""
    count = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        app = cdk.App(outdir=folder, builtin_cloud_formation_validation=False)
        env = cdk.Environment(account="111122223333", region="us-east-1")
        network = ClusterNetwork(
            cdk.Stack(app, "network", env=env), "Network", availability_zones=["us-east-1a"], cidr="10.0.0.0/16"
        )
        for first in range(0, count, PER_STACK):
            stack = cdk.Stack(app, f"compute-{first}", env=env, suppress_template_indentation=True)
            for index in range(first, min(first + PER_STACK, count)):
                TrainingFleet(stack, f"fleet-{index:03}", network=network, instance_type="p5.48xlarge", count=4)
        app.synth()
        elapsed = time.perf_counter() - start
        templates = [path.read_text(encoding="utf-8") for path in Path(folder).glob("*.template.json")]
    largest = max(templates, key=len)
    print(
        json.dumps(
            {
                "fleets": count,
                "seconds": round(elapsed, 3),
                "largest_template_bytes": len(largest.encode()),
                "largest_template_resources": len(json.loads(largest)["Resources"]),
            }
        )
    )


main()
