"""Apps without a fault: the reference clusters, and templates as other people write them by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from support.clusters import CLUSTERS, STACKS, name_of, synthesized
from support.mutations.parts import Stack
from support.mutations.written import written
from ultracluster.policy.compare import compare
from ultracluster.policy.document import Document
from ultracluster.policy.engine import judge
from ultracluster.policy.load import Loaded
from ultracluster.policy.model import AssemblyModel, Environment, TemplateModel
from ultracluster.policy.precedence import without_repeats

Body = dict[str, Any]
Found = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Base:
    """An app.

    Attributes:
        name: its name.
        texts: its templates as JSON, by the names of their stacks.
        regions: where each of them is deployed.
    """

    name: str
    texts: tuple[tuple[str, str], ...]
    regions: tuple[str, ...]

    def templates(self) -> tuple[Body, ...]:
        """Its templates, fresh."""
        return tuple(json.loads(text) for _, text in self.texts)

    def found(self, templates: tuple[Body, ...]) -> Found:
        """(id, logical id) of what all rules find in its templates, as they are now."""
        faults = without_repeats(judge(self._assembly(templates), fenced=False).faults)
        return frozenset((fault.rule_id, fault.resource_id) for fault in faults)

    def changed(self, templates: tuple[Body, ...]) -> Found:
        """(id, logical id) of what all rules find in an update of it to templates."""
        old, new = (Loaded([self._assembly(each)]) for each in (self.templates(), templates))
        return frozenset((fault.rule_id, fault.resource_id) for fault in compare(old, new))

    def _assembly(self, templates: tuple[Body, ...]) -> AssemblyModel:
        models = [
            TemplateModel(
                Document(stack, "", template),
                environment=Environment(region=region, account="111122223333", stack_name=stack),
            )
            for (stack, _), region, template in zip(self.texts, self.regions, templates, strict=True)
        ]
        return AssemblyModel(models, is_app=True)


@cache
def bases() -> tuple[Base, ...]:
    """All apps."""
    clusters = []
    for cluster in CLUSTERS:
        made = synthesized(cluster)
        texts = tuple((f"{made.plan.name}-{stack}", json.dumps(made.templates[stack])) for stack in STACKS)
        clusters.append(Base(name_of(cluster), texts, (made.plan.region,) * len(texts)))
    return (*clusters, *(_by_hand(name, *stacks) for name, stacks in written().items()))


def _by_hand(name: str, *stacks: Stack) -> Base:
    texts = ((f"{name}{at or ''}", json.dumps({"Resources": stack.resources})) for at, stack in enumerate(stacks))
    return Base(name, tuple(texts), tuple(stack.region for stack in stacks))


@cache
def clean(base: Base) -> Found:
    """What is found in an app as it is."""
    return base.found(base.templates())
