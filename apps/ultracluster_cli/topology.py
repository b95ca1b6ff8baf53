"""`ultracluster topology`: where running instances are in the network, for Slurm, Kubernetes and MPI."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import IO, Any

import click

from ultracluster.node.topology import arranged, unplaced_message
from ultracluster.node.topology.output import FORMATS, render
from ultracluster.node.topology.records import TopologyError, parse_records
from ultracluster_cli.output import CLEAN, UNUSABLE

__all__ = ["topology"]


@click.command(short_help="Write the network topology of instances for schedulers.")
@click.argument("records", type=click.File(encoding="utf-8"), required=False)
@click.option("--live", is_flag=True, help="Ask EC2 with the credentials of this shell instead of reading RECORDS.")
@click.option("--region", metavar="REGION", help="With --live: the Region; that of the profile by default.")
@click.option(
    "--filter",
    "filters",
    metavar="NAME=VALUE",
    multiple=True,
    help="With --live: a filter of DescribeInstanceTopology, such as instance-type=p5.48xlarge; can be repeated.",
)
@click.option(
    "--names",
    type=click.File(encoding="utf-8"),
    help="Names of the instances: an answer of DescribeInstances, a JSON object, `scontrol show nodes`, or lines.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    default="tree",
    show_default=True,
    help="tree and block are topology.conf of Slurm, yaml its topology.yaml (25.05 and later).",
)
@click.option("--block-size", type=click.IntRange(min=1), metavar="HOSTS", help="Hosts in the smallest unit of blocks.")
@click.option("--slots", type=click.IntRange(min=1), metavar="N", help="Slots of each host in the host file.")
def topology(
    *,
    records: IO[str] | None,
    live: bool,
    region: str | None,
    filters: tuple[str, ...],
    names: IO[str] | None,
    output_format: str,
    block_size: int | None,
    slots: int | None,
) -> None:
    """Write the network topology of running instances.

    RECORDS is an answer of `aws ec2 describe-instance-topology`; `-` reads it from standard input. Hosts of one leaf
    stand together, and the same instances give the same text in whatever order they come. Instances whose place EC2
    does not tell are named on standard error and put last.
    """
    if (records is None) != live:
        raise click.UsageError("give RECORDS, or --live to ask EC2; one of the two")
    try:
        text = json.dumps(list(_pages(region, filters))) if records is None else records.read()
        arrangement = arranged(parse_records(text), names.read() if names else "")
        result = render(arrangement, output_format, base=block_size, slots=slots)
    except (TopologyError, UnicodeDecodeError) as error:
        click.echo(f"{click.style('error:', fg='red', bold=True)} {error}", err=True)
        raise click.exceptions.Exit(UNUSABLE) from None
    if arrangement.unplaced:
        click.echo(f"{click.style('warning:', fg='yellow', bold=True)} {unplaced_message(arrangement)}", err=True)
    click.echo(result, nl=False)
    raise click.exceptions.Exit(CLEAN)


def _pages(region: str | None, filters: tuple[str, ...]) -> Iterable[Any]:
    """All pages that EC2 gives."""
    try:
        import boto3
        from botocore.exceptions import BotoCoreError, ClientError
    except ModuleNotFoundError:
        raise TopologyError("--live needs an SDK; install it with: pip install 'cdk-ultracluster[aws]'") from None
    try:
        client = boto3.client("ec2", region_name=region)
        yield from client.get_paginator("describe_instance_topology").paginate(Filters=list(_filters(filters)))
    except (BotoCoreError, ClientError) as error:
        raise TopologyError(f"EC2 gives no topology ({error}); look at credentials, Region and permissions") from error


def _filters(filters: tuple[str, ...]) -> Iterable[dict[str, Any]]:
    for text in filters:
        name, _, values = text.partition("=")
        if not name or not values:
            raise click.BadParameter(f"{text!r} has no value; write name=value", param_hint="--filter")
        yield {"Name": name, "Values": values.split(",")}
