"""The assertion behind `ultracluster.testing`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ultracluster.findings import Severity
from ultracluster.policy.check import Options, check_loaded, check_template
from ultracluster.policy.formats.text import render_text
from ultracluster.policy.load import load
from ultracluster.policy.report import Report
from ultracluster.policy.settings import checked_ids

if TYPE_CHECKING:
    from aws_cdk.assertions import Template
    from constructs import IConstruct

__all__ = ["assert_passes_ultracluster"]


def assert_passes_ultracluster(
    template_or_stack: str | Path | Mapping[str, Any] | IConstruct | Template,
    *,
    fail_on: Severity = Severity.ERROR,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
) -> Report:
    """Fail with the whole report when the rules find something.

    Args:
        template_or_stack: a stack, stage or app of the CDK (it is synthesized, and sibling stacks are seen together), a
            template as a value or as text, a path (file, folder, `cdk.out`), or a `Template` of `aws_cdk.assertions`.
        fail_on: severity from which it fails; errors by default.
        select: ids or beginnings of ids (`UC-NIC`) to judge; everything by default.
        ignore: likewise, left out.

    Returns:
        The report, for a closer look at warnings and at what was not judged.

    Raises:
        AssertionError: with the report as its message.
        TypeError: something else is given.
        ValueError: no rule and no area has such an id.
    """
    options = Options(select=tuple(select), ignore=tuple(ignore))
    wrong = checked_ids([*options.select, *options.ignore])
    if wrong:
        raise ValueError("\n".join(wrong))
    if isinstance(template_or_stack, str | Path | Mapping):
        report = check_template(template_or_stack, options=options)
    else:
        report = _of_object(template_or_stack, options)
    if report.exit_status(fail_on):
        raise AssertionError("\n" + render_text(report))
    return report


def _of_object(given: object, options: Options) -> Report:
    import constructs
    from aws_cdk.assertions import Template

    if isinstance(given, Template):
        return check_template(given.to_json(), options=options)
    if not isinstance(given, constructs.Construct):
        raise TypeError(f"{type(given).__name__}: a stack, stage or app, a template, or a path is needed")
    return _of_construct(given, options)


def _of_construct(construct: IConstruct, options: Options) -> Report:
    import aws_cdk as cdk

    stage = construct if isinstance(construct, cdk.Stage) else cdk.Stage.of(construct)
    if stage is None:
        raise TypeError(f"{construct.node.path}: a stack, stage or app is needed")
    report = check_loaded(load([stage.synth().directory]), options)
    if not cdk.Stack.is_stack(construct):
        return report
    own = cdk.Stack.of(construct)
    paths = (f"{own.node.path}/", own.node.path)
    kept = (found for found in report.findings if _belongs(found.construct_path, found.file, own, paths))
    return replace(report, findings=tuple(kept))


def _belongs(construct_path: str, file: str, stack: Any, paths: tuple[str, str]) -> bool:  # noqa: ANN401 - cdk.Stack
    """Whether a finding is about a stack or about one nested in it."""
    if construct_path:
        return construct_path.startswith(paths[0]) or construct_path == paths[1]
    return Path(file).name == str(stack.template_file)
