"""`node-tuning.md`: every setting of a node with its reason, scope and source, and what a tuned image is built from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from reference_pages.markdown import code, page, prose, section, table
from ultracluster.facts import image_versions as versions_file
from ultracluster.facts.node_tuning import (
    TuningRow,
    left_alone,
    opt_ins,
    tuning_document,
    tuning_rows,
    tuning_sources,
)

__all__ = ["node_tuning_page"]

_KINDS = {
    "kernel-argument": "Kernel arguments",
    "sysctl": "Kernel parameters",
    "limit": "Limits of logins and services",
    "container-limit": "Limits of containers",
    "unit-override": "Drop-ins of services",
    "service": "Services that run",
    "timer": "Timers that are off",
    "unit-mask": "Services that are off",
    "module-option": "Options of modules",
    "module-load": "Modules that are loaded",
    "package-hold": "Packages that keep their version",
    "update-exclusion": "Packages that unattended updates leave alone",
    "restart-exclusion": "Services that updates do not restart",
    "apt-option": "Options of apt",
    "time-source": "Time",
    "gpu-clocks": "Clocks",
    "variable": "Variables of jobs",
}
_SCOPES = {
    "vendor": "accelerators of {}",
    "architecture": "{}",
    "os": "{}",
    "packages": "systems with {}",
    "families": "{}",
    "min_memory_gib": "{} GiB of memory or more",
    "min_vcpus": "{} vCPUs or more",
    "min_nodes": "fleets of {} nodes or more",
}
_VENDORS = {"nvidia": "NVIDIA", "aws": "AWS"}
_INTRO = """
What `ultracluster-node tune` brings into force: rows of the stage `image` while an image is built, rows of `boot` at
the first boot of a node. Every file on a node names the rows that it is made of. `tune --check` tells what differs.

A row counts when all conditions under *for* hold; what is not known at a stage counts as not given. Rows with an opt-in
are applied only where it is asked for: `TunedImage(opt_ins=[...])`, for those of the stage `boot` also `tuning` of a
fleet, or `ultracluster-node tune --with NAME`.
"""


def node_tuning_page() -> str:
    """The page."""
    kinds = list(dict.fromkeys(row.kind for row in tuning_rows()))
    return page(
        "Settings of a node",
        _INTRO,
        section(
            "Opt-ins", table(("Name", "What for"), ((code(name), prose(what)) for name, what in opt_ins().items()))
        ),
        *(section(_KINDS[kind], _rows(kind)) for kind in kinds),
        section("Variables that no job gets", _never()),
        section("What is left alone", table(("What", "Why"), ((prose(a.what), prose(a.reason)) for a in left_alone()))),
        section("What a tuned image is built from", _versions()),
        section("Sources", table(("Key", "Source", "As of"), _sources())),
    )


def _rows(kind: str) -> str:
    rows = (_row(row) for row in tuning_rows() if row.kind == kind)
    return table(("Row", "Setting", "For", "When", "Why", "Source", "Confidence"), rows)


def _row(row: TuningRow) -> tuple[str, ...]:
    when = " and ".join(row.stages) + (f", with {code(row.opt_in)}" if row.opt_in else "")
    setting = code(row.name if row.value in {"on", "off", "hold", "excluded"} else f"{row.name} = {row.value}")
    sources = ", ".join(f"[{key}](#sources)" for key in row.source)
    return code(row.id), setting, _scope(row.scope), when, prose(row.reason), sources, row.confidence


def _scope(scope: Mapping[str, Any]) -> str:
    told = [_condition(name, value) for name, value in scope.items()]
    return ", ".join(told) or "every node"


def _condition(name: str, value: object) -> str:
    if name == "efa":
        return "nodes with EFA"
    if name == "fabric_manager":
        return "types with NVSwitch"
    shown = ", ".join(map(str, value)) if isinstance(value, list) else _VENDORS.get(str(value), str(value))
    return _SCOPES[name].format(prose(shown))


def _never() -> str:
    rows = (
        (code(row["name"] + (f"={row['value']}" if "value" in row else "")), prose(row["reason"]), row["source"])
        for row in tuning_document()["never"]
    )
    return table(("Variable", "Why", "Source"), rows)


def _versions() -> str:
    document = json.loads(versions_file.DATA_FILE.read_text(encoding="utf-8"))
    parts = {name: row for name, row in document.items() if isinstance(row, dict) and "confidence" in row}
    rows = ((name.replace("_", " "), _numbers(row), _check(row), prose(row["because"])) for name, row in parts.items())
    return table(("Part", "Versions", "Checked by", "Why"), rows)


def _numbers(row: Mapping[str, Any]) -> str:
    names = ("version", "driver", "cuda", "exporter", "collectives", "runtime", "tools")
    return ", ".join(f"{name} {code(row[name])}" for name in names if name in row) or "follows the kernel"


def _check(row: Mapping[str, Any]) -> str:
    keys = [code(value) for name, value in row.items() if name.endswith("fingerprint")]
    told = [f"signature by {' or '.join(keys)}"] if keys else []
    told += ["SHA-256"] if row.get("sha256") else []
    return ", ".join(told) or "signatures of its repository"


def _sources() -> Iterator[tuple[str, str, str]]:
    for key, source in sorted(tuning_sources().items()):
        yield key, f"[{prose(source.title)}]({source.url})", source.as_of
