"""The embedded AWS as one object: start it, deploy an app to it, see what stands, destroy it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ultracluster.local.clients import Clients
from ultracluster.local.deploy import App, bootstrap, deploy, destroy, remembered_apps, stack_names
from ultracluster.local.errors import LocalError
from ultracluster.local.inventory import Inventory, read_inventory
from ultracluster.local.server import Server
from ultracluster.local.settings import LocalSettings

__all__ = ["LocalCloud", "Removal"]

Show = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What a destroy left behind.

    Attributes:
        apps: the names of the apps that were destroyed.
        failures: what could not be deleted, one error per app; a later destroy tries these apps again.
        left: what still stands; everything retained is in `left.retained`. Nothing when the server did not run.
        stopped: whether the server was stopped.
        purged: whether the state folder was emptied.
    """

    apps: tuple[str, ...]
    failures: tuple[LocalError, ...]
    left: Inventory | None
    stopped: bool
    purged: bool


class LocalCloud:
    """The embedded AWS of one state folder; every method can be called again without harm."""

    def __init__(self, settings: LocalSettings, *, port: int | None = None) -> None:
        """Find the server of the state folder, running or not.

        Args:
            settings: the state folder, the account and the Region; its port is used when neither `port` nor a running
                server says other.
            port: the port that the user named.

        Raises:
            LocalUsageError: the folder's server runs on another port (UC-LOC-004), or boto3 is missing (UC-LOC-001).
        """
        self.server = Server.of(settings, port=port or None)
        self.settings = self.server.settings
        self.clients = Clients(self.settings)

    def start(self) -> bool:
        """Start the server unless it runs; see `Server.start`."""
        return self.server.start()

    def deploy(self, app: App, show: Show) -> Inventory:
        """Start, bootstrap when due, deploy every stack of an app, and read back what stands.

        Args:
            app: the app.
            show: gets each line that the CDK CLI writes: progress and stack events.

        Raises:
            LocalUsageError: something is not installed (UC-LOC-001), or the port is taken (UC-LOC-003).
            LocalError: the server did not start (UC-LOC-005), or a stack failed (UC-LOC-006).
        """
        self.start()
        bootstrap(self.settings, self.clients, show)
        deploy(self.settings, self.clients, app, show)
        return self.inventory(app)

    def inventory(self, app: App | None = None) -> Inventory:
        """What stands, in every Region; the server has to run.

        Args:
            app: leaves out the stacks of every other app.
        """
        inventory = read_inventory(self.settings)
        return inventory.only(stack_names(self.settings, app)) if app else inventory

    def destroy(self, show: Show, *, app: App | None = None, stop: bool = True, purge: bool = False) -> Removal:
        """Destroy the stacks of one app or of all that were deployed; retained resources stay in the state folder.

        Args:
            show: gets each line that the CDK CLI writes.
            app: the app; all that were deployed by default.
            stop: stop the server afterwards.
            purge: stop the server and remove the state folder with all that is in it, retained resources too;
                nothing has to be destroyed before that.
        """
        if purge:
            return self._purge()
        due = remembered_apps(self.settings, app)
        if due:
            self.start()
        running = self.server.pid() is not None
        failures = self._destroy_each(due, show)
        left = self.inventory() if running else None
        stopped = self.server.stop() if stop else False
        return Removal(
            apps=tuple(path.name for path in due if path.name not in failures),
            failures=tuple(failures.values()),
            left=left,
            stopped=stopped,
            purged=False,
        )

    def _purge(self) -> Removal:
        gone = tuple(path.name for path in remembered_apps(self.settings))
        stopped = self.server.stop()
        shutil.rmtree(self.settings.state_dir, ignore_errors=True)
        return Removal(apps=gone, failures=(), left=None, stopped=stopped, purged=True)

    def _destroy_each(self, due: list[Path], show: Show) -> dict[str, LocalError]:
        failures: dict[str, LocalError] = {}
        for assembly in due:
            try:
                destroy(self.settings, self.clients, assembly, show)
            except LocalError as error:
                failures[assembly.name] = error
        return failures
