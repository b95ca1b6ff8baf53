"""`ultracluster plan`: what a cluster file leads to, and why."""

from __future__ import annotations

import gc
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from ultracluster.findings import Finding, FindingsError
from ultracluster_cli.output import exit_status, format_option, print_findings, print_json

if TYPE_CHECKING:
    from ultracluster.plan.cluster_file import PlannedFile

__all__ = ["plan"]


@click.command(short_help="Show what a cluster file leads to, and why.")
@click.argument("cluster", metavar="CLUSTER.yaml", type=click.Path())
@format_option()
def plan(*, cluster: str, output_format: str) -> None:
    """Check a cluster file and show every decision with its reason.

    Nodes, accelerators, EFA and NVLink or NeuronLink rates, addresses, capacity, quotas to ask for, storage
    throughput, alarms and the hourly price on record. Nothing is deployed and no account is read. Every fault of the
    file is told at once, with its path, line, value and fix; warnings do not fail.
    """
    try:
        planned = _planned(cluster)
        findings, decided = planned.findings, planned.plan
    except FindingsError as error:
        findings, decided = error.findings, None
    if output_format == "json":
        from ultracluster.plan.cluster_document import cluster_document

        print_json(cluster_document(decided, findings))
    else:
        if decided is not None:
            from ultracluster_cli.plan_text import print_plan

            print_plan(decided)
        print_findings(findings)
        click.echo(_verdict(cluster, findings), err=True)
    sys.exit(exit_status(findings))


def _planned(cluster: str) -> PlannedFile:
    """Read and plan, with what slows the start switched off.

    The garbage collector would walk the growing set of modules again and again (a tenth of the run), and plug-ins of
    pydantic have no business in a cluster file, while looking for them means reading the metadata of every package.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    collects = gc.isenabled()
    gc.disable()
    try:
        from ultracluster.plan.cluster_file import read_and_plan

        return read_and_plan(cluster, now=datetime.now(UTC))
    finally:
        if collects:
            gc.enable()


def _verdict(cluster: str, findings: tuple[Finding, ...]) -> str:
    """One line that stays readable when the findings above it have scrolled by."""
    errors = sum(found.severity.stops for found in findings)
    warnings = len(findings) - errors
    told = [
        f"{count} {word}{'' if count == 1 else 's'}"
        for count, word in ((errors, "error"), (warnings, "warning"))
        if count
    ]
    return f"{cluster}: {', '.join(told) or 'no findings'}"
