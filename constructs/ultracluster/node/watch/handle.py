"""What a notice leads to and what takes time: the event, the hooks, the wait for training processes, the group.

It runs as a process of its own. Each thing that is done is noted, so that a run that was killed is taken up by the next
one without doing it twice. Several notices of one departure, an interruption and then the group's own, share the hooks.
"""

from __future__ import annotations

import fcntl
import json
import threading
from typing import IO, Any

from .. import lifecycle
from ..aws import Aws
from ..files import read_text, write_atomically
from ..host import Node, NodeError
from . import trainers
from .hooks import run_hooks
from .loop import log
from .state import State, hooks_of, progress_file

_PAUSE_S = 0.2
_SOURCE, _DETAIL_TYPE = "ultracluster.node", "UltraCluster Node Notice"


class Progress:
    """How far the handling got.

    Attributes:
        done: what is done, by name.
    """

    def __init__(self, node: Node, name: str) -> None:
        self._path = progress_file(node, name)
        try:
            self.done: dict[str, Any] = json.loads(read_text(self._path, "{}"))
        except ValueError:
            self.done = {}

    def note(self, name: str, value: object = True) -> None:  # noqa: FBT002 - any plain JSON
        """Remember that something is done."""
        self.done[name] = value
        write_atomically(self._path, json.dumps(self.done) + "\n")


def handle(node: Node, name: str) -> int:
    """Do what a notice asks for; 0 when all is done or it does not stand any more, 1 when something is left to try."""
    state = State(node)
    notice = state.notices.get(name)
    if notice is None:
        return 0
    deadline = _deadline(node, state, notice)
    # Beside everything else: a network without a way to EventBridge must not hold the hooks up.
    # With a connection of its own to the metadata service.
    apart = Node(root=node.root, environ=node.environ, program=node.program)
    telling = threading.Thread(target=_event, args=(apart, name, notice), daemon=True)
    telling.start()
    status = _depart(node, name, notice, deadline)
    telling.join(max(deadline - node.clock(), _PAUSE_S))
    return status


def _depart(node: Node, name: str, notice: dict[str, Any], deadline: float) -> int:
    """Hooks, the wait, the group."""
    shared = hooks_of(name, notice)
    lock_file = progress_file(node, f"{shared} lock")
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with lock_file.open("w") as lock:
        if not _taken(node, lock, deadline):
            log("busy", notice=name, why="an earlier notice still has the hooks")
            return 1
        run_hooks(node, notice, deadline, Progress(node, shared), standing=lambda: name in State(node).notices)
    _wait(node, name, notice)
    if name not in State(node).notices:
        log("stopped", notice=name, why="withdrawn")
        return 0
    own, hook = Progress(node, f"group {name}"), node.settings.get("terminate_hook")
    if notice["completes"] and hook and "completed" not in own.done:
        known = lifecycle.complete(node, hook, lifecycle.CONTINUE, attempts=3, pause_seconds=1)
        log("lifecycle", notice=name, hook=hook, completed=known)
        if not known:
            return 1
        own.note("completed")
    return 0


def _taken(node: Node, lock: IO[str], deadline: float) -> bool:
    while not _lock(lock):
        if node.clock() >= deadline:
            return False
        node.sleep(_PAUSE_S)
    return True


def _lock(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _deadline(node: Node, state: State, notice: dict[str, Any]) -> float:
    """When everything has to be through; of several notices of one departure the earliest counts."""
    leaving = [each["deadline"] for each in state.notices.values() if each["leaving"]] if notice["leaving"] else []
    earliest: float = min([notice["deadline"], *leaving])
    return earliest - float(node.facts["watch"]["margin_s"])


def _wait(node: Node, name: str, notice: dict[str, Any]) -> None:
    """Give training processes that were signalled the time to end by themselves."""
    said = False
    while True:
        state = State(node)
        left = trainers.running(iter(state.signalled)) if name in state.notices else []
        if not left:
            return
        if node.clock() >= _deadline(node, state, notice):
            log("deadline", notice=name, processes=left)
            return
        if not said:
            log("waiting", notice=name, processes=left)
            said = True
        node.sleep(_PAUSE_S)


def _event(node: Node, name: str, notice: dict[str, Any]) -> None:
    """Tell EventBridge, as well as it goes."""
    progress = Progress(node, f"event {name}")
    if progress.done:
        return
    try:
        detail = {
            "notice": name,
            "kind": notice["kind"],
            "leaving": notice["leaving"],
            "ends": notice["ends"],
            "fleet": node.settings.get("fleet", ""),
            "group": node.settings.get("group", ""),
            "instance-id": node.imds.require("instance-id"),
            "instance-type": node.imds.require("instance-type"),
        }
        entry = {"Source": _SOURCE, "DetailType": _DETAIL_TYPE, "Detail": json.dumps(detail)}
        answer = Aws(node, attempts=2, timeout_s=5).json("events", "AWSEvents.PutEvents", {"Entries": [entry]})
        log("event", notice=name, failed=answer.get("FailedEntryCount", 0))
    except NodeError as error:
        log("event", notice=name, failed=1, why=str(error))
    progress.note("event")
