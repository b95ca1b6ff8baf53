"""The floor: the same resources as a synthesized app, written raw.

Reads the templates of an earlier synthesis (not timed by itself: parsing takes milliseconds) and creates every resource
with `CfnResource`, one crossing each: the least that any CDK app in Python can do. It imports the CDK modules that the
measured app imports. Usage: floor_app.py TEMPLATE_FOLDER MODULE...
"""

import importlib
import json
import sys
from pathlib import Path

import aws_cdk as cdk


def main() -> None:
    """Create every resource of every template of the folder and synthesize."""
    folder, *modules = sys.argv[1:]
    for module in modules:
        importlib.import_module(module)
    app = cdk.App(builtin_cloud_formation_validation=False)
    for path in sorted(Path(folder).glob("*.template.json")):
        template = json.loads(path.read_text(encoding="utf-8"))
        stack = cdk.Stack(app, path.name.removesuffix(".template.json"), synthesizer=cdk.DefaultStackSynthesizer())
        for logical_id, resource in template["Resources"].items():
            made = cdk.CfnResource(stack, logical_id, type=resource["Type"], properties=resource.get("Properties"))
            made.override_logical_id(logical_id)
        for name, mapping in template.get("Mappings", {}).items():
            cdk.CfnMapping(stack, f"Mapping{name}", mapping=mapping)
    app.synth()


main()
