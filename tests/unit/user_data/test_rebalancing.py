"""A fleet over several zones keeps its nodes where they are: a node suspends the process that would move them."""

from __future__ import annotations

import pytest

from support.bootstrap import files_of

CALL = "aws autoscaling suspend-processes --region us-west-2 --auto-scaling-group-name demo-train"


@pytest.fixture
def after_launch(node):
    """What a node calls once it has completed its launch."""

    def run(**changes):
        node.install(files_of("p5.48xlarge", **changes))
        node.imds(placement__region="us-west-2")
        done = node.run("bash -c 'set -- true; . \"$ROOT/opt/ultracluster/node.sh\"; suspended'")
        return done, node.called("aws")

    return run


def test_over_several_zones_the_process_is_suspended(after_launch):
    done, calls = after_launch(suspend_zone_rebalancing=True)
    assert done.returncode == 0
    assert calls == [f"{CALL} --scaling-processes AZRebalance"]


def test_in_one_zone_there_is_nothing_to_suspend(after_launch):
    done, calls = after_launch()
    assert done.returncode == 0
    assert calls == []


def test_a_node_that_cannot_say_so_is_in_service_all_the_same(after_launch, node):
    node.behaviour["aws"] = "exit 254"
    done, calls = after_launch(suspend_zone_rebalancing=True)
    assert done.returncode == 0
    assert len(calls) == 1
