"""`watch`: see that this node goes away, and tell training processes, hooks, the group and EventBridge in time.

The process that looks stays small and quick: it asks the metadata service, signals training processes and starts a
second process for whatever takes time or memory (`--handle`: hooks, calls to AWS).
"""

from __future__ import annotations

from ..host import Node

TYPE_CHECKING = False  # that of `typing` would load it, half a megabyte
if TYPE_CHECKING:
    import argparse

SUMMARY = "watch for notices that this node goes away; register training processes to be signalled"

_TIMEOUT_S = 1.0


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the program."""
    import argparse

    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--register", type=int, metavar="PID", help="signal this process when the node goes away")
    chosen.add_argument("--unregister", type=int, metavar="PID", help="no longer signal this process")
    chosen.add_argument("--list", action="store_true", help="show the registered processes")
    chosen.add_argument("--handle", metavar="NOTICE", help=argparse.SUPPRESS)
    parser.add_argument("--signal", default="TERM", metavar="NAME", help="signal to send with --register (TERM)")


def run(args: argparse.Namespace, node: Node) -> int:
    """Watch, unless an option asks for something else."""
    if args.register is not None or args.unregister is not None or args.list:
        from . import trainers

        return trainers.command(args, node)
    if args.handle is not None:
        from . import handle

        return handle.handle(node, args.handle)
    return serve(node)


def serve(node: Node) -> int:
    """Watch, as the service does."""
    from ..imds import Imds
    from . import loop

    # One attempt at a time: the loop paces itself, and looks at one thing after the other.
    node.imds = Imds(node.environ.get("ULTRACLUSTER_IMDS"), timeout_s=_TIMEOUT_S, attempts=1)
    return loop.Watcher(node).run()
