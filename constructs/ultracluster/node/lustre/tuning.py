"""Client tuning out of the facts: options of the modules before the first mount, parameters after it.

Parameters are gone after a reboot, so they are set at every boot. What lets one client keep more requests in flight is
left out where it can overload the servers: small file systems, few clients.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..files import read_text, write_atomically
from ..host import Node, NodeError
from ..mountinfo import mounts

OPTIONS_FILE = "/etc/modprobe.d/ultracluster-lustre.conf"
_HEAD = "# Written by ultracluster-node: values and reasons are in the guide.\n"


def before_mount(node: Node) -> None:
    """Write the module options; they hold from when the modules are loaded, so before the first mount.

    Modules that are loaded with other values are unloaded while nothing is mounted; otherwise one line says that they
    hold after a reboot.
    """
    rows = [row for row in node.facts["lustre"]["module_options"] if _applies(node, row)]
    lines = [f"options {module} {option}={row['value']}\n" for row in rows for module, option in [_split(row["name"])]]
    file = node.path(OPTIONS_FILE)
    text = _HEAD + "".join(lines) if lines else ""
    if text and read_text(file, "") != text:
        write_atomically(file, text)
    late = [row["name"] for row in rows if _loaded(node, row) not in (None, str(row["value"]))]
    if not late:
        return
    if node.has("lustre_rmmod") and not any(mount.kind == "lustre" for mount in mounts(node)):
        node.run("lustre_rmmod", check=False)
        late = [row["name"] for row in rows if _loaded(node, row) not in (None, str(row["value"]))]
    if late:
        node.say(f"{', '.join(late)} take effect at the next boot: the modules are loaded already")


def _split(name: str) -> tuple[str, str]:
    module, _, option = name.partition(".")
    return module, option


def _loaded(node: Node, row: dict[str, Any]) -> str | None:
    """The value with which a module is loaded; None when it is not."""
    module, option = _split(row["name"])
    value = read_text(node.path(f"/sys/module/{module}/parameters/{option}"), "").strip()
    return value or None


def after_mount(node: Node, mount: dict[str, Any]) -> dict[str, int]:
    """Set the parameters of one mounted file system.

    Args:
        node: the node.
        mount: its entry in the settings.

    Returns:
        What was set, by parameter.

    Raises:
        NodeError: the client does not take a value.
    """
    name = file_system(mount["source"])
    small = _small(node, name)
    if small:
        node.say(f"{mount['path']}: {small}; requests in flight keep their defaults")
    done = {}
    for row in node.facts["lustre"]["parameters"]:
        if not _applies(node, row) or (small and row["loads_servers"]):
            continue
        parameter = row["name"].replace("{fs}", name)
        if row["if_present"] and node.run("lctl", "get_param", "-N", parameter, check=False).status:
            continue
        value = row["value"] * (node.instance_type()["vcpus"] if row["per_vcpu"] else 1)
        node.run("lctl", "set_param", f"{parameter}={value}")
        done[parameter] = value
    return done


def file_system(source: str) -> str:
    """Name of a file system in what is mounted: `fs-1.fsx...@tcp:/abcdefgh` is `abcdefgh`.

    Raises:
        NodeError: the source has another shape.
    """
    name = source.partition(":/")[2].split("/")[0]
    if not name:
        raise NodeError(f"{source} is no Lustre file system; give server@tcp:/name")
    return name


def parameters(text: str) -> dict[str, str]:
    """Values by parameter in `lctl get_param` output; of those with several lines the lines after the name."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if separator and "." in key and " " not in key:
            name, found[key] = key, value
        elif name:
            found[name] = f"{found[name]}\n{line}".lstrip("\n")
    return found


def _small(node: Node, name: str) -> str:
    facts = node.facts["lustre"]
    shown = node.run("lctl", "get_param", f"osc.{name}-OST*.max_rpcs_in_flight", check=False).stdout
    targets = len({parameter.split(".")[1] for parameter in parameters(shown)})
    clients = node.settings.get("nodes") or facts["skip_clients"] + 1  # unknown: as many as it takes
    if targets <= facts["skip_osts"]:
        return f"{targets} object storage targets"
    return f"{clients} clients at most" if clients <= facts["skip_clients"] else ""


def _applies(node: Node, row: dict[str, Any]) -> bool:
    if row["group"]:
        return row["group"] in node.settings.get("tuning", ())
    if row["transport"] and row["transport"] not in set(_transports(node)):
        return False
    record = node.instance_type()
    limits = ((record.get("vcpus", 0), row["vcpus_over"]), (record.get("memory_gib", 0), row["memory_gib_over"]))
    return all(has > over for has, over in limits)


def _transports(node: Node) -> Iterator[str]:
    for mount in node.settings.get("mounts", []):
        if mount["kind"] == "lustre":
            yield "efa" if mount.get("efa") else "tcp"
