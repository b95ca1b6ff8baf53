"""The models: what is accepted, and how each fault is told."""

from __future__ import annotations

import copy
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from ultracluster.spec.cluster import ClusterSpec
from ultracluster.spec.fleet import FleetSpec
from ultracluster.spec.locate import model_findings
from ultracluster.spec.observability import ObservabilitySpec

VALID = {
    "name": "demo",
    "region": "us-east-1",
    "network": {"availability_zones": ["us-east-1a"]},
    "fleets": [{"name": "train", "instance_type": "p5.48xlarge", "count": 2}],
}


def changed(**values):
    """The valid file with other values; `a__b` is b inside a, fleet keys go to the first fleet."""
    data = copy.deepcopy(VALID)
    for path, value in values.items():
        target = data
        *parents, key = path.split("__")
        for step in parents:
            target = target[0] if step == "0" else target.setdefault(step, {})
        target[key] = value
    return data


def findings(data):
    with pytest.raises(ValidationError) as caught:
        ClusterSpec.model_validate(data)
    return model_findings(caught.value, data)


def test_the_defaults_are_those_of_the_design():
    spec = ClusterSpec.model_validate(VALID)
    fleet = spec.fleets[0]
    assert (spec.schema_version, spec.network.vpc_cidr, spec.network.nat_gateways) == (1, "10.0.0.0/16", 1)
    assert (fleet.capacity.kind, fleet.efa, fleet.interface_layout, fleet.placement_group) == (
        "on-demand",
        None,
        "min-ip",
        "auto",
    )
    assert (fleet.image.kind, fleet.root_volume.size_gib, fleet.metadata_hop_limit) == ("dlami", 500, 1)
    assert (fleet.mounts, fleet.bucket_access, fleet.detailed_monitoring) == (None, None, True)
    assert (spec.storage.lustre, spec.storage.home, spec.storage.buckets) == ((), None, ())
    assert spec.observability.utilization_threshold_percent == 70


def test_lists_become_tuples_and_models_are_frozen():
    spec = ClusterSpec.model_validate(VALID)
    assert spec.network.availability_zones == ("us-east-1a",)
    with pytest.raises(ValidationError):
        spec.name = "other"


def test_the_end_of_a_block_is_a_moment():
    capacity = {"kind": "capacity-block", "reservation_id": "cr-0a1b2c3d4e5f60718"}
    moment = datetime(2027, 3, 15, 11, 30, tzinfo=UTC)
    for end in ("2027-03-15T11:30:00Z", "2027-03-15 12:30:00+01:00", moment):
        spec = ClusterSpec.model_validate(changed(fleets__0__capacity={**capacity, "end": end}))
        assert spec.fleets[0].capacity.end == moment


CASES = [
    ({"fleets__0__count": "4"}, "fleets[0].count", "UC-SPC-005", "write 4 without quotes"),
    ({"fleets__0__count": True}, "fleets[0].count", "UC-SPC-005", "whole number"),
    ({"fleets__0__count": 4.5}, "fleets[0].count", "UC-SPC-005", "whole number"),
    ({"fleets__0__count": None}, "fleets[0]", "UC-SPC-004", "add count: 2"),
    ({"fleets__0__count": 0}, "fleets[0].count", "UC-SPC-007", "use 1 or more"),
    ({"fleets__0__instance_type": 5}, "fleets[0].instance_type", "UC-SPC-005", 'write it in quotes: "5"'),
    ({"fleets__0__instance_type": "p5"}, "fleets[0].instance_type", "UC-SPC-008", "p5.48xlarge"),
    ({"fleets__0__instance_types": ["p5.48xlarge"]}, "fleets[0].instance_types", "UC-SPC-009", "keep"),
    ({"fleets__0__max_count": 4}, "fleets[0].max_count", "UC-SPC-009", "keep count or max_count"),
    ({"fleets__0__min_count": 1}, "fleets[0].min_count", "UC-SPC-009", "add max_count"),
    ({"fleets__0__efa": "yes"}, "fleets[0].efa", "UC-SPC-005", "write true"),
    ({"fleets__0__efa": -1}, "fleets[0].efa", "UC-SPC-005", "true, false or a number"),
    (
        {"fleets__0__capacity": {"kind": "capacityblock"}},
        "fleets[0].capacity",
        "UC-SPC-006",
        "did you mean capacity-block?",
    ),
    ({"fleets__0__capacity": {"size": 3}}, "fleets[0].capacity", "UC-SPC-004", "add kind: on-demand"),
    ({"fleets__0__capacity": "spot"}, "fleets[0].capacity", "UC-SPC-005", "mapping"),
    ({"fleets__0__capacity": {"kind": "spot", "size": 3}}, "fleets[0].capacity.size", "UC-SPC-003", "remove it"),
    ({"fleets__0__capacity": {"kind": "reservation"}}, "fleets[0].capacity", "UC-SPC-004", "reservation_id"),
    (
        {
            "fleets__0__capacity": {
                "kind": "capacity-block",
                "reservation_id": "cr-0a1b2c3d4e5f60718",
                "end": "2027-03-15T11:30:00",
            }
        },
        "fleets[0].capacity.end",
        "UC-SPC-008",
        "2027-03-15T11:30:00Z",
    ),
    (
        {
            "fleets__0__capacity": {
                "kind": "capacity-block",
                "reservation_id": "cr-0a1b2c3d4e5f60718",
                "end": "2027-02-30",
            }
        },
        "fleets[0].capacity.end",
        "UC-SPC-008",
        "write it like",
    ),
    (
        {
            "fleets__0__capacity": {
                "kind": "capacity-block",
                "reservation_id": "cr-0a1b2c3d4e5f60718",
                "end": 1800000000,
            }
        },
        "fleets[0].capacity.end",
        "UC-SPC-005",
        "date and time",
    ),
    (
        {"fleets__0__capacity": {"kind": "spot", "max_price_usd": float("inf")}},
        "fleets[0].capacity.max_price_usd",
        "UC-SPC-007",
        "",
    ),
    ({"fleets__0__image": {"kind": "ubuntu", "version": 22.04}}, "fleets[0].image.version", "UC-SPC-006", "22.04"),
    (
        {"fleets__0__image": {"kind": "ami", "ami_id": "ami-0a1b2c3d"}},
        "fleets[0].image.os",
        "UC-SPC-004",
        "add os: ubuntu-24.04",
    ),
    ({"fleets__0__placement_group": "autos"}, "fleets[0].placement_group", "UC-SPC-006", "did you mean auto?"),
    ({"fleets__0__placement_group": {"nam": "x"}}, "fleets[0].placement_group.nam", "UC-SPC-003", "did you mean name?"),
    ({"fleets__0__placement_group": {}}, "fleets[0].placement_group.name", "UC-SPC-004", "add name"),
    ({"instance_type": "p5.48xlarge"}, "instance_type", "UC-SPC-003", "did you mean it under fleets?"),
    ({"lustre": []}, "lustre", "UC-SPC-003", "did you mean it under storage?"),
    (
        {"observability__log_retention": 3},
        "observability.log_retention",
        "UC-SPC-003",
        "did you mean log_retention_days?",
    ),
    ({"fleets__0__colour": "red"}, "fleets[0].colour", "UC-SPC-003", "remove it"),
    ({"fleets__0__tags": {"a": 1}}, "fleets[0].tags.a", "UC-SPC-005", 'write it in quotes: "1"'),
    ({"fleets__0__tags": {"aws:x": "y"}}, 'fleets[0].tags["aws:x"]', "UC-SPC-008", "write it like"),
    ({"fleets": []}, "fleets", "UC-SPC-007", "give at least 1"),
    ({"fleets": {"name": "train"}}, "fleets", "UC-SPC-005", "a list"),
    ({"network__availability_zones": "us-east-1a"}, "network.availability_zones", "UC-SPC-005", "write [us-east-1a]"),
    ({"network__availability_zones": ["use1-az1"]}, "network.availability_zones[0]", "UC-SPC-008", "us-east-1a"),
    ({"network__vpc_cidr": "10.0.1.0/16"}, "network.vpc_cidr", "UC-SPC-008", "write 10.0.0.0/16"),
    ({"network__vpc_cidr": "fd00::/56"}, "network.vpc_cidr", "UC-SPC-008", "write it like"),
    ({"network__vpc_cidr": "10.0.0.0/99"}, "network.vpc_cidr", "UC-SPC-008", "write it like"),
    ({"account": 111122223333}, "account", "UC-SPC-005", 'write it in quotes: "111122223333"'),
    ({"account": "1111-2222-3333"}, "account", "UC-SPC-008", "111122223333"),
    ({"name": "Demo"}, "name", "UC-SPC-008", "write it like"),
    ({"region": "us-east"}, "region", "UC-SPC-008", "us-east-1"),
    ({"schema_version": 2}, "schema_version", "UC-SPC-007", "use 1 or less"),
    ({"schema_version": True}, "schema_version", "UC-SPC-005", "whole number"),
    ({"scheduler": {"kind": "slurm"}}, "scheduler.kind", "UC-SPC-006", "use none"),
    ({"storage__lustre": [{"name": "a"}]}, "storage.lustre[0].deployment_type", "UC-SPC-004", "PERSISTENT_2"),
    ({"storage__home": {"mount_path": "shared"}}, "storage.home.mount_path", "UC-SPC-008", "/fsx"),
    (
        {"storage__home": {"archive_after_days": "no"}},
        "storage.home.archive_after_days",
        "UC-SPC-005",
        "a number or never",
    ),
    (
        {"storage__buckets": [{"name": "a", "purpose": "logs"}]},
        "storage.buckets[0].purpose",
        "UC-SPC-006",
        "data or checkpoints",
    ),
    (
        {"storage__buckets": [{"name": "a", "purpose": "data", "bucket_name": "abc", "versioned": True}]},
        "storage.buckets[0].versioned",
        "UC-SPC-009",
        "keep bucket_name or versioned",
    ),
    ({"observability__log_retention_days": 91}, "observability.log_retention_days", "UC-SPC-007", "use 90 or 120"),
    ({"observability__notification_emails": ["a b@c.de"]}, "observability.notification_emails[0]", "UC-SPC-008", "@"),
    ({"observability__metrics_namespace": "AWS/EC2"}, "observability.metrics_namespace", "UC-SPC-008", "UltraCluster"),
]


@pytest.mark.parametrize(("values", "subject", "rule_id", "fix"), CASES, ids=[case[1] for case in CASES])
def test_a_fault_is_told_once_with_path_id_and_fix(values, subject, rule_id, fix):
    (found,) = findings(changed(**values))
    assert (found.subject, found.rule_id) == (subject, rule_id)
    assert fix in found.fix
    assert found.message
    assert not found.message[0].isupper()
    assert not found.message.endswith(".")


def test_all_faults_are_told_together():
    data = changed(name="X", region=1, network__vpc_cidr="x", fleets__0__count="2", fleets__0__efa=[])
    data["fleets"].append({"name": "train", "max_count": 0})
    data["surprise"] = 1
    assert {found.subject for found in findings(data)} == {
        "name",
        "region",
        "network.vpc_cidr",
        "fleets[0].count",
        "fleets[0].efa",
        "fleets[1]",
        "fleets[1].max_count",
        "surprise",
    }


def test_a_misspelt_key_is_not_called_missing_too():
    data = changed()
    data["fleets"] = [{"nam": "train", "instance-type": "p5.48xlarge", "cuont": 2}]
    assert [(found.subject, found.fix) for found in findings(data)] == [
        ("fleets[0].nam", "did you mean name?"),
        ("fleets[0].instance-type", "did you mean instance_type?"),
        ("fleets[0].cuont", "did you mean count?"),
    ]


def test_an_existing_network_excludes_the_settings_of_a_new_one():
    existing = {
        "vpc_id": "vpc-0a1b2c3d",
        "vpc_cidr": "10.0.0.0/16",
        "subnets": [{"subnet_id": "subnet-0a1b2c3d", "availability_zone": "us-east-1a"}],
    }
    data = changed(network__existing=existing)
    assert ClusterSpec.model_validate(data).network.existing.vpc_id == "vpc-0a1b2c3d"
    data["network"]["nat_gateways"] = 2
    (found,) = findings(data)
    assert (found.subject, found.rule_id) == ("network.nat_gateways", "UC-SPC-009")


def test_models_made_in_python_tell_their_faults_in_the_same_words():
    with pytest.raises(ValidationError, match="one of count or max_count is needed"):
        FleetSpec(name="train", instance_type="p5.48xlarge")
    assert ObservabilitySpec(log_retention_days=30).log_retention_days == 30


def test_a_value_that_has_to_be_above_a_limit_is_told_so():
    data = changed(fleets__0__capacity={"kind": "spot", "max_price_usd": 0})
    (found,) = findings(data)
    assert str(found) == ("fleets[0].capacity.max_price_usd: 0 must be above 0.0; use a value above 0.0 [UC-SPC-007]")
