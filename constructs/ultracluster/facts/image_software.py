"""Reader of `data/image_software.json`: how a command line shows what it does to an image."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.values import dataclass

__all__ = ["ImageSoftware", "ModuleSoftware", "Signs", "has_accelerator", "image_software", "version_of"]

DATA_FILE = Path(__file__).with_name("data") / "image_software.json"
_FAMILY = re.compile(r"([a-z]+)[0-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What shows that something is done.

    Attributes:
        actions: action modules of a component.
        managed: names of components that AWS offers.
        pattern: a command line that matches it.
    """

    actions: frozenset[str] = frozenset()
    managed: frozenset[str] = frozenset()
    pattern: re.Pattern[str]

    def at(self, line: str) -> int | None:
        """Where a command line shows it; None when it does not."""
        found = self.pattern.search(line)
        return found.start() if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleSoftware:
    """Software with a kernel module.

    Attributes:
        name: what it is called in a finding.
        installs: what shows that it is installed.
        checks: what shows that a test looks for it.
    """

    name: str
    installs: Signs
    checks: Signs


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSoftware:
    """Everything that is looked for; the data file names the source of each.

    Attributes:
        components_per_recipe: most build and test components of a recipe.
        kernel_updates: a newer kernel is installed.
        kernel_pins: the kernel is kept from updates.
        reboots: the build instance is rebooted.
        modules: software with a kernel module.
        device_tests: by vendor, a test that needs an accelerator.
        installer: the archive of the EFA installer; its group is the version.
        installer_run: the EFA installer is run.
        plugin_built: the sources of aws-ofi-nccl are fetched.
        plugin_bundled_from: first version of the installer that brings the plugin.
        fetch: something is fetched.
        spared: addresses that are no reference to anything.
        moving: a reference whose content changes.
        moving_hints: one of these stands in every such reference.
        build_step: whatever is looked for in the build phase.
    """

    components_per_recipe: int
    kernel_updates: Signs
    kernel_pins: Signs
    reboots: Signs
    modules: tuple[ModuleSoftware, ...]
    device_tests: Mapping[str, Signs]
    installer: re.Pattern[str]
    installer_run: Signs
    plugin_built: Signs
    plugin_bundled_from: tuple[int, ...]
    fetch: Signs
    spared: Signs
    moving: re.Pattern[str]
    moving_hints: tuple[str, ...]
    build_step: Signs


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


def _compiled(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


def _signs(row: Mapping[str, Any]) -> Signs:
    return Signs(
        actions=frozenset(row.get("actions", ())),
        managed=frozenset(row.get("managed", ())),
        pattern=_compiled(row["patterns"]),
    )


def _lines(*patterns: str) -> Signs:
    return Signs(pattern=_compiled(list(patterns)))


@cache
def image_software() -> ImageSoftware:
    """The facts, read once."""
    rows = _document()
    plugin, moving = rows["plugin"], rows["moving"]
    return ImageSoftware(
        components_per_recipe=rows["components_per_recipe"]["value"],
        kernel_updates=_signs(rows["kernel_updates"]),
        kernel_pins=_signs(rows["kernel_pins"]),
        reboots=_signs(rows["reboots"]),
        modules=tuple(
            ModuleSoftware(name=row["name"], installs=_lines(*row["patterns"]), checks=_lines(*row["checks"]))
            for row in rows["modules"]
        ),
        device_tests={vendor: _lines(*rows["device_tests"][vendor]) for vendor in ("nvidia", "aws")},
        installer=re.compile(plugin["installer"], re.IGNORECASE),
        installer_run=_lines(plugin["run"]),
        plugin_built=_lines(plugin["built"]),
        plugin_bundled_from=version_of(plugin["bundled_from"]),
        fetch=_lines(moving["fetch"]),
        spared=_lines(moving["spared"]),
        moving=_compiled(moving["patterns"]),
        moving_hints=tuple(moving["hints"]),
        build_step=_lines(
            *(pattern for name in ("kernel_updates", "kernel_pins", "reboots") for pattern in rows[name]["patterns"]),
            *(pattern for row in rows["modules"] for pattern in row["patterns"]),
        ),
    )


def version_of(text: str) -> tuple[int, ...]:
    """The numbers of a dotted version."""
    return tuple(int(part) for part in text.split("."))


def has_accelerator(instance_type: str, vendor: str) -> bool | None:
    """Whether an instance type has accelerators of a vendor, from the catalogue or from its name.

    Args:
        instance_type: its name.
        vendor: `nvidia`, or `aws` for Trainium and Inferentia.

    Returns:
        None where neither tells.
    """
    from ultracluster.facts.instances import catalog

    facts = catalog().get(instance_type)
    if facts is not None:
        return facts.vendor == vendor and facts.accelerator_count > 0
    families = _document()["accelerated_families"]
    match = _FAMILY.match(instance_type)
    if match is None or match.group(1) not in families["known"]:
        return None
    foreign = instance_type.partition(".")[0] in families["not_of_the_vendor"]
    return match.group(1) in families[vendor] and not foreign
