"""Deep checks: they take accelerators and fabric for minutes to hours, so that no job may run meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .. import NodeError
from ..fabric.devices import found_devices
from ..host import ToolMissing
from ..results import Result, Verdicts
from . import dcgm
from .collectives import judge, parse_nccl, parse_nccom
from .neuron import parse_devices

if TYPE_CHECKING:
    from ..host import Node

__all__ = ["checks"]

_COLLECTIVE_TIMEOUT_S = 900
_LOOPBACK_TIMEOUT_S = 15
_LOOPBACK_PORT = 47600
# nccl-tests has no fixed place: the DLAMI has it beside CUDA, others build it where they like.
_NCCL_TESTS = ("/usr/local/cuda*/efa/test-cuda*/all_reduce_perf", "/opt/nccl-tests/build/all_reduce_perf")


def checks(node: Node, kind: Mapping[str, Any], verdicts: Verdicts, level: int) -> Iterator[Result]:
    """All deep checks; see `dcgm.checks` for the arguments."""
    if kind.get("vendor") == "nvidia" and kind.get("accelerators"):
        yield from dcgm.checks(node, kind, verdicts, level)
        yield _nccl(node, kind, verdicts)
    elif kind.get("accelerators"):
        yield _nccom(node, verdicts)
    if kind.get("efa"):
        yield from _loopback(node, verdicts)
    if any(mount.get("efa") for mount in node.settings.get("mounts") or ()):
        yield _lustre(node, verdicts)


def _lustre(node: Node, verdicts: Verdicts) -> Result:
    """Data that is written to and read from Lustre moves the counters of EFA."""
    from .. import lustre

    try:
        moved = lustre.verify_efa(node)
    except ToolMissing as error:
        return verdicts.unknown("lustre_traffic", str(error))
    except NodeError as error:
        return verdicts.failed("lustre_traffic", "lustre_efa", str(error))
    return verdicts.passed("lustre_traffic", f"over EFA: {', '.join(moved)}", moved)


def _nccl(node: Node, kind: Mapping[str, Any], verdicts: Verdicts) -> Result:
    """All-reduce over the GPUs of this node: right values count, bandwidth is only told."""
    tool = next((path for pattern in _NCCL_TESTS for path in sorted(node.root.glob(pattern.lstrip("/")))), None)
    arguments = ("-b", "256M", "-e", "8G", "-f", "2", "-g", str(kind["accelerators"]), "-c", "1")
    try:
        rows = parse_nccl(node.run(tool or "all_reduce_perf", *arguments, timeout=_COLLECTIVE_TIMEOUT_S).stdout)
    except NodeError as error:
        return verdicts.unknown("collective", str(error))
    facts = node.facts["collectives"]
    return judge(rows, collective="all_reduce", nodes=1, kind=kind, facts=facts, verdicts=verdicts)


def _nccom(node: Node, verdicts: Verdicts) -> Result:
    """All-reduce over the Neuron cores of this node."""
    check = "neuron_collective"
    if not node.has("nccom-test"):
        return verdicts.unknown(check, "nccom-test is not on this node; install aws-neuronx-tools")
    try:
        cores = parse_devices(node.run("neuron-ls", "--json-output").stdout).cores
        sizes = ("-b", "32MB", "-e", "1GB", "-f", "2")
        arguments = ("-r", str(cores), *sizes, "-d", "fp32", "--check", "allr")
        rows = parse_nccom(node.run("nccom-test", *arguments, timeout=_COLLECTIVE_TIMEOUT_S).stdout)
    except NodeError as error:
        return verdicts.failed(check, check, f"the collective over the cores of this node failed: {error}")
    best = max(row.gbytes_per_s for row in rows)
    return verdicts.passed(check, f"all-reduce over {cores} cores: {best:g} GB/s", best)


def _loopback(node: Node, verdicts: Verdicts) -> Iterator[Result]:
    """Every device carries traffic to itself, with the short cut through shared memory switched off."""
    try:
        devices = found_devices(node)
    except NodeError as error:
        yield verdicts.unknown("efa_loopback", str(error))
        return
    if devices.source != "fi_info" or not node.has("fi_pingpong"):
        yield verdicts.unknown("efa_loopback", "fi_info or fi_pingpong is not on this node; install the EFA software")
        return
    failed = 0
    for number, name in enumerate(devices.names):
        why = _pingpong(node, f"{name}-rdm", _LOOPBACK_PORT + number)
        if why:
            failed += 1
            yield verdicts.failed("efa_loopback", "efa_loopback", f"{name}: {why}", part=name)
    if not failed:
        yield verdicts.passed("efa_loopback", f"{len(devices.names)} devices carry traffic to themselves")


def _pingpong(node: Node, domain: str, port: int) -> str:
    """Why a device failed; empty when it did not."""
    options = ("-e", "rdm", "-p", "efa", "-d", domain, "-I", "100", "-S", "65536")
    quiet = {"FI_EFA_ENABLE_SHM_TRANSFER": "0"}

    def serve() -> None:
        try:
            node.run("fi_pingpong", *options, "-B", str(port), env=quiet, check=False, timeout=_LOOPBACK_TIMEOUT_S)
        except NodeError:
            return  # the other side tells

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    node.sleep(1)
    try:
        node.run("fi_pingpong", *options, "-P", str(port), "127.0.0.1", env=quiet, timeout=_LOOPBACK_TIMEOUT_S)
    except NodeError as error:
        return str(error)
    finally:
        server.join(_LOOPBACK_TIMEOUT_S + 5)
    return ""
