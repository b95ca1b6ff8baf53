"""The server process: started in the background, found again by its process id, stopped by it and by nothing else."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ultracluster.local.errors import LocalError, LocalUsageError, missing_extra
from ultracluster.local.settings import IDENTITY_PATH, LOOPBACK, LocalSettings

__all__ = ["Server"]

START_SECONDS = 90.0
"""How long a start may take; four seconds on an idle machine, more while it is busy."""
STOP_SECONDS = 15.0
"""How long the server may take to write its state before it is killed."""
_ANSWER_SECONDS = 2.0
"""How long an unknown program on the port may take to say who it is."""
_BUSY_SECONDS = 30.0
"""How long our own server may take on a machine that is busy with something else."""
_LOG_LINES = 15
_EMULATOR = "ministack"
_CHILDREN: dict[int, subprocess.Popen[bytes]] = {}
"""The servers that this process started; they outlive it."""


@dataclass(frozen=True, slots=True)
class Server:
    """The embedded AWS of one state folder.

    Attributes:
        settings: port, folder, account, Region.
    """

    settings: LocalSettings

    @classmethod
    def of(cls, settings: LocalSettings, *, port: int | None = None) -> Server:
        """The server of a state folder: on the port asked for, else on its last one, else on that of the settings.

        The folder keeps its port, as the URLs of queues that stand hold it.

        Args:
            settings: the state folder and the rest.
            port: the port that the user named.

        Raises:
            LocalUsageError: the folder's server runs on another port than the one named (UC-LOC-004).
        """
        known = _recorded(settings.pid_file)
        running = known.get("port") if known and _alive(int(known.get("pid", 0))) else None
        if port and running and port != running:
            raise LocalUsageError(
                "UC-LOC-004",
                f"port {port}",
                f"the server of {settings.state_dir} runs on port {running}",
                "leave --port out, stop it first with `ultracluster local destroy`, or name another --state-dir",
            )
        return cls(replace(settings, port=port or known.get("port") or settings.port))

    def pid(self) -> int | None:
        """The process id of the running server; nothing when it does not run."""
        known = _recorded(self.settings.pid_file)
        expected = known.get("port") == self.settings.port and _alive(int(known.get("pid", 0)))
        identity = _identity(self.settings, _BUSY_SECONDS if expected else _ANSWER_SECONDS)
        if identity and identity["state_dir"] == str(self.settings.state_dir.resolve()):
            return int(identity["pid"])
        return None

    def start(self) -> bool:
        """Start the server unless it runs already.

        Returns:
            whether it was started.

        Raises:
            LocalUsageError: MiniStack is not installed (UC-LOC-001), or something else listens on the port
                (UC-LOC-003).
            LocalError: the server did not come up (UC-LOC-005).
        """
        if self.pid() is not None:
            return False
        _require_emulator()
        self._refuse_taken_port()
        folder = self.settings.state_dir.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        with self.settings.log_file.open("ab") as log:
            process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=_environment(),
            )
        _CHILDREN[process.pid] = process
        self._wait(process)
        self._remember(process.pid)
        return True

    def stop(self) -> bool:
        """Stop the server after it has written its state.

        Returns:
            whether it ran.
        """
        pid = self.pid()
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + STOP_SECONDS
            while _alive(pid) and time.monotonic() < deadline:
                time.sleep(0.05)
            if _alive(pid):
                os.kill(pid, signal.SIGKILL)
            if (child := _CHILDREN.pop(pid, None)) is not None:
                child.wait()
            self._remember(None)
        return pid is not None

    def _command(self) -> list[str]:
        settings = self.settings
        return [
            sys.executable,
            "-m",
            "ultracluster.local.emulator.serve",
            "--port",
            str(settings.port),
            "--state-dir",
            str(settings.state_dir.resolve()),
            "--account",
            settings.account,
            "--region",
            settings.region,
        ]

    def _remember(self, pid: int | None) -> None:
        known = {"pid": pid, "port": self.settings.port} if pid else {"port": self.settings.port}
        self.settings.pid_file.write_text(json.dumps(known) + "\n", encoding="utf-8")

    def _refuse_taken_port(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            if probe.connect_ex((LOOPBACK, self.settings.port)) != 0:
                return
        other = _identity(self.settings, _ANSWER_SECONDS)
        who = f"the embedded AWS of {other['state_dir']}" if other else "another program"
        raise LocalUsageError(
            "UC-LOC-003", f"port {self.settings.port}", f"{LOOPBACK}:{self.settings.port} is taken by {who}"
        )

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise self._failed(f"it ended with status {process.returncode}")
            if self.pid() == process.pid:
                return
            time.sleep(0.1)
        process.kill()
        process.wait()
        raise self._failed(f"it did not answer within {START_SECONDS:.0f} s")

    def _failed(self, what: str) -> LocalError:
        lines = self.settings.log_file.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:]
        log = "\n  ".join(["", *lines])
        return LocalError("UC-LOC-005", str(self.settings.log_file), f"the server did not start: {what}{log}")


def _require_emulator() -> None:
    from importlib.util import find_spec

    if find_spec(_EMULATOR) is None:
        raise missing_extra(_EMULATOR)


def _environment() -> dict[str, str]:
    # The server imports this very library, also where it is on the path of this process alone.
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "MINISTACK_"))}
    library = str(Path(__file__).parents[2])
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, [library, kept.get("PYTHONPATH")]))}


def _recorded(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content


def _identity(settings: LocalSettings, seconds: float) -> dict[str, Any] | None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(settings.endpoint + IDENTITY_PATH, timeout=seconds) as answer:
            content = json.load(answer)
    except (OSError, ValueError, urllib.error.URLError):
        return None
    return content if isinstance(content, dict) and {"pid", "state_dir"} <= content.keys() else None


def _alive(pid: int) -> bool:
    if pid <= 0:
        return False
    if (child := _CHILDREN.get(pid)) is not None:
        # A child that has ended stays listed until it is waited for.
        return child.poll() is None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
