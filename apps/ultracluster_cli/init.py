"""`ultracluster init`: a commented cluster file to start from."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import click

from ultracluster_cli.output import UNUSABLE, print_findings

if TYPE_CHECKING:
    from ultracluster.findings import Finding

__all__ = ["init", "render"]

CAPACITY = {
    "capacity-block": (
        "    capacity:",
        "      kind: capacity-block",
        "      reservation_id: cr-00000000000000000  # the id of your Capacity Block",
        "      size: NODES  # instances in it",
        "      # end: 2030-01-15T11:30:00Z  # its end, with the time zone; the fleet is scaled in 35 minutes before",
    ),
    "on-demand": (
        "    capacity:",
        "      kind: on-demand  # or reservation, capacity-block, spot",
    ),
    "reservation": (
        "    capacity:",
        "      kind: reservation",
        "      reservation_id: cr-00000000000000000  # the id of your targeted On-Demand Capacity Reservation",
        "      size: NODES  # instances in it",
    ),
    "spot": (
        "    efa: false  # jobs of one node each, so any zone will do; with EFA a fleet stays in one zone",
        "    capacity:",
        "      kind: spot",
        "      on_demand_base_count: 0  # nodes that are never Spot",
    ),
}
"""The lines of each kind; NODES stands for the number of nodes."""

RESERVED = ("capacity-block", "reservation")
"""Kinds with a fixed number of instances."""


@cache
def _data(name: str) -> str:
    return resources.files("ultracluster_cli").joinpath("data", name).read_text(encoding="utf-8")


@cache
def _workloads() -> Mapping[str, Mapping[str, Any]]:
    workloads: Mapping[str, Mapping[str, Any]] = json.loads(_data("workloads.json"))
    return workloads


@click.command(short_help="Write a cluster file to start from.")
@click.argument("path", type=click.Path(path_type=Path), default="cluster.yaml")
@click.option(
    "--workload",
    type=click.Choice(list(_workloads())),
    default="p5-pretrain",
    show_default=True,
    help="What the cluster is for.",
)
@click.option("--name", metavar="NAME", help="Name of the cluster; default: that of the workload.")
@click.option("--region", metavar="REGION", help="Region; default: one in which the workload's types are sold.")
@click.option("--zone", "zones", metavar="ZONE", multiple=True, help="Availability Zone; can be repeated.")
def init(*, path: Path, workload: str, name: str | None, region: str | None, zones: tuple[str, ...]) -> None:
    """Write a commented cluster file for a workload to PATH (cluster.yaml); an existing file is left alone.

    Ids of reservations in it are stand-ins to replace. Then: ultracluster plan PATH.
    """
    text = render(workload, file=str(path), name=name, region=region, zones=zones)
    faults = _faults(text, path)
    if faults:
        print_findings(faults)
        sys.exit(UNUSABLE)
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise click.UsageError(f"{path} exists and is left alone; name another file, or move it away") from None
    except OSError as error:
        raise click.UsageError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from None
    click.echo(f"wrote {path}; next: ultracluster plan {path}", err=True)


def render(
    workload: str, *, file: str, name: str | None = None, region: str | None = None, zones: tuple[str, ...] = ()
) -> str:
    """The text of a cluster file.

    Args:
        workload: a key of `data/workloads.json`.
        file: what the file will be called.
        name: name of the cluster; that of the workload by default.
        region: Region; one in which the types are sold by default.
        zones: zones; the letters of the workload behind the Region by default.
    """
    facts = _workloads()[workload]
    where = region or facts["region"]
    named = ", ".join(zones or tuple(f"{where}{letter}" for letter in facts["zones"]))
    return Template(_data("cluster.yaml.template")).substitute(
        title=facts["title"],
        file=file,
        name=name or workload,
        region=where,
        zones=named,
        fleet=_fleet(facts, named),
        lustre=_lustre(facts),
    )


def _fleet(facts: Mapping[str, Any], zones: str) -> str:
    kind, nodes, types = facts["capacity"], facts["nodes"], facts["types"]
    if len(types) == 1:
        lines = [f"    instance_type: {types[0]}  # all types: ultracluster catalog"]
    else:
        lines = [
            f"    instance_types: [{', '.join(types)}]  # more pools, fewer interruptions",
            f"    availability_zones: [{zones}]",
        ]
    if kind in RESERVED:
        lines.append(f"    count: {nodes}  # fixed: a job over all nodes starts only when all are there")
    else:
        lines += [
            "    min_count: 0  # nothing runs, nothing is paid",
            f"    max_count: {nodes}",
        ]
    return _lines(*lines, *(line.replace("NODES", str(nodes)) for line in CAPACITY[kind]))


def _lustre(facts: Mapping[str, Any]) -> str:
    if facts["capacity_gib"] is None:
        return ""
    over_efa = "true  # the nodes reach it over EFA; fixed for ever" if facts["efa_storage"] else "false"
    return _lines(
        "  lustre:",
        "    - name: scratch",
        "      deployment_type: PERSISTENT_2",
        f"      capacity_gib: {facts['capacity_gib']}  # it can grow, never shrink",
        f"      throughput_mbps_per_tib: {facts['throughput_mbps_per_tib']}  # 125, 250, 500 or 1000",
        f"      efa: {over_efa}",
        "      mount_path: /fsx",
        "      data_repositories:",
        "        - file_system_path: /data  # /fsx/data on the nodes",
        "          bucket: datasets",
        "        - file_system_path: /checkpoints",
        "          bucket: checkpoints",
        "          auto_export: [NEW, CHANGED]  # what is written here ends up in the bucket",
    )


def _lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


def _faults(text: str, path: Path) -> tuple[Finding, ...]:
    """What a wrong name, Region or zone on the command line would make wrong in the file."""
    from ultracluster.plan.cluster_steps import draft_cluster
    from ultracluster.spec.locate import located
    from ultracluster.spec.parts import readable_parts
    from ultracluster.spec.source import parse_cluster

    source = parse_cluster(text, name=str(path))
    parts, _, found = readable_parts(source.data)
    told = located((*found, *draft_cluster(parts, base_dir=path.parent).findings), source)
    return tuple(each for each in told if each.severity.stops)
