"""The kernel's messages: kept in a file for the agent, and the NVIDIA driver's XIDs in them counted."""

import logging
import logging.handlers
import re
import subprocess
from pathlib import Path
from typing import Any

from .statsd import fault, send

XID = re.compile(r"NVRM: Xid \(.*?\): (\d+)")


def watch(settings: dict[str, Any]) -> None:
    """Follow the kernel's messages of this boot; the ones before a restart of this program are not counted again."""
    log = logging.getLogger("kernel")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(logging.handlers.RotatingFileHandler(settings["kernel_log"], maxBytes=10**7, backupCount=1))
    seen = Path(settings.get("seen", "/run/ultracluster/kernel-seen"))
    since = ["-n", "0"] if seen.exists() else ["--no-tail"]
    command = ["journalctl", "-kf", "-o", "short-iso", *since]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as journal:
        seen.touch()
        for line in journal.stdout or ():
            log.info(line.rstrip())
            xid = XID.search(line)
            if xid:
                if int(xid[1]) in settings["critical_xids"]:
                    fault("gpu_xid_critical", 1)
                else:
                    send("gpu_xid_other", 1)
