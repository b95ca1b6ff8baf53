"""UC-NET-002, 006, 010, 011, 015: what security groups let the world reach, and groups that cannot be read."""

from __future__ import annotations

import pytest

from support.networks import (
    NOTHING,
    UNKNOWN,
    WORLD,
    group,
    group_id,
    hyperpod,
    launch_template,
    made,
    only,
    own_ids,
    tcp,
    template,
    vpc,
)
from support.policy import assert_not_judged, assert_passes, judged

ALL = {"IpProtocol": "-1", "CidrIp": WORLD}
NODE = made("AWS::EC2::Instance", SecurityGroupIds=[group_id("Group")])
BALANCER = made("AWS::ElasticLoadBalancingV2::LoadBalancer", SecurityGroups=[group_id("Group")])
FILES = made("AWS::FSx::FileSystem", FileSystemType="LUSTRE", SecurityGroupIds=[group_id("Group")])
TARGET = made("AWS::EFS::MountTarget", SecurityGroups=[group_id("Group")])
RANGE = {"Fn::GetAtt": ["Vpc", "CidrBlock"]}
PEER = {"SourceSecurityGroupId": {"Fn::GetAtt": ["Other", "GroupId"]}}
OUTSIDE = "sg-0fedcba9876543210"
CASES = {"Case": {"Fn::Equals": [UNKNOWN, "open"]}}


def with_group(*rules, parameters=None, **more):
    return template(parameters, Vpc=vpc(), Other=group(), Group=group(*rules), **more)


def apart(rule, of=None):
    """A rule as a resource of its own."""
    return made("AWS::EC2::SecurityGroupIngress", GroupId=of or group_id("Group"), **rule)


# SSH

CLOSED = {
    "narrow": tcp(22, CidrIp="198.51.100.0/24"),
    "vpc": tcp(22, CidrIp=RANGE),
    "group": tcp(22, **PEER),
    "prefix list": tcp(22, SourcePrefixListId="pl-0123456789abcdef0"),
    "other port": tcp(443),
    "udp": {"IpProtocol": "udp", "FromPort": 0, "ToPort": 65535, "CidrIp": WORLD},
    "icmp": {"IpProtocol": "icmp", "FromPort": -1, "ToPort": -1, "CidrIp": WORLD},
    "one address": tcp(22, CidrIp={"Fn::Sub": "${Unknown}/32"}),
    "nothing": tcp(22, CidrIp=NOTHING, **PEER),
    "half": tcp(22, CidrIp="0.0.0.0/1"),
}


@pytest.mark.parametrize("rule", CLOSED.values(), ids=CLOSED)
def test_ssh_that_is_closed(rule):
    assert_passes("UC-NET-002", with_group(rule, Node=NODE))


OPEN = {
    "ssh": (tcp(22), "Group SecurityGroupIngress[0].CidrIp: 0.0.0.0/0 may reach TCP 22, SSH"),
    "range": (tcp(20, 443), "TCP 20-443"),
    "number": ({**tcp(22), "IpProtocol": 6}, "TCP 22"),
    "all ports": (tcp(0, 65535), "TCP 0-65535"),
    "all traffic": (ALL, "may reach all traffic"),
    "number for all": ({"IpProtocol": -1, "FromPort": 443, "ToPort": 443, "CidrIp": WORLD}, "all traffic"),
    "ipv6": (tcp(22, CidrIpv6="::/0"), "CidrIpv6: ::/0 may reach TCP 22"),
    "default": (tcp(22, CidrIp={"Ref": "From"}), "0.0.0.0/0 may reach TCP 22"),
}


@pytest.mark.parametrize(("rule", "place"), OPEN.values(), ids=OPEN)
def test_ssh_that_is_open(rule, place):
    parameters = {"From": {"Type": "String", "Default": WORLD}}
    only("UC-NET-002", with_group(rule, Node=NODE, parameters=parameters), place=place)
    only("UC-NET-002", with_group(rule, parameters=parameters), place=place)


def test_ssh_by_rules_that_stand_apart():
    only("UC-NET-002", with_group(Rule=apart(tcp(22))), place="Rule CidrIp: 0.0.0.0/0 may reach TCP 22")
    only("UC-NET-002", with_group(Rule=apart(tcp(22), of=OUTSIDE)), place="Rule CidrIp")
    assert_not_judged("UC-NET-002", with_group(Rule=apart(ALL, of=OUTSIDE)))
    assert_passes("UC-NET-002", with_group(Rule=apart(tcp(443), of=UNKNOWN)))


def test_a_group_with_several_rules_is_reported_once():
    only("UC-NET-002", with_group(tcp(22), tcp(22, CidrIpv6="::/0"), Rule=apart(ALL)), place="Rule CidrIp")


@pytest.mark.parametrize("bearer", [BALANCER, made("AWS::EC2::VPCEndpoint", SecurityGroupIds=[group_id("Group")])])
def test_where_nobody_logs_in(bearer):
    assert_passes("UC-NET-002", with_group(ALL, Bearer=bearer))
    only("UC-NET-002", with_group(ALL, Bearer=bearer, Node=NODE), place="all traffic")


def test_a_shared_group_may_be_on_nodes():
    shared = with_group(ALL, Bearer=FILES)
    shared["Outputs"] = {"Group": {"Value": group_id("Group")}}
    only("UC-NET-002", shared, place="all traffic")


@pytest.mark.parametrize(
    "rule",
    [
        tcp(22, CidrIp=UNKNOWN),
        {**tcp(22), "FromPort": UNKNOWN},
        {**tcp(22), "IpProtocol": UNKNOWN},
        tcp(22, CidrIp="all"),
    ],
)
def test_ssh_that_cannot_be_known(rule):
    assert_not_judged("UC-NET-002", with_group(rule))
    assert_not_judged("UC-NET-002", template(Group=group(SecurityGroupIngress=UNKNOWN)))


def test_ports_and_addresses_under_one_condition():
    rule = {
        **tcp({"Fn::If": ["Case", 443, 22]}, {"Fn::If": ["Case", 443, 22]}),
        "CidrIp": {"Fn::If": ["Case", WORLD, "10.0.0.0/16"]},
    }
    assert_passes("UC-NET-002", template(conditions=CASES, Vpc=vpc(), Group=group(rule)))


# Storage

STORAGE = {
    "lustre": (tcp(988), "TCP 988, a port of Lustre"),
    "lustre clients": (tcp(1018, 1023), "TCP 1018-1023, a port of Lustre"),
    "both": (tcp(988, 1023), "TCP 988-1023"),
    "nfs": (tcp(2049), "TCP 2049, a port of NFS"),
    "nfs over udp": ({**tcp(2049), "IpProtocol": "udp"}, "UDP 2049"),
    "port mapper": (tcp(111), "TCP 111"),
    "openzfs": (tcp(20001, 20003, CidrIpv6="::/0"), "::/0 may reach TCP 20001-20003"),
}


@pytest.mark.parametrize(("rule", "place"), STORAGE.values(), ids=STORAGE)
@pytest.mark.parametrize("bearer", [NODE, FILES, TARGET])
def test_storage_that_is_open(rule, place, bearer):
    only("UC-NET-010", with_group(rule, Bearer=bearer), place=place)


@pytest.mark.parametrize("bearer", [FILES, TARGET])
def test_everything_open_on_storage(bearer):
    only("UC-NET-010", with_group(ALL, Bearer=bearer), place="all traffic, the file system")
    only("UC-NET-010", with_group(tcp(0, 65535), Bearer=bearer), place="TCP 0-65535")


@pytest.mark.parametrize("rule", [tcp(988, **PEER), tcp(988, CidrIp=RANGE), tcp(988, CidrIp="10.0.0.0/16"), tcp(443)])
def test_storage_that_is_closed(rule):
    assert_passes("UC-NET-010", with_group(rule, Bearer=FILES))


def test_storage_ports_that_cannot_be_known():
    assert_not_judged("UC-NET-010", with_group(tcp(988, CidrIp=UNKNOWN), Bearer=FILES))
    assert_passes("UC-NET-010", with_group(tcp(443, CidrIp=UNKNOWN), Bearer=FILES))


def test_storage_ports_and_addresses_under_one_condition():
    rule = {"Fn::If": ["Case", tcp(988, CidrIp="10.0.0.0/16"), tcp(443)]}
    assert_passes("UC-NET-010", template(conditions=CASES, Vpc=vpc(), Group=group(rule)))


# Services

SERVICES = [8265, 10001, 6379, 8888, 6006, 6817, 6820, 2379, 389, 636]


@pytest.mark.parametrize("port", SERVICES)
def test_services_that_are_open(port):
    only("UC-NET-015", with_group(tcp(port), Node=NODE), place=f"TCP {port}")
    only("UC-NET-015", with_group(tcp(port, CidrIpv6="::/0")), place=f"::/0 may reach TCP {port}")
    assert_passes("UC-NET-015", with_group(tcp(port, CidrIp=RANGE), tcp(port, **PEER), Node=NODE))


def test_services_in_a_range():
    only(
        "UC-NET-015",
        with_group(tcp(8200, 8300)),
        place="TCP 8200-8300, a port of Ray jobs, which run code without a login",
    )


def test_services_behind_load_balancers():
    assert_passes("UC-NET-015", with_group(tcp(8265), Bearer=BALANCER))
    only("UC-NET-015", with_group(tcp(8265), Bearer=BALANCER, Node=NODE), place="8265")
    assert_not_judged("UC-NET-015", with_group(Rule=apart(tcp(8265), of=OUTSIDE)))
    assert_not_judged("UC-NET-015", with_group(tcp(8265, CidrIp=UNKNOWN)))


def test_all_traffic_is_one_fault():
    assert own_ids(with_group(tcp(0, 65535), Node=NODE)) == {"UC-NET-002"}


# Dashboards

GRAFANA = {"Fn::Base64": {"Fn::Sub": "#!/bin/bash\nyum install -y grafana\nsystemctl enable --now grafana-server\n"}}


def instance(script, **more):
    return made("AWS::EC2::Instance", SecurityGroupIds=[group_id("Group")], UserData={"Fn::Base64": script}, **more)


@pytest.mark.parametrize("port", [3000, 9090, 9091, 9093, 9100, 9400])
def test_dashboards_that_are_open(port):
    only("UC-NET-006", with_group(tcp(port), Node=NODE), place=f"TCP {port}")
    assert_passes("UC-NET-006", with_group(tcp(port, CidrIp="198.51.100.0/24"), Node=NODE))
    assert_passes("UC-NET-006", with_group(tcp(port), Bearer=BALANCER))
    assert_not_judged("UC-NET-006", with_group(tcp(port, CidrIp=UNKNOWN), Node=NODE))


@pytest.mark.parametrize(
    "script",
    [
        "#!/bin/bash\nsudo docker run -d -p 80:3000 grafana/grafana:11.1.0\n",
        "#!/bin/bash\ndnf install -y nginx grafana\n",
        "#!/bin/bash\nwget https://github.com/prometheus/prometheus/releases/download/v3.0.0/prometheus.tar.gz\n",
        "#!/bin/bash\ncat <<EOF > /etc/nginx/conf.d/a.conf\n  location /prometheus {\n proxy_pass http://localhost:9090;\nEOF\n",
        "#!/bin/bash\ncat <<EOF > compose.yaml\n    image: docker.io/prom/prometheus:v3\nEOF\n",
    ],
)
@pytest.mark.parametrize("port", [80, 443])
def test_dashboards_behind_a_web_server(script, port):
    only("UC-NET-006", with_group(tcp(port), Node=instance(script)), place=f"TCP {port}, where the user data sets up")


@pytest.mark.parametrize(
    "script",
    [
        "#!/bin/bash\nyum install -y nginx\n",
        "#!/bin/bash\n# yum install -y grafana\n",
        "#!/bin/bash\ncurl -LO https://github.com/prometheus/node_exporter/releases/download/v1/node_exporter.tar.gz\n",
        "#!/bin/bash\npip install prometheus_client\n",
        "#!/bin/bash\napt-get install -y prometheus-node-exporter\n",
    ],
)
def test_web_servers_without_a_dashboard(script):
    assert_passes("UC-NET-006", with_group(tcp(443), Node=instance(script)))
    assert_passes("UC-NET-006", with_group(tcp(443, CidrIp=UNKNOWN), Node=instance(script)))


def test_a_dashboard_of_a_launch_template():
    data = launch_template(group_id("Group"), UserData=GRAFANA)
    only("UC-NET-006", with_group(tcp(443), Lt=data), place="(yum install -y grafana)")


# Groups that cannot be read


def fabric(*groups, kind="efa", **more):
    entries = [{"DeviceIndex": 0, "InterfaceType": kind, "Groups": list(groups)}]
    return launch_template(NetworkInterfaces=entries, **more)


def lustre(*groups, kind="LUSTRE"):
    return made("AWS::FSx::FileSystem", FileSystemType=kind, LustreConfiguration={}, SecurityGroupIds=list(groups))


IMPORTED = {"Fn::ImportValue": "network-Group"}
CARRIERS = {
    "efa": (fabric, "NetworkInterfaces[0].Groups[0]"),
    "efa-only": (lambda *groups: fabric(*groups, kind="efa-only"), "Groups[0]"),
    "lustre": (lustre, "SecurityGroupIds[0]"),
    "hyperpod": (lambda *groups: hyperpod(groups=groups), "VpcConfig.SecurityGroupIds[0]"),
    "override": (
        lambda *groups: hyperpod(OverrideVpcConfig={"SecurityGroupIds": list(groups)}),
        "InstanceGroups[0].OverrideVpcConfig.SecurityGroupIds[0]",
    ),
}


@pytest.mark.parametrize(("carrier", "place"), CARRIERS.values(), ids=CARRIERS)
def test_groups_of_elsewhere(carrier, place):
    only("UC-NET-011", template(Carrier=carrier(OUTSIDE)), place=f"{place}: {OUTSIDE} is made elsewhere")
    only("UC-NET-011", template(Carrier=carrier(IMPORTED)), place="imported from a stack that is not at hand")
    assert_passes("UC-NET-011", with_group(Carrier=carrier(group_id("Group"))))
    assert_not_judged("UC-NET-011", template(Carrier=carrier(UNKNOWN)))


def test_a_group_of_a_sibling_can_be_read():
    exporter = with_group()
    exporter["Outputs"] = {"Group": {"Value": group_id("Group"), "Export": {"Name": "network-Group"}}}
    assert_passes("UC-NET-011", exporter, template(Carrier=fabric(IMPORTED)))


def test_a_group_is_reported_once():
    entries = [{"DeviceIndex": 0, "NetworkCardIndex": at, "InterfaceType": "efa", "Groups": [OUTSIDE]} for at in (0, 1)]
    several = launch_template(NetworkInterfaces=entries)
    only("UC-NET-011", template(One=several, Other=fabric(OUTSIDE), Files=lustre(OUTSIDE)), place="One ")
    # The first one that is there for certain reports it.
    found = template(conditions=CASES, One={**several, "Condition": "Case"}, Other=fabric(OUTSIDE))
    assert [text.split()[0] for text in judged(found).of("UC-NET-011")] == ["Other"]


@pytest.mark.parametrize("carrier", [fabric(OUTSIDE, kind="interface"), lustre(OUTSIDE, kind="WINDOWS")])
def test_groups_that_need_not_be_read(carrier):
    assert_passes("UC-NET-011", template(Carrier=carrier))


def test_a_group_and_its_interface_under_one_condition():
    entry = {
        "DeviceIndex": 0,
        "InterfaceType": {"Fn::If": ["Case", "efa", "interface"]},
        "Groups": [{"Fn::If": ["Case", group_id("Group"), OUTSIDE]}],
    }
    carrier = launch_template(NetworkInterfaces=[entry])
    assert_passes("UC-NET-011", template(conditions=CASES, Vpc=vpc(), Group=group(), Carrier=carrier))
