"""The programs of a node as an asset: written into the cloud assembly, uploaded by `cdk deploy`, named by digest."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk

from ultracluster.plan.node_program import node_program

__all__ = ["node_program_asset"]


def node_program_asset(stack: cdk.Stack) -> cdk.FileAssetLocation:
    """Write the programs beside the template of the stack's stage, and have them uploaded with it.

    Args:
        stack: who needs them. Its synthesizer has to take assets, as all do but the bootstrapless one. Several calls
            name the same object.

    Raises:
        ValueError: the stack stands in no application, so there is no assembly to write into.
    """
    stage = cdk.Stage.of(stack)
    if stage is None:
        raise ValueError(f"{stack.node.path}: the stack stands in no application")
    program = node_program()
    name = f"asset.{program.sha256}.pyz"
    file = Path(stage.outdir, name)
    if not file.exists():
        file.write_bytes(program.data)
    return stack.synthesizer.add_file_asset(
        source_hash=program.sha256,
        file_name=name,
        packaging=cdk.FileAssetPackaging.FILE,
        display_name="programs of training nodes",
    )
