"""Rules on storage as scripts set it up: container roots, scratch disks, Lustre mounts and their tuning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ultracluster.facts.instances import catalog
from ultracluster.policy.graph.node_scripts import (
    SCRIPT_HOLDERS,
    NodeScript,
    node_types,
    training_script,
)
from ultracluster.policy.graph.user_data import MARK
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.view import Resource

_COMPONENT = SCRIPT_HOLDERS[-1]
_BOOTED = SCRIPT_HOLDERS[:-1]
# How scripts set the data root of each container runtime.
_ROOTS = {
    "docker": re.compile(r"\"data-root\"\s*:\s*\"(?P<path>[^\"]+)\"|--data-root[= ](?P<other>[^\s\"']+)"),
    "containerd": re.compile(
        r"(?m)^\s*root\s*=\s*\"(?P<path>/(?!run/)[^\"]+)\"|--root[= ](?P<other>/(?!run/)\S*containerd\S*)"
    ),
    "enroot": re.compile(r"\bENROOT_DATA_PATH[\s=\"']+(?P<path>[^\s\"']+)|\benroot_data_path=(?P<other>\S+)"),
}
# Where images of AWS put their instance storage.
_SCRATCH = ("/opt/dlami/nvme", "/opt/sagemaker", "/mnt/k8s-disks/0")
_MOUNTED = re.compile(
    r"\bmount\s+(?:-\S+\s+\S+\s+)*\S+\s+(/[^\s;&|\"']+)|\s(/\S+)\s+(?:xfs|ext4|lustre|nfs4?)\s|\bWhere=(/\S+)"
)
_SYSTEM = ("/var", "/usr", "/home", "/root", "/tmp", "/opt", "/etc")
_SHARED_PARENTS = {"opt", "mnt", "media", "var"}
_BY_NUMBER = re.compile(r"\b(?:mkfs(?:\.\w+)?|mdadm|pvcreate|vgcreate|mount)\b[^\n;&|]*?(/dev/nvme[\d\[][^\s\"';&|]*)")
_BY_MODEL = re.compile(r"Instance[ _]Storage|nvme-Amazon_EC2|nvme list|\bMODEL\b|/model\b", re.IGNORECASE)
_ONE_SHOT = re.compile(r"\bmount\s[^\n;&|]*-t\s*lustre\b|\bmount\.lustre\b")
_FSTAB_LINE = re.compile(r"(?<!\S)\S+\s+/\S+\s+lustre\s+(?P<options>[^\s\"']+)")
_KEPT_MOUNT = re.compile(r"[\"']lustre[\"']\s*,|Type\s*=\s*lustre|autofs|auto\.master")
_EVERY_BOOT = re.compile(r"@reboot|per-boot|boothook|scripts-user,\s*always|rc\.local|/etc/systemd/system/|\.service\b")
_SET_PARAMETER = re.compile(r"\blctl\s+set_param\s+(?!-P|--permanent)(?P<what>[^\s;&|]+)")
_PTLRPCD = re.compile(r"\bptlrpcd_per_cpt_max\b")
_RELOADS = re.compile(r"\blustre_rmmod\b|\bmodprobe\s+-r\b|\breboot\b|\brmmod\b")
_CREDITS = re.compile(r"\b(?P<module>ksocklnd|kefalnd)\b[^\n]*\bcredits\b")


@rule("UC-NOD-008", on=_BOOTED)
def one_scratch_root(holder: Resource) -> Iterator[Problem]:
    """The container runtimes of a node keep their data under one scratch mount."""
    script = training_script(holder, "data-root", "ENROOT_DATA_PATH", "enroot_data_path", 'root = "', "--root")
    if script is None:
        return
    roots = {name: _paths(pattern.finditer(script.text)) for name, pattern in _ROOTS.items()}
    mounts = _mounts(script.text)
    places = {name: {_mount(path, mounts) for path in paths} for name, paths in roots.items() if paths}
    if not places:
        return
    if any("$" in place or MARK in place for found in places.values() for place in found):
        raise NotKnown("where the container runtimes keep their data")
    (first, at_first), *others = places.items()
    for name, place in others:
        if not place & at_first:
            message = f"{first} keeps its data under {_one(at_first)}, {name} under {_one(place)}"
            yield Problem(script.where, message)
            return
    yield from _on_the_root_volume(holder, script, places)


def _paths(found: Iterable[re.Match[str]]) -> set[str]:
    return {each["path"] or each["other"] for each in found}


def _one(places: set[str]) -> str:
    return " or ".join(sorted(places))


def _mounts(script: str) -> tuple[str, ...]:
    found = {path.rstrip("/") for each in _MOUNTED.findall(script) for path in each if path}
    return tuple(sorted({*_SCRATCH, *found} - {""}, key=len, reverse=True))


def _mount(path: str, mounts: Iterable[str]) -> str:
    """The file system that a path lies on, as far as a script tells."""
    for mount in mounts:
        if f"{path}/".startswith(f"{mount}/"):
            return mount
    parts = [part for part in path.split("/") if part]
    depth = 2 if parts and parts[0] in _SHARED_PARENTS else 1
    return "/" + "/".join(parts[:depth])


def _on_the_root_volume(holder: Resource, script: NodeScript, places: dict[str, set[str]]) -> Iterator[Problem]:
    mounted = set(_mounts(script.text))
    for name, found in places.items():
        if all(place not in mounted and place.startswith(_SYSTEM) for place in found) and _has_scratch(holder):
            message = f"{name} keeps its data under {_one(found)}, which lies on the root volume"
            yield Problem(script.where, message)
            return


def _has_scratch(holder: Resource) -> bool:
    """Whether a type that runs the script has instance storage; where no type is named, training types have."""
    types = node_types(holder)
    known = catalog()
    return not types or any(known[name].nvme_disks for value in types if (name := value.text()) in known)


@rule("UC-NOD-009", on=_BOOTED)
def scratch_found_by_model(holder: Resource) -> Iterator[Problem]:
    """Scripts find instance storage by its model, not by the number of a device."""
    script = training_script(holder, "/dev/nvme")
    if script is None or _BY_MODEL.search(script.text):
        return
    found = _BY_NUMBER.search(script.text)
    if found is not None and _has_scratch(holder):
        message = f"{found[1]} may be another disk at the next start: numbers are given in the order of discovery"
        yield Problem(script.where, message)


@rule("UC-NOD-010", on=_BOOTED)
def lustre_mount_lasts(holder: Resource) -> Iterator[Problem]:
    """A Lustre mount comes back after a reboot, and waits for the network."""
    script = training_script(holder, "lustre")
    if script is None:
        return
    text = "\n".join(line for line in script.text.split("\n") if "lustre" in line)
    lines = list(_FSTAB_LINE.finditer(text))
    for line in lines:
        options = line["options"]
        if "$" not in options and MARK not in options and "_netdev" not in options.split(","):
            message = f"the fstab line of {line[0].split()[1]} has {options}, so it is tried before there is a network"
            yield Problem(script.where, message, "add _netdev to the options")
            return
    if not lines and _ONE_SHOT.search(text) and not _KEPT_MOUNT.search(text):
        if _EVERY_BOOT.search(script.text):
            raise NotKnown("whether what runs at every boot mounts the file system")
        yield Problem(script.where, "mount -t lustre is run once: the first reboot loses the mount")


@rule("UC-NOD-011", on=_BOOTED)
def lustre_tuning_counts(holder: Resource) -> Iterator[Problem]:
    """Tuning of the Lustre client comes in time, lasts, and fits the network that is used."""
    script = training_script(holder, "lctl", "ptlrpcd", "lnd")
    if script is None:
        return
    text = script.text
    mounted = _ONE_SHOT.search(text)
    threads = _PTLRPCD.search(text)
    if threads and mounted and threads.start() > mounted.start() and not _RELOADS.search(text, threads.end()):
        message = "ptlrpcd_per_cpt_max is set after the first mount, when the module is loaded already"
        yield Problem(script.where, message, "write the module option before anything is mounted")
    volatile = _SET_PARAMETER.search(text)
    if volatile and not _EVERY_BOOT.search(text):
        message = f"lctl set_param {volatile['what']} is gone after a reboot, and nothing sets it again"
        yield Problem(script.where, message, "set it from a unit that runs at every boot, after the mount")
    tuned = _CREDITS.search(text)
    if tuned and (tuned["module"] == "kefalnd" or _is_efa_alone(text)):
        message = f"credits of {tuned['module']} are set, and the file system is reached over EFA"
        yield Problem(script.where, message, "leave the credits alone where LNet runs over EFA")


def _is_efa_alone(text: str) -> bool:
    return bool(re.search(r"--net\s+efa\b|\bkefalnd\b", text)) and not re.search(r"--net\s+tcp\b", text)
