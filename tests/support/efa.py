"""EFA devices of a pretended node: in sysfs, in what `fi_info` prints, in the metadata."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from support.machine import Machine

P5_CARDS = tuple(range(32))


def name(card: int) -> str:
    """How the kernel names the device on a card of a P5."""
    return f"rdmap{79 + card}s0"


def mac(card: int) -> str:
    """Address of the interface on a card."""
    return f"12:d8:ba:c9:06:{card:02x}"


def gid(card: int) -> str:
    """First GID of the device, as sysfs shows it."""
    return f"fe80:0000:0000:0000:10d8:baff:fec9:06{card:02x}"


def fi_info(names: Iterable[str]) -> str:
    """What `fi_info -p efa -t FI_EP_RDM` prints since libfabric 2: every device under two fabrics."""
    return "".join(
        f"provider: efa\n    fabric: {fabric}\n    domain: {each}-rdm\n    version: 201.0\n"
        "    type: FI_EP_RDM\n    protocol: FI_PROTO_EFA\n"
        for fabric in ("efa-direct", "efa")
        for each in names
    )


def install(machine: Machine, cards: Sequence[int], *, driver: str = "efa", prefix: str = "rdmap") -> None:
    """Put devices on cards of the node, and tell the metadata service of the interfaces of all cards."""
    for card in cards:
        device = name(card).replace("rdmap", prefix)
        folder = machine.root / "sys/class/infiniband" / device
        machine.write(f"/sys/class/infiniband/{device}/ports/1/gids/0", gid(card) + "\n")
        (folder / "device").mkdir(parents=True, exist_ok=True)
        (folder / "device/driver").symlink_to(f"../../../bus/pci/drivers/{driver}")


def interfaces(machine: Machine, cards: Sequence[int]) -> None:
    """Interfaces that the metadata service lists, with their cards."""
    folder = "network/interfaces/macs/"
    machine.metadata[folder] = "".join(f"{mac(card)}/\n" for card in cards)
    for card in cards:
        if card or len(cards) > 1:
            machine.metadata[f"{folder}{mac(card)}/network-card"] = str(card)


def libfabric(machine: Machine, cards: Sequence[int], *, version: str = "2.1.0amzn3.0") -> None:
    """The command `fi_info`, as the EFA installer brings it."""
    shown = fi_info(name(card) for card in cards)
    body = (
        'if [[ $1 == --version ]]; then printf "fi_info: %s\\nlibfabric: %s\\nlibfabric api: 2.1\\n" '
        f"{version} {version}; exit; fi\n"
    )
    if cards:
        body += f"cat <<'END'\n{shown}END"
    else:
        body += 'echo "fi_getinfo: -61 (No data available)" >&2; exit 61'
    machine.command("fi_info", body)


def plugin(machine: Machine, version: str, folder: str = "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu") -> None:
    """The library of aws-ofi-nccl, and the names by which NCCL asks for it."""
    file = machine.root / folder.lstrip("/") / "libnccl-net-ofi.so"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"\x7fELF\0\0NET/OFI Initializing aws-ofi-nccl " + version.encode() + b"\0more\0")
    (file.parent / "libnccl-net.so").symlink_to("libnccl-net-ofi.so")


def healthy(machine: Machine) -> Machine:
    """A P5 with everything that EFA needs."""
    machine.settings["types"] = {"p5.48xlarge": {"efa": 32, "lustre_efa": 8}}
    install(machine, P5_CARDS)
    interfaces(machine, P5_CARDS)
    libfabric(machine, P5_CARDS)
    plugin(machine, "1.16.3")
    machine.write("/opt/amazon/efa_installed_packages", "# EFA installer version: 1.43.2\n# Debug packages: no\n")
    machine.write("/proc/sys/kernel/osrelease", "6.8.0-1036-aws\n")
    machine.write(
        "/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.172.08  Release Build  (dvs-builder@x)  Tue\n"
        "GCC version:  gcc version 12.3.0\n",
    )
    return machine
