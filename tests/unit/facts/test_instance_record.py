"""Types from DescribeInstanceTypes records: what EC2 answers is understood, whatever else is a finding."""

from __future__ import annotations

import copy
import gzip
import json
from functools import cache
from pathlib import Path

import moto
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.facts.instance_record import catalog_with_records, from_describe_instance_types
from ultracluster.facts.instances import api_fields, catalog, kept_fields
from ultracluster.findings import FindingsError


@cache
def records():
    path = Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return json.load(stream)


def record(name="p5.48xlarge"):
    return copy.deepcopy(records()[name])


def faults(wrong):
    with pytest.raises(FindingsError) as caught:
        from_describe_instance_types(wrong)
    return {found.subject: found for found in caught.value.findings}


# The EC2 capture has no record of the UltraServer type.
RECORDED = sorted(set(catalog()) - {"p6e-gb200.36xlarge"})


@pytest.mark.parametrize("name", RECORDED)
def test_the_catalogue_says_what_the_record_of_a_type_says(name):
    derived = from_describe_instance_types(record(name))
    known = catalog()[name]
    assert derived.name == name
    assert derived.family == known.family
    for field in sorted(api_fields() - kept_fields(name)):
        assert getattr(derived, field) == getattr(known, field), field
    for field in sorted(kept_fields(name)):
        assert getattr(derived, field) != getattr(known, field), f"{field} is no longer disputed: drop it from kept"
    assert derived.quota_on_demand == known.quota_on_demand
    assert derived.quota_spot == known.quota_spot
    assert derived.sources == dict.fromkeys(sorted(api_fields()), ("record",))


def test_every_captured_record_of_linux_is_understood():
    for name, row in records().items():
        if name.startswith("mac"):
            assert "record.ProcessorInfo.SupportedArchitectures" in faults(row)
        else:
            facts = from_describe_instance_types(row)
            assert facts.name == name
            assert facts.vcpus == facts.physical_cores * facts.threads_per_core
            assert (facts.max_efa_interfaces > 0) == facts.supports_efa


def test_a_type_outside_the_catalogue():
    facts = from_describe_instance_types(record("g7e.2xlarge"))
    assert facts.accelerator_name == "NVIDIA RTX PRO Server 6000"
    assert (facts.accelerator_count, facts.vendor, facts.architecture) == (1, "nvidia", "x86_64")
    assert facts.max_efa_interfaces == facts.efa_bandwidth_gbps == 0
    assert not facts.supports_efa
    assert facts.nvme_disks[0].size_gb == 1900
    assert facts.quota_on_demand == catalog()["g6.48xlarge"].quota_on_demand
    assert facts.nitro_version is facts.scale_up_interconnect is facts.price_as_of is None
    assert facts.gpudirect_rdma is None
    assert "unknown" in facts.notes[0]


def test_types_without_accelerators_disks_or_a_rate():
    plain = from_describe_instance_types(record("c7i.48xlarge"))
    assert (plain.vendor, plain.accelerator_name, plain.accelerator_count, plain.nvme_disks) == ("", "", 0, ())
    assert plain.quota_on_demand is None
    assert from_describe_instance_types(record("d2.xlarge")).nvme_disks == ()
    old = from_describe_instance_types(record("m1.small"))
    assert old.network_bandwidth_gbps is None
    assert old.network_performance == "Low"


def test_other_makers_of_accelerators():
    other = from_describe_instance_types(record("dl2q.24xlarge"))
    assert (other.vendor, other.accelerator_name) == ("qualcomm", "Qualcomm AI100")
    assert from_describe_instance_types(record("inf1.6xlarge")).accelerator_name == "AWS Inferentia"
    assert from_describe_instance_types(record("inf2.24xlarge")).accelerator_name == "AWS Inferentia2"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["InstanceType"], 5, "5 is not a text"),
        (["InstanceType"], "p5", "'p5' is not the name of an instance type"),
        (["InstanceType"], "p5.48xlarge\n", "is not a text"),
        (["InstanceType"], None, "is missing"),
        (["VCpuInfo"], [], "[] is not an object"),
        (["VCpuInfo", "DefaultVCpus"], "192", '"192" is not a number'),
        (["VCpuInfo", "DefaultVCpus"], True, "true is not a number"),
        (["VCpuInfo", "DefaultVCpus"], 0, "0 is not a number from 1"),
        (["VCpuInfo", "DefaultCores"], 9.5, "9.5 is not a whole number"),
        (["MemoryInfo", "SizeInMiB"], float("nan"), "NaN is not a number from 1"),
        (["MemoryInfo", "SizeInMiB"], 1e300, "1e+300 is not a number from 1 to 1e+15"),
        (["ProcessorInfo", "SupportedArchitectures"], ["i386"], "i386 has neither of x86_64 and arm64"),
        (["ProcessorInfo", "SupportedArchitectures"], [], "[] is not a list of texts"),
        (["GpuInfo", "Gpus", 0, "Count"], -1, "-1 is not a number from 0"),
        (["GpuInfo", "Gpus", 0], None, "null is not an object"),
        (["GpuInfo", "Gpus", 0, "MemoryInfo"], 80, "80 is not an object"),
        (["NetworkInfo"], None, "is missing"),
        (["NetworkInfo", "NetworkCards"], {}, "{} is not a list of objects"),
        (["NetworkInfo", "NetworkCards"], [], "[] is not a list of objects"),
        (["NetworkInfo", "NetworkCards", 3, "MaximumNetworkInterfaces"], "two", '"two" is not a number'),
        (["NetworkInfo", "NetworkCards", 3, "InterfaceTypes"], None, "is missing"),
        (
            ["NetworkInfo", "NetworkCards", 3, "InterfaceTypes"],
            ["efa", "ib"],
            "ib is not one of interface, efa, efa-only",
        ),
        (["NetworkInfo", "EfaInfo"], None, "is missing"),
        (["NetworkInfo", "EfaSupported"], "yes", '"yes" is not true or false'),
        (["InstanceStorageInfo", "Disks"], 8, "8 is not a list of objects"),
        (["SupportedUsageClasses"], [1], "[1] is not a list of texts"),
        (["PlacementGroupInfo"], None, "is missing"),
        (["EbsInfo", "EbsOptimizedInfo", "BaselineBandwidthInMbps"], "fast", '"fast" is not a number'),
    ],
)
def test_a_wrong_value_is_named_with_its_path(path, value, message):
    wrong = record()
    place = wrong
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    subject = "record" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    found = faults(wrong)[subject]
    assert message in found.message
    assert found.rule_id == "UC-SPC-011"
    assert "describe-instance-types" in str(found)


def test_all_faults_are_reported_at_once():
    wrong = record()
    wrong["VCpuInfo"]["DefaultVCpus"] = "many"
    wrong["NetworkInfo"]["NetworkCards"][31]["NetworkCardIndex"] = None
    del wrong["MemoryInfo"]
    assert set(faults(wrong)) >= {
        "record.VCpuInfo.DefaultVCpus",
        "record.NetworkInfo.NetworkCards[31].NetworkCardIndex",
        "record.MemoryInfo",
    }


@pytest.mark.parametrize("wrong", [None, 5, "p5.48xlarge", [], True, [record()]])
def test_what_is_no_object_is_one_finding(wrong):
    assert list(faults(wrong)) == ["record"]


def test_two_cards_with_one_index_contradict():
    wrong = record()
    wrong["NetworkInfo"]["NetworkCards"][5]["NetworkCardIndex"] = 4
    assert "are not 0 to 31" in faults(wrong)["record.NetworkInfo.NetworkCards"].message


def test_more_efa_devices_than_cards_that_carry_efa_contradict():
    wrong = record("p6-b300.48xlarge")
    wrong["NetworkInfo"]["EfaInfo"]["MaximumEfaInterfaces"] = 17
    found = faults(wrong)["record.NetworkInfo.EfaInfo.MaximumEfaInterfaces"]
    assert found.message.startswith("17 is more than the 16 cards that carry EFA")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=8,
)


def _places(value, path=()):
    """Every path in a JSON value, the empty one included."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from _places(child, (*path, key))


@st.composite
def damaged(draw):
    """A real record with one to three places lost or replaced by anything."""
    wrong = record(
        draw(st.sampled_from(["p4d.24xlarge", "p6-b300.48xlarge", "trn2.48xlarge", "inf2.xlarge", "m1.small"]))
    )
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([path for path in _places(wrong) if path]))
        place = wrong
        for key in path[:-1]:
            place = place[key]
        if draw(st.booleans()):
            del place[path[-1]]
        else:
            place[path[-1]] = draw(JSON_VALUES)
    return wrong


def attempt(value):
    """The facts, or the findings."""
    try:
        return from_describe_instance_types(value), ()
    except FindingsError as error:
        return None, error.findings


@given(damaged() | JSON_VALUES)
def test_a_damaged_record_gives_facts_or_findings_and_nothing_else(wrong):
    facts, findings = attempt(wrong)
    if facts is None:
        assert findings
        assert all(found.subject.startswith("record") and found.fix for found in findings)
        "\n".join(map(str, findings)).encode()
    else:
        assert [card.index for card in facts.network_cards] == list(range(len(facts.network_cards)))
        assert facts.max_efa_interfaces <= len(facts.efa_cards)
        assert facts.vcpus >= 1
        assert hash(facts) == hash(facts.name)


@given(st.sampled_from(RECORDED), st.randoms())
def test_the_order_of_cards_and_strategies_does_not_matter(name, random):
    shuffled = record(name)
    random.shuffle(shuffled["NetworkInfo"]["NetworkCards"])
    random.shuffle(shuffled["PlacementGroupInfo"]["SupportedStrategies"])
    random.shuffle(shuffled["SupportedUsageClasses"])
    assert from_describe_instance_types(shuffled) == from_describe_instance_types(record(name))


@pytest.mark.parametrize("whole_answer", [True, False])
def test_a_file_adds_a_type(tmp_path, whole_answer):
    path = tmp_path / "g7e.json"
    row = record("g7e.2xlarge")
    path.write_text(json.dumps({"InstanceTypes": [row, record("g6.xlarge")]} if whole_answer else row))
    extended = catalog_with_records([path])
    assert extended["g7e.2xlarge"].accelerator_count == 1
    assert ("g6.xlarge" in extended) == whole_answer
    assert "g7e.2xlarge" not in catalog()
    assert extended["p5.48xlarge"] is catalog()["p5.48xlarge"]


def test_a_record_of_a_known_type_updates_what_the_api_says_and_nothing_else(tmp_path):
    row = record("trn2.48xlarge")
    row["MemoryInfo"]["SizeInMiB"] *= 2
    path = tmp_path / "trn2.json"
    path.write_text(json.dumps(row))
    known, updated = catalog()["trn2.48xlarge"], catalog_with_records([path])["trn2.48xlarge"]
    assert updated.memory_gib == 2 * known.memory_gib
    assert updated.accelerator_memory_gib_each == known.accelerator_memory_gib_each == 96
    assert updated.scale_up_interconnect == known.scale_up_interconnect
    assert updated.accelerator_name == known.accelerator_name


def test_faults_of_all_files_are_reported_at_once(tmp_path):
    broken, empty, wrong = tmp_path / "broken.json", tmp_path / "empty.json", tmp_path / "wrong.json"
    broken.write_text("{")
    empty.write_text('{"InstanceTypes": []}')
    wrong.write_text(json.dumps({"InstanceTypes": [record(), {"InstanceType": "p9.xlarge"}, None]}))
    with pytest.raises(FindingsError) as caught:
        catalog_with_records([broken, tmp_path / "missing.json", empty, wrong, tmp_path])
    found = {finding.subject: finding for finding in caught.value.findings}
    assert found[str(broken)].rule_id == found[str(tmp_path / "missing.json")].rule_id == "UC-SPC-012"
    assert found[str(tmp_path)].rule_id == "UC-SPC-012"
    assert found[f"{empty}: InstanceTypes"].rule_id == "UC-SPC-011"
    assert found[f"{wrong}: InstanceTypes[1].VCpuInfo"].message == "is missing"
    assert found[f"{wrong}: InstanceTypes[2]"].message == "null is not an object"
    assert not any("InstanceTypes[0]" in subject for subject in found)
