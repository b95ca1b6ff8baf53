"""Alarms: only on what is published, within CloudWatch's limits, each with a reason and an advice."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultracluster.facts.agent_metrics import agent_facts
from ultracluster.facts.alarms import alarm_facts, alarm_limits
from ultracluster.facts.instances import catalog
from ultracluster.facts.service_metrics import service_metrics
from ultracluster.findings import FindingsError
from ultracluster.plan.agent_config import AgentProfile, agent_configuration, published
from ultracluster.plan.alarms import FleetAlarmRequest, alarms_for_fleet, check_fleet_alarms
from ultracluster.plan.lustre_alarms import LustreAlarmRequest, alarms_for_lustre, check_lustre_alarms
from ultracluster.plan.metric_refs import FILE_SYSTEM, service

PROFILES = st.builds(
    AgentProfile,
    vendor=st.sampled_from(["nvidia", "aws"]),
    efa=st.booleans(),
    nitro_version=st.integers(2, 6),
    spot=st.booleans(),
    namespace=st.sampled_from(["UltraCluster", "Team/Train"]),
)
FLEETS = st.builds(
    FleetAlarmRequest,
    group_name=st.from_regex(r"[A-Za-z0-9._-]{1,128}", fullmatch=True),
    profile=PROFILES,
    utilization_threshold_percent=st.one_of(st.none(), st.floats(1, 100)),
    idle=st.booleans(),
    interruption_queue_name=st.sampled_from([None, "demo-spot"]),
    interruption_dead_letter_queue_name=st.sampled_from([None, "demo-spot-dead"]),
)
SYSTEMS = st.builds(
    LustreAlarmRequest,
    name=st.just("demo-data"),
    storage_type=st.sampled_from(["SSD", "HDD", "INTELLIGENT_TIERING"]),
    metadata=st.booleans(),
    auto_import=st.booleans(),
    auto_export=st.booleans(),
    client_groups=st.lists(st.sampled_from("abcdefghijkl"), unique=True, max_size=12).map(tuple),
)
P5 = FleetAlarmRequest(group_name="demo-train", profile=AgentProfile(vendor="nvidia", efa=True, nitro_version=4))
DATA = LustreAlarmRequest(name="demo-data", storage_type="SSD", metadata=True, auto_import=True, auto_export=True)


def ids(plans):
    return [plan.facts.id for plan in plans]


def assert_sound(plan):
    """What CloudWatch accepts, and what a person needs at night."""
    facts, limits = plan.facts, alarm_limits()
    assert len(plan.name) <= limits.name_length
    assert len(plan.description) <= limits.description_length
    assert "What to do: " in plan.description
    assert facts.because
    assert facts.missing_data in {"breaching", "notBreaching", "missing"}
    assert facts.period_s in {10, 20, 30} or facts.period_s % 60 == 0
    assert facts.period_s * facts.evaluation_periods <= 86_400
    assert 1 <= facts.datapoints <= facts.evaluation_periods
    assert len(plan.metrics) <= limits.metrics_in_expression
    names = [name for name, _ in plan.metrics]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][A-Za-z0-9_]*", name) for name in names)
    if plan.expression is None:
        assert len(plan.metrics) == 1
    elif plan.metrics:
        used = set(re.findall(r"[a-z][a-z0-9_]*", re.sub(r"FILL\(", "(", plan.expression)))
        assert used == set(names), plan.expression


def assert_published(plan, profile):
    """Namespace, name and exactly the dimension set of the table, which is what the agent is configured for."""
    for _, metric in plan.metrics:
        own = metric.namespace == profile.namespace
        if own:
            assert metric.name in published(profile)
            config = agent_configuration(profile, log_group_name="x")["metrics"]
            assert config["namespace"] == metric.namespace
            assert [name for name, _ in metric.dimensions] in config["aggregation_dimensions"]
        else:
            facts = service_metrics()[metric.namespace, metric.name]
            assert tuple(name for name, _ in metric.dimensions) == facts.dimensions


@given(FLEETS)
def test_every_fleet_gets_sound_alarms_on_published_metrics(request):
    plans = alarms_for_fleet(request, subject="Alarms")
    assert len({plan.name for plan in plans}) == len(plans)
    for plan in plans:
        assert_sound(plan)
        assert_published(plan, request.profile)
    queues = [plan for plan in plans if plan.facts.id.startswith(("interruption", "spot"))]
    assert len(plans) - len(queues) <= 9, "fifty fleets have to fit into one template"


@given(SYSTEMS)
def test_every_file_system_gets_sound_alarms_on_published_metrics(request):
    for plan in alarms_for_lustre(request, subject="Alarms"):
        assert_sound(plan)
        for _, metric in plan.metrics:
            facts = service_metrics()[metric.namespace, metric.name]
            assert tuple(name for name, _ in metric.dimensions) == facts.dimensions
        if not plan.metrics:
            query = re.fullmatch(
                r'SELECT MAX\((\w+)\) FROM SCHEMA\("AWS/FSx", (.+)\) WHERE FileSystemId = \'<file-system-id>\'',
                plan.expression,
            )
            assert tuple(query[2].split(", ")) == service_metrics()["AWS/FSx", query[1]].dimensions


def test_a_p5_fleet_has_the_whole_set():
    assert ids(alarms_for_fleet(P5, subject="x")) == [
        "idle-accelerators",
        "accelerator-memory",
        "hardware-errors",
        "fabric-errors",
        "fabric-peers",
        "status-checks",
        "below-desired",
        "collectors",
    ]


def test_peers_are_watched_only_where_the_nitro_card_counts_them():
    older = replace(P5, profile=replace(P5.profile, nitro_version=3))
    plans = alarms_for_fleet(older, subject="x")
    assert "fabric-peers" not in ids(plans)
    assert "fabric-errors" in ids(plans)
    without = replace(P5, profile=replace(P5.profile, efa=False))
    assert not any(name.startswith("fabric") for name in ids(alarms_for_fleet(without, subject="x")))


@pytest.mark.parametrize("name", sorted(catalog()))
def test_every_type_of_the_catalogue_is_watched_by_what_it_has(name):
    facts = catalog()[name]
    profile = AgentProfile(
        vendor=facts.vendor, efa=bool(facts.max_efa_interfaces), nitro_version=facts.nitro_version or 0
    )
    metrics = {
        metric.name
        for plan in alarms_for_fleet(FleetAlarmRequest(group_name="g", profile=profile), subject="x")
        for _, metric in plan.metrics
    }
    assert ("nvidia_smi_utilization_gpu" in metrics) == (facts.vendor == "nvidia")
    assert ("neuroncore_utilization" in metrics) == (facts.vendor == "aws")
    assert ("efa_rx_dropped" in metrics) == bool(facts.max_efa_interfaces)


def test_the_idle_alarm_takes_its_threshold_from_the_call_and_can_be_switched_off():
    (idle, *_) = alarms_for_fleet(replace(P5, utilization_threshold_percent=55), subject="x")
    assert (idle.threshold, idle.facts.comparison, idle.facts.missing_data) == (55, "LessThanThreshold", "missing")
    assert idle.facts.period_s * idle.facts.evaluation_periods == 30 * 60
    assert alarms_for_fleet(P5, subject="x")[0].threshold == 70
    assert "idle-accelerators" not in ids(alarms_for_fleet(replace(P5, idle=False), subject="x"))


def test_blind_collectors_alarm_and_everything_that_counts_errors_does_not():
    missing = {plan.facts.id: plan.facts.missing_data for plan in alarms_for_fleet(P5, subject="x")}
    assert missing["collectors"] == "breaching"
    assert {missing[name] for name in ("hardware-errors", "fabric-errors", "fabric-peers")} == {"notBreaching"}


@given(st.integers(1, 600), st.integers(0, 600))
def test_the_collector_alarm_counts_silent_nodes(nodes, silent):
    silent = min(silent, nodes)
    plan = next(plan for plan in alarms_for_fleet(P5, subject="x") if plan.facts.id == "collectors")
    beats = (nodes - silent) * plan.facts.period_s // agent_facts().period_s
    expression = plan.expression.replace("FILL(beats, 0)", str(beats)).replace("in_service", str(nodes))
    assert (eval(expression) >= plan.threshold) == (silent > 0)


@pytest.mark.parametrize("percent", [0, -1, 100.5, 170])
def test_a_threshold_that_is_no_percentage_is_refused(percent):
    with pytest.raises(FindingsError, match=r"Alarms\.utilization_threshold_percent: .* \[UC-ALM-020\]"):
        alarms_for_fleet(replace(P5, utilization_threshold_percent=percent), subject="Alarms")


def test_names_that_get_too_long_are_refused():
    (found,) = check_fleet_alarms(replace(P5, group_name="g" * 240), subject="Alarms")
    assert found.rule_id == "UC-ALM-010"
    (found,) = check_lustre_alarms(replace(DATA, name="g" * 240), subject="Alarms")
    assert found.rule_id == "UC-ALM-010"


def test_spot_fleets_watch_notices_and_queues():
    spot = replace(
        P5,
        profile=replace(P5.profile, spot=True),
        interruption_queue_name="demo-spot",
        interruption_dead_letter_queue_name="demo-spot-dead",
    )
    extra = {plan.facts.id: plan for plan in alarms_for_fleet(spot, subject="x")[8:]}
    assert set(extra) == {"spot-interruptions", "interruption-age", "interruption-depth", "interruption-dead-letters"}
    assert extra["interruption-age"].threshold == 120
    queues = {name: plan.metrics[0][1].dimensions for name, plan in extra.items() if name.startswith("interruption")}
    assert queues["interruption-depth"] == (("QueueName", "demo-spot"),)
    assert queues["interruption-dead-letters"] == (("QueueName", "demo-spot-dead"),)


def test_a_file_system_is_watched_by_its_fullest_target_and_its_associations():
    assert set(ids(alarms_for_lustre(DATA, subject="x"))) == {
        "network",
        "disk",
        "space",
        "space-critical",
        "metadata",
        "import-age",
        "export-age",
    }
    export = next(plan for plan in alarms_for_lustre(DATA, subject="x") if plan.facts.id == "export-age")
    assert export.metrics[0][1].dimensions == (("FileSystemId", FILE_SYSTEM), ("Publisher", "AutoExport"))
    tiering = replace(DATA, storage_type="INTELLIGENT_TIERING", metadata=False, auto_import=False, auto_export=False)
    assert set(ids(alarms_for_lustre(tiering, subject="x"))) == {"network", "disk"}


def test_lost_mounts_alarm_while_one_expression_holds_all_groups():
    nine = replace(DATA, client_groups=tuple(f"g{n}" for n in range(9)))
    plan = next(plan for plan in alarms_for_lustre(nine, subject="x") if plan.facts.id == "clients")
    assert len(plan.metrics) == 10
    assert not list(check_lustre_alarms(nine, subject="x"))
    ten = replace(DATA, client_groups=tuple(f"g{n}" for n in range(10)))
    assert "clients" not in ids(alarms_for_lustre(ten, subject="x"))
    assert [found.rule_id for found in check_lustre_alarms(ten, subject="x")] == ["UC-ALM-021"]


def test_a_metric_that_is_in_no_table_cannot_be_named():
    with pytest.raises(KeyError):
        service("AWS/FSx", "FreeSpace", "Minimum", FileSystemId="fs-1")
    with pytest.raises(KeyError):
        service("AWS/FSx", "FreeDataStorageCapacity", "Minimum", FileSystemId="fs-1")


def test_every_row_of_the_table_says_why_and_what_to_do():
    for name, facts in alarm_facts().items():
        assert re.fullmatch(r"[a-z-]+", name)
        for text in (facts.title, facts.because, facts.do):
            assert text[0].islower() or text.startswith(("EFA", "Spot"))
            assert not text.endswith(".")
