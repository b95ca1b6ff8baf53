"""The whole check: templates in, report out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ultracluster.facts.rules import rule_registry
from ultracluster.findings import Severity
from ultracluster.policy.acknowledgements import Acknowledgement, Sorted, acknowledgements_in, sort_out
from ultracluster.policy.document import Document
from ultracluster.policy.engine import Judged, NotJudged, judge
from ultracluster.policy.fault import Fault
from ultracluster.policy.load import Loaded, assembly_of, load
from ultracluster.policy.model import Environment, TemplateModel
from ultracluster.policy.precedence import without_repeats
from ultracluster.policy.report import Report, TemplateFinding, in_order

__all__ = ["Options", "check_loaded", "check_template"]

_SERVERLESS = "AWS::Serverless::"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to judge, and what is accepted.

    Attributes:
        select: ids or beginnings of ids (`UC-NIC`); everything when empty.
        ignore: likewise, left out.
        acknowledgements: those of the configuration.
        baseline: fingerprints of findings that are known.
        cdk_suppresses: whether the CDK itself applies the acknowledgements that it notes: they are only audited then.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    acknowledgements: tuple[Acknowledgement, ...] = ()
    baseline: frozenset[str] = frozenset()
    cdk_suppresses: bool = False

    def wants(self, rule_id: str) -> bool:
        """Whether a rule is judged."""
        if self.select and not any(_begins(rule_id, start) for start in self.select):
            return False
        return not any(_begins(rule_id, start) for start in self.ignore)


def _begins(rule_id: str, start: str) -> bool:
    return rule_id == start or rule_id.startswith(f"{start}-")


def check_template(
    template: str | Path | Mapping[str, Any], *, options: Options | None = None, environment: Environment | None = None
) -> Report:
    """Judge one template, or all templates under a path.

    Args:
        template: a path (file, folder, `cdk.out`, pattern), the text of a template, or its value.
        options: what to judge and what is accepted; everything and nothing by default.
        environment: where it is deployed, as far as it is known.

    Returns:
        The report; files that cannot be read stand in `not_read`, nothing is raised.
    """
    where = environment or Environment()
    if isinstance(template, Mapping):
        loaded = Loaded([assembly_of([Document("template", "", template)], environment=where)])
    elif isinstance(template, str) and ("\n" in template or template.lstrip().startswith("{")):
        loaded = _from_text(template, where)
    else:
        loaded = load([str(template)], environment=where)
    return check_loaded(loaded, options or Options())


def _from_text(text: str, environment: Environment) -> Loaded:
    from ultracluster.policy.document import read_document
    from ultracluster.policy.load import NotRead
    from ultracluster.policy.unreadable import Unreadable

    try:
        return Loaded([assembly_of([read_document("template", text.encode())], environment=environment)])
    except Unreadable as error:
        return Loaded(not_read=[NotRead("template", error.reason, error.line, error.column)])


def check_loaded(
    loaded: Loaded,
    options: Options,
    *,
    more: Iterable[TemplateFinding] = (),
    more_faults: Iterable[Fault] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Judge what was loaded.

    Args:
        loaded: templates.
        options: what to judge and what is accepted.
        more: findings of other engines, to stand in the same report.
        more_faults: faults of the comparison with earlier templates.
        progress: told how many assemblies of how many are done.
    """
    parts: list[Judged] = []
    for done, assembly in enumerate(loaded.assemblies):
        if progress is not None:
            progress(done, len(loaded.assemblies))
        parts.append(judge(assembly, wanted=options.wants))
    if progress is not None:
        progress(len(parts), len(parts))
    faults = without_repeats([*(fault for part in parts for fault in part.faults), *more_faults])
    not_judged = tuple(entry for part in parts for entry in part.not_judged)
    found = [*map(_finding, faults), *_duplicates(loaded, options), *more]
    sorted_out = _acknowledge(loaded, options, found, not_judged)
    remaining = [*sorted_out.open, *_about_acknowledgements(sorted_out, options)]
    baseline = options.baseline
    known = [each for each in remaining if each.fingerprint in baseline] if baseline else []
    known_ids = set(map(id, known))
    return Report(
        findings=in_order(each for each in remaining if id(each) not in known_ids),
        acknowledged=tuple(sorted_out.acknowledged),
        known=in_order(known),
        not_judged=not_judged,
        not_read=tuple(loaded.not_read),
        templates=len(loaded.templates),
        resources=sum(len(template.resources) for template in loaded.templates),
        judged=sum(part.judged for part in parts),
        skipped=loaded.skipped,
        serverless=sum(_serverless(template) for template in loaded.templates),
        failures=tuple(failure for part in parts for failure in part.failures),
    )


def _serverless(template: TemplateModel) -> int:
    return sum(len(group) for kind, group in template.by_type.items() if kind.startswith(_SERVERLESS))


def _acknowledge(
    loaded: Loaded, options: Options, found: Sequence[TemplateFinding], not_judged: Iterable[NotJudged]
) -> Sorted:
    given = [*options.acknowledgements, *(each for model in loaded.templates for each in acknowledgements_in(model))]
    if not given:
        return Sorted(list(found), [], [], [])
    undecided = [(rule_id, entry.logical_id, entry.where) for entry in not_judged for rule_id in entry.rule_ids]
    result = sort_out(found, given, undecided=undecided, judged=filter(options.wants, rule_registry()))
    if options.cdk_suppresses:
        result.open.extend(each.finding for each in result.acknowledged if each.by_cdk)
        result.acknowledged[:] = [each for each in result.acknowledged if not each.by_cdk]
    return result


def _finding(fault: Fault) -> TemplateFinding:
    resource = fault.resource
    name = resource.name if resource is not None else fault.template.name
    facts = rule_registry().get(fault.rule_id)
    return placed(
        fault.template,
        fault.path,
        rule_id=fault.rule_id,
        severity=fault.severity or (facts.severity if facts is not None else Severity.ERROR),
        subject=f"{name} {fault.property_path}".strip(),
        message=fault.message,
        fix=fault.fix or (facts.fix if facts is not None else ""),
        logical_id=fault.resource_id,
        resource_type=resource.type if resource is not None else "",
        construct_path=resource.construct_path if resource is not None else "",
        property_path=fault.property_path,
        value=fault.shown,
        scenario=fault.scenario,
    )


def placed(template: TemplateModel, path: tuple[str | int, ...], **fields: Any) -> TemplateFinding:  # noqa: ANN401 - handed on
    """A finding with the line of its place."""
    position = template.document.position(path)
    if position is None:
        return TemplateFinding(file=template.name, **fields)
    return TemplateFinding(
        file=template.name,
        line=position.line,
        column=position.column,
        end_column=position.end_column,
        excerpt=template.document.line(position.line),
        **fields,
    )


def _duplicates(loaded: Loaded, options: Options) -> Iterator[TemplateFinding]:
    rule_id = "UC-DOC-002"
    facts = rule_registry()[rule_id]
    documents = {id(template.document): template.document for template in loaded.templates}
    for document in documents.values() if options.wants(rule_id) else ():
        for key, line, column in document.duplicates:
            yield TemplateFinding(
                rule_id=rule_id,
                severity=facts.severity,
                subject=document.name,
                message=f"{key} stands twice in one object, and only one of the two counts",
                fix=facts.fix,
                file=document.name,
                line=line,
                column=column,
                end_column=column + len(key),
                excerpt=document.line(line),
                property_path=key,
            )


def _about_acknowledgements(sorted_out: Sorted, options: Options) -> Iterator[TemplateFinding]:
    for given, why in sorted_out.refused:
        rule_id = "UC-ACK-003" if " is no rule" in why else "UC-ACK-001"
        if options.wants(rule_id):
            yield _about(given, rule_id, why)
    for given in sorted_out.stale:
        if options.wants("UC-ACK-002"):
            where = "" if given.resource == "*" else f" on {given.resource}"
            yield _about(given, "UC-ACK-002", f"{given.rule_id} is acknowledged{where}, and nothing is found there")


def _about(given: Acknowledgement, rule_id: str, message: str) -> TemplateFinding:
    facts = rule_registry()[rule_id]
    fields: dict[str, Any] = {
        "rule_id": rule_id,
        "severity": facts.severity,
        "subject": given.noted_in,
        "message": message,
        "fix": facts.fix,
        "property_path": f"{given.rule_id} {given.resource}",
    }
    template = given.template
    if template is None:
        return TemplateFinding(file=given.noted_in, **fields)
    if given.path:
        return placed(template, given.path, **fields)
    # Noted by the CDK for a construct: point at the resource that it made, where it is one.
    made = [each for each in template.resources.values() if given.is_scope and each.construct_path == given.resource]
    path = made[0].path if made else ()
    return placed(template, path, logical_id=path[-1] if made else "", construct_path=given.resource, **fields)
