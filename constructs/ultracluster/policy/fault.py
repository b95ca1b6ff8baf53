"""A problem as it stays when the reading that showed it is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

if TYPE_CHECKING:
    from ultracluster.findings import Severity
    from ultracluster.policy.model import ResourceModel, TemplateModel
    from ultracluster.policy.problem import Problem
    from ultracluster.policy.states import Path

__all__ = ["Fault", "fault_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault with its place and the decisions under which it shows.

    Attributes:
        rule_id: the rule; empty until the engine fills it in for a function with one id.
        message: value and limit.
        fix: what would be right; empty for the registered one.
        severity: when it differs from the registered one.
        template: the template of the place.
        resource: the resource at fault; None for a template as a whole or one of its sections.
        path: the place in the template.
        property_path: the same in the user's terms, below the resource.
        shown: the offending value in short; empty when something is missing or counted.
        scenario: the decisions under which it shows.
    """

    rule_id: str
    message: str
    fix: str
    severity: Severity | None
    template: TemplateModel
    resource: ResourceModel | None
    path: Path
    property_path: str
    shown: str
    scenario: tuple[str, ...] = ()

    @property
    def resource_id(self) -> str:
        """Logical id of the resource; empty for a template as a whole."""
        return self.resource.logical_id if self.resource is not None else ""


def fault_of(problem: Problem) -> Fault:
    """Keep a problem: values are read now, in the reading that they belong to."""
    where = problem.where
    resource: ResourceModel | None = None
    property_path, shown = "", ""
    if isinstance(where, Value):
        place = where.place
        template, path = place.template, place.path
        resource = where.owner.model if where.owner is not None else None
        property_path, shown = where.path, where.shown if where.is_scalar else ""
    elif isinstance(where, Resource):
        resource = where.model
        template, path = resource.template, resource.path
    else:
        template, path = where.model, ()
    return Fault(
        rule_id=problem.rule_id,
        message=problem.message,
        fix=problem.fix,
        severity=problem.severity,
        template=template,
        resource=resource,
        path=path,
        property_path=property_path,
        shown=shown,
    )
