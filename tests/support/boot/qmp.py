"""Talk with the emulator and with the agent inside its guest: both take one JSON object per line over a socket."""

from __future__ import annotations

import base64
import json
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Line:
    """A socket that carries JSON objects, one a line."""

    def __init__(self, path: Path, *, timeout_s: float = 30) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout_s)
        self._socket.connect(str(path))
        self._rest = b""

    def send(self, message: dict[str, Any]) -> None:
        """Write an object."""
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self, *, timeout_s: float | None = None) -> dict[str, Any]:
        """Read an object.

        Raises:
            TimeoutError: none came in time.
            ConnectionError: the other side is gone.
        """
        if timeout_s is not None:
            self._socket.settimeout(timeout_s)
        while b"\n" not in self._rest:
            part = self._socket.recv(65536)
            if not part:
                raise ConnectionError("the emulator is gone")
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        # The guest agent marks the start of an answer to `guest-sync-delimited` with a byte that is no JSON.
        return dict(json.loads(line.lstrip(b"\xff")))

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class Monitor:
    """The emulator's own control channel."""

    def __init__(self, path: Path) -> None:
        self._line = Line(path)
        self._line.receive()
        self.command("qmp_capabilities")

    def command(self, name: str, **arguments: Any) -> Any:
        """Run a command and give its answer; events in between are passed over.

        Raises:
            RuntimeError: the emulator refuses.
        """
        self._line.send({"execute": name, "arguments": arguments})
        while True:
            answer = self._line.receive()
            if "error" in answer:
                raise RuntimeError(f"{name}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def close(self) -> None:
        """Close the channel."""
        self._line.close()


@dataclass(frozen=True)
class Ran:
    """A command that ran in the guest."""

    status: int
    stdout: str
    stderr: str


class GuestAgent:
    """The agent in the guest (qemu-guest-agent): runs commands and gives back what they printed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._line = Line(path)

    def wait(self, deadline: float) -> None:
        """Wait until the agent answers; what was asked before it ran is thrown away.

        Raises:
            TimeoutError: it did not answer before the deadline.
        """
        token = 0
        while time.monotonic() < deadline:
            token += 1
            try:
                self._line.send({"execute": "guest-sync-delimited", "arguments": {"id": token}})
                while self._line.receive(timeout_s=2).get("return") != token:
                    pass
            except (TimeoutError, ValueError):
                continue
            return
        raise TimeoutError("the agent in the guest does not answer")

    def run(self, command: str, *, data: bytes = b"", timeout_s: float = 60) -> Ran:
        """Run a line of shell as root.

        Args:
            command: the line.
            data: what it reads.
            timeout_s: how long it may take.

        Raises:
            TimeoutError: it did not end in time.
        """
        asked: dict[str, Any] = {"path": "/bin/bash", "arg": ["-c", command], "capture-output": True}
        if data:
            asked["input-data"] = base64.b64encode(data).decode()
        pid = self._call("guest-exec", asked)["pid"]
        deadline, pause = time.monotonic() + timeout_s, 0.1
        while time.monotonic() < deadline:
            state = self._call("guest-exec-status", {"pid": pid})
            if state["exited"]:
                out, err = (base64.b64decode(state.get(name, "")).decode(errors="replace") for name in _OUTPUTS)
                return Ran(state.get("exitcode", 128 + state.get("signal", 0)), out, err)
            time.sleep(pause)
            pause = min(pause * 1.5, 2.0)  # asking costs the guest time, too
        raise TimeoutError(f"in the guest, this did not end within {timeout_s:g} s: {command}")

    def close(self) -> None:
        """Close the channel."""
        self._line.close()

    def _call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._line.send({"execute": name, "arguments": arguments})
        answer = self._line.receive(timeout_s=30)
        if "error" in answer:
            raise RuntimeError(f"{name}: {answer['error']['desc']}")
        return dict(answer["return"])


_OUTPUTS = ("out-data", "err-data")
