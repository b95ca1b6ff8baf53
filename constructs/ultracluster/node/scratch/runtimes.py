"""Container runtimes keep images and containers on scratch: the root volume is small and slow for them.

Only runtimes that are installed; what their configuration says otherwise stays as it is.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from ..files import read_text, write_atomically
from ..host import Node, NodeError

_DOCKER, _CONTAINERD, _ENROOT = "/etc/docker/daemon.json", "/etc/containerd/config.toml", "/etc/enroot/enroot.conf"
_DOCKER_DEFAULT, _CONTAINERD_DEFAULT = "/var/lib/docker", "/var/lib/containerd"
_RESTART_S = 90
# Without its disk a runtime would fill the root volume through the empty mount point.
_DROP_IN = """\
[Unit]
After=ultracluster-node.service
ConditionPathIsMountPoint={path}
"""
_ROOT_KEY = re.compile(r"^\s*root\s*=\s*(?P<quote>[\"'])(?P<value>.*?)(?P=quote)")


def hand_over(node: Node, path: str) -> dict[str, str]:
    """Point the installed runtimes to scratch; a service that runs is restarted when its configuration changed.

    Args:
        node: the node.
        path: where scratch is mounted.

    Returns:
        Data root by runtime.

    Raises:
        NodeError: a configuration file cannot be read as what it has to be; it is not touched.
    """
    roots = {}
    # containerd first: docker runs its containers through it.
    if node.has("containerd"):
        roots["containerd"] = _service(node, "containerd", path, _containerd(node, f"{path}/containerd"))
    if node.has("dockerd"):
        roots["docker"] = _service(node, "docker", path, _docker(node, f"{path}/docker"))
    if node.has("enroot"):
        roots["enroot"] = _enroot(node, f"{path}/enroot")
    return roots


def _service(node: Node, name: str, path: str, outcome: tuple[str, bool]) -> str:
    root, changed = outcome
    if root.startswith(f"{path}/") and node.has("systemctl"):
        drop_in = node.path(f"/etc/systemd/system/{name}.service.d/ultracluster-scratch.conf")
        if _written(drop_in, _DROP_IN.format(path=path)):
            node.run("systemctl", "daemon-reload", check=False)
        if changed:
            _restart(node, name)
    return root


def _restart(node: Node, name: str) -> None:
    if node.run("systemctl", "is-active", name, check=False).stdout.strip() != "active":
        return  # it starts later, with the new configuration
    try:
        node.run("systemctl", "restart", name, timeout=_RESTART_S)
    except NodeError as error:
        raise NodeError(f"{name} does not start with its data on scratch: {error}") from error


def _docker(node: Node, root: str) -> tuple[str, bool]:
    file = node.path(_DOCKER)
    text = read_text(file, "")
    try:
        settings = json.loads(text or "{}")
        standing = settings.get("data-root", _DOCKER_DEFAULT)
    except (ValueError, AttributeError) as error:
        raise NodeError(f"{_DOCKER} is no JSON object ({error}); repair it") from error
    if standing not in (_DOCKER_DEFAULT, root):
        return _kept(node, "docker", standing)
    changed = (
        _written(file, json.dumps({**settings, "data-root": root}, indent=2) + "\n") if standing != root else False
    )
    if changed:
        _tell(node, "docker", _DOCKER_DEFAULT)
    return root, changed


def _containerd(node: Node, root: str) -> tuple[str, bool]:
    """A line before the first table; there is no parser for this language in Python 3.9."""
    file = node.path(_CONTAINERD)
    lines = read_text(file, "").splitlines()
    end = next((number for number, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    found = next(((number, match) for number in range(end) if (match := _ROOT_KEY.match(lines[number]))), None)
    entry = f'root = "{root}"'
    if found is None:
        # A version has to stand in the file; without a file it is that of every release of the last years.
        lines[end:end] = [entry] if lines else ["version = 2", entry]
    else:
        number, match = found
        if match["value"] not in (_CONTAINERD_DEFAULT, root):
            return _kept(node, "containerd", match["value"])
        lines[number] = entry + lines[number][match.end() :] if match["value"] != root else lines[number]
    changed = _written(file, "\n".join(lines) + "\n")
    if changed:
        _tell(node, "containerd", _CONTAINERD_DEFAULT)
    return root, changed


def _enroot(node: Node, root: str) -> str:
    """`KEY value` lines, read by enroot at every call; every user has folders of its own below ours."""
    user = "user-$(id -u)"
    # Layers are unpacked where TEMP says, which is on the root volume by default.
    wanted = {
        "ENROOT_DATA_PATH": f"{root}/data/{user}",
        "ENROOT_CACHE_PATH": f"{root}/cache/{user}",
        "ENROOT_TEMP_PATH": f"{root}/tmp",
    }
    file = node.path(_ENROOT)
    lines = read_text(file, "").splitlines()
    standing = {re.split(r"[\s=]", line.strip(), maxsplit=1)[0] for line in lines}
    missing = {key: value for key, value in wanted.items() if key not in standing}
    if missing:
        _written(file, "\n".join([*lines, *(f"{key} {value}" for key, value in missing.items())]) + "\n")
    for folder in ("", "/data", "/cache", "/tmp"):
        made = node.path(f"{root}{folder}")
        made.mkdir(parents=True, exist_ok=True)
        made.chmod(0o1777)
    return root


def _kept(node: Node, name: str, root: str) -> tuple[str, bool]:
    node.say(f"{name} keeps its data at {root}, as its configuration says")
    return root, False


def _tell(node: Node, name: str, before: str) -> None:
    node.say(f"{name} keeps its data on scratch from now on; it does not see what it has in {before}")


def _written(file: Path, text: str) -> bool:
    if read_text(file, "") == text:
        return False
    write_atomically(file, text)
    return True
