"""`ultracluster catalog`: filters, tables at every width, the detailed view, JSON."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import moto
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.facts.instances import catalog, catalog_as_of, sources
from ultracluster_cli.catalog_queries import accelerator_short_name, ranges, ways_to_buy, zones_in
from ultracluster_cli.main import main

COMMAND = str(Path(sys.executable).with_name("ultracluster"))
NAMES = list(catalog())


def run(*arguments, columns=120):
    done = CliRunner(env={"COLUMNS": str(columns)}).invoke(main, ["catalog", *arguments], prog_name="ultracluster")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def listed(*arguments, columns=120):
    """The types of the table, in order."""
    done = run(*arguments, columns=columns)
    assert done.exit_code == 0, done.output
    return [line.split()[0] for line in done.stdout.splitlines() if re.match(r"[a-z0-9-]+\.\d*x?large", line)]


def rows(*arguments):
    done = run(*arguments, "--format", "json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_table_lists_every_type_with_its_numbers():
    done = run()
    assert listed() == NAMES
    line = next(line for line in done.stdout.splitlines() if line.startswith("p5.48xlarge"))
    assert line.split("  ")[0] == "p5.48xlarge"
    for text in ("8 x H100 80 GiB", "192", "2048", "30.4", "900", "32", "3200", "v2", "od spot cb", "55.04"):
        assert text in line
    assert f"{len(NAMES)} types of the catalogue of {catalog_as_of()}" in " ".join(done.stdout.split())
    assert f"us-east-1, as of {catalog()['p5.48xlarge'].price_as_of}; no quote" in " ".join(done.stdout.split())


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 120, 200])
def test_the_table_fits_and_shortens_nothing_from_60_columns_on(columns):
    done = run(columns=columns)
    assert max(map(len, done.stdout.splitlines())) <= columns
    assert all(line == line.rstrip() for line in done.stdout.splitlines())
    if columns >= 60:
        assert "…" not in done.stdout
        assert listed(columns=columns) == NAMES
    assert ("No room for" in " ".join(done.stdout.split())) == (columns < 120)


def test_a_pipe_is_120_columns_wide_and_has_no_colour():
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "xterm-256color"}
    done = subprocess.run([COMMAND, "catalog"], check=True, capture_output=True, text=True, env=environment)
    assert "\x1b" not in done.stdout
    assert "No room for" not in done.stdout
    assert 100 < max(map(len, done.stdout.splitlines())) <= 120


@pytest.mark.parametrize(
    "arguments", [["catalog"], ["catalog", "p5.48xlarge"], ["rules"], ["rules", "--format", "json"]]
)
def test_a_stream_without_unicode_is_served(arguments):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([COMMAND, *arguments], check=True, capture_output=True, env=environment)
    assert done.stdout.isascii()


def on_a_terminal(**environment):
    """What the command writes to a terminal of 80 columns."""
    written = []

    def read(descriptor):
        written.append(os.read(descriptor, 65536))
        return written[-1]

    kept = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR", "FORCE_COLOR"}}
    code = (
        "import os, pty, sys; os.environ.clear(); os.environ.update(eval(sys.argv[1]));"
        "sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[2:])))"
    )
    settings = kept | {"TERM": "xterm-256color", "LINES": "40"} | environment
    done = subprocess.run(
        [sys.executable, "-c", code, repr(settings), COMMAND, "catalog", "p5.48xlarge", "trn1.32xlarge"],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout.decode()


def test_a_terminal_gets_colour_unless_told_otherwise():
    cyan = re.compile(r"\x1b\[[\d;]*36m")
    assert cyan.search(on_a_terminal())
    plain = on_a_terminal(NO_COLOR="1")
    assert "p5.48xlarge" in plain
    assert not cyan.search(plain)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--accelerator", "h200"], ["p5e.48xlarge", "p5en.48xlarge"]),
        (["--accelerator", "H100"], ["p5.4xlarge", "p5.48xlarge"]),
        (["--accelerator", "rtx pro", "--efa-generation", "v4"], [name for name in NAMES if name.startswith("g7e")]),
        (["--vendor", "aws"], [name for name in NAMES if name.startswith(("trn", "inf"))]),
        (["--efa-generation", "v1"], ["p4d.24xlarge", "p4de.24xlarge", "g5.48xlarge"]),
        (["--vendor", "nvidia", "--efa-generation", "v3"], ["p5en.48xlarge", "p6e-gb200.36xlarge"]),
        (["--purchase-option", "capacity-block", "--vendor", "aws"], [
            "trn1.32xlarge", "trn2.3xlarge", "trn2.48xlarge", "trn2u.48xlarge",
        ]),
        (["trn2.48xlarge", "p5.48xlarge", "trn2.48xlarge"], ["trn2.48xlarge", "p5.48xlarge"]),
        (["p5.48xlarge", "trn2.48xlarge", "--vendor", "aws"], ["trn2.48xlarge"]),
    ],
)  # fmt: skip
def test_filters(arguments, expected):
    assert listed(*arguments) == expected
    assert [row["name"] for row in rows(*arguments)["instance_types"]] == expected


def test_in_a_region_only_what_is_on_record_there():
    names = listed("--region", "eu-north-1", "--vendor", "nvidia", "--efa-generation", "v2")
    assert "p5.48xlarge" in names
    done = run("--region", "us-east-1", "--accelerator", "b")
    text = done.stdout
    assert "dfw-2a" in next(line for line in text.splitlines() if line.startswith("p6e-gb200"))
    assert "az6" in next(line for line in text.splitlines() if line.startswith("p6-b200"))
    assert "a missing one proves nothing" in " ".join(text.split())
    assert "USD/h" not in run("--region", "eu-north-1").stdout, "no price is known there"


def test_a_capacity_block_is_offered_only_where_blocks_are_sold():
    p5e = catalog()["p5e.48xlarge"]
    assert ways_to_buy(p5e, None) == ("on-demand", "spot", "capacity-block")
    assert ways_to_buy(p5e, "us-east-1") == ("capacity-block",)
    assert ways_to_buy(p5e, "mars-1") == ()
    assert zones_in(catalog()["p6e-gb200.36xlarge"], "us-east-1") == ("dfw-2a",)
    assert "p5e.48xlarge" not in listed("--region", "us-east-1", "--purchase-option", "spot")


@given(st.sampled_from(NAMES), st.sampled_from(["us-east-1", "eu-north-1", "us-gov-east-1", "ap-southeast-4", "x"]))
def test_what_can_be_bought_in_a_region_can_be_bought_at_all(name, region):
    facts = catalog()[name]
    there = ways_to_buy(facts, region)
    assert set(there) <= set(ways_to_buy(facts, None)) == set(facts.purchase_options)
    if zones_in(facts, region):
        assert there


def test_nothing_found_is_said_on_stderr_and_is_no_error():
    done = run("--region", "eu-mars-1")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "no type matches in eu-mars-1" in done.stderr
    assert rows("--region", "eu-mars-1") == {"as_of": catalog_as_of(), "instance_types": [], "sources": {}}
    done = run("p5.48xlarge", "--vendor", "aws")
    assert (done.exit_code, done.stderr) == (0, "no type matches\n")


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["p5.48xlarg"], "use p5.48xlarge"),
        (["m5.large"], "add the type with a DescribeInstanceTypes record (--record FILE) [UC-SPC-010]"),
        (["trn3.48xlarge"], "announced"),
        (["--accelerator", "h300"], "no type has 'h300'; there are NVIDIA A100"),
        (["--vendor", "amd"], "'amd' is not one of"),
        (["--efa-generation", "v9"], "'v9' is not one of"),
        (["--purchase-option", "lease"], "'lease' is not one of"),
        (["--format", "yaml"], "'yaml' is not one of"),
        (["--record", "missing.json"], "does not exist"),
    ],
)
def test_bad_usage_says_what_would_be_right(arguments, answer):
    done = run(*arguments)
    assert done.exit_code == 2
    assert answer in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("columns", [80, 120])
def test_the_detailed_view_of_every_type(name, columns):
    done = run(name, columns=columns)
    text = " ".join(done.stdout.split())
    facts = catalog()[name]
    assert done.stdout.startswith(f"{name}  catalogue of ")
    assert max(map(len, done.stdout.splitlines())) <= columns
    assert f"{facts.accelerator_count} x {facts.accelerator_name}" in text
    assert f"{facts.vcpus} vCPU" in text
    assert text.count("addresses per node") + text.count("address per node") >= 1
    for heading in ("Network cards", "Interface layouts", "To buy", "Services", "Sources"):
        assert f"\n{heading}" in done.stdout
    for region, usd in facts.on_demand_usd_per_hour.items():
        assert f"{usd:.2f} USD/h in {region} (Linux, as of {facts.price_as_of}; no quote)" in text
    for note in facts.notes:
        assert note in text
    assert f"{sources()['ec2-api'].as_of} EC2 DescribeInstanceTypes" in text or name == "p6e-gb200.36xlarge"


def test_the_layouts_of_p5_are_shown_card_by_card():
    text = " ".join(run("p5.48xlarge").stdout.split())
    assert (
        "33 interfaces, 32 EFA, 1 address per node: card 0: interface at 0, efa-only at 1; cards 1-31: efa-only at 0"
        in text
    )
    assert "40 interfaces, 32 EFA, 8 addresses per node" in text
    assert "32 interfaces, 32 EFA, 32 addresses per node: card 0: efa at 0; cards 1-31: efa at 1" in text


def test_json_has_every_fact_and_the_sources_that_it_names():
    document = rows("p6-b300.48xlarge")
    (row,) = document["instance_types"]
    assert row["max_efa_interfaces"] == 16
    assert row["network_cards"][0] == {
        "index": 0, "interface_types": ["interface"], "max_interfaces": 4, "peak_gbps": 350,
    }  # fmt: skip
    assert len(row["network_cards"]) == 17
    assert row["on_demand_usd_per_hour"] == {"us-east-1": 142.416}
    assert row["price_as_of"] == document["sources"]["karpenter-price"]["as_of"]
    assert {key for keys in row["sources"].values() for key in keys} <= set(document["sources"])
    assert len(rows()["instance_types"]) == len(NAMES)


@pytest.fixture
def g7e(tmp_path):
    packed = Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz"
    with gzip.open(packed, "rt", encoding="utf-8") as stream:
        record = json.load(stream)["g7e.2xlarge"]
    path = tmp_path / "g7e.json"
    path.write_text(json.dumps({"InstanceTypes": [record]}))
    return path


def test_a_record_is_shown_like_a_catalogued_type(g7e):
    assert "g7e.2xlarge" in listed("--record", str(g7e))
    text = " ".join(run("g7e.2xlarge", "--record", str(g7e)).stdout.split())
    assert "1 x NVIDIA RTX PRO Server 6000, 96 GiB each" in text
    assert "no EFA" in text
    assert "no price known" in text
    assert "DescribeInstanceTypes record given with --record" in text
    assert run("g7e.2xlarge").exit_code == 2


def test_a_wrong_record_is_a_finding_and_an_unreadable_one_bad_input(g7e):
    g7e.write_text('{"InstanceType": "p9.48xlarge"}')
    done = run("--record", str(g7e))
    assert done.exit_code == 1
    assert all(line.startswith(f"error: {g7e}.") for line in done.stderr.splitlines())
    g7e.write_text("p9.48xlarge")
    done = run("--record", str(g7e))
    assert done.exit_code == 2
    assert "is not JSON" in done.stderr


def test_short_names_of_accelerators():
    names = {accelerator_short_name(facts) for facts in catalog().values()}
    assert names == {
        "A100", "H100", "H200", "B200", "B300", "GB200", "A10G", "L4", "L40S", "RTX PRO 6000", "Trainium", "Trainium2",
        "Inferentia2",
    }  # fmt: skip


def test_runs_of_numbers():
    assert ranges((0,)) == "0"
    assert ranges((0, 1)) == "0, 1"
    assert ranges(tuple(range(32))) == "0-31"
    assert ranges((1, 3, 5)) == "1, 3, 5"
