"""`ultracluster check`: judge CloudFormation templates, whoever made them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ultracluster.findings import Severity
from ultracluster_cli.output import UNUSABLE

if TYPE_CHECKING:
    from ultracluster.policy.check import Options
    from ultracluster.policy.fault import Fault
    from ultracluster.policy.report import Report, TemplateFinding
    from ultracluster.policy.settings import Settings

__all__ = ["check"]

_FORMATS = ("text", "json", "sarif", "junit", "github")
_ENGINES = ("cfn-lint", "cdk-validate")


def _words(_: click.Context, __: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Values that may be repeated or written with commas."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "output_format", type=click.Choice(_FORMATS), default="text", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the report to a file.")
@click.option("--fail-on", type=click.Choice([str(level) for level in Severity]), help="Exit 1 from here up.  [error]")
@click.option("--select", multiple=True, callback=_words, metavar="ID", help="Judge only these rules or areas.")
@click.option("--ignore", multiple=True, callback=_words, metavar="ID", help="Leave these rules or areas out.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Known findings: only new ones count.")
@click.option("--write-baseline", type=click.Path(path_type=Path), help="Write what is found as known findings.")
@click.option("--against", metavar="OLD", help="Earlier templates: also judge what the update would do.")
@click.option("--with", "engines", multiple=True, callback=_words, metavar="ENGINE", help="cfn-lint, cdk-validate.")
@click.option("--pass-over-others", is_flag=True, help="Pass over named files that are no templates.")
@click.option("--region", metavar="REGION", help="Where plain templates are deployed.")
@click.option("--account", metavar="ID", help="The account they are deployed into.")
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Configuration file.")
@click.option("--verbose", "-v", is_flag=True, help="Also list what was not judged and what is acknowledged.")
@click.pass_context
def check(
    ctx: click.Context,
    *,
    paths: tuple[str, ...],
    output_format: str,
    output: Path | None,
    fail_on: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    baseline: Path | None,
    write_baseline: Path | None,
    against: str | None,
    engines: tuple[str, ...],
    pass_over_others: bool,
    region: str | None,
    account: str | None,
    config: Path | None,
    verbose: bool,
) -> None:
    """Judge CloudFormation templates: files, folders, patterns, cdk.out, or - for standard input.

    What a template does not tell is counted as not judged, never as a pass. Settings may stand in pyproject.toml
    ([tool.ultracluster.check]) or ultracluster.toml; acknowledgements there or in the metadata of a resource.
    """
    from ultracluster.policy.settings import BadSettings

    try:
        settings = _settings(config)
        report = _report(
            paths,
            options=_options(settings, select, ignore, baseline, keep_known=write_baseline is None),
            against=against,
            engines=_engines(engines or settings.engines),
            pass_over_others=pass_over_others,
            region=region or settings.region,
            account=account or settings.account,
        )
        threshold = Severity(fail_on or settings.fail_on or Severity.ERROR)
        if write_baseline is not None:
            _write_baseline(write_baseline, report)
            ctx.exit(UNUSABLE if report.not_read else 0)
        _print(report, output_format, output, threshold, verbose=verbose)
    except BadSettings as error:
        click.echo(str(error), err=True)
        ctx.exit(UNUSABLE)
    ctx.exit(report.exit_status(threshold))


def _settings(config: Path | None) -> Settings:
    from ultracluster.policy.settings import Settings, find_settings, read_settings

    file = config or find_settings(Path.cwd())
    return read_settings(file) if file is not None else Settings()


def _options(
    settings: Settings, select: tuple[str, ...], ignore: tuple[str, ...], baseline: Path | None, *, keep_known: bool
) -> Options:
    from ultracluster.policy.check import Options
    from ultracluster.policy.settings import BadSettings, checked_ids

    wrong = checked_ids([*select, *ignore])
    if wrong:
        raise BadSettings("\n".join(wrong))
    file = baseline or (Path(settings.baseline) if settings.baseline else None)
    known: frozenset[str] = frozenset()
    if file is not None and keep_known:
        from ultracluster.policy.baseline import read_baseline

        known = read_baseline(file)
    return Options(
        select=select or settings.select,
        ignore=(*ignore, *settings.ignore),
        acknowledgements=settings.acknowledgements,
        baseline=known,
    )


def _engines(names: tuple[str, ...]) -> tuple[str, ...]:
    from ultracluster.policy.nearest import did_you_mean
    from ultracluster.policy.settings import BadSettings

    wrong = [name for name in names if name not in _ENGINES]
    if wrong:
        known = f"; there are {' and '.join(_ENGINES)}"
        raise BadSettings("\n".join(f"{name} is no engine{did_you_mean(name, _ENGINES) or known}" for name in wrong))
    return names


def _report(
    paths: tuple[str, ...],
    *,
    options: Options,
    against: str | None,
    engines: tuple[str, ...],
    pass_over_others: bool,
    region: str | None,
    account: str | None,
) -> Report:
    from ultracluster.policy.check import check_loaded
    from ultracluster.policy.load import load
    from ultracluster.policy.model import Environment
    from ultracluster_cli.check_output import progress

    environment = Environment(region=region, account=account)
    loaded = load(paths, environment=environment, pass_over_others=pass_over_others)
    faults: tuple[Fault, ...] = ()
    if against is not None:
        from ultracluster.policy.compare import compare

        old = load([against], environment=environment)
        loaded.not_read.extend(old.not_read)
        faults = tuple(compare(old, loaded, wanted=options.wants))
    more: tuple[TemplateFinding, ...] = ()
    if engines:
        from ultracluster_cli.check_engines import run_engines

        more = run_engines(engines, loaded, region=region)
    return check_loaded(loaded, options, more=more, more_faults=faults, progress=progress())


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    from ultracluster.policy.settings import BadSettings

    try:
        yield
    except OSError as error:
        raise BadSettings(f"{file}: cannot be written: {str(error.strerror or error).lower()}") from None


def _write_baseline(file: Path, report: Report) -> None:
    from ultracluster.policy.baseline import write_baseline

    with _writing(file):
        count = write_baseline(file, [*report.findings, *report.known])
    click.echo(f"{file}: {count} known finding{'' if count == 1 else 's'}", err=True)


def _print(report: Report, form: str, output: Path | None, threshold: Severity, *, verbose: bool) -> None:
    from ultracluster_cli.check_output import rendered

    text = rendered(report, form, threshold, to_file=output is not None, verbose=verbose)
    if output is None:
        click.echo(text, color=sys.stdout.isatty())
        return
    with _writing(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text + "\n", encoding="utf-8")
    if form != "text":
        click.echo(rendered(report, "text", threshold, to_file=False, verbose=verbose), err=True)
