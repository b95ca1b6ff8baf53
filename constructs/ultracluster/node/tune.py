"""`tune`: bring the settings of a node into force, or tell line by line which of them are not.

Every setting comes from the table that is packed with the program; every file names the rows that it is made of.
Nothing here reboots: kernel arguments and modules that are kept out count from the next boot on.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from . import NodeError
from .files import locked, read_text, write_atomically
from .host import Node
from .tune_files import FileStep, Step, follow_up
from .tune_scope import STAGES, Scope, known_opt_ins, rows_for
from .tune_steps import steps_for

__all__ = ["SUMMARY", "apply", "arguments", "drift", "run"]

SUMMARY = "bring kernel, limits, timers, clock and services into the state of the table"
CHOICES = "/etc/ultracluster/tuning.json"
"""What the image was built with, so that a node of it goes on with the same choices."""
LOCK = "/run/ultracluster/tune.lock"
_USAGE = 2


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the program."""
    parser.add_argument("--stage", choices=STAGES, required=True, help="image while an image is built, boot on a node")
    parser.add_argument("--with", dest="opt_ins", action="append", default=[], metavar="NAME", help="an opt-in by name")
    parser.add_argument("--vendor", choices=("nvidia", "aws", "none"), help="make of the accelerators, for an image")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 with a line for each difference")


def run(args: argparse.Namespace, node: Node) -> int:
    """Apply or check; 1 when a check found differences, 2 for an opt-in that nobody knows."""
    unknown = sorted(set(args.opt_ins) - known_opt_ins(node))
    if unknown:
        node.say(f"no opt-in {', '.join(unknown)}; one of {', '.join(sorted(known_opt_ins(node)))}")
        return _USAGE
    if args.check:
        lines = drift(node, args.stage, args.opt_ins, vendor=args.vendor)
        for line in lines:
            node.say(line)
        return 1 if lines else 0
    changed = apply(node, args.stage, args.opt_ins, vendor=args.vendor)
    for line in changed:
        node.say(line)
    node.say(f"{len(changed)} of {len(_steps(node, args.stage, args.opt_ins, args.vendor))} settings changed")
    return 0


def apply(node: Node, stage: str, opt_ins: Sequence[str] = (), *, vendor: str | None = None) -> list[str]:
    """Bring every setting of a stage into force; what is right already is left as it is.

    Args:
        node: the node.
        stage: `image` or `boot`.
        opt_ins: names of what was asked for, beside those of the settings and of the image.
        vendor: make of the accelerators where neither settings nor type tell it.

    Returns:
        A line for each setting that was changed.

    Raises:
        NodeError: some could not be brought into force; all others are.
    """
    with locked(node.path(LOCK)):
        if stage == "image":
            _remember(node, opt_ins, vendor)
        done = list(_taken(node, _steps(node, stage, opt_ins, vendor)))
    failed = [error for _, error in done if error]
    if failed:
        raise NodeError("; ".join(failed))
    return [changed for changed, _ in done if changed]


def _taken(node: Node, steps: Sequence[Step]) -> Iterator[tuple[str, str]]:
    """Take the steps; what makes several files in a row count is done once, after the last of them."""
    for after, group in groupby(steps, key=attrgetter("after")):
        written: list[Step] = []
        for step in group:
            changed, failed = _take(step)
            yield changed, failed
            if changed:
                written.append(step)
        if after and written:
            yield "", _made_to_count(node, after, written)


def _made_to_count(node: Node, after: tuple[str, ...], written: Sequence[Step]) -> str:
    """Why files could not be made to count; they go again then, so that the next run sees it and tries anew."""
    try:
        follow_up(node, after)
    except NodeError as error:
        for step in written:
            if isinstance(step, FileStep):
                step.forget()
        return f"{written[-1].title}: {error}"
    return ""


def _take(step: Step) -> tuple[str, str]:
    """What a step changed, and why it failed; one after the other, so that one fault does not keep the rest out."""
    try:
        found = step.drift()
        if found is not None:
            step.apply()
    except NodeError as error:
        return "", f"{step.title}: {error}"
    return (f"{step.title}: {found}" if found else ""), ""


def drift(node: Node, stage: str, opt_ins: Sequence[str] = (), *, vendor: str | None = None) -> list[str]:
    """A line for each setting of a stage that is not in force; see `apply` for the arguments."""
    lines = []
    for step in _steps(node, stage, opt_ins, vendor):
        try:
            found = step.drift()
        except NodeError as error:
            found = str(error)
        if found is not None:
            lines.append(f"{step.title}: {found} [{', '.join(step.rows)}]")
    return lines


def _steps(node: Node, stage: str, opt_ins: Sequence[str], vendor: str | None) -> list[Step]:
    chosen = _choices(node)
    names = {*opt_ins, *chosen.get("with", []), *node.settings.get("tuning", [])}
    scope = Scope.of(node, stage, vendor or chosen.get("vendor"))
    return steps_for(node, rows_for(node.facts["tuning"], stage, scope, names), scope)


def _choices(node: Node) -> dict[str, Any]:
    text = read_text(node.path(CHOICES), "{}")
    try:
        return dict(json.loads(text))
    except ValueError as error:
        raise NodeError(f"{CHOICES} is no JSON ({error}); run tune --stage image again") from error


def _remember(node: Node, opt_ins: Sequence[str], vendor: str | None) -> None:
    before = _choices(node)
    chosen = {"vendor": vendor or before.get("vendor"), "with": sorted({*opt_ins, *before.get("with", [])})}
    if chosen != before:
        write_atomically(node.path(CHOICES), json.dumps(chosen) + "\n")
