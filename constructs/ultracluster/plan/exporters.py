"""Whether a release of DCGM covers the accelerators of an instance type."""

from __future__ import annotations

from ultracluster.facts.dcgm import first_release
from ultracluster.findings import Finding, finding

__all__ = ["check_exporter"]


def check_exporter(release: str, instance_type: str, *, subject: str) -> tuple[Finding, ...]:
    """UC-ALM-016 when an exporter is too old for a type.

    Args:
        release: of DCGM, for example `4.2.0`.
        instance_type: what it runs on.
        subject: its path in the user's terms.
    """
    found = first_release(instance_type.split(".", 1)[0])
    if found is None or _key(release) >= _key(found[0]):
        return ()
    message = f"DCGM {release} on {instance_type}, which needs {found[0]}: {found[1]}"
    return (finding("UC-ALM-016", subject, message, f"take {found[0]} or newer, by digest"),)


def _key(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))
