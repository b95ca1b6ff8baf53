"""Measures after a fault, only when asked: mark the instance, drain its Slurm node, taint its Kubernetes node.

Each measure is taken once per fault: a node that somebody has put back into service after looking at it stays there.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import NodeError
from ..files import locked, read_text
from ..results import FAIL
from .history import LOCK, History

if TYPE_CHECKING:
    import argparse

    from ..host import Node

__all__ = ["MEASURES", "arguments", "run"]

_API = "2011-01-01"
_REASON_LENGTH = 200
# Where schedulers put their commands: nothing of it is on the PATH of a unit.
_SCONTROL = ("opt/slurm/bin/scontrol", "opt/aws/pcs/scheduler/slurm-*/bin/scontrol")
_DRAINED = ("DRAIN", "DRAINED", "DRAINING")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `health act`."""
    parser.add_argument("--report", metavar="FILE", help="report of the checks (default: of the last run)")
    parser.add_argument("--unhealthy", action="store_true", help="tell the Auto Scaling group, which then replaces it")
    parser.add_argument("--drain", action="store_true", help="drain the Slurm node")
    parser.add_argument("--taint", action="store_true", help="taint the Kubernetes node, so that nothing new starts")
    parser.add_argument("--from", dest="least", metavar="ACTION", help="from which action on, in place of the default")
    parser.add_argument("--node-name", help="name in Slurm or Kubernetes (default: host name up to the first dot)")
    parser.add_argument("--kubeconfig", metavar="FILE", help="of an identity that may taint nodes; a kubelet may not")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")


def run(args: argparse.Namespace, node: Node, report_file: str) -> int:
    """Take the measures that were asked for, where the report calls for them; 1 when one failed.

    Args:
        args: the options.
        node: the node.
        report_file: where the checks leave their report.
    """
    wanted = [name for name in MEASURES if getattr(args, name)]
    if not wanted:
        node.say(f"nothing to do; ask for {', '.join(f'--{name}' for name in MEASURES)}")
        return 2
    report = _report(node, args.report or report_file)
    try:
        with locked(node.path(LOCK)):
            history = History(node, str(report.get("instance", "")))
            failed = [name for name in wanted if not _measure(name, args, node, report, history)]
    except OSError as error:
        raise NodeError(f"what was done before is not known ({error}); run as root") from error
    return int(bool(failed))


def _report(node: Node, path: str) -> dict[str, Any]:
    try:
        found = json.loads(read_text(node.path(path)))
    except (OSError, ValueError) as error:
        raise NodeError(f"{path} is no report of the checks ({error}); run ultracluster-node health first") from error
    if not isinstance(found, dict) or not isinstance(found.get("results"), list):
        raise NodeError(f"{path} is no report of the checks; run ultracluster-node health first")
    return found


def _measure(name: str, args: argparse.Namespace, node: Node, report: Mapping[str, Any], history: History) -> bool:
    """Take one measure; whether it did not fail."""
    facts = node.facts["health"]
    scale: Sequence[str] = facts["actions"]
    least = args.least or facts["measures"]["from"][name]
    if least not in scale:
        raise NodeError(f"no action {least!r}; one of {', '.join(scale)}")
    faults = {
        str(result["fault"]): str(result.get("message", ""))
        for result in report["results"]
        if isinstance(result, dict)
        and result.get("status") == FAIL
        and result.get("fault")
        and result.get("action") in scale
        and scale.index(result["action"]) >= scale.index(least)
    }
    fresh = {fault: said for fault, said in faults.items() if not history.taken(fault, name)}
    if not fresh:
        node.say(f"{name}: {'done before for every fault' if faults else f'no fault leads to {least} or worse'}")
        return True
    reason = f"ultracluster: {'; '.join(fresh.values())}"[:_REASON_LENGTH]
    if args.dry_run:
        node.say(f"{name}: would act: {reason}")
        return True
    try:
        said = MEASURES[name](args, node, reason)
    except NodeError as error:
        node.say(f"{name}: {error}")
        return False
    history.take(fresh, name)
    history.write()
    node.say(f"{name}: {said}: {reason}")
    return True


def _unhealthy(_args: argparse.Namespace, node: Node, _reason: str) -> str:
    from ..aws import Aws

    instance = node.imds.require("instance-id")
    params = {"InstanceId": instance, "HealthStatus": "Unhealthy", "ShouldRespectGracePeriod": "false"}
    Aws(node).query("autoscaling", "SetInstanceHealth", _API, params)
    return f"{instance} is marked unhealthy"


def _drain(args: argparse.Namespace, node: Node, reason: str) -> str:
    name = _name(args)
    found = next((path for pattern in _SCONTROL for path in sorted(node.root.glob(pattern))), None)
    scontrol = found if found is not None and not node.has("scontrol") else "scontrol"
    shown = node.run(scontrol, "show", "node", name, "--oneliner", timeout=30).stdout
    state = next((word.partition("=")[2] for word in shown.split() if word.startswith("State=")), "")
    if set(state.split("+")) & set(_DRAINED):
        return f"{name} is drained already"
    node.run(scontrol, "update", f"nodename={name}", "state=drain", f"reason={reason}", timeout=30)
    return f"{name} is drained"


def _taint(args: argparse.Namespace, node: Node, _reason: str) -> str:
    name = _name(args)
    config = ["--kubeconfig", args.kubeconfig] if args.kubeconfig else []
    taint = f"{node.facts['health']['measures']['taint']}=true:NoSchedule"
    node.run("kubectl", *config, "taint", "node", name, taint, "--overwrite", timeout=60)
    return f"{name} is tainted"


def _name(args: argparse.Namespace) -> str:
    return str(args.node_name or socket.gethostname().partition(".")[0])


MEASURES: Mapping[str, Callable[[argparse.Namespace, Node, str], str]] = {
    "unhealthy": _unhealthy,
    "drain": _drain,
    "taint": _taint,
}
