"""StatsD to the CloudWatch agent of this node, and small readers."""

import os
import socket
import subprocess

AGENT = ("127.0.0.1", int(os.environ.get("STATSD_PORT", "8125")))
_socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def send(name: str, value: float, kind: str = "c") -> None:
    """Send one line: kind `c` adds to a counter, `g` sets a gauge."""
    _socket.sendto(f"{name}:{value}|{kind}".encode(), AGENT)


def fault(name: str, count: float, kind: str = "c") -> None:
    """Send one kind of fault, and the same into the counter of all kinds that alarms watch."""
    send(name, count, kind)
    send("accelerator_faults", count)


def growth(totals: dict[object, int], key: object, total: int) -> int:
    """How much a cumulative counter grew since it was last asked for; one that starts again counts from zero."""
    before = totals.get(key, 0)
    totals[key] = total
    return total - before if total >= before else total


def run(*command: str) -> list[str]:
    """Lines that a command prints."""
    return subprocess.run(command, capture_output=True, text=True, timeout=50, check=False).stdout.splitlines()


def numbers(line: str) -> list[int]:
    """Numbers of a line of comma-separated values; what is no number, as `[N/A]`, counts as zero."""
    return [int(word) if word.isdigit() else 0 for word in line.replace(" ", "").split(",")]
