"""The interface endpoints that nodes call: each with its reason, few of them made unless asked for."""

from __future__ import annotations

import runpy
from pathlib import Path

from ultracluster.facts.endpoints import default_endpoints, endpoint_facts, endpoint_services


def test_each_endpoint_says_who_calls_it_and_where_that_is_documented():
    for service, facts in endpoint_facts().items():
        assert facts.service == service
        assert facts.called_by
        assert facts.without_it
        assert facts.source.startswith("https://docs.aws.amazon.com/")


def test_what_every_node_calls_is_made_and_nothing_else():
    """Sessions, logs, metrics with their dimension, and the launch life-cycle action."""
    assert default_endpoints() == ("autoscaling", "ec2", "events", "logs", "monitoring", "ssm", "ssmmessages")


def test_default_endpoints_come_first():
    flags = [facts.default for facts in endpoint_facts().values()]
    assert flags == sorted(flags, reverse=True)


def test_every_endpoint_of_ours_is_a_service_on_record():
    assert set(endpoint_facts()) <= endpoint_services()


def test_the_services_on_record_are_those_of_the_installed_cdk():
    """Run `python scripts/refresh_endpoint_services.py` when this fails."""
    path = Path(__file__).parents[3] / "scripts" / "refresh_endpoint_services.py"
    assert endpoint_services() == frozenset(runpy.run_path(str(path))["service_names"]())
