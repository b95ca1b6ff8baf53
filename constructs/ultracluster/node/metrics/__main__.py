"""`python3 -m metrics SETTINGS.json`: run the sources of this node until one of them ends."""

import importlib
import json
import sys
import threading
import time
from pathlib import Path
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


if __name__ == "__main__":
    sys.exit(main(json.loads(Path(sys.argv[1]).read_text())))
