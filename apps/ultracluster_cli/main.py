"""The `ultracluster` command. Help and version load neither the CDK nor an SDK, a model or a table printer."""

from __future__ import annotations

import gc
import os

import click

from ultracluster import __version__
from ultracluster_cli.lazy_group import LazyGroup

__all__ = ["main"]

# A command ends within seconds; looking for garbage, or for pydantic plugins in every package, only delays it.
gc.disable()
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

COMMANDS = {
    "init": ("ultracluster_cli.init:init", "Write a cluster file to start from."),
    "plan": ("ultracluster_cli.plan:plan", "Show what a cluster file leads to, and why."),
    "check": ("ultracluster_cli.check:check", "Judge CloudFormation templates of training infrastructure."),
    "catalog": ("ultracluster_cli.catalog:catalog", "Show instance types: accelerators, network cards, prices."),
    "rules": ("ultracluster_cli.rules:rules", "List the rules behind the findings, or explain one."),
    "topology": ("ultracluster_cli.topology:topology", "Write the network topology of instances for schedulers."),
    "local": ("ultracluster_cli.local:local", "Deploy a cluster file into an AWS on this machine."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 clean, 1 findings, 2 bad usage or a file that cannot be read.",
)
@click.version_option(__version__, prog_name="ultracluster", message="%(prog)s %(version)s")
def main() -> None:
    """Clusters of accelerated instances on AWS that are right at the first deployment."""


if __name__ == "__main__":
    main()
