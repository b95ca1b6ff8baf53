"""Run a job that holds the data sets it reads: none of them is evicted or changed meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from types import FrameType

from ..host import NodeError
from .shelf import Slot

_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_SHELL_SIGNAL = 128


def hold(held: Sequence[Slot], command: Sequence[str]) -> int:
    """Run a command with the leases of data sets, which it and its children share; signals go on to it.

    Returns:
        Its exit status, as a shell has it.

    Raises:
        NodeError: a data set is not there, is being changed, or the command cannot be started.
    """
    with contextlib.ExitStack() as stack:
        leases = []
        for slot in held:
            lease = stack.enter_context(slot.leased(alone=False))
            if lease is None:
                raise NodeError(f"{slot.target} is being changed; wait for the copy or eviction")
            if not slot.target.exists():
                raise NodeError(f"{slot.target} is not there; copy it first")
            leases.append(lease.fileno())
            slot.touch()
        status = _run(command, leases)
        for slot in held:
            slot.touch()
    return status


def _run(command: Sequence[str], leases: Sequence[int]) -> int:
    try:
        process = subprocess.Popen(command, pass_fds=leases)
    except OSError as error:
        raise NodeError(f"{command[0]} cannot be started: {error.strerror}; look at the command") from error

    def forward(number: int, frame: FrameType | None) -> None:
        del frame
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)

    before = {number: signal.signal(number, forward) for number in _FORWARDED}
    try:
        status = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else _SHELL_SIGNAL - status
