"""Packages of the distribution, for what an image lacks."""

from __future__ import annotations

from .host import Node, NodeError

# At boot others hold the package lock as well: apt-get waits for them, dnf does so by itself.
_APT = ("apt-get", "-qqy", "-o", "DPkg::Lock::Timeout=120")
_ATTEMPTS, _PAUSE_S, _TIMEOUT_S = 5, 15, 600


def install(node: Node, *names: str) -> None:
    """Install packages, trying again while an archive is out of reach.

    Raises:
        NodeError: they cannot be installed; the message names them.
    """
    wanted = " ".join(names)
    node.say(f"installing {wanted}")
    try:
        node.retry(_ATTEMPTS, _PAUSE_S, lambda: _install(node, names))
    except NodeError as error:
        raise NodeError(f"{wanted} cannot be installed ({error}); put it into the image") from error


def _install(node: Node, names: tuple[str, ...]) -> None:
    if node.has("dnf"):
        node.run("dnf", "-qy", "install", *names, timeout=_TIMEOUT_S)
        return
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    node.run(*_APT, "update", timeout=_TIMEOUT_S, env=quiet)
    node.run(*_APT, "install", *names, timeout=_TIMEOUT_S, env=quiet)
