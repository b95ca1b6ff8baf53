"""Networks, keys and roles that this library makes pass the rules on networks, permissions and cost."""

from __future__ import annotations

from aws_cdk import aws_kms as kms

from support.compute import p5
from support.networks import AREAS
from support.policy import judged
from ultracluster.network.cluster_network import ClusterNetwork
from ultracluster.plan.capacity import OnDemand
from ultracluster.storage.cluster_key import ClusterKey

# An app of one construct has no budget, and tags come with the stack.
LEFT_TO_THE_APP = {"UC-CST-003", "UC-CST-006"}


def found(template):
    outcome = judged(template, is_app=True)
    return {rule_id for rule_id in outcome.ids if rule_id.split("-")[1] in AREAS} - LEFT_TO_THE_APP, outcome.not_judged


def test_keys_of_volumes(stack, synth):
    p5(stack, encryption_key=kms.Key(stack, "Key"), capacity=OnDemand(), min_count=0, max_count=2, count=None)
    ids, not_judged = found(synth(stack))
    assert not ids
    assert "UC-IAM-007" not in not_judged


def test_the_key_of_a_cluster(stack, synth):
    p5(stack, encryption_key=ClusterKey(stack, "Key").key, capacity=OnDemand(), min_count=0, max_count=2, count=None)
    ids, not_judged = found(synth(stack))
    assert not ids
    assert "UC-IAM-007" not in not_judged


def test_networks(stack, synth):
    ClusterNetwork(stack, "Network", availability_zones=["us-east-1a", "us-east-1b"], nat_gateways=1)
    ids, not_judged = found(synth(stack))
    assert not ids
    assert not {rule_id for rule_id in not_judged if rule_id.split("-")[1] in AREAS}
