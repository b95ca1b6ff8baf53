"""The metadata service as a container on the node sees it: a token does not travel further than its hop limit."""

from __future__ import annotations

import pytest

ASK = (
    "python3 -c 'import urllib.request as r; q = r.Request("
    '"http://169.254.169.254/latest/api/token", method="PUT", '
    'headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"}); print(r.urlopen(q, timeout=8).status)\''
)


@pytest.fixture(scope="module")
def container(instance, moved, cloud):
    """What stands before a command that is to run behind a hop of its own, as in a container's network."""
    instance.output(
        "ip netns add container && ip link add outside type veth peer name inside netns container"
        " && ip address add 172.31.0.1/30 dev outside && ip link set outside up"
        " && ip -n container address add 172.31.0.2/30 dev inside && ip -n container link set inside up"
        " && ip -n container route add default via 172.31.0.1 && sysctl -q -w net.ipv4.ip_forward=1"
    )
    cloud.network.route("172.31.0.0/30")
    yield "ip netns exec container"
    instance.output("ip netns delete container; sysctl -q -w net.ipv4.ip_forward=0")


def test_token_reaches_the_node_itself(node, container):
    assert node.output(ASK) == "200"


def test_token_does_not_reach_a_container(node, container):
    ran = node.run(f"{container} {ASK}")
    assert ran.status == 1
    assert "timed out" in ran.stderr


def test_two_hops_reach_it(node, container, cloud):
    cloud.imds.hop_limit = 2
    ran = node.run(f"{container} {ASK}")
    cloud.imds.hop_limit = 1
    assert ran.stdout.strip() == "200", ran.stderr
