"""The Lustre client that fits the kernel that runs."""

from __future__ import annotations

from ..files import read_text, write_atomically
from ..host import Node, NodeError
from ..packages import install

_KEYRING, _LIST = "/usr/share/keyrings/fsx-lustre.asc", "/etc/apt/sources.list.d/fsx-lustre.list"


def ready(node: Node) -> None:
    """The kernel has the module `lustre`; it is installed when the image lacks it.

    Raises:
        NodeError: there is none for this kernel.
    """
    if _fits(node):
        return
    kernel = node.run("uname", "-r").stdout.strip()
    if node.has("dnf"):
        install(node, "lustre-client")  # Amazon Linux builds it for all of its kernels
    else:
        _add_repository(node)
        install(node, f"lustre-client-modules-{kernel}")
    if not _fits(node):
        raise NodeError(f"no Lustre client for kernel {kernel}; use an image whose kernel is pinned to one that has it")


def _fits(node: Node) -> bool:
    return node.run("modinfo", "lustre", check=False).status == 0


def _add_repository(node: Node) -> None:
    """AWS's repository for Ubuntu, bound to its key."""
    packages = node.facts["packages"]
    found = node.run("curl", "-fsS", "--retry", "5", packages["lustre_key"], timeout=120).stdout
    write_atomically(node.path(_KEYRING), found)
    release = dict(
        line.partition("=")[::2] for line in read_text(node.path("/etc/os-release"), "").splitlines() if "=" in line
    )
    codename = release.get("VERSION_CODENAME", "").strip('"')
    if not codename:
        raise NodeError("/etc/os-release names no release of Ubuntu; put the Lustre client into the image")
    entry = f"deb [signed-by={_KEYRING}] {packages['lustre_repository']} {codename} main\n"
    write_atomically(node.path(_LIST), entry)
