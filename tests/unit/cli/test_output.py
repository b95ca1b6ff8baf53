"""What all sub-commands share: JSON of plans, and the console."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ultracluster.findings import Severity
from ultracluster_cli.output import console, print_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    name: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    parts: tuple[Part, ...]
    severity: Severity
    place: Path
    ends: datetime
    day: date
    by_number: dict[int, Part]


def test_dataclasses_become_objects(capsys):
    part = Part(name="größe", size=1)
    print_json(
        Whole(
            parts=(part,),
            severity=Severity.FATAL,
            place=Path("a/b"),
            ends=datetime(2026, 12, 1, 11, 30, tzinfo=UTC),
            day=date(2026, 12, 1),
            by_number={1: part},
        )
    )
    written = capsys.readouterr().out
    assert "größe" in written
    assert json.loads(written) == {
        "parts": [{"name": "größe", "size": 1}],
        "severity": "fatal",
        "place": "a/b",
        "ends": "2026-12-01T11:30:00+00:00",
        "day": "2026-12-01",
        "by_number": {"1": {"name": "größe", "size": 1}},
    }


@given(value=st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
))  # fmt: skip
def test_plain_values_survive(value):
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        print_json(value)
    assert json.loads(stream.getvalue()) == value


def test_json_fits_a_stream_without_unicode(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    print_json({"name": "größe"})
    assert json.loads(stream.buffer.getvalue().decode("ascii")) == {"name": "größe"}


def test_what_is_printed_is_not_read_as_markup(capsys):
    console().print("fleets[0].count: [bold]x[/bold] :smile:")
    assert capsys.readouterr().out == "fleets[0].count: [bold]x[/bold] :smile:\n"


def test_lines_that_are_not_for_a_terminal_end_without_blanks(capsys):
    console().print("a   \nb  ")
    assert capsys.readouterr().out == "a\nb\n"
