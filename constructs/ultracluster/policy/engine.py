"""All rules over an assembly: what they find, what they could not judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from ultracluster.policy.explore import explore
from ultracluster.policy.fault import Fault
from ultracluster.policy.model import AssemblyModel, ResourceModel, TemplateModel
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import ASSEMBLY, TEMPLATE, Rule, rules_by_type
from ultracluster.policy.view import Assembly, Resource, Template
from ultracluster.policy.world import World

__all__ = ["Judged", "NotJudged", "judge"]


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A rule that could not decide about a resource.

    Attributes:
        rule_ids: the rules of the function.
        where: the resource in the user's terms; empty for a template or assembly.
        logical_id: its logical id.
        template: the file.
        reason: the first thing that was not known.
    """

    rule_ids: tuple[str, ...]
    where: str
    logical_id: str
    template: str
    reason: str


@dataclass(slots=True)
class Judged:
    """The raw outcome of all rules.

    Attributes:
        faults: each fault once.
        not_judged: rules that could not decide.
        judged: how many times a rule was applied to something.
        failures: rules that ended in an error of their own.
    """

    faults: list[Fault] = field(default_factory=list)
    not_judged: list[NotJudged] = field(default_factory=list)
    judged: int = 0
    failures: list[str] = field(default_factory=list)


def judge(assembly: AssemblyModel, *, wanted: Callable[[str], bool] | None = None, fenced: bool = True) -> Judged:
    """Apply every rule.

    Args:
        assembly: the templates.
        wanted: which ids; all by default.
        fenced: whether an error inside a rule counts as not judged; tests let it through.
    """
    result = Judged()
    world = World(assembly)
    for kind, group in rules_by_type(assembly.by_type).items():
        chosen = [known for known in group if wanted is None or any(map(wanted, known.ids))]
        for target in _targets(assembly, kind) if chosen else ():
            for known in chosen:
                _fence(result, world, known, target) if fenced else _apply(result, world, known, target)
    if wanted is not None:
        result.faults = [fault for fault in result.faults if wanted(fault.rule_id)]
    return result


def _targets(assembly: AssemblyModel, kind: str) -> Sequence[ResourceModel | TemplateModel | None]:
    if kind == TEMPLATE:
        return assembly.templates
    return (None,) if kind == ASSEMBLY else assembly.by_type.get(kind, ())


def _fence(result: Judged, world: World, known: Rule, target: ResourceModel | TemplateModel | None) -> None:
    try:
        _apply(result, world, known, target)
    except Exception as error:  # noqa: BLE001 - a rule at fault must not take what the others found with it
        result.failures.append(f"{', '.join(known.ids)}: {type(error).__name__}: {error}")
        result.not_judged.append(_not_judged(known, target, ["an error inside the rule"]))


def _apply(result: Judged, world: World, known: Rule, target: ResourceModel | TemplateModel | None) -> None:
    check = known.check

    def read(world: World) -> Iterable[Problem]:
        if isinstance(target, ResourceModel):
            view = Resource(target, world)
            return check(view) or () if view.exists else ()
        return check(Template(target, world) if target is not None else Assembly(world)) or ()

    outcome = explore(world, read)
    result.judged += 1
    for fault in outcome.faults:
        result.faults.append(fault if fault.rule_id else replace(fault, rule_id=known.ids[0]))
    if outcome.doubts:
        result.not_judged.append(_not_judged(known, target, outcome.doubts))


def _not_judged(known: Rule, target: ResourceModel | TemplateModel | None, doubts: list[str]) -> NotJudged:
    reason = Counter(doubts).most_common(1)[0][0]
    if isinstance(target, ResourceModel):
        return NotJudged(known.ids, target.name, target.logical_id, target.template.name, reason)
    return NotJudged(known.ids, "", "", target.name if target is not None else "", reason)
