"""Findings that somebody has accepted: where that is written, what it may cover, and when it has become stale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ultracluster.facts.rules import rule_registry
from ultracluster.findings import Severity
from ultracluster.policy.nearest import did_you_mean
from ultracluster.policy.report import Acknowledged, TemplateFinding
from ultracluster.policy.states import Path

if TYPE_CHECKING:
    from ultracluster.policy.model import TemplateModel

__all__ = ["PLUGIN_PREFIX", "Acknowledgement", "Sorted", "acknowledgements_in", "sort_out"]

PLUGIN_PREFIX = "UltraClusterChecks::"
"""In front of an id in acknowledgements of the CDK: the name of the validation plugin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """One acknowledgement as somebody wrote it.

    Attributes:
        rule_id: the rule.
        reason: why the finding is right as it is.
        file: template file, or a pattern (`infra/*.yaml`); any by default.
        resource: logical id or construct path, or a pattern; any by default.
        is_scope: whether a construct path covers everything below it.
        noted_in: where it stands, for the report.
        template: the template it stands in; None for the configuration.
        path: its place there.
    """

    rule_id: str
    reason: str
    file: str = "*"
    resource: str = "*"
    is_scope: bool = False
    noted_in: str
    template: TemplateModel | None = None
    path: Path = ()

    def covers(self, found: TemplateFinding) -> bool:
        """Whether it is about a finding."""
        if found.rule_id != self.rule_id or not self._names(found):
            return False
        return self.reaches(found.logical_id, found.construct_path)

    def _names(self, found: TemplateFinding) -> bool:
        return any(fnmatchcase(file.replace("\\", "/"), self.file) for file in (found.file, found.portable_file))

    def reaches(self, logical_id: str, construct_path: str) -> bool:
        """Whether it is about a resource."""
        if self.is_scope:
            return f"{construct_path}/".startswith(f"{self.resource}/") or not self.resource
        return fnmatchcase(logical_id, self.resource) or fnmatchcase(construct_path or logical_id, self.resource)


@dataclass(frozen=True, slots=True)
class Sorted:
    """Findings and acknowledgements, matched.

    Attributes:
        open: findings that stay.
        acknowledged: findings that are accepted.
        refused: acknowledgements that do not count, with the reason.
        stale: acknowledgements that meet nothing.
    """

    open: list[TemplateFinding]
    acknowledged: list[Acknowledged]
    refused: list[tuple[Acknowledgement, str]]
    stale: list[Acknowledgement]


def acknowledgements_in(template: TemplateModel) -> Iterator[Acknowledgement]:
    """Acknowledgements in the metadata of a template, of its resources, and beside it where the CDK notes them."""
    file = _literal(template.name)
    for path, raw, resource in _metadata(template):
        for at, entry in enumerate(raw):
            row = entry if isinstance(entry, dict) else {}
            yield Acknowledgement(
                rule_id=_bare(row.get("id")),
                reason=str(row.get("reason") or "").strip(),
                file=file,
                resource=resource,
                noted_in=template.name,
                template=template,
                path=(*path, at),
            )
    for construct_path, rule_id, reason in template.acknowledged:
        if rule_id.startswith(PLUGIN_PREFIX):
            yield Acknowledgement(
                rule_id=_bare(rule_id),
                reason=reason.strip(),
                file=file,
                resource=construct_path,
                is_scope=True,
                noted_in=construct_path,
                template=template,
            )


def _metadata(template: TemplateModel) -> Iterator[tuple[Path, list[object], str]]:
    whole = _list(template.raw.get("Metadata"))
    if whole:
        yield ("Metadata", "ultracluster", "acknowledge"), whole, "*"
    for resource in template.resources.values():
        listed = _list(resource.raw.get("Metadata"))
        if listed:
            place = (*resource.path, "Metadata", "ultracluster", "acknowledge")
            yield place, listed, _literal(resource.logical_id)


def _list(metadata: object) -> list[object]:
    ours = metadata.get("ultracluster") if isinstance(metadata, dict) else None
    listed = ours.get("acknowledge") if isinstance(ours, dict) else None
    return listed if isinstance(listed, list) else []


def _literal(text: str) -> str:
    """A text as a pattern that matches it alone."""
    return text.replace("\\", "/").replace("[", "[[]").replace("*", "[*]").replace("?", "[?]")


def _bare(rule_id: object) -> str:
    return str(rule_id or "").removeprefix(PLUGIN_PREFIX).strip()


def sort_out(
    findings: Iterable[TemplateFinding],
    given: Sequence[Acknowledgement],
    *,
    undecided: Iterable[tuple[str, str, str]] = (),
    judged: Iterable[str] | None = None,
) -> Sorted:
    """Match findings with acknowledgements.

    Args:
        findings: what was found.
        given: what was acknowledged.
        undecided: (id, logical id, construct path) of what was not judged: an acknowledgement of it is not stale.
        judged: ids that were judged at all; every one when left out.
    """
    refused = [(each, why) for each in given if (why := _refusal(each))]
    bad = {id(each) for each, _ in refused}
    valid = [each for each in given if id(each) not in bad]
    result = Sorted([], [], refused, [])
    used: set[int] = set()
    for found in findings:
        covering = [each for each in valid if each.covers(found)]
        used |= {id(each) for each in covering}
        if not covering:
            result.open.append(found)
        elif found.severity is Severity.FATAL:
            result.open.append(found)
            result.refused.append((covering[0], f"{found.rule_id} is fatal and cannot be acknowledged"))
        else:
            result.acknowledged.append(_accepted(found, covering[0]))
    wanted = set(judged) if judged is not None else None
    open_doubts = tuple(undecided)
    for each in valid:
        counts = wanted is None or each.rule_id in wanted
        doubtful = any(rule == each.rule_id and each.reaches(*where) for rule, *where in open_doubts)
        if id(each) not in used and counts and not doubtful:
            result.stale.append(each)
    return result


def _accepted(found: TemplateFinding, given: Acknowledgement) -> Acknowledged:
    return Acknowledged(found, given.reason, given.noted_in, by_cdk=given.is_scope)


def _refusal(given: Acknowledgement) -> str:
    known = rule_registry()
    if given.rule_id not in known:
        return f"{given.rule_id or 'an acknowledgement without id'} is no rule{did_you_mean(given.rule_id, known)}"
    return "" if given.reason else f"{given.rule_id} is acknowledged without a reason"
