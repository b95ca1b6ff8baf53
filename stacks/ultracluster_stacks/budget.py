"""Every template of an assembly against the limits of CloudFormation and EC2, before anything is deployed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ultracluster.findings import raise_if_errors
from ultracluster.plan.template_limits import check_template_limits

if TYPE_CHECKING:
    from aws_cdk import cx_api

    from ultracluster.findings import Finding

__all__ = ["check_assembly"]


def check_assembly(assembly: cx_api.CloudAssembly) -> None:
    """Judge the templates that a synthesis wrote.

    Raises:
        FindingsError: a template is over 1 MB or 500 resources, or user data is over 16 KB; the message names the large
            part (UC-TPL-001, UC-TPL-002, UC-TPL-003).
    """
    findings: list[Finding] = []
    for path in sorted(Path(assembly.directory).glob("*.template.json")):
        text = path.read_text(encoding="utf-8")
        stack = path.name.removesuffix(".template.json")
        findings.extend(check_template_limits(json.loads(text), subject=stack, size_bytes=len(text.encode())))
    raise_if_errors(findings)
