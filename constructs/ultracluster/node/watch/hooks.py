"""Programs that the owner of a node wants to run when it goes away: `/etc/ultracluster/hooks.d`, by name."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from ..host import Node
from .loop import log

if TYPE_CHECKING:
    from .handle import Progress

FOLDER = "/etc/ultracluster/hooks.d"
_NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)?")
_WRITABLE = 0o022
_SKIPPED = (".dpkg-old", ".dpkg-new", ".rpmsave", ".rpmnew", ".bak", ".disabled")


def hooks(node: Node) -> list[Path]:
    """The hooks in order. What others than root could have changed is left out, and said."""
    found = []
    for file in sorted(node.path(FOLDER).glob("*"), key=lambda file: file.name):
        if not _NAME.fullmatch(file.name) or file.name.endswith(_SKIPPED) or not os.access(file, os.X_OK):
            continue
        about = file.stat()
        if about.st_uid not in (0, os.geteuid()) or about.st_mode & _WRITABLE:
            log("hook-left-out", hook=file.name, why="somebody else than root may write it; chown root, chmod go-w")
        elif file.is_file():
            found.append(file)
    return found


def run_hooks(
    node: Node, notice: dict[str, Any], deadline: float, progress: Progress, *, standing: Callable[[], bool]
) -> None:
    """Run the hooks that did not run yet, one after the other.

    A hook that takes too long is killed with everything it started. Time is kept back for those that come after it.

    Args:
        node: the node.
        notice: what they are told of.
        deadline: of the node's clock, by when all have to be through.
        progress: what ran already.
        standing: whether the notice still stands.
    """
    facts = node.facts["watch"]
    waiting = [hook for hook in hooks(node) if f"hook {hook.name}" not in progress.done]
    for index, hook in enumerate(waiting):
        if not standing():
            return
        left = max(deadline - node.clock(), 0)
        after = len(waiting) - index - 1
        limit = left - after * min(facts["hook_reserve_s"], left / (after + 1))
        started = time.monotonic()
        how = _run(node, hook, notice, limit, left=left, kill_after=facts["kill_after_s"])
        progress.note(f"hook {hook.name}", how)
        log("hook", hook=hook.name, result=how, seconds=round(time.monotonic() - started, 1))


def _run(node: Node, hook: Path, notice: dict[str, Any], limit: float, *, left: float, kill_after: float) -> str:
    told = {
        "ULTRACLUSTER_NOTICE": notice["kind"],
        "ULTRACLUSTER_LEAVING": str(int(notice["leaving"])),
        "ULTRACLUSTER_SECONDS": str(int(left)),
    }
    try:
        process = subprocess.Popen(
            [str(hook)], stdin=subprocess.DEVNULL, env={**node.environ, **told}, cwd=node.root, start_new_session=True
        )
    except OSError as error:
        return f"cannot be run: {error.strerror}"
    with process:
        for sent in (None, signal.SIGTERM, signal.SIGKILL):
            if sent is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, sent)
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(limit if sent is None else kill_after)
                if sent is None:
                    return f"status {status}"
        return f"killed after {limit:.0f} s"
