"""`api.md`: every public name, rendered from its docstring when the site is built."""

from __future__ import annotations

from collections.abc import Mapping

import ultracluster
from reference_pages.markdown import code, page, section

__all__ = ["api_page"]

_INTRO = """
Everything public is imported from `ultracluster`. Names are loaded on first use: the values and functions of the plan
start without the CDK.
"""
_GROUPS = {
    "Constructs": (
        "network",
        "placement",
        "fleet",
        "spot",
        "storage",
        "observability",
        "image",
        "orchestrators",
        "cost",
    ),
    "Values that constructs take": ("plan",),
    "Facts, cluster files, plans and checks": ("facts", "spec", "findings", "plan.cluster", "policy", "preflight"),
}
_COMMON = "ultracluster.fleet.fleet.Fleet"
"""What both kinds of fleet have and show; not a name of its own, but the place where their attributes are told."""


def api_page() -> str:
    """The page."""
    modules = ultracluster._MODULES
    groups: dict[str, list[str]] = {title: [] for title in _GROUPS}
    for name in ultracluster.__all__:
        groups[_group(modules[name])].append(name)
    contents = (f"**{title}**: {', '.join(_link(name, modules) for name in names)}." for title, names in groups.items())
    members = (
        section(
            title,
            *(f"::: {_path(name, modules)}" for name in names),
            f"::: {_COMMON}" if "TrainingFleet" in names else "",
        )
        for title, names in groups.items()
    )
    return page("Python API", _INTRO, *contents, *members)


def _group(module: str) -> str:
    """The group with the longest part of the module's name."""
    found = [
        (len(area), title) for title, areas in _GROUPS.items() for area in areas if f"{module}.".startswith(f"{area}.")
    ]
    if not found:
        raise LookupError(f"no group of the API page takes {module}")
    return max(found)[1]


def _link(name: str, modules: Mapping[str, str]) -> str:
    return f"[{code(name)}][{_path(name, modules)}]"


def _path(name: str, modules: Mapping[str, str]) -> str:
    return f"ultracluster.{modules[name]}.{name}"
