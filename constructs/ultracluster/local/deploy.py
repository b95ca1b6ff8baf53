"""Runs the CDK CLI against the embedded AWS: bootstrap when due, deploy, destroy."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ultracluster.local.clients import Clients
from ultracluster.local.errors import LocalError
from ultracluster.local.settings import LocalSettings
from ultracluster.local.toolchain import cdk_environment, toolchain

__all__ = ["App", "bootstrap", "deploy", "destroy", "remembered_apps", "stack_names"]

TOOLKIT = "CDKToolkit"
"""The stack that `cdk bootstrap` makes."""
_ASSEMBLIES = "assemblies"
Show = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """A CDK app to deploy.

    Attributes:
        name: names the folder of the synthesized app within the state folder; letters, digits and dashes.
        command: what the CDK CLI runs, as in `cdk.json`; or a folder that holds a synthesized app.
        context: values handed over with `-c`.
        directory: where it runs; its `cdk.json`, when there is one, brings the context with the feature flags.
    """

    name: str
    command: str
    context: Mapping[str, str] = field(default_factory=dict)
    directory: Path = field(default_factory=Path.cwd)

    @classmethod
    def of_cluster(cls, cluster: Path, *, command: str | None = None) -> App:
        """The reference stacks over a cluster file.

        Args:
            cluster: the cluster file.
            command: the app to run instead of the reference stacks; it gets `-c cluster=PATH` too.
        """
        path = cluster.resolve()
        digest = hashlib.sha256(str(path).encode()).hexdigest()[:8]
        return cls(
            name=f"{path.stem}-{digest}",
            command=command or f"{sys.executable} -m ultracluster_stacks",
            context={"cluster": str(path)},
            directory=_project(path.parent),
        )


def _project(start: Path) -> Path:
    # The nearest folder with a cdk.json, from where the user stands and then from where the file is.
    for origin in (Path.cwd(), start):
        for folder in (origin, *origin.parents):
            if (folder / "cdk.json").is_file():
                return folder
    return Path.cwd()


def bootstrap(settings: LocalSettings, clients: Clients, show: Show) -> bool:
    """Bootstrap the account and Region unless that has been done.

    Args:
        settings: the account and the Region.
        clients: for looking whether the toolkit stack stands.
        show: gets each line that the CDK CLI writes.

    Returns:
        whether it was due.

    Raises:
        LocalError: the CDK CLI failed (UC-LOC-006).
    """
    stacks = clients.pages("cloudformation", "list_stacks", "StackSummaries")
    if any(
        stack["StackName"] == TOOLKIT and stack["StackStatus"].endswith(("CREATE_COMPLETE", "UPDATE_COMPLETE"))
        for stack in stacks
    ):
        return False
    # In the state folder there is no cdk.json, so the CLI does not synthesize the app first.
    _run(
        settings,
        ["bootstrap", f"aws://{settings.account}/{settings.region}"],
        settings.state_dir.resolve(),
        show,
        clients,
    )
    return True


def deploy(settings: LocalSettings, clients: Clients, app: App, show: Show) -> None:
    """Deploy every stack of an app, as `cdk deploy --all` does.

    Args:
        settings: where the embedded AWS listens.
        clients: for telling what failed.
        app: the app.
        show: gets each line that the CDK CLI writes.

    Raises:
        LocalError: the app could not be synthesized or a stack failed (UC-LOC-006); names each failed resource with
            its reason.
    """
    output = settings.state_dir.resolve() / _ASSEMBLIES / app.name
    arguments = ["deploy", "--all", "--require-approval", "never", "--progress", "events", "--app"]
    if Path(app.command).is_dir():
        # Remembered like an app that the CLI synthesizes, so that it can be destroyed when its folder is gone.
        shutil.copytree(app.command, output, dirs_exist_ok=True)
        arguments += [str(output)]
    else:
        arguments += [app.command, "--output", str(output)]
        arguments += [part for key, value in app.context.items() for part in ("--context", f"{key}={value}")]
    _run(settings, arguments, app.directory, show, clients)


def remembered_apps(settings: LocalSettings, app: App | None = None) -> list[Path]:
    """The synthesized apps that have been deployed: the one of an app, or all."""
    folder = settings.state_dir.resolve() / _ASSEMBLIES
    found = [folder / app.name] if app else sorted(folder.glob("*"))
    return [path for path in found if (path / "manifest.json").is_file()]


def stack_names(settings: LocalSettings, app: App) -> frozenset[str]:
    """The names of the stacks of an app as it was last deployed; empty when it has not been deployed."""
    manifest = settings.state_dir.resolve() / _ASSEMBLIES / app.name / "manifest.json"
    if not manifest.is_file():
        return frozenset()
    artifacts = json.loads(manifest.read_text(encoding="utf-8"))["artifacts"]
    stacks = {key: value for key, value in artifacts.items() if value["type"] == "aws:cloudformation:stack"}
    return frozenset(str(value.get("properties", {}).get("stackName", key)) for key, value in stacks.items())


def destroy(settings: LocalSettings, clients: Clients, assembly: Path, show: Show) -> None:
    """Destroy every stack of an app as it was last synthesized, then forget the app.

    Args:
        settings: where the embedded AWS listens.
        clients: for telling what failed.
        assembly: one of `remembered_apps`.
        show: gets each line that the CDK CLI writes.

    Raises:
        LocalError: a stack could not be deleted (UC-LOC-006).
    """
    _run(settings, ["destroy", "--all", "--force", "--app", str(assembly)], settings.state_dir.resolve(), show, clients)
    shutil.rmtree(assembly, ignore_errors=True)


def _run(settings: LocalSettings, arguments: Sequence[str], directory: Path, show: Show, clients: Clients) -> None:
    tools = toolchain()
    environment = cdk_environment(settings, tools)
    if sys.stderr.isatty():
        environment["FORCE_COLOR"] = "1"
    known = set(_failures(clients))
    command = [str(tools.node), str(tools.cdk), *arguments, "--no-notices"]
    with subprocess.Popen(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            show(line.rstrip(os.linesep))
    if process.returncode:
        failed = [failure for failure in _failures(clients) if failure not in known]
        reasons = "".join(f"\n  {failure}" for failure in failed) or "; the reason is in its output above"
        fix = "let go of what the message names, then destroy again" if arguments[0] == "destroy" else ""
        raise LocalError(
            "UC-LOC-006", f"cdk {arguments[0]}", f"it ended with status {process.returncode}{reasons}", fix
        )


def _failures(clients: Clients) -> list[str]:
    """Each failed resource that the stacks' events tell of, in words; the stacks themselves are left out."""
    found: list[str] = []
    for stack in clients.pages("cloudformation", "list_stacks", "StackSummaries"):
        for event in reversed(_events(clients, stack["StackId"])):
            reason = event.get("ResourceStatusReason", "")
            if (
                event["ResourceStatus"].endswith("_FAILED")
                and reason
                and event["LogicalResourceId"] != stack["StackName"]
            ):
                found.append(f"{stack['StackName']}/{event['LogicalResourceId']} ({event['ResourceType']}): {reason}")
    return found


def _events(clients: Clients, stack_id: str) -> list[dict[str, Any]]:
    return clients.pages("cloudformation", "describe_stack_events", "StackEvents", StackName=stack_id)
