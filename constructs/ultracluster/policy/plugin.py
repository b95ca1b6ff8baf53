"""The rules as a validation plugin of the CDK: `cdk.Validations.of(app).add_plugins(UltraClusterChecks())`.

The CDK runs it after synthesis, adds the construct path and the line of Python that made the construct, and keeps
`validation-report.json` in the output folder. Importing this module has jsii note those lines, which makes synthesis a
tenth slower; `JSII_HOST_STACK_TRACES=0` in the environment leaves it out. Acknowledge a finding where it arises:
`ultracluster.acknowledge.acknowledge(construct, {"UC-LUS-018": "rebuilt from S3 every night"})`; the CDK notes it with
its reason under `suppressedViolations`. What is fatal cannot be acknowledged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import aws_cdk as cdk
import jsii

from ultracluster import __version__
from ultracluster.acknowledge import OWN_PLUGIN
from ultracluster.facts.rules import rule_registry
from ultracluster.findings import Severity
from ultracluster.policy.check import Options, check_loaded
from ultracluster.policy.load import load
from ultracluster.policy.report import Report, TemplateFinding
from ultracluster.policy.settings import checked_ids

__all__ = ["UltraClusterChecks"]

# jsii looks at this with every call. It is set on import, because the plugin itself is often made last.
os.environ.setdefault("JSII_HOST_STACK_TRACES", "1")


@jsii.implements(cdk.IPolicyValidationPlugin)
class UltraClusterChecks:
    """Judges all stacks of an app together.

    Args:
        select: ids or beginnings of ids (`UC-NIC`) to judge; everything by default.
        ignore: likewise, left out.
        fail_on: severity from which synthesis fails; errors by default.

    Raises:
        ValueError: no rule and no area has such an id.
    """

    def __init__(
        self,
        *,
        select: Iterable[str] = (),
        ignore: Iterable[str] = (),
        fail_on: Severity = Severity.ERROR,
    ) -> None:
        self._options = Options(select=tuple(select), ignore=tuple(ignore), cdk_suppresses=True)
        wrong = checked_ids([*self._options.select, *self._options.ignore])
        if wrong:
            raise ValueError("\n".join(wrong))
        self._fail_on = fail_on

    # The CDK reads these as properties; class attributes would not cross.

    @property
    def name(self) -> str:
        """Name of the plugin, the prefix of ids in acknowledgements."""
        return OWN_PLUGIN

    @property
    def version(self) -> str:
        """Version of this library."""
        return __version__

    @property
    def rule_ids(self) -> list[str]:
        """Ids that may be reported."""
        return [rule_id for rule_id in rule_registry() if self._options.wants(rule_id)]

    def validate(self, context: cdk.IPolicyValidationContext) -> cdk.PolicyValidationPluginReport:
        """Judge the templates of an app; called by the CDK."""
        report = _judged(context, self._options)
        return cdk.PolicyValidationPluginReport(
            success=not report.fails(self._fail_on) and not report.not_read,
            violations=[_violation(found) for found in report.findings] + _unread(report),
            plugin_version=__version__,
            metadata={"not judged": str(len(report.not_judged)), "templates": str(report.templates)},
        )


def _judged(context: cdk.IPolicyValidationContext, options: Options) -> Report:
    folders = {Path(stack.template_path).parent for stack in context.stack_templates}
    # The folder of a stage is read with the app that it belongs to.
    outermost = sorted(folder for folder in folders if not folders & set(folder.parents))
    return check_loaded(load([str(folder) for folder in outermost]), options)


def _violation(found: TemplateFinding) -> cdk.PolicyViolation:
    when = f" (when {', '.join(found.scenario)})" if found.scenario else ""
    resource = cdk.PolicyViolatingResource(
        resource_logical_id=found.logical_id or None,
        template_path=found.file,
        construct_path=None if found.logical_id else found.construct_path or None,
        locations=[f"Properties.{found.property_path}" if found.property_path else "Resource"],
    )
    return cdk.PolicyViolation(
        rule_name=found.rule_id,
        description=f"{found.subject}: {found.message}{when}",
        severity=str(found.severity),
        fix=found.fix or None,
        violating_resources=[resource],
    )


def _unread(report: Report) -> list[cdk.PolicyViolation]:
    return [
        cdk.PolicyViolation(
            rule_name="UC-DOC-001",
            description=f"cannot be read: {entry.reason}",
            severity="fatal",
            violating_resources=[cdk.PolicyViolatingResource(template_path=entry.name, locations=[])],
        )
        for entry in report.not_read
    ]
