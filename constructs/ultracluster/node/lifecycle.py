"""Life-cycle hooks of the Auto Scaling group: completed once, however often a program is started again."""

from __future__ import annotations

from .aws import Aws, AwsError
from .host import Node, NodeError

__all__ = ["ABANDON", "CONTINUE", "complete", "suspend"]

CONTINUE, ABANDON = "CONTINUE", "ABANDON"
_API = "2011-01-01"
_GONE = "No active Lifecycle Action"


def complete(node: Node, hook: str, result: str, *, attempts: int = 5, pause_seconds: float = 5) -> bool:
    """Complete a hook for this instance; whether the group knows now.

    A hook that is completed already, also by an earlier run of this program that was killed before it could note so,
    counts as known. A failure is said and not raised: the hook then ends by its own time-out.

    Args:
        node: with `group` in its settings.
        hook: name of the hook.
        result: `CONTINUE` or `ABANDON`.
        attempts: how often the call is made, beside the retries of the call itself.
        pause_seconds: between two.
    """
    try:
        instance = node.imds.require("instance-id")
        done = node.retry(attempts, pause_seconds, lambda: _complete(node, hook, result, instance))
    except NodeError as error:
        node.say(f"hook {hook} not completed: {error}")
        return False
    node.say(f"hook {hook}: {result}" if done else f"hook {hook} was completed before")
    return True


def _complete(node: Node, hook: str, result: str, instance: str) -> bool:
    params = {
        "AutoScalingGroupName": node.settings["group"],
        "LifecycleHookName": hook,
        "InstanceId": instance,
        "LifecycleActionResult": result,
    }
    try:
        Aws(node).query("autoscaling", "CompleteLifecycleAction", _API, params)
    except AwsError as error:
        if error.code == "ValidationError" and _GONE in str(error):
            return False
        raise
    return True


def suspend(node: Node, process: str) -> None:
    """Stop a process of the group; the next node tries again if this one cannot.

    Args:
        node: with `group` in its settings.
        process: for example `AZRebalance`.
    """
    params = {"AutoScalingGroupName": node.settings["group"], "ScalingProcesses.member.1": process}
    try:
        Aws(node).query("autoscaling", "SuspendProcesses", _API, params)
    except NodeError as error:
        node.say(f"{process} not suspended: {error}")
