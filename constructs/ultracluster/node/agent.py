"""`agent`: the CloudWatch agent, taken from the image or installed, and the service that feeds it."""

from __future__ import annotations

import argparse
import http.client
import platform
import re
import shutil
import tempfile
import urllib.request
from functools import partial
from pathlib import Path

from .files import read_text
from .host import Node, NodeError
from .packages import install

SUMMARY = "install the CloudWatch agent where the image has none that fits, and start it"

_FOLDER = "/opt/aws/amazon-cloudwatch-agent/bin"
_CONFIGURATION = "/opt/ultracluster/agent.json"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_TIMEOUT_S = 60


def arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace, node: Node) -> int:  # noqa: ARG001 - the protocol of the programs
    """Install when needed, and start."""
    start(node)
    return 0


def start(node: Node) -> None:
    """Start the agent with the fleet's configuration; the same again changes nothing.

    Raises:
        NodeError: no agent that is new enough can be had, or it does not start.
    """
    minimum = node.facts["packages"]["agent_minimum"]
    if not fits(node):
        _install(node)
        if not fits(node):
            raise NodeError(f"the CloudWatch agent is older than {minimum}; take a newer image or open the archive")
    configuration = node.path(_CONFIGURATION)
    control = node.path(f"{_FOLDER}/amazon-cloudwatch-agent-ctl")
    node.run(control, "-a", "fetch-config", "-m", "ec2", "-s", "-c", f"file:{configuration}", timeout=_TIMEOUT_S)
    node.run("systemctl", "enable", "--now", "ultracluster-metrics.service")


def fits(node: Node) -> bool:
    """Whether there is an agent that collects everything."""
    found = _numbers(read_text(node.path(f"{_FOLDER}/CWAGENT_VERSION"), ""))
    return bool(found) and found >= _numbers(node.facts["packages"]["agent_minimum"])


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _install(node: Node) -> None:
    if node.has("dnf"):
        # The release that an image is locked to may hold an older agent.
        install(node, "--releasever=latest", "amazon-cloudwatch-agent")
        return
    with tempfile.TemporaryDirectory() as folder:
        install(node, str(_vendor_package(node, Path(folder))))


def _vendor_package(node: Node, folder: Path) -> Path:
    """Ubuntu has no package: the vendor's, taken only with a signature by the key whose fingerprint is pinned."""
    packages = node.facts["packages"]
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    package = f"ubuntu/{architecture}/latest/amazon-cloudwatch-agent.deb"
    for name in ("assets/amazon-cloudwatch-agent.gpg", f"{package}.sig", package):
        url = f"{packages['agent_address']}/{name}"
        node.retry(5, 5, partial(_download, url, folder))
    if not node.has("gpg"):
        install(node, "gnupg")
    deb = folder / "amazon-cloudwatch-agent.deb"
    _verify(node, folder / "amazon-cloudwatch-agent.gpg", folder / f"{deb.name}.sig", deb, packages["agent_key"])
    return deb


def _download(url: str, folder: Path) -> None:
    target = folder / url.rpartition("/")[2]
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer, target.open("wb") as file:
            shutil.copyfileobj(answer, file)
    except (OSError, http.client.HTTPException) as error:
        raise NodeError(f"{url} cannot be had ({error}); open the way to it or take an image with the agent") from error


def _verify(node: Node, key: Path, signature: Path, file: Path, fingerprint: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        gpg = ("gpg", "--batch", "--quiet", "--homedir", home)
        node.run(*gpg, "--import", key)
        said = node.run(*gpg, "--status-fd", "1", "--verify", signature, file, check=False)
    valid = any("VALIDSIG" in line and fingerprint in line.split() for line in said.stdout.splitlines())
    if said.status or not valid:
        raise NodeError(f"{file.name} is not signed by {fingerprint}; it is not installed")
