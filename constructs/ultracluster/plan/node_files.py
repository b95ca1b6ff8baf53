"""Files that the user data writes: settings, configuration of the agent, the user's script, and what fetches the rest.

The programs of a node are too large for user data. A small one of them, which stands alone, fetches the file that holds
them all (`plan/node_program.py` packs it) and checks its digest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ultracluster.plan.agent_config import AgentProfile, agent_configuration
from ultracluster.plan.bare_source import bare_source
from ultracluster.plan.node_settings import agent_profile, node_settings
from ultracluster.plan.user_data_parts import Part, Shared, Slot, Text
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.plan.user_data import UserDataRequest

__all__ = ["NodeFile", "node_files", "start_parts"]

FOLDER = "/opt/ultracluster"
PROGRAMS = f"{FOLDER}/ultracluster-node"
_BOOTSTRAP = Path(__file__).parents[1] / "node" / "bootstrap.py"
_LOG_GROUP = "log-group-of-the-fleet"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFile:
    """One file.

    Attributes:
        path: where it is written.
        parts: its content.
        executable: whether everybody may run it.
    """

    path: str
    parts: tuple[Part, ...]
    executable: bool = False


def node_files(request: UserDataRequest) -> tuple[NodeFile, ...]:
    """All files of a node, in the order in which they are written: first what is the fleet's own."""
    own = [] if request.user_script is None else [_user_script(request.user_script)]
    return (
        *own,
        NodeFile(path="/etc/ultracluster/node.json", parts=tuple(node_settings(request))),
        NodeFile(path=f"{FOLDER}/agent.json", parts=tuple(_agent(agent_profile(request), request.log_group_name))),
        NodeFile(path=f"{FOLDER}/bootstrap.py", parts=(Shared(label="Bootstrap", text=_bootstrap()),)),
    )


def start_parts() -> Iterable[Part]:
    """The script that fetches the programs and starts them; where they are and their digest is a slot."""
    yield Shared(label="Start", text=f"#!/bin/bash\npython3 {FOLDER}/bootstrap.py ")
    yield Slot(name="program")
    yield Shared(label="Start", text=f" {PROGRAMS} &&\n  exec {PROGRAMS} boot --first\n")


def _user_script(script: str) -> NodeFile:
    return NodeFile(path=f"{FOLDER}/user-script", parts=(Text(text=script.rstrip("\n") + "\n"),), executable=True)


@cache
def _bootstrap() -> str:
    return bare_source(_BOOTSTRAP.read_text(encoding="utf-8"))


def _agent(profile: AgentProfile, log_group_name: str) -> Iterable[Part]:
    """The agent's configuration, cut where the fleet's own name stands so that fleets share the rest."""
    written = agent_configuration(profile, log_group_name=_LOG_GROUP)
    pieces = json.dumps(written, separators=(",", ":")).split(_LOG_GROUP)
    for index, piece in enumerate(pieces):
        if index:
            yield Text(text=log_group_name)
        yield Shared(label="Agent", text=piece + ("\n" if index == len(pieces) - 1 else ""))
