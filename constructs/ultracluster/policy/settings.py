"""The configuration of a check: `[tool.ultracluster.check]` in pyproject.toml, or `ultracluster.toml`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ultracluster.facts.rules import rule_registry
from ultracluster.findings import Severity
from ultracluster.policy.acknowledgements import PLUGIN_PREFIX, Acknowledgement
from ultracluster.policy.nearest import did_you_mean

__all__ = ["BadSettings", "Settings", "checked_ids", "find_settings", "read_settings"]

_OWN_FILE, _PROJECT_FILE = "ultracluster.toml", "pyproject.toml"
_TEXTS = ("fail-on", "baseline", "region", "account")
_LISTS = ("select", "ignore", "with")
_LEVELS = tuple(map(str, Severity))
_ACKNOWLEDGE = "acknowledge"
_ENTRY_KEYS = ("id", "reason", "resource", "template")


class BadSettings(ValueError):  # noqa: N818 - reads as what it is
    """A configuration that cannot be used: every fault of it, one per line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a configuration file says; the command line goes before it.

    Attributes:
        file: the file; empty without one.
        select: ids or beginnings of ids to judge.
        ignore: likewise, to leave out.
        fail_on: severity from which the exit status is 1.
        baseline: file of known findings, beside the configuration.
        region: where plain templates are deployed.
        account: likewise.
        engines: other engines to run beside.
        acknowledgements: findings that are accepted.
    """

    file: str = ""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None
    baseline: str | None = None
    region: str | None = None
    account: str | None = None
    engines: tuple[str, ...] = ()
    acknowledgements: tuple[Acknowledgement, ...] = field(default_factory=tuple)


def find_settings(folder: Path) -> Path | None:
    """The configuration file of a folder: ultracluster.toml, or a pyproject.toml with our table."""
    own = folder / _OWN_FILE
    if own.is_file():
        return own
    project = folder / _PROJECT_FILE
    if project.is_file() and b"tool.ultracluster" in project.read_bytes():
        return project
    return None


def read_settings(file: Path) -> Settings:
    """Read a configuration.

    Raises:
        BadSettings: no TOML, an unknown key or rule, a value of another type, an acknowledgement without reason.
    """
    import tomllib  # most runs have no configuration

    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadSettings(f"{file}: {error}") from None
    table: Any = document
    for key in ("tool", "ultracluster", "check") if file.name == _PROJECT_FILE else ("check",):
        table = table.get(key, {}) if isinstance(table, dict) else table
    faults = [f"{file}: {fault}" for fault in _faults(table)]
    if faults:
        raise BadSettings("\n".join(faults))
    baseline = table.get("baseline")
    return Settings(
        file=str(file),
        select=tuple(table.get("select", ())),
        ignore=tuple(table.get("ignore", ())),
        fail_on=table.get("fail-on"),
        baseline=str(file.parent / baseline) if baseline else None,
        region=table.get("region"),
        account=table.get("account"),
        engines=tuple(table.get("with", ())),
        acknowledgements=tuple(_acknowledgement(entry, file) for entry in table.get(_ACKNOWLEDGE, ())),
    )


def _faults(table: object) -> Iterator[str]:
    if not isinstance(table, dict):
        yield "check is no table"
        return
    known = (*_TEXTS, *_LISTS, _ACKNOWLEDGE)
    for key, value in table.items():
        if key not in known:
            yield f"{key} is no setting of check{did_you_mean(key, known) or '; there are ' + ', '.join(known)}"
        else:
            yield from _value_faults(key, value)


def _value_faults(key: str, value: Any) -> Iterator[str]:  # noqa: ANN401 - whatever was written
    if key in _TEXTS and not isinstance(value, str):
        yield f"{key}: a text is needed"
    elif key == "fail-on" and value not in _LEVELS:
        meant = did_you_mean(value, _LEVELS) or f"; there are {', '.join(_LEVELS)}"
        yield f"{key}: {value} is no severity{meant}"
    elif key in _LISTS and not _is_texts(value):
        yield f"{key}: a list of texts is needed"
    elif key in ("select", "ignore"):
        yield from (f"{key}: {fault}" for fault in checked_ids(value))
    elif key == _ACKNOWLEDGE:
        yield from _entry_faults(value)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _entry_faults(entries: object) -> Iterator[str]:
    if not isinstance(entries, list):
        yield "acknowledge: a list of tables is needed ([[...acknowledge]])"
        return
    for at, entry in enumerate(entries):
        place = f"acknowledge[{at}]"
        if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
            yield f"{place}: a table of texts is needed, with id and reason"
            continue
        yield from (
            f"{place}: {key} is no key{did_you_mean(key, _ENTRY_KEYS)}" for key in entry if key not in _ENTRY_KEYS
        )
        rule_id = str(entry.get("id", "")).removeprefix(PLUGIN_PREFIX)
        if rule_id not in rule_registry():
            yield f"{place}: {rule_id or 'no id, which'} is no rule{did_you_mean(rule_id, rule_registry())}"
        if not str(entry.get("reason", "")).strip():
            yield f"{place}: {rule_id} needs a reason"


def _acknowledgement(entry: Mapping[str, Any], file: Path) -> Acknowledgement:
    return Acknowledgement(
        rule_id=entry["id"].removeprefix(PLUGIN_PREFIX),
        reason=entry["reason"].strip(),
        file=entry.get("template", "*"),
        resource=entry.get("resource", "*"),
        noted_in=str(file),
    )


def checked_ids(given: Iterable[str]) -> list[str]:
    """What is wrong with ids or beginnings of ids; nothing when all are known."""
    known = rule_registry()
    areas = {rule_id.rsplit("-", 1)[0] for rule_id in known} | {"UC"}
    return [
        f"{word} is no rule and no area{did_you_mean(word, [*known, *areas])}"
        for word in given
        if word not in known and word not in areas
    ]
