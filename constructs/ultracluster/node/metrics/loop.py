"""The sources of this node, each in a thread, until one of them ends."""

from __future__ import annotations

import importlib
import threading
import time
from typing import Any

from .statsd import send


def main(settings: dict[str, Any]) -> int:
    """Run the sources, and send a heartbeat while all of them live.

    Counters go out as zero as well, so that every metric exists from the first minute. When a source dies the program
    ends, the service starts it again, and the missing heartbeat tells of it if that does not help.
    """
    sources = [importlib.import_module(f".{name}", __package__).watch for name in settings["sources"]]
    threads = [threading.Thread(target=source, args=(settings,), daemon=True) for source in sources]
    for thread in threads:
        thread.start()
    while all(thread.is_alive() for thread in threads):
        for name in settings["counters"]:
            send(name, 0)
        send("node_heartbeat", 1)
        time.sleep(settings["period_s"])
    return 1
