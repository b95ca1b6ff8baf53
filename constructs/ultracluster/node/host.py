"""The node as the programs see it: paths, settings, facts, commands, metadata. Tests give another root and clock."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from . import NodeError

TYPE_CHECKING = False  # that of `typing` would load it, half a megabyte for the program that watches
if TYPE_CHECKING:
    import subprocess
    from typing import Any, TypeVar

    from .imds import Imds

    _Result = TypeVar("_Result")

__all__ = ["Completed", "Node", "NodeError", "ToolMissing", "ToolTimeout"]

SETTINGS = "/etc/ultracluster/node.json"
# Where tools live that a unit or cloud-init does not have on its PATH.
TOOL_FOLDERS = (
    *("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"),
    *("/opt/amazon/efa/bin", "/opt/amazon/openmpi/bin", "/opt/aws/neuron/bin", "/snap/bin"),
)


class ToolMissing(NodeError):  # noqa: N818 - reads as what it is
    """A command is not on this node."""


class ToolTimeout(NodeError):  # noqa: N818 - reads as what it is
    """A command did not end in time and was killed with everything it started."""


class Completed:
    """A command that ended.

    Args:
        stdout: what it printed.
        stderr: what it complained of.
        status: exit status; negative for the signal that ended it.
        seconds: how long it took.
    """

    def __init__(self, stdout: str, stderr: str, status: int, seconds: float) -> None:
        self.stdout, self.stderr, self.status, self.seconds = stdout, stderr, status, seconds


class Node:
    """One node.

    Args:
        root: what the programs take for `/`; `ULTRACLUSTER_ROOT` or the real one by default.
        environ: environment of the commands; this process's own by default.
        settings: in place of `/etc/ultracluster/node.json`.
        facts: in place of the tables that are packed with the program.
        imds: in place of a client of the real metadata service.
        clock: seconds that never jump.
        sleep: waits for seconds.
        program: name that stands before messages.
    """

    def __init__(
        self,
        *,
        root: str | Path | None = None,
        environ: Mapping[str, str] | None = None,
        settings: dict[str, Any] | None = None,
        facts: Mapping[str, Any] | None = None,
        imds: Imds | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        program: str = "node",
    ) -> None:
        self.environ = dict(os.environ if environ is None else environ)
        self.root = Path(root or self.environ.get("ULTRACLUSTER_ROOT") or "/")
        self.clock, self.sleep, self.program = clock, sleep, program
        self.log: Path | None = None
        self._settings, self._facts, self._imds = settings, facts, imds

    def path(self, absolute: str) -> Path:
        """Where a path of the node lies: `/sys/block` is `root/sys/block`."""
        return self.root / absolute.lstrip("/")

    @property
    def settings(self) -> dict[str, Any]:
        """What user data wrote into `/etc/ultracluster/node.json`; empty when there is no such file.

        Raises:
            NodeError: the file is no JSON object.
        """
        if self._settings is None:
            self._settings = _document(self.path(SETTINGS))
        return self._settings

    @property
    def facts(self) -> Mapping[str, Any]:
        """The tables that were packed with the program, each read when it is asked for.

        Raises:
            NodeError: the program was not built by `ultracluster.plan.node_program`.
        """
        if self._facts is None:
            self._facts = _Facts()
        return self._facts

    @property
    def imds(self) -> Imds:
        """The metadata service."""
        if self._imds is None:
            from .imds import Imds

            self._imds = Imds(self.environ.get("ULTRACLUSTER_IMDS"))
        return self._imds

    @imds.setter
    def imds(self, client: Imds) -> None:
        self._imds = client

    def say(self, message: str) -> None:
        """One line to the journal, and to the log where there is one."""
        print(f"ultracluster {self.program}: {message}", file=sys.stderr, flush=True)
        if self.log is not None:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            with self.log.open("a", encoding="utf-8") as log:
                log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} ultracluster: {message}\n")

    def tool(self, name: str) -> str | None:
        """Where a command is; None when it is not on this node."""
        import shutil  # with all its compressors; a program that only watches does without

        folders = [self.environ.get("PATH", ""), *(str(self.path(folder)) for folder in TOOL_FOLDERS)]
        return shutil.which(name, path=os.pathsep.join(folders))

    def has(self, tool: str) -> bool:
        """Whether a command is on this node."""
        return self.tool(tool) is not None

    def run(
        self,
        *command: str | Path,
        timeout: float = 60,
        check: bool = True,
        input: str | None = None,  # noqa: A002 - the name that `subprocess` has for it
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run a command to its end, without a shell.

        Args:
            command: name and arguments.
            timeout: in seconds; then the command is killed with everything it started.
            check: whether a status other than 0 is an error.
            input: what it reads.
            env: variables on top of the node's own.

        Raises:
            ToolMissing: no such command.
            ToolTimeout: it did not end in time.
            NodeError: it failed; the message has its last line.
        """
        import subprocess

        name = str(command[0])
        found = self.tool(name)
        if found is None:
            raise ToolMissing(f"{name} is not on this node; install it or use an image that has it")
        started = time.monotonic()
        with subprocess.Popen(
            [found, *map(str, command[1:])],
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.environ, **(env or {})},
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            stdout, stderr = _communicate(process, name, input, timeout)
        done = Completed(stdout, stderr, process.returncode, time.monotonic() - started)
        if check and done.status:
            last = ([line for line in (stderr or stdout).splitlines() if line.strip()] or ["no message"])[-1].strip()
            raise NodeError(f"{Path(name).name} ended with status {done.status}: {last}")
        return done

    def retry(self, attempts: int, pause_seconds: float, function: Callable[[], _Result]) -> _Result:
        """Call a function until it raises no `NodeError`.

        Raises:
            NodeError: of the last attempt.
        """
        while True:
            attempts -= 1
            try:
                return function()
            except NodeError:
                if attempts <= 0:
                    raise
            self.sleep(pause_seconds)

    def instance_type(self) -> dict[str, Any]:
        """What is known of this node's instance type, with what the fleet says of it (`efa`, `lustre_efa`, `name`).

        Raises:
            NodeError: the fleet has no such type, or nobody knows it.
        """
        name = self.imds.require("instance-type")
        fleet = self.settings.get("types", {})
        if fleet and name not in fleet:
            raise NodeError(f"{name} is none of the types of this fleet; its launch template has {', '.join(fleet)}")
        known = {**self.facts.get("types", {}).get(name, {}), **fleet.get(name, {})}
        if not known:
            raise NodeError(f"{name} is not in the catalogue; give its record in the cluster file")
        return {"name": name, **known}


class _Facts(Mapping[str, "Any"]):
    """Sections by name: `facts/<name>.json` beside the program."""

    def __init__(self) -> None:
        self._read: dict[str, Any] = {}

    def __getitem__(self, section: str) -> Any:  # noqa: ANN401 - plain JSON
        if section not in self._read:
            import pkgutil

            try:
                data = pkgutil.get_data(__package__, f"facts/{section}.json")
            except OSError:
                data = None
            if data is None:
                raise NodeError(f"facts/{section}.json is missing beside the program; run the built ultracluster-node")
            self._read[section] = json.loads(data)
        return self._read[section]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)


def _document(path: Path) -> dict[str, Any]:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise NodeError(f"{path} is no JSON ({error}); write it again") from error
    if not isinstance(read, dict):
        raise NodeError(f"{path} is no JSON object; write it again")
    return read


def _communicate(process: subprocess.Popen[str], name: str, text: str | None, timeout: float) -> tuple[str, str]:
    import signal
    import subprocess

    try:
        return process.communicate(text, timeout=timeout)
    except BaseException as error:
        # The whole group: a child may live on and hold the output open after the command itself has ended.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if isinstance(error, subprocess.TimeoutExpired):
            message = f"{name} did not end within {timeout:g} s and was killed; look why it hangs"
            raise ToolTimeout(message) from None
        raise
