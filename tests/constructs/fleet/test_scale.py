"""Many fleets in one stack stay far from the limits of a template, and a fleet costs the same wherever it comes."""

from __future__ import annotations

import json
from pathlib import Path

import aws_cdk as cdk
import pytest

from support.compute import lustre, p5
from support.templates import launch_template_data, user_data
from ultracluster.network.cluster_network import ClusterNetwork

ENV = cdk.Environment(account="111122223333", region="us-east-1")
FLEETS = 50


@pytest.fixture
def template_of(make_app):
    def make(count, *, with_lustre=False):
        """The text of a stack of P5 fleets whose network stands in another stack."""
        app = make_app()
        network = ClusterNetwork(
            cdk.Stack(app, "Network", env=ENV), "Network", availability_zones=["us-east-1a"], flow_logs=False
        )
        stack = cdk.Stack(app, "Compute", env=ENV, suppress_template_indentation=True)
        storage = [lustre(stack)] if with_lustre else []
        for index in range(count):
            p5(stack, f"train{index:02}", network=network, storage=storage)
        return Path(app.synth().directory, stack.template_file).read_text(encoding="utf-8")

    return make


@pytest.mark.slow
def test_fifty_p5_fleets_fit_into_one_template(template_of):
    """CloudFormation takes 500 resources and a megabyte; half of that is the aim."""
    text = template_of(FLEETS)
    assert len(text.encode()) <= 500_000
    assert len(json.loads(text)["Resources"]) == 9 * FLEETS + 1 <= 500  # and the policy that all nodes have


def test_a_fleet_more_is_nine_kilobytes_more(template_of):
    one, three = len(template_of(1)), len(template_of(3))
    assert (three - one) / 2 <= 9_200


def test_user_data_stays_under_the_limit_of_ec2(template_of):
    template = json.loads(template_of(1, with_lustre=True))
    (data,) = launch_template_data(template)
    assert len(user_data(template, data).encode()) <= 16_384
