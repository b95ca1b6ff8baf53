"""How a finding reads on one line."""

from __future__ import annotations

import pytest

from ultracluster.findings import Finding, Severity


@pytest.mark.parametrize(
    ("message", "fix", "line"),
    [
        ("3 is odd", "use 4", "a.b: 3 is odd; use 4 [UC-X-001]"),
        ("x is none; did you mean y?", "write y", "a.b: x is none; did you mean y? write y [UC-X-001]"),
        ("3 is odd", "", "a.b: 3 is odd [UC-X-001]"),
    ],
)
def test_message_and_fix_are_one_sentence(message: str, fix: str, line: str) -> None:
    found = Finding(rule_id="UC-X-001", severity=Severity.ERROR, subject="a.b", message=message, fix=fix)
    assert str(found) == line
