"""From rows to steps: what each kind of setting is on this node, put together into as few files as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .host import Node
from .tune_files import BlockStep, FileStep, LinesStep, SettingsStep, Step, header
from .tune_scope import Scope
from .tune_system import (
    ClocksStep,
    CommandLineStep,
    HoldStep,
    KernelArgumentsStep,
    MaskStep,
    ServiceStep,
    SysctlStep,
    units_steps,
)

__all__ = ["Step", "steps_for"]

Row = Mapping[str, Any]

_APT = "/etc/apt/apt.conf.d/99ultracluster"
_RELOAD, _AGAIN = ("systemctl", "daemon-reload"), ("systemctl", "daemon-reexec")
_CHRONY = ("/etc/chrony.conf", "/etc/chrony/chrony.conf")


def steps_for(node: Node, rows: Sequence[Row], scope: Scope) -> list[Step]:
    """The steps of these rows, in the order in which they are taken.

    Args:
        node: the node.
        rows: those that count.
        scope: what is known of the node.
    """
    found: list[Step] = []
    for kinds, make in _MAKERS:
        chosen = [row for row in rows if row["kind"] in kinds]
        if chosen:
            found += make(node, chosen, scope)
    return [*found, *units_steps(node)]


def _ids(rows: Iterable[Row]) -> tuple[str, ...]:
    return tuple(row["id"] for row in rows)


def _file(
    node: Node, path: str, rows: Sequence[Row], body: str, *, after: Sequence[str] = (), mark: str = "#"
) -> FileStep:
    return FileStep(node, path, _ids(rows), header(rows, mark) + body, tuple(after))


def _limits(node: Node, rows: Sequence[Row], _scope: Scope) -> Iterator[Step]:
    logins = "".join(f"{who} - {row['name']} {row['value']}\n" for row in rows for who in ("*", "root"))
    yield _file(node, "/etc/security/limits.d/ultracluster.conf", rows, logins)
    services = "".join(
        f"DefaultLimit{row['name'].upper()}={'infinity' if row['value'] == 'unlimited' else row['value']}\n"
        for row in rows
    )
    yield _file(
        node,
        "/etc/systemd/system.conf.d/ultracluster.conf",
        rows,
        f"[Manager]\n{services}",
        after=_AGAIN,
    )


def _overrides(node: Node, rows: Sequence[Row], _scope: Scope) -> Iterator[Step]:
    for unit in dict.fromkeys(row["name"] for row in rows):
        own = [row for row in rows if row["name"] == unit]
        sections: dict[str, list[str]] = {}
        for row in own:
            section, _, line = row["value"].partition(":")
            sections.setdefault(section, []).append(line)
        body = "\n".join(
            f"[{section}]\n" + "".join(f"{line}\n" for line in lines) for section, lines in sections.items()
        )
        yield _file(node, f"/etc/systemd/system/{unit}.d/ultracluster.conf", own, body, after=_RELOAD)


def _sysctl(node: Node, rows: Sequence[Row], _scope: Scope) -> Iterator[Step]:
    body = "".join(f"{row['name']} = {row['value']}\n" for row in rows)
    yield _file(node, "/etc/sysctl.d/90-ultracluster.conf", rows, body)
    for row in rows:
        yield SysctlStep(node, _ids([row]), row["name"], row["value"])


def _modules(node: Node, rows: Sequence[Row], _scope: Scope) -> Iterator[Step]:
    rebuild = ["dracut", "--force"] if node.has("dracut") else ["update-initramfs", "-u"]
    body = "".join(f"{row['value']}\n" for row in rows)
    yield _file(node, "/etc/modprobe.d/ultracluster.conf", rows, body, after=rebuild)


def _loads(node: Node, rows: Sequence[Row], _scope: Scope) -> Iterator[Step]:
    body = "".join(f"{row['name']}\n" for row in rows)
    yield _file(node, "/etc/modules-load.d/ultracluster.conf", rows, body)


def _masks(node: Node, rows: Sequence[Row], _scope: Scope) -> Iterator[Step]:
    for row in rows:
        yield MaskStep(node, _ids([row]), row["name"])


def _services(node: Node, rows: Sequence[Row], _scope: Scope) -> Iterator[Step]:
    for row in rows:
        yield ServiceStep(node, _ids([row]), row["name"])


def _apt(node: Node, rows: Sequence[Row], _scope: Scope) -> Iterator[Step]:
    options = "".join(f'{row["name"]} "{row["value"]}";\n' for row in rows if row["kind"] == "apt-option")
    excluded = [row["name"] for row in rows if row["kind"] == "update-exclusion"]
    listed = "".join(f'  "{name}";\n' for name in excluded)
    body = options + (f"Unattended-Upgrade::Package-Blacklist {{\n{listed}}};\n" if excluded else "")
    yield _file(node, _APT, rows, body, mark="//")


def _restarts(node: Node, rows: Sequence[Row], _scope: Scope) -> Iterator[Step]:
    body = "".join(f"$nrconf{{override_rc}}{{qr({row['name']})}} = {row['value']};\n" for row in rows)
    yield _file(node, "/etc/needrestart/conf.d/ultracluster.conf", rows, body)


def _holds(node: Node, rows: Sequence[Row], scope: Scope) -> Iterator[Step]:
    yield HoldStep(node, _ids(rows), tuple(row["name"] for row in rows), scope.packages)


def _kernel(node: Node, rows: Sequence[Row], _scope: Scope) -> Iterator[Step]:
    arguments = tuple(f"{row['name']}={row['value']}" for row in rows)
    yield KernelArgumentsStep(node, _ids(rows), arguments)
    yield CommandLineStep(node, _ids(rows), arguments)


def _time(node: Node, rows: Sequence[Row], _scope: Scope) -> Iterator[Step]:
    path = next((path for path in _CHRONY if node.path(path).is_file()), None)
    if path is not None:
        lines = "".join(f"server {row['name']} {row['value']}\n" for row in rows)
        yield BlockStep(node, path, _ids(rows), header(rows) + lines, ("systemctl", "try-restart", "chronyd", "chrony"))


def _containers(node: Node, rows: Sequence[Row], _scope: Scope) -> Iterator[Step]:
    if node.has("dockerd"):
        wanted = {
            row["name"]: {"Name": row["name"], "Hard": int(row["value"]), "Soft": int(row["value"])} for row in rows
        }
        yield SettingsStep(node, "/etc/docker/daemon.json", _ids(rows), "default-ulimits", wanted)


def _variables(node: Node, rows: Sequence[Row], _scope: Scope) -> Iterator[Step]:
    yield LinesStep(
        node, "/etc/ultracluster/environment", _ids(rows), [f"{row['name']}={row['value']}" for row in rows]
    )
    export = "set -a\n. /etc/ultracluster/environment\nset +a\n"
    yield _file(node, "/etc/profile.d/ultracluster.sh", rows, export)


def _clocks(node: Node, rows: Sequence[Row], scope: Scope) -> Iterator[Step]:
    if scope.type.get("clocks_mhz"):
        yield ClocksStep(node, _ids(rows), tuple(scope.type["clocks_mhz"]))


_MAKERS: tuple[tuple[tuple[str, ...], Callable[[Node, Sequence[Row], Scope], Iterable[Step]]], ...] = (
    (("package-hold",), _holds),
    (("limit",), _limits),
    (("unit-override",), _overrides),
    (("sysctl",), _sysctl),
    (("timer", "unit-mask"), _masks),
    (("apt-option", "update-exclusion"), _apt),
    (("restart-exclusion",), _restarts),
    (("time-source",), _time),
    (("module-option",), _modules),
    (("module-load",), _loads),
    (("kernel-argument",), _kernel),
    (("variable",), _variables),
    (("container-limit",), _containers),
    (("service",), _services),
    (("gpu-clocks",), _clocks),
)
