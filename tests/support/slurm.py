"""A Slurm cluster of Debian's packages in a folder: munged, slurmctld and several slurmd, all on loopback.

What is started here ends here, by its process; nothing of the machine's own Slurm is read or touched.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_PATIENCE_S = 60
_SBIN = ("/usr/sbin", "/sbin", "/usr/local/sbin")


@dataclass
class Slurm:
    """A running cluster.

    Attributes:
        folder: where everything of it is.
        nodes: names of its nodes.
        processes: what was started, newest last.
    """

    folder: Path
    nodes: Sequence[str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        """What the commands of Slurm need to find this cluster and no other."""
        path = os.pathsep.join([os.environ.get("PATH", ""), *_SBIN])
        return {"PATH": path, "SLURM_CONF": str(self.folder / "slurm.conf"), "LC_ALL": "C"}

    def command(self, *words: str) -> str:
        """Output of one of Slurm's commands; its complaints when it fails."""
        done = subprocess.run(words, env=self.environ, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}{self.log()}"
        return done.stdout

    def state(self, node: str) -> set[str]:
        """State of a node, such as `IDLE` or `IDLE` and `DRAIN`."""
        return set(self.shown(node)["State"].split("+"))

    def shown(self, node: str) -> dict[str, str]:
        """What `scontrol show node` says; of the reason only the first word."""
        words = self.command("scontrol", "show", "node", node, "--oneliner").split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def log(self) -> str:
        """What the daemons wrote."""
        return "".join(f"\n--- {file.name}\n{file.read_text()[-3000:]}" for file in sorted(self.folder.glob("*.log")))

    def wait(self, what: str, done: Callable[[], bool]) -> None:
        """Until something holds; fails with the logs when it does not come to that."""
        end = time.monotonic() + _PATIENCE_S
        while not done():
            dead = [process.args for process in self.processes if process.poll() is not None]
            assert not dead, f"ended: {dead}{self.log()}"
            assert time.monotonic() < end, f"waited for: {what}{self.log()}"
            time.sleep(0.2)

    def start(self, *words: str) -> None:
        """A daemon in the foreground."""
        with (self.folder / f"{Path(words[0]).name}.out.log").open("ab") as out:
            self.processes.append(
                subprocess.Popen(words, env=self.environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            )


def _ports(count: int) -> list[int]:
    """Free ports of loopback."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def _configuration(folder: Path, nodes: Sequence[str], silent: Sequence[str], plugin: str) -> str:
    control, *ports = _ports(len(nodes) + 1)
    here = "NodeHostname=localhost NodeAddr=127.0.0.1 CPUs=1"
    lines = [
        "ClusterName=ultracluster",
        "SlurmctldHost=localhost(127.0.0.1)",
        "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny",  # loopback only
        "AuthType=auth/munge",
        f"AuthInfo=socket={folder}/munge.socket",
        "CredType=cred/munge",
        "SlurmUser=root",
        "SlurmdUser=root",
        f"SlurmctldPort={control}",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/slurmd-%n.pid",
        f"SlurmctldLogFile={folder}/slurmctld.log",
        f"SlurmdLogFile={folder}/slurmd-%n.log",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool-%n",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "JobAcctGatherType=jobacct_gather/none",
        "SwitchType=switch/none",
        "MpiDefault=none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_CPU",
        "ReturnToService=2",
        "SlurmdParameters=config_overrides",  # the machine has less than it is said to have
        f"TopologyPlugin={plugin}",
        *(f"NodeName={name} {here} Port={port}" for name, port in zip(nodes, ports, strict=True)),
        *(f"NodeName={name} {here} Port={control} State=DOWN" for name in silent),
        "PartitionName=all Nodes=ALL Default=YES State=UP",
    ]
    return "\n".join(lines) + "\n"


@contextmanager
def running(
    folder: Path, nodes: Sequence[str], *, topology: str, plugin: str, silent: Sequence[str] = ()
) -> Iterator[Slurm]:
    """A cluster whose `topology.conf` is given, from the moment in which all nodes are idle.

    Args:
        folder: for everything of it; its path has to be short, because a socket lies in it.
        nodes: names of the nodes.
        topology: text of `topology.conf`.
        plugin: value of `TopologyPlugin`.
        silent: names of further nodes, which are down.
    """
    (folder / "state").mkdir()
    (folder / "slurm.conf").write_text(_configuration(folder, nodes, silent, plugin))
    (folder / "topology.conf").write_text(topology)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    cluster = Slurm(folder, nodes)
    files = [
        f"--{name}={folder}/munge.{name.partition('-')[0]}" for name in ("socket", "pid-file", "log-file", "seed-file")
    ]
    try:
        cluster.start("munged", "--foreground", "--force", f"--key-file={key}", *files)
        cluster.wait("munged", (folder / "munge.socket").exists)
        cluster.start("slurmctld", "-D", "-f", str(folder / "slurm.conf"))
        for name in nodes:
            (folder / f"spool-{name}").mkdir()
            cluster.start("slurmd", "-D", "-N", name, "-f", str(folder / "slurm.conf"))
        cluster.wait("the controller", lambda: _answers(cluster))
        cluster.wait("idle nodes", lambda: all(cluster.state(name) == {"IDLE"} for name in nodes))
        yield cluster
    finally:
        for process in reversed(cluster.processes):
            process.terminate()
        for process in cluster.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(cluster: Slurm) -> bool:
    done = subprocess.run(["scontrol", "ping"], env=cluster.environ, capture_output=True, text=True, check=False)
    return "is UP" in done.stdout
