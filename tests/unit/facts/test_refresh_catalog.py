"""The data file and what EC2 answers agree, and the script that brings them together does what it says."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws

from ultracluster.facts.instance_type import NetworkCard
from ultracluster.facts.instances import DATA_FILE, card_indexes, catalog


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = Path(__file__).parents[3] / "scripts" / "refresh_catalog.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def document():
    return json.loads(DATA_FILE.read_text(encoding="utf-8"))


@pytest.fixture
def changed_file(document, script, tmp_path):
    """A copy of the catalogue in which three facts of the API are wrong and one other is edited."""
    document["instances"]["p5.48xlarge"]["vcpus"] = 96
    document["instances"]["p6-b300.48xlarge"]["network_cards"][0]["interface_types"].append("efa")
    del document["instances"]["trn2.48xlarge"]["offered_az_ids"]["us-east-2"]
    document["instances"]["p5.48xlarge"]["hbm_bandwidth_tbps_each"] = 1
    path = tmp_path / "instances.json"
    path.write_text(script.render(document), encoding="utf-8")
    return path


def test_the_data_file_agrees_with_what_ec2_answered(script, capsys):
    assert script.main(["--check"]) == 0, capsys.readouterr().out
    assert f"no difference in {len(catalog())} types" in capsys.readouterr().out


def test_the_data_file_is_written_as_the_script_writes_it(script, document):
    assert script.render(document) == DATA_FILE.read_text(encoding="utf-8")


def test_differences_are_named_and_fail_the_check(script, changed_file, capsys):
    before = changed_file.read_text()
    assert script.main(["--check", "--file", str(changed_file)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "p5.48xlarge.vcpus: 96 -> 192" in lines
    assert sum(line.startswith("p6-b300.48xlarge.network_cards: ") for line in lines) == 1
    assert sum(line.startswith("trn2.48xlarge.offered_az_ids: ") for line in lines) == 1
    assert len(lines) == 3
    assert changed_file.read_text() == before
    assert script.main(["--file", str(changed_file)]) == 0, "without --check a difference is only printed"


def test_writing_repairs_the_facts_of_the_api_and_leaves_the_others(script, changed_file, document):
    assert script.main(["--write", "--as-of", "2027-01-31", "--file", str(changed_file)]) == 0
    written = json.loads(changed_file.read_text())
    assert written["instances"]["p5.48xlarge"]["vcpus"] == 192
    assert written["instances"]["p5.48xlarge"]["hbm_bandwidth_tbps_each"] == 1
    assert written["sources"]["ec2-api"]["as_of"] == "2027-01-31"
    assert "moto" in written["sources"]["ec2-api"]["title"]
    assert written["instances"]["trn2.48xlarge"]["offered_az_ids"] == catalog_zones("trn2.48xlarge")
    assert script.main(["--check", "--file", str(changed_file)]) == 0


def catalog_zones(name):
    return {region: list(zones) for region, zones in catalog()[name].offered_az_ids.items()}


def test_a_type_that_ec2_no_longer_describes_is_named(script, document):
    answers = script.captured()
    records = {name: row for name, row in answers.records.items() if name != "p4d.24xlarge"}
    fewer = script.Answers(title="", records=records, offerings=answers.offerings, all_regions=True)
    assert any(line.startswith("p4d.24xlarge: no record") for line in script.changes(document, fewer)[1])
    one_region = script.Answers(title="", records=records, offerings={}, all_regions=False)
    assert script.changes(document, one_region)[1] == []


def test_a_disputed_fact_is_not_overwritten(script, document):
    fresh, lines = script.changes(document, script.captured())
    assert lines == []
    assert fresh["instances"]["trn2.48xlarge"]["accelerator_memory_gib_each"] == 96


def test_a_live_region_changes_only_its_own_offerings(script, document):
    with mock_aws():
        answers = script.live("us-west-2", document["instances"])
    assert "p5.48xlarge" in answers.records
    assert set(answers.offerings) == {"us-west-2"}
    fresh, lines = script.changes(document, answers)
    assert lines == []
    assert fresh["instances"]["p5.48xlarge"]["offered_az_ids"] == catalog_zones("p5.48xlarge")
    gone = script.Answers(title="", records={}, offerings={"us-west-2": {}}, all_regions=False)
    after = script.changes(document, gone)[0]["instances"]["p5.48xlarge"]["offered_az_ids"]
    assert after == {region: zones for region, zones in catalog_zones("p5.48xlarge").items() if region != "us-west-2"}


@pytest.mark.parametrize("arguments", [["--live"], ["--region", "us-east-1"], ["--write"], ["--check", "--write"]])
def test_options_that_do_not_fit_are_refused(script, arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        script.main(arguments)
    assert caught.value.code == 2


LIMITS = st.tuples(
    st.sampled_from([("interface",), ("efa-only",), ("interface", "efa", "efa-only")]),
    st.none() | st.integers(1, 15),
    st.none() | st.sampled_from([25, 100, 200]),
)


@given(st.lists(LIMITS, min_size=1, max_size=40))
def test_cards_survive_the_short_form_of_the_file(script, limits):
    cards = [
        NetworkCard(index=index, interface_types=types, max_interfaces=most, peak_gbps=peak)
        for index, (types, most, peak) in enumerate(limits)
    ]
    groups = script.card_groups(cards)
    read = {
        index: (tuple(group["interface_types"]), group["max_interfaces"], group["peak_gbps"])
        for group in groups
        for index in card_indexes(group["cards"])
    }
    assert read == dict(enumerate(limits))
    assert len(groups) == len(set(limits))
