"""The programs of a node as an asset of a stack: bytes and digest come from the plan, `cdk deploy` uploads them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_s3_assets as assets

from ultracluster.plan.node_program import node_program

__all__ = ["node_program_asset"]

_ID = "NodeProgram"


def node_program_asset(stack: cdk.Stack) -> assets.Asset:
    """The asset of a stack; the first call adds it.

    It is the construct, and not `add_file_asset` of the synthesizer: one that Python hands to a stack cannot be asked.

    Args:
        stack: who needs the programs. Its synthesizer has to take assets, as all do but the bootstrapless one.
    """
    found = stack.node.try_find_child(_ID)
    if found is not None:
        return cast("assets.Asset", found)
    program = node_program()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{program.file_name}.pyz")
        file.write_bytes(program.data)
        return assets.Asset(  # copies the file into the assembly at once
            stack,
            _ID,
            path=str(file),
            asset_hash=program.sha256,
            asset_hash_type=cdk.AssetHashType.CUSTOM,
            display_name="programs of training nodes",
        )
