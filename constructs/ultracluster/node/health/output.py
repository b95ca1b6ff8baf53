"""A report for people, and as metrics in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..results import FAIL, PASS, SKIPPED, UNKNOWN, Report

__all__ = ["metrics", "text"]

# The status of a check that gave several results.
_HEAVIEST = (FAIL, UNKNOWN, PASS, SKIPPED)


def text(report: Report) -> str:
    """One line per result, and what follows from them in the last."""
    lines = [
        f"{result.status:<8}{result.check}: {result.message}"
        + (f" [{result.action}]" if result.action != "none" else "")
        for result in report.results
    ]
    if report.action == "none":
        verdict = "unknown in parts" if report.status else "healthy"
    else:
        verdict = f"{report.action} ({'fit for work' if report.fit else 'takes no work'})"
    return "\n".join([*lines, f"{' '.join(report.subject.values())}: {verdict}"]) + "\n"


def metrics(report: Report, *, now: float) -> str:
    """The report as a file for the textfile collector of the node exporter.

    Args:
        report: of one run.
        now: seconds since 1970.
    """
    scale = ", ".join(f"{rank} {name}" for rank, name in enumerate(report.scale))
    families: tuple[tuple[str, str, list[tuple[dict[str, str], int]]], ...] = (
        (
            "check",
            "Outcome of each health check: 1 beside its status.",
            [({"check": check, "status": status}, 1) for check, status in _statuses(report).items()],
        ),
        (
            "fault",
            "Faults that stand now, with what each leads to.",
            [
                ({"check": each.check, "fault": each.fault, "action": each.action}, 1)
                for each in {result.fault: result for result in report.results if result.status == FAIL}.values()
            ],
        ),
        ("action", f"What has to be done with the node: {scale}.", [({}, report.scale.index(report.action))]),
        ("fit", "Whether the node can take work.", [({}, int(report.fit))]),
        ("last_run_timestamp_seconds", "When the checks ran last, in seconds since 1970.", [({}, round(now))]),
    )
    return "".join(_family(name, words, samples) for name, words, samples in families)


def _statuses(report: Report) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for result in report.results:
        known = found.setdefault(result.check, result.status)
        if _HEAVIEST.index(result.status) < _HEAVIEST.index(known):
            found[result.check] = result.status
    return found


def _family(name: str, words: str, samples: Iterable[tuple[Mapping[str, str], int]]) -> str:
    full = f"ultracluster_health_{name}"
    lines = [f"# HELP {full} {words}", f"# TYPE {full} gauge"]
    for labels, value in samples:
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        lines.append(f"{full}{{{inside}}} {value}" if inside else f"{full} {value}")
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
