"""Plans of whole clusters: the reference files, quotas, cost, attachments, zones."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import moto
import pytest

from ultracluster.findings import FindingsError
from ultracluster.plan import names
from ultracluster.plan.cluster import plan_cluster
from ultracluster.plan.cluster_file import plan_file, read_and_plan
from ultracluster.spec.loader import load_cluster

ROOT = Path(__file__).parents[3]
REFERENCE = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("apps/*/cluster*.yaml"))

HEAD = """\
name: demo
region: us-east-1
network:
  availability_zones: [us-east-1a, us-east-1b]
"""


@pytest.fixture
def plan(tmp_path):
    def plan_text(text, **files):
        for name, content in files.items():
            (tmp_path / name).write_text(content, encoding="utf-8")
        path = tmp_path / "cluster.yaml"
        path.write_text(HEAD + text, encoding="utf-8")
        return plan_file(path)[1]

    return plan_text


@pytest.mark.parametrize("path", REFERENCE)
def test_the_reference_files_have_a_plan_without_errors(path):
    spec, planned = plan_file(ROOT / path)
    assert [fleet.name for fleet in planned.fleets] == [fleet.name for fleet in spec.fleets]
    assert [joined.fleet for joined in planned.attachments] == [fleet.name for fleet in spec.fleets]
    assert planned.decisions
    assert all(decision.because for decision in planned.decisions)


def test_there_are_reference_files():
    assert len(REFERENCE) >= 6


def test_the_plan_of_a_file_is_that_of_its_spec():
    path = ROOT / "apps/p5_pretrain/cluster.yaml"
    assert plan_cluster(load_cluster(path), base_dir=path.parent) == plan_file(path)[1]


def test_p5_pretrain_in_numbers():
    _, planned = plan_file(ROOT / "apps/p5_pretrain/cluster.yaml")
    (fleet,) = planned.fleets
    (lustre,) = planned.lustre
    assert (fleet.max_count, fleet.accelerators_max, fleet.efa_count) == (16, 128, 32)
    assert fleet.efa_gbytes_per_s_per_node == 400
    assert fleet.scale_up_gbytes_per_s_per_accelerator == 900
    assert (fleet.ip_addresses_max, fleet.network_interfaces_max) == (16, 16 * 33)
    assert lustre.throughput.baseline_mbps == 4800, (
        "19,200 GiB are 19.2 TiB of 1,000 GiB at 250 MB/s each, as the service counts"
    )
    assert lustre.availability_zone == "us-east-1a"
    assert planned.quotas == (), "a Capacity Block needs no vCPU quota"
    assert planned.cost.usd_per_hour_max is None
    (joined,) = planned.attachments
    assert joined.mounts == ("scratch", "home")
    assert [(access.bucket, access.write) for access in joined.bucket_access] == [
        ("datasets", False),
        ("checkpoints", True),
    ]
    assert 0 < joined.user_data_bytes <= 16384
    assert joined.auto_scaling_group_name == "p5-pretrain-train"


def test_a_block_that_is_over_is_told_only_when_the_time_is_known():
    path = ROOT / "apps/p5_pretrain/cluster.yaml"
    assert not read_and_plan(path).findings
    late = read_and_plan(path, now=datetime(2040, 1, 1, tzinfo=UTC))
    assert [found.subject for found in late.findings] == ["fleets[0].capacity.end"]


TWO_FLEETS = """\
fleets:
  - {name: train, instance_type: p5.48xlarge, count: 4, availability_zone: us-east-1a}
  - {name: eval, instance_type: p5.48xlarge, max_count: 2, availability_zone: us-east-1b}
"""


def test_quotas_are_summed_over_fleets_and_count_vcpus(plan):
    (quota,) = plan(TWO_FLEETS).quotas
    assert (quota.code, quota.vcpus, quota.fleets) == ("L-417A185B", 6 * 192, ("train", "eval"))
    assert (quota.name, quota.service_code) == ("Running On-Demand P instances", "ec2")
    assert quota.console_url.endswith("/services/ec2/quotas/L-417A185B?region=us-east-1")


def test_cost_is_that_of_the_smallest_and_the_largest_size_with_its_date(plan):
    cost = plan(TWO_FLEETS).cost
    assert (cost.usd_per_hour_min, cost.usd_per_hour_max) == (round(4 * 55.04, 4), round(6 * 55.04, 4))
    assert {fleet.price_as_of for fleet in cost.fleets} == {"2026-07-20"}
    assert {fleet.price_region for fleet in cost.fleets} == {"us-east-1"}
    assert any("storage" in what for what in cost.not_included)


def test_a_price_of_another_region_is_named_as_such(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(
        "name: demo\nregion: us-west-2\nnetwork: {availability_zones: [us-west-2a]}\n"
        "fleets:\n  - {name: train, instance_type: p5.48xlarge, count: 1}\n"
        "  - {name: eval, instance_type: p5e.48xlarge, count: 1}\n"
    )
    known, unknown = plan_file(path)[1].cost.fleets
    assert (known.price_region, known.usd_per_hour_max) == ("us-east-1", 55.04)
    assert "none on record for us-west-2" in known.note
    assert unknown.usd_per_hour_max is None
    assert "no On-Demand price of p5e.48xlarge" in unknown.note


def test_a_reservation_costs_its_size_used_or_not(plan):
    text = (
        "fleets:\n  - name: train\n    instance_type: p5.48xlarge\n    max_count: 4\n"
        "    availability_zone: us-east-1a\n"
        "    capacity: {kind: reservation, reservation_id: cr-0a1b2c3d4e5f60718, size: 8}\n"
    )
    planned = plan(text)
    assert planned.cost.usd_per_hour_min == planned.cost.usd_per_hour_max == round(8 * 55.04, 4)
    assert planned.quotas[0].code == "L-417A185B"


def test_spot_with_an_on_demand_base_needs_both_quotas(plan):
    text = (
        "fleets:\n  - name: spot\n    instance_types: [p5.48xlarge, p5en.48xlarge]\n    max_count: 10\n    efa: false\n"
        "    availability_zones: [us-east-1a, us-east-1b]\n"
        "    capacity: {kind: spot, on_demand_base_count: 2, on_demand_percentage_above_base: 25}\n"
    )
    planned = plan(text)
    assert {quota.code: quota.vcpus for quota in planned.quotas} == {"L-7212CCBC": 6 * 192, "L-417A185B": 4 * 192}
    assert planned.cost.usd_per_hour_max is None
    assert len(planned.fleets[0].layouts) == 2


def test_a_file_system_stands_in_the_zone_of_its_fleets(plan):
    lustre = "storage:\n  lustre:\n    - {name: scratch, deployment_type: SCRATCH_2, capacity_gib: 1200}\n"
    one = TWO_FLEETS.replace("us-east-1a}", "us-east-1a, mounts: []}") + lustre
    assert plan(one).lustre[0].availability_zone == "us-east-1b"
    with pytest.raises(FindingsError, match=r"storage.lustre\[0\]: no zone is named") as caught:
        plan(TWO_FLEETS + lustre)
    assert [found.rule_id for found in caught.value.findings] == ["UC-SPC-015"]


def test_the_home_has_a_mount_target_in_each_zone_of_its_fleets(plan):
    home = "storage: {home: {}}\n"
    assert plan(TWO_FLEETS + home).home.availability_zones == ("us-east-1a", "us-east-1b")
    one = TWO_FLEETS.replace("us-east-1b}", "us-east-1b, mounts: []}") + home
    assert plan(one).home.availability_zones == ("us-east-1a",)


def test_mounts_and_buckets_can_be_chosen_by_fleet(plan):
    text = TWO_FLEETS.replace(
        "us-east-1a}", "us-east-1a, mounts: [], bucket_access: [{bucket: s3://other, prefix: a}]}"
    )
    first, second = plan(text + "storage: {home: {}, buckets: [{name: data, purpose: data}]}\n").attachments
    assert (first.mounts, second.mounts) == ((), ("home",))
    assert [(access.bucket, access.prefix, access.write) for access in first.bucket_access] == [
        ("s3://other", "a", False)
    ]
    assert [access.bucket for access in second.bucket_access] == ["data"]


def test_existing_buckets_are_not_planned_but_known(plan):
    planned = plan(TWO_FLEETS + "storage: {buckets: [{name: data, purpose: data, bucket_name: my-data}]}\n")
    assert (planned.buckets, planned.existing_buckets) == ((), {"data": "my-data"})


def test_a_script_is_read_from_beside_the_file(plan):
    text = TWO_FLEETS.replace("us-east-1a}", "us-east-1a, user_data: boot.sh}")
    planned = plan(text, **{"boot.sh": "#!/bin/bash\necho ready\n"})
    assert planned.attachments[0].user_script == "#!/bin/bash\necho ready\n"
    assert planned.attachments[1].user_script is None
    assert planned.attachments[0].user_data_bytes > planned.attachments[1].user_data_bytes


@pytest.mark.parametrize(
    ("content", "words"), [(b"\xff\xfe\x00", "is not text"), (b"#!/bin/sh\n" + b"x" * 1_000_001, "is larger")]
)
def test_a_file_that_is_no_script_is_refused(tmp_path, content, words):
    (tmp_path / "boot").write_bytes(content)
    path = tmp_path / "cluster.yaml"
    path.write_text(HEAD + TWO_FLEETS.replace("us-east-1a}", "us-east-1a, user_data: boot}"))
    (found,) = read_and_plan(path).findings
    assert (found.rule_id, found.subject) == ("UC-SPC-016", "fleets[0].user_data")
    assert words in found.message


def test_an_existing_network_is_used_as_it_is(plan):
    text = TWO_FLEETS + "name2: x\n"
    existing = (
        "  existing:\n    vpc_id: vpc-0a1b2c3d4e5f60718\n    vpc_cidr: 10.1.0.0/16\n    subnets:\n"
        "      - {subnet_id: subnet-0a1b2c3d4e5f60718, availability_zone: us-east-1a}\n"
        "      - {subnet_id: subnet-1a1b2c3d4e5f60718, availability_zone: us-east-1b}\n"
    )
    planned = plan(existing + text.replace("name2: x\n", ""))
    assert planned.network.existing.vpc_id == "vpc-0a1b2c3d4e5f60718"
    assert [zone.fleet_subnet_id for zone in planned.network.zones] == [
        "subnet-0a1b2c3d4e5f60718",
        "subnet-1a1b2c3d4e5f60718",
    ]


def test_a_type_can_be_added_with_a_record(plan):
    with gzip.open(Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz", "rt") as stream:
        record = json.load(stream)["p5.48xlarge"] | {"InstanceType": "x9.48xlarge"}
    text = (
        "fleets:\n  - {name: train, instance_type: x9.48xlarge, count: 1, availability_zone: us-east-1a, "
        "image: {kind: al2023}}\n"
    )
    planned = plan("instance_type_records: [x9.json]\n" + text, **{"x9.json": json.dumps(record)})
    assert planned.fleets[0].instance_types[0].name == "x9.48xlarge"
    assert planned.fleets[0].efa_count == 32
    assert "no On-Demand price of x9.48xlarge" in planned.cost.fleets[0].note


def test_faults_between_fleets_and_storage_are_told_beside_those_of_other_parts(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(
        HEAD.replace(", us-east-1b", "") + "fleets:\n"
        "  - {name: one, instance_type: p5.48xlarge, count: 200}\n"
        "  - {name: two, instance_type: p5.48xlarge, count: x}\n"
        "storage:\n"
        "  lustre:\n"
        "    - {name: a, deployment_type: PERSISTENT_2, capacity_gib: 19200, throughput_mbps_per_tib: 250, efa: true}\n"
        "    - {name: b, deployment_type: SCRATCH_2, capacity_gib: 1300, mount_path: /b}\n"
    )
    told = [(found.rule_id, found.subject) for found in read_and_plan(path).findings]
    assert told == [
        ("UC-SPC-005", "fleets[1].count"),
        ("UC-LUS-013", "storage.lustre[0].efa"),
        ("UC-LUS-001", "storage.lustre[1].capacity_gib"),
    ]


def test_a_wrong_zone_of_the_network_is_told_once(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(
        "name: demo\nregion: us-east-1\nnetwork: {availability_zones: [us-west-2a]}\n"
        "fleets: [{name: train, instance_type: p5.48xlarge, count: 1}]\n"
    )
    assert [found.subject for found in read_and_plan(path).findings] == ["network.availability_zones[0]"]


def test_every_fleet_and_file_system_is_watched():
    planned = plan_file(ROOT / "apps/p5_pretrain/cluster.yaml")[1]
    assert set(planned.alarms) == {"fleets[0]", "storage.lustre[0]"}
    assert {alarm.name.partition("-train-")[0] for alarm in planned.alarms["fleets[0]"]} == {"p5-pretrain"}
    assert all(alarm.name.startswith("p5-pretrain-scratch-") for alarm in planned.alarms["storage.lustre[0]"])


def test_a_spot_fleet_is_watched_through_its_queues(plan):
    planned = plan_file(ROOT / "apps/spot_research/cluster.yaml")[1]
    watched = [metric for alarm in planned.alarms["fleets[0]"] for _, metric in alarm.metrics]
    assert any(names.interruption_queue_names("spot-research-research")[0] in str(metric) for metric in watched)


def test_names_fit_together():
    assert names.log_group_name(names.auto_scaling_group_name("demo", "train")) == "/ultracluster/demo-train"
    assert names.interruption_queue_names("a.b") == ("a-b-spot", "a-b-spot-dead")
