"""`boot`: bring a node into service at its first boot, and its disks and mounts back at every later one.

The first boot runs once per instance, and every step of it can be run again: a run that was killed is taken up by the
unit at the next boot. What became of it stands in a file under the id of the instance, because an image may have been
made of a node. The launch hook hears `CONTINUE` after the last step or `ABANDON` after one that failed, and only once.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from . import lifecycle
from .files import locked, read_text, write_atomically
from .host import Node, NodeError
from .imds import ImdsError

SUMMARY = "bring the node into service (--first), or its disks and mounts back"

STATE = "/var/lib/ultracluster/boot.json"
LOG = "/var/log/ultracluster/bootstrap.log"
LOCK = "/run/ultracluster/boot.lock"
SCRIPT = "/opt/ultracluster/user-script"
RUNNING, READY, FAILED = "running", "ready", "failed"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the program."""
    parser.add_argument("--first", action="store_true", help="the first boot of this instance, from user data")


def run(args: argparse.Namespace, node: Node) -> int:
    """Boot; 1 when something failed."""
    with locked(node.path(LOCK)):
        try:
            state = _state(node)
        except ImdsError as error:
            return _unknown(args, node, error)
        if args.first or state.get("status") == RUNNING:
            return first(node, state)
        return again(node)


def first(node: Node, state: dict[str, Any]) -> int:
    """The first boot, from the start or from where an earlier run was killed.

    Args:
        node: the node.
        state: what is known of earlier runs: `status`, `step`, `why`, `script` (it ran), `hook` (the group knows).
    """
    node.log = node.path(LOG)
    if state.get("status") == READY:
        node.say("ready since an earlier run")
    elif state.get("status") != FAILED:
        _steps(node, state)
    if state["status"] == READY:
        _complete(node, state, lifecycle.CONTINUE)
        if node.settings.get("suspend_zone_rebalancing"):
            lifecycle.suspend(node, "AZRebalance")
        return 0
    if not state.get("hook"):
        # The agent needs a moment to carry the line away before the node is replaced.
        node.sleep(float(node.environ.get("ULTRACLUSTER_FLUSH_SECONDS", "20")))
    _complete(node, state, lifecycle.ABANDON)
    return 1


def again(node: Node) -> int:
    """A later boot: every step is tried, whatever became of the one before."""
    failed = [why for name, step in LATER.items() if (why := _why(node, name, step))]
    return 1 if failed else 0


def _unknown(args: argparse.Namespace, node: Node, error: ImdsError) -> int:
    """Which instance this is cannot be known: a later boot brings back what it can, a first one cannot go on."""
    if args.first:
        node.log = node.path(LOG)
        node.say(f"FAILED at start: {error}")
    else:
        node.say(f"earlier runs are not known: {error}")
        again(node)
    return 1


def _steps(node: Node, state: dict[str, Any]) -> None:
    for name, step in FIRST.items():
        if name == "user-script" and state.get("script"):
            continue
        _note(node, state, status=RUNNING, step=name)
        node.say(name)
        why = _why(node, name, step)
        if why:
            _note(node, state, status=FAILED, why=why)
            return
        if name == "user-script":
            _note(node, state, script=True)
    _note(node, state, status=READY)
    node.say("ready")


def _why(node: Node, name: str, step: Callable[[Node], object]) -> str:
    """Why a step failed, said in one line; empty when it did not."""
    try:
        step(node)
    except NodeError as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001 - a fault of ours must not leave the node to wait for its time-out
        why = f"{type(error).__name__}: {error}"
    else:
        return ""
    node.say(f"FAILED at {name}: {' '.join(why.split())}")
    return why


def _complete(node: Node, state: dict[str, Any], result: str) -> None:
    hook = node.settings.get("launch_hook")
    if hook and not state.get("hook") and lifecycle.complete(node, hook, result):
        _note(node, state, hook=result)


def _state(node: Node) -> dict[str, Any]:
    """What an earlier run of this instance left; empty for another instance, of which the image was made."""
    try:
        found = json.loads(read_text(node.path(STATE), "{}"))
    except ValueError:
        found = {}
    instance = node.imds.require("instance-id")
    return found if isinstance(found, dict) and found.get("instance") == instance else {"instance": instance}


def _note(node: Node, state: dict[str, Any], **changes: object) -> None:
    state.update(changes)
    write_atomically(node.path(STATE), json.dumps(state) + "\n")


def _tune(node: Node) -> None:
    from . import tune

    tune.apply(node, stage="boot")
    # From here on a boot that is cut short is taken up by the unit, and notices are watched for.
    node.run("systemctl", "enable", "ultracluster-node.service")
    node.run("systemctl", "enable", "--now", "ultracluster-watch.service")


def _settings(node: Node) -> None:
    """What a reboot forgets, such as clocks of GPUs, and what an update has changed since."""
    from . import tune

    tune.apply(node, stage="boot")


def _agent(node: Node) -> None:
    from . import agent

    agent.start(node)


def _scratch(node: Node) -> None:
    from . import scratch

    scratch.ensure(node)


def _mounts(node: Node) -> None:
    from . import mounts

    mounts.ensure(node)


def _fabric(node: Node) -> None:
    from . import fabric

    fabric.write_environment(node)


def _health(node: Node) -> None:
    from . import health

    # Devices of a healthy node can be a few seconds late.
    node.retry(3, 5, lambda: _healthy(health.light(node)))


def _healthy(report: Any) -> None:  # noqa: ANN401 - a report of the health program, which is loaded only here
    if not report.healthy:
        raise NodeError(report.because())


def _user_script(node: Node) -> None:
    """The user's own program, once per instance, with what it prints in the log."""
    script = node.path(SCRIPT)
    if not script.exists():
        return
    script.chmod(0o755)
    try:
        with subprocess.Popen(
            [str(script)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=node.environ
        ) as process:
            for line in process.stdout or ():
                _pass_on(node, line)
    except OSError as error:
        raise NodeError(f"the user script cannot be run ({error.strerror}); begin it with a #! line") from error
    if process.returncode:
        raise NodeError(f"the user script ended with status {process.returncode}; see its last lines")


def _pass_on(node: Node, line: bytes) -> None:
    sys.stderr.write(line.decode(errors="replace"))
    if node.log is not None:
        with node.log.open("ab") as log:
            log.write(line)


def _services(node: Node) -> None:
    node.run("systemctl", "enable", "--now", "ultracluster-health.timer")
    # Not waited for: it takes the lock that is held here.
    node.run("systemctl", "start", "--no-block", "ultracluster-node.service")


FIRST: dict[str, Callable[[Node], object]] = {
    "tune": _tune,
    "agent": _agent,
    "scratch": _scratch,
    "mounts": _mounts,
    "fabric": _fabric,
    "health": _health,
    "user-script": _user_script,
    "services": _services,
}
LATER: dict[str, Callable[[Node], object]] = {"scratch": _scratch, "mounts": _mounts, "tune": _settings}
