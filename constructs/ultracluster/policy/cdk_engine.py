"""The CloudFormation rules that the CDK brings along, over any template file.

Run as a program, because it starts the CDK: `python -m ultracluster.policy.cdk_engine FILE...` prints a JSON list of
findings. The CDK itself applies the same rules to an app while it synthesizes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import aws_cdk as cdk
import jsii
from constructs import IConstruct

__all__ = ["main"]


@jsii.implements(cdk.IPolicyValidationContext)
class _Files:
    """Files in the place of the stacks of an app."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = list(files)
        self._app = cdk.App(analytics_reporting=False)

    @property
    def app_construct(self) -> IConstruct:
        return self._app

    @property
    def account_id(self) -> str | None:
        return None

    @property
    def region(self) -> str | None:
        return None

    @property
    def template_paths(self) -> list[str]:
        return self._files

    @property
    def stack_templates(self) -> list[cdk.PolicyValidationStack]:
        return [cdk.PolicyValidationStack(stack_construct_path="", template_path=file) for file in self._files]


def main(files: Sequence[str]) -> int:
    """Print what the CDK's rules find.

    Args:
        files: absolute paths of templates.
    """
    report = cdk.CloudFormationValidatePlugin().validate(_Files(files))
    rows = [
        {
            "rule": violation.rule_name,
            "severity": violation.severity or "error",
            "message": violation.description,
            "fix": violation.fix or "",
            "file": resource.template_path or "",
            "logical_id": resource.resource_logical_id or "",
            "property": next(iter(resource.locations), ""),
        }
        for violation in report.violations
        for resource in violation.violating_resources
    ]
    sys.stdout.write(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
