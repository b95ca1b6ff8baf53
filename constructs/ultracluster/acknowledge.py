"""What constructs tell the CDK's validation: warnings of the plan, and acknowledgements that always carry a reason.

A bare id (`AwsSolutions-S1`) silences a check without leaving a trace in the validation report. The prefixed form
(`AwsSolutions::AwsSolutions-S1`) is kept there together with its reason, so it is the only one this module writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import aws_cdk as cdk
from constructs import IConstruct

from ultracluster.findings import Finding

__all__ = ["OWN_PLUGIN", "acknowledge", "prefixed", "report_warnings"]

OWN_PLUGIN = "UltraClusterChecks"
"""Name of this library's own validation plugin, the prefix of `UC-...` ids."""


def prefixed(rule_id: str) -> str:
    """The id with the name of the plugin that reports it in front.

    Args:
        rule_id: `UC-LUS-001`, `AwsSolutions-IAM5[Resource::*]`, or an id that already has its prefix.
    """
    head = rule_id.split("[", 1)[0]
    if "::" in head:
        return rule_id
    pack = head.split("-", 1)[0]
    return f"{OWN_PLUGIN if pack == 'UC' else pack}::{rule_id}"


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Acknowledge checks on a construct and on everything below it.

    Args:
        construct: where the acknowledgement is recorded.
        reasons: for each id (with or without its prefix) why the finding is right as it is. Several ids in one call
            cross into the CDK once.

    Raises:
        ValueError: a reason is empty.
    """
    bare = [rule_id for rule_id, reason in reasons.items() if not reason.strip()]
    if bare:
        raise ValueError(f"acknowledge {', '.join(bare)}: a reason is needed")
    if reasons:
        cdk.Validations.of(construct).acknowledge(
            *(cdk.Acknowledgment(id=prefixed(rule_id), reason=reason) for rule_id, reason in reasons.items())
        )


def report_warnings(construct: IConstruct, warnings: Iterable[Finding]) -> None:
    """Show warnings of the plan where `cdk synth` shows its own; each can be acknowledged as `annotation::<id>`."""
    found = tuple(warnings)
    if found:
        validations = cdk.Validations.of(construct)
        for warning in found:
            validations.add_warning(warning.rule_id, str(warning))
