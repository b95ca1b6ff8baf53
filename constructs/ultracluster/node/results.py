"""What checks find, and what follows from all of it. The scale of actions comes from the facts, once for all checks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from . import NodeError

__all__ = ["FAIL", "PASS", "SKIPPED", "UNKNOWN", "Report", "Result", "UnreadableError", "Verdicts", "worst"]

PASS, FAIL, UNKNOWN, SKIPPED = "pass", "fail", "unknown", "skipped"
NONE = "none"


class UnreadableError(NodeError):
    """Output of a tool that is cut off or of another shape: what it would have said is unknown."""


@dataclass(frozen=True)
class Result:
    """What one check found.

    Attributes:
        check: its name.
        status: `pass`, `fail`, `unknown` (it could not be found out) or `skipped` (the type has no such thing).
        action: what a fault leads to; `none` unless the check failed.
        message: one line for people.
        value: what was measured, as plain JSON.
        fault: which fault it is and of which part (`xid-79@0000:53:00`), the same at every sighting; empty when none.
    """

    check: str
    status: str
    action: str = NONE
    message: str = ""
    value: Any = None
    fault: str = ""


class Verdicts:
    """Makes results, with the action that the facts name for a fault.

    Args:
        facts: the section `health` of the facts.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = facts
        self.scale: Sequence[str] = facts["actions"]

    def passed(self, check: str, message: str, value: Any = None) -> Result:  # noqa: ANN401 - plain JSON
        """The check found what has to be."""
        return Result(check, PASS, NONE, message, value)

    def failed(
        self,
        check: str,
        fault: str,
        message: str,
        value: Any = None,  # noqa: ANN401 - plain JSON
        *,
        part: str = "",
        action: str = "",
    ) -> Result:
        """The check found a fault.

        Args:
            check: its name.
            fault: name of the fault in the facts.
            message: one line.
            value: what was measured.
            part: the part that has the fault, so that it is known again.
            action: in place of the one that the facts name.
        """
        action = action or self._facts["faults"][fault]
        return Result(check, FAIL, action, message, value, f"{fault}@{part}" if part else fault)

    def unknown(self, check: str, message: str) -> Result:
        """It could not be found out, which is never a pass."""
        return Result(check, UNKNOWN, NONE, message)

    def skipped(self, check: str, message: str) -> Result:
        """The node has no such thing, by what is known of its type or its fleet."""
        return Result(check, SKIPPED, NONE, message)


def worst(actions: Iterable[str], scale: Sequence[str]) -> str:
    """The action that covers all others; `none` without any."""
    return max(actions, key=scale.index, default=NONE)


@dataclass(frozen=True)
class Report:
    """Everything that was looked at.

    Attributes:
        results: in the order of the checks.
        scale: all actions, from `none` to the heaviest.
        unfit_from: the lightest action of a node that can take no work.
        subject: what is known of the node: instance id and type.
    """

    results: tuple[Result, ...]
    scale: tuple[str, ...]
    unfit_from: str
    subject: Mapping[str, str]

    @property
    def action(self) -> str:
        """What has to be done: the heaviest action of all faults."""
        return worst((result.action for result in self.results), self.scale)

    @property
    def fit(self) -> bool:
        """Whether no fault stops the node from working; what is unknown does not."""
        return self.scale.index(self.action) < self.scale.index(self.unfit_from)

    @property
    def healthy(self) -> bool:
        """Whether the node can start to work: fit, and nothing is unknown. Decides the life-cycle hook at launch."""
        return self.fit and not any(result.status == UNKNOWN for result in self.results)

    @property
    def status(self) -> int:
        """Exit status: 0 when everything passed, 1 for a fault of any kind or something unknown."""
        return int(any(result.status in (FAIL, UNKNOWN) for result in self.results))

    def problems(self) -> tuple[Result, ...]:
        """Faults and unknowns, the heaviest first."""
        found = [result for result in self.results if result.status in (FAIL, UNKNOWN)]
        return tuple(sorted(found, key=lambda result: -self.scale.index(result.action)))

    def because(self) -> str:
        """Why the node is not healthy, in one line; empty when it is."""
        return "; ".join(f"{result.check}: {result.message}" for result in self.problems())

    def with_results(self, results: Iterable[Result]) -> Report:
        """The same report with other results."""
        return replace(self, results=tuple(results))

    def document(self) -> dict[str, Any]:
        """The report as plain JSON."""
        return {
            "schema": 1,
            **dict(self.subject),
            "action": self.action,
            "fit": self.fit,
            "healthy": self.healthy,
            "results": [asdict(result) for result in self.results],
        }

    def json(self) -> str:
        """The report as text in JSON."""
        return json.dumps(self.document(), indent=2) + "\n"
