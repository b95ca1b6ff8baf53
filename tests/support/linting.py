"""Errors of cfn-lint over a synthesized template: registry schemas and intrinsic functions, without style."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cfnlint.api import lint
from cfnlint.config import ManualArgs


def lint_errors(template: Mapping[str, Any], region: str = "us-east-1") -> list[str]:
    """Every error that cfn-lint finds, as `rule path message`."""
    config = ManualArgs(regions=[region], ignore_checks=["W", "I"])
    matches = lint(json.dumps(template), config=config)
    return [f"{match.rule.id} {'/'.join(map(str, match.path or []))} {match.message}" for match in matches]
