"""Rules on what disturbs jobs: timers, restarts of services, clocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ultracluster.facts.node_environment import environment_rows, restarting_units, time_sources
from ultracluster.policy.graph.node_scripts import SCRIPT_HOLDERS, training_script
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.view import Resource

_PERIODIC = re.compile(r"APT::Periodic::Unattended-Upgrade\s+\\?\"[1-9]")
_AUTOMATIC = re.compile(r"nrconf\{restart\}\s*=\s*\\?['\"]a")
_SPARED = re.compile(r"(?:override_rc|blacklist_rc)[^\n]*(?:slurm|fabric)", re.IGNORECASE)
_LISTED = re.compile(r"Package-Blacklist[^}]*(?:slurm|nvidia|fabric)", re.IGNORECASE)
_CLOCK = re.compile(
    r"\b(?:server|pool)\s+(?P<host>[A-Za-z0-9][\w.:-]*\.[\w.-]+|[0-9a-f:]+:[0-9a-f:]+)(?=[^\n]*\b(?:iburst|prefer|minpoll)|\S*ntp)"
)
_HARDWARE_CLOCK = re.compile(r"refclock\s+PHC")


@cache
def _switched_on() -> re.Pattern[str]:
    units = [row.name for row in environment_rows() if row.kind == "timer"] + list(restarting_units())
    names = "|".join(re.escape(unit) for unit in sorted(units, key=len, reverse=True))
    return re.compile(
        rf"\bsystemctl\s+(?:-\S+\s+)*(?:enable|start|unmask|reenable)\b[^\n;&|]*?(?P<unit>{names})(?![\w-])"
    )


@rule("UC-NOD-013", on=SCRIPT_HOLDERS)
def timers_stay_off(holder: Resource) -> Iterator[Problem]:
    """No script switches on a timer that disturbs jobs."""
    script = training_script(holder, "systemctl", "APT::Periodic")
    if script is None:
        return
    found = _switched_on().search(script.text)
    if found is not None:
        yield Problem(script.where, f"{found['unit']} is switched on, and every run of it makes a straggler")
    elif _PERIODIC.search(script.text):
        yield Problem(script.where, "unattended upgrades are switched on, and restart services during jobs")


@rule("UC-NOD-014", on=SCRIPT_HOLDERS)
def restarts_spare_the_scheduler(holder: Resource) -> Iterator[Problem]:
    """Tools that restart services after an update leave slurmd and the fabric manager alone."""
    script = training_script(holder, "nrconf", "Unattended-Upgrade")
    if script is None:
        return
    text = script.text
    if _AUTOMATIC.search(text) and not _SPARED.search(text):
        message = "needrestart restarts every service on its own, slurmd and the fabric manager too"
        yield Problem(script.where, message)
    elif _PERIODIC.search(text) and not (_LISTED.search(text) or _SPARED.search(text)):
        message = (
            "unattended upgrades take every package, also those whose update restarts slurmd or the fabric manager"
        )
        yield Problem(script.where, message)


@rule("UC-NOD-015", on=SCRIPT_HOLDERS)
def clock_of_amazon(holder: Resource) -> Iterator[Problem]:
    """A script that names time servers names Amazon Time Sync among them."""
    script = training_script(holder, "chrony", "ntp")
    if script is None or _HARDWARE_CLOCK.search(script.text):
        return
    hosts = [found["host"] for found in _CLOCK.finditer(script.text)]
    if hosts and not any(host in time_sources() for host in hosts):
        message = f"the clock follows {hosts[0]}, which is further away than Amazon Time Sync and may be out of reach"
        yield Problem(script.where, message)
