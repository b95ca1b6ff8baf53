"""lfs and lnetctl for a folder that looks like a node; they print what the documentation of the real ones shows.

`$STATE/hsm.json` has the HSM record of each file by path: `flags`, the looks at it until a restore ends, and whether
restores of it fail. `$STATE/lnet.json` has the networks and how many messages each has got when they are shown again.

Run as `python fake_lustre_tools.py TOOL ARGUMENTS...`; see `support.lustre`.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

STATE = Path(os.environ["STATE"])
BITS = {
    "exists": 1,
    "dirty": 2,
    "released": 4,
    "archived": 8,
    "never_release": 16,
    "never_archive": 32,
    "lost_from_hsm": 64,
}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def changed(name: str, change: Callable[[Any], int]) -> int:
    """Read, change and write a state file while nobody else does."""
    with (STATE / f"{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file = STATE / name
        found = json.loads(file.read_text())
        status = change(found)
        file.write_text(json.dumps(found))
    return status


def lfs(words: list[str]) -> int:
    verb, *paths = words
    if verb in ("setstripe", "df"):
        return 0
    verbs = {"hsm_state": hsm_state, "hsm_action": hsm_action, "hsm_restore": hsm_restore}
    return changed("hsm.json", lambda files: max([verbs[verb](files, path) for path in paths], default=0))


def hsm_state(files: dict[str, Any], path: str) -> int:
    if path not in files:
        sys.stderr.write(f"can't get hsm state for {path}: No such file or directory\n")
        return 2
    flags = files[path]["flags"]
    names = "".join(
        f" {flag}" for flag in ("released", "exists", "dirty", "archived", "lost_from_hsm") if flag in flags
    )
    archive = ", archive_id:1" if "archived" in flags else ""
    say(f"{path}: (0x{sum(BITS[flag] for flag in flags):08x}){names}{archive}")
    return 0


def hsm_action(files: dict[str, Any], path: str) -> int:
    record = files[path]
    left = record.get("left", 0)
    if not left:
        say(f"{path}: NOOP")
        return 0
    say(f"{path}: RESTORE waiting" if left > 1 else f"{path}: RESTORE running (1048576 bytes moved)")
    record["left"] = left - 1
    if left == 1 and not record.get("fails"):
        record["flags"] = [flag for flag in record["flags"] if flag != "released"]
    return 0


def hsm_restore(files: dict[str, Any], path: str) -> int:
    record = files[path]
    record["asked"] = record.get("asked", 0) + 1
    if record.get("refused"):
        sys.stderr.write(f"Cannot send HSM request (use of {path}): Resource temporarily unavailable\n")
        return 1
    record["left"] = record.get("looks", 1)
    record["fails"] = record.get("failures", 0) >= record["asked"]
    return 0


def lnetctl(words: list[str]) -> int:
    return changed("lnet.json", lambda state: nets(state, words))


def nets(state: dict[str, Any], words: list[str]) -> int:
    options = dict(zip(words[2::2], words[3::2], strict=False))
    match words[:2]:
        case ["net", "show"]:
            return show(state, options.get("--net"), verbose="-v" in words)
        case ["net", "add"]:
            net = options["--net"]
            address = f"10.0.{len(state['nets'])}.9@{net}"
            state["nets"].append({"net": net, "nid": address, "device": options["--if"], "sent": 7, "received": 7})
        case ["net", "del"]:
            state["nets"] = [entry for entry in state["nets"] if entry["net"] != options["--net"]]
    return 0


def show(state: dict[str, Any], only: str | None, *, verbose: bool) -> int:
    shown = [entry for entry in state["nets"] if only in (None, entry["net"])]
    if not shown:
        say("show:\n    - net:\n          errno: -2\n          descr: cannot get networks: No such file or directory")
        return 254
    say("net:")
    for net in dict.fromkeys(entry["net"] for entry in shown):
        say(f"    - net type: {net}\n      local NI(s):")
        for entry in (entry for entry in shown if entry["net"] == net):
            say(f"        - nid: {entry['nid']}\n          status: up")
            say(f"          interfaces:\n              0: {entry['device']}")
            if verbose:
                say("          statistics:")
                say(f"              send_count: {entry['sent']}\n              recv_count: {entry['received']}")
                say("              drop_count: 0\n          tunables:\n              peer_credits: 32")
                entry["sent"] += state["growth"].get(net, [0, 0])[0]
                entry["received"] += state["growth"].get(net, [0, 0])[1]
    return 0


if __name__ == "__main__":
    with (STATE / "calls").open("a") as calls:
        calls.write(" ".join(sys.argv[1:]) + "\n")
    sys.exit({"lfs": lfs, "lnetctl": lnetctl}[sys.argv[1]](sys.argv[2:]))
