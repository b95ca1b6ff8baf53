"""A network of its own for the guest: what a VPC offers, in a network namespace that nothing leaves."""

from __future__ import annotations

import ctypes
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

METADATA, RESOLVER, CLOCK = "169.254.169.254", "169.254.169.253", "169.254.169.123"
ROUTER, GUEST_ADDRESS = "10.0.0.1", "10.0.0.10"
MAC = "02:00:00:00:00:0a"
# Ended with the process that started them, whatever happens to that one.
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")
_CLONE_NEWNET = 0x40000000


class Network:
    """Router, resolver and DHCP of one subnet; `amazonaws.com` is this machine's own endpoint."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._holder = subprocess.Popen([*DIES_WITH_US, "unshare", "--net", "sleep", "infinity"])
        self._wait_until_apart()
        for command in (
            "ip link set lo up",
            *(f"ip address add {address}/32 dev lo" for address in (METADATA, RESOLVER, CLOCK)),
            "ip tuntap add tap0 mode tap",
            f"ip address add {ROUTER}/24 dev tap0",
            "ip link set tap0 up",
        ):
            subprocess.run([*self.enter, *command.split()], check=True, capture_output=True)
        self._dhcp = self._serve_addresses()

    @property
    def enter(self) -> tuple[str, ...]:
        """What stands before a command that is to run in this network."""
        return (*DIES_WITH_US, "nsenter", f"--net=/proc/{self._holder.pid}/ns/net")

    def inside(self, function: Callable[[], Any]) -> Any:
        """Call a function in this network: the sockets that it opens stay there, whoever uses them later.

        Namespaces belong to threads, so a short-lived one enters and everything else stays where it is.
        """
        result: list[Any] = []
        thread = threading.Thread(target=lambda: result.append(self._entered(function)))
        thread.start()
        thread.join()
        return result[0]

    def route(self, block: str) -> None:
        """Send a block of addresses to the guest, as for containers with addresses of the VPC."""
        subprocess.run([*self.enter, *f"ip route replace {block} via {GUEST_ADDRESS}".split()], check=True)

    def close(self) -> None:
        """Take everything down."""
        for process in (self._dhcp, self._holder):
            process.kill()
            process.wait()

    def _entered(self, function: Callable[[], Any]) -> Any:
        with Path(f"/proc/{self._holder.pid}/ns/net").open("rb") as handle:
            if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "cannot enter the network of the guest")
        return function()

    def _wait_until_apart(self) -> None:
        own = Path("/proc/self/ns/net").readlink()
        for _ in range(500):
            if self._holder.poll() is not None:
                raise RuntimeError("no network namespace could be made; this needs root")
            if Path(f"/proc/{self._holder.pid}/ns/net").readlink() != own:
                return
            threading.Event().wait(0.01)
        raise RuntimeError("no network namespace came up within 5 s")

    def _serve_addresses(self) -> subprocess.Popen[bytes]:
        with (self._folder / "dnsmasq.log").open("w") as log:
            return subprocess.Popen(self._dnsmasq(), stdout=log, stderr=subprocess.STDOUT)

    def _dnsmasq(self) -> list[str]:
        return [
            *(*self.enter, "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-hosts", "--no-resolv"),
            *("--interface=tap0", "--bind-dynamic", "--user=root", "--pid-file="),
            *(f"--listen-address={ROUTER},{RESOLVER}", f"--address=/amazonaws.com/{ROUTER}", "--no-daemon"),
            *("--dhcp-authoritative", f"--dhcp-range={GUEST_ADDRESS},{GUEST_ADDRESS},1h"),
            *(f"--dhcp-option=option:router,{ROUTER}", f"--dhcp-option=option:dns-server,{RESOLVER}"),
            f"--dhcp-leasefile={self._folder / 'leases'}",
        ]
