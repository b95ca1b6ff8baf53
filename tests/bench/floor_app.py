"""The floor: the same resources as a synthesized app, written raw with the L1 classes of the CDK's own modules.

Reads the templates of an earlier synthesis (parsing takes milliseconds) and creates each resource with its L1 class, as
somebody would who writes the stack by hand and knows every value already: no plan, no check, no reference to follow. It
imports the CDK modules that the measured app imports. Usage: floor_app.py TEMPLATE_FOLDER MODULE...
"""

import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_s3_assets as s3_assets

DOCUMENTS = {"assumerolepolicydocument", "policydocument", "keypolicy", "filesystempolicy", "eventpattern"}
"""Properties that hold JSON as it is."""
ACRONYM = re.compile(r"[A-Z]{2,}(?=[A-Z][a-z]|$)")


def camel(key: str) -> str:
    """The name of a field of a struct: `TopicARN` is `topicArn`."""
    words = ACRONYM.sub(lambda match: match[0].title(), key)
    return words[:1].lower() + words[1:]


def raw(value: Any) -> Any:
    """A property as hand-written code has it: intrinsic functions are tokens, keys those of the structs."""
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value)).startswith(("Ref", "Fn::")):
            return cdk.Token.as_string(value)
        return {camel(key): written(key, inner) for key, inner in value.items()}
    return [raw(inner) for inner in value] if isinstance(value, list) else value


def written(key: str, value: Any) -> Any:
    """The value of a key: JSON documents stay what they are."""
    return value if key.lower() in DOCUMENTS else raw(value)


def create(stack: cdk.Stack, logical_id: str, resource: dict[str, Any]) -> None:
    """One resource by its L1 class."""
    _, service, name = resource["Type"].split("::")
    made = getattr(importlib.import_module(f"aws_cdk.aws_{service.lower()}"), f"Cfn{name}")
    known = {parameter.replace("_", ""): parameter for parameter in inspect.signature(made.__init__).parameters}
    properties = {
        known[key.lower()]: written(key, value)
        for key, value in resource.get("Properties", {}).items()
        if key.lower() in known and key != "Tags"
    }
    made(stack, logical_id, **properties)


def upload(stack: cdk.Stack, folder: Path) -> None:
    """The files that the measured app uploads beside the templates of the stack."""
    manifest = json.loads((folder / f"{stack.artifact_id}.assets.json").read_text(encoding="utf-8"))
    for digest, entry in manifest["files"].items():
        if not entry["source"]["path"].endswith(".template.json"):
            s3_assets.Asset(
                stack,
                f"Asset{digest[:8]}",
                path=str(folder / entry["source"]["path"]),
                asset_hash=digest,
                asset_hash_type=cdk.AssetHashType.CUSTOM,
            )


def main() -> None:
    """Create every resource of every template of the folder, every file beside them, and synthesize."""
    folder, *modules = sys.argv[1:]
    for module in modules:
        importlib.import_module(module)
    app = cdk.App(builtin_cloud_formation_validation=False)
    for path in sorted(Path(folder).glob("*.template.json")):
        template = json.loads(path.read_text(encoding="utf-8"))
        stack = cdk.Stack(app, path.name.removesuffix(".template.json"))
        for logical_id, resource in template["Resources"].items():
            create(stack, logical_id, resource)
        upload(stack, Path(folder))
        for name, mapping in template.get("Mappings", {}).items():
            cdk.CfnMapping(stack, f"Mapping{name}", mapping=mapping)
    app.synth()


main()
