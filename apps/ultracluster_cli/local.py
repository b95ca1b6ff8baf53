"""`ultracluster local`: deploy a cluster to the embedded AWS, see what stands, destroy it.

The table or the JSON goes to standard output; the CDK CLI's progress and events go to standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from ultracluster.local import Inventory, LocalCloud

__all__ = ["local"]

Command = Callable[..., None]
_WIDE = 200
_STATE_DIR = str(Path(".ultracluster") / "local")


@click.group()
def local() -> None:
    """Try a cluster without an AWS account: an embedded AWS on 127.0.0.1 that the real CDK CLI deploys to."""


def _shared(command: Command) -> Command:
    options = (
        click.option(
            "--port",
            type=click.IntRange(1, 65535),
            help="Port on 127.0.0.1.  [default: 24566, or the running server's]",
        ),
        click.option(
            "--state-dir",
            type=click.Path(file_okay=False, path_type=Path),
            default=_STATE_DIR,
            show_default=True,
            help="Folder that keeps what stands.",
        ),
        click.option(
            "--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
        ),
    )
    for option in options:
        command = option(command)
    return command


_CLUSTER = click.Path(path_type=Path)
_APP = click.option("--app", "command", help="Command of another CDK app; it gets `-c cluster=CLUSTER` too.")


@local.command()
@click.argument("cluster", type=_CLUSTER)
@_APP
@_shared
def deploy(*, cluster: Path, command: str | None, port: int | None, state_dir: Path, output: str) -> None:
    """Deploy CLUSTER, a cluster file, with the real CDK CLI and show what stands."""
    from ultracluster.findings import FindingsError
    from ultracluster.local import App

    try:
        cloud = _cloud(state_dir, port, _region(cluster))
        inventory = cloud.deploy(App.of_cluster(cluster, command=command), _progress)
    except FindingsError as error:
        _fail(error)
    _print(inventory, output, {"endpoint": cloud.settings.endpoint})


@local.command()
@click.argument("cluster", type=_CLUSTER, required=False)
@_shared
def status(*, cluster: Path | None, port: int | None, state_dir: Path, output: str) -> None:
    """Say whether the server runs, which stacks there are, and what stands; exit status 1 when it does not run."""
    from ultracluster.findings import FindingsError
    from ultracluster.local import App

    try:
        cloud = _cloud(state_dir, port, _region(cluster) if cluster else None)
        pid = cloud.server.pid()
        inventory = cloud.inventory(App.of_cluster(cluster) if cluster else None) if pid else None
    except FindingsError as error:
        _fail(error)
    if inventory is None:
        if output == "json":
            click.echo(json.dumps({"running": False, "state_dir": str(state_dir)}))
        else:
            click.echo(f"the embedded AWS of {state_dir} does not run; `ultracluster local deploy CLUSTER` starts it")
        sys.exit(1)
    _print(inventory, output, {"running": True, "pid": pid, "endpoint": cloud.settings.endpoint})


@local.command()
@click.argument("cluster", type=_CLUSTER, required=False)
@_APP
@click.option("--stop/--keep-running", default=True, show_default=True, help="Stop the server afterwards.")
@click.option("--purge", is_flag=True, help="Remove the state folder with everything in it.")
@_shared
def destroy(
    *,
    cluster: Path | None,
    command: str | None,
    stop: bool,
    purge: bool,
    port: int | None,
    state_dir: Path,
    output: str,
) -> None:
    """Destroy the stacks of CLUSTER, or of every cluster that was deployed; say what is retained."""
    from ultracluster.findings import FindingsError
    from ultracluster.local import App

    try:
        cloud = _cloud(state_dir, port, _region(cluster) if cluster else None)
        app = App.of_cluster(cluster, command=command) if cluster else None
        removal = cloud.destroy(_progress, app=app, stop=stop, purge=purge)
    except FindingsError as error:
        _fail(error)
    facts = {"destroyed": list(removal.apps), "stopped": removal.stopped, "purged": removal.purged}
    if removal.left is None:
        nothing = f"{state_dir} is gone" if purge else "nothing was deployed"
        click.echo(json.dumps(facts) if output == "json" else nothing)
    else:
        _print(removal.left, output, facts)
    for failure in removal.failures:
        click.echo(str(failure), err=True)
    if removal.failures:
        sys.exit(1)


def _cloud(state_dir: Path, port: int | None, region: str | None) -> LocalCloud:
    from ultracluster.local import LocalCloud, LocalSettings

    settings = (
        LocalSettings(state_dir=state_dir) if region is None else LocalSettings(state_dir=state_dir, region=region)
    )
    return LocalCloud(settings, port=port)


def _region(cluster: Path) -> str | None:
    """The Region that a cluster file names; the app itself judges the rest of the file."""
    from ultracluster.local import LocalUsageError

    if not cluster.is_file():
        raise LocalUsageError("UC-LOC-007", str(cluster), "there is no such file")
    import yaml

    try:
        content = yaml.safe_load(cluster.read_text(encoding="utf-8"))
    except yaml.YAMLError:
        return None
    region = content.get("region") if isinstance(content, dict) else None
    return region if isinstance(region, str) else None


def _progress(line: str) -> None:
    click.echo(line, err=True)


def _fail(error: Exception) -> NoReturn:
    click.echo(str(error), err=True)
    sys.exit(getattr(error, "exit_code", 2))


def _print(inventory: Inventory, output: str, facts: dict[str, Any]) -> None:
    from ultracluster.local.report import as_data, as_tables

    if output == "json":
        click.echo(json.dumps({**facts, **as_data(inventory)}, indent=2, default=str))
        return
    from rich.console import Console

    # Without a terminal there is no width to keep to: ids stay whole for whoever searches the text.
    console = Console() if sys.stdout.isatty() else Console(width=_WIDE)
    console.print(as_tables(inventory))
    click.echo(", ".join(f"{key.replace('_', ' ')} {_spelled(value)}" for key, value in facts.items()))


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) or "nothing" if isinstance(value, list) else str(value)
