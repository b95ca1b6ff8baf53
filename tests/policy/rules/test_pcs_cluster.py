"""UC-PCS-004 to 007 and 012: clusters of PCS."""

from __future__ import annotations

import pytest

from support.fabric import entry
from support.orchestrators import (
    NONE,
    P5,
    either,
    ids,
    pcs_app,
    pcs_cluster,
    pcs_nodes,
    pcs_queue,
    resource,
    switch,
)
from support.policy import assert_finds, assert_not_judged, assert_passes, judged

TEXT = {"Ref": "Text"}

# UC-PCS-004


def sized(size, *counts, parameters=None, conditions=None):
    groups = {f"Nodes{at}": pcs_nodes(most=count) for at, count in enumerate(counts)}
    queue = pcs_queue("Nodes0")
    return pcs_app(
        None, parameters, conditions, Pcs=pcs_cluster(Size=size), Nodes=pcs_nodes(most=0), Work=queue, **groups
    )


@pytest.mark.parametrize(
    ("size", "counts", "said"),
    [
        ("SMALL", [40], "Pcs Size: SMALL holds 32 nodes, and its node groups may grow to 40"),
        ("SMALL", [16, 17], "SMALL holds 32 nodes, and its node groups may grow to 33"),
        ("MEDIUM", [513], "MEDIUM holds 512 nodes"),
        ("LARGE", [2000, "49"], "LARGE holds 2048 nodes, and its node groups may grow to 2049"),
        # What is known is too much already.
        ("SMALL", [40, TEXT], "may grow to 40"),
    ],
)
def test_too_many_nodes(size, counts, said):
    found = sized(size, *counts)
    assert_finds("UC-PCS-004", found, place=said)
    assert ids("PCS", found) == {"UC-PCS-004"}


@pytest.mark.parametrize(("size", "counts"), [("SMALL", [32]), ("SMALL", [16, 16]), ("LARGE", [2048])])
def test_as_many_nodes_as_fit(size, counts):
    assert_passes("UC-PCS-004", sized(size, *counts))


@pytest.mark.parametrize(("size", "counts"), [(TEXT, [40]), ("SMALL", [TEXT]), ("HUGE", [4000])])
def test_a_size_that_is_not_known(size, counts):
    assert_not_judged("UC-PCS-004", sized(size, *counts))


@pytest.mark.parametrize(("sizes", "expected"), [(("MEDIUM", "SMALL"), set()), (("SMALL", "MEDIUM"), {"UC-PCS-004"})])
def test_size_and_count_under_one_condition(sizes, expected):
    parameters, conditions = switch()
    found = sized(either("Big", *sizes), either("Big", 100, 30), parameters=parameters, conditions=conditions)
    assert ids("PCS", found) == expected


# UC-PCS-005


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"Pcs": pcs_cluster(Name="ab")}, "Pcs Name: ab has 2 characters, PCS takes 3 to 40"),
        ({"Pcs": pcs_cluster(Name="x" * 41)}, "has 41 characters, PCS takes 3 to 40"),
        ({"Nodes": pcs_nodes(Name="x" * 26)}, "has 26 characters, PCS takes 3 to 25"),
        (
            {"Work": pcs_queue("Nodes", Name="a-queue-with-thirty-characters")},
            "Work Name: a-queue-with-thirty-characters",
        ),
        ({"Work": pcs_queue("Nodes", Name="big_queue")}, "Work Name: big_queue is not a letter with letters, digits"),
        ({"Nodes": pcs_nodes(Name="5nodes")}, "Nodes Name: 5nodes is not a letter"),
        ({"Pcs": pcs_cluster(Name="pcs_train")}, "Pcs Name: pcs_train is not"),
        (
            {f"More{at}": pcs_nodes(Name=f"more{at}") for at in range(10)},
            "11 node groups, the default quota of a cluster",
        ),
        ({f"More{at}": pcs_queue("Nodes", Name=f"more{at}") for at in range(10)}, "11 queues, the default quota"),
    ],
)
def test_names_and_numbers_beyond_the_limits(more, said):
    found = pcs_app(**more)
    assert_finds("UC-PCS-005", found, place=said)
    assert ids("PCS", found) == {"UC-PCS-005"}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"Pcs": pcs_cluster(Name="x" * 40), "Nodes": pcs_nodes(Name="x" * 25)},
        {"Nodes": pcs_nodes(Name=None)},
        {f"More{at}": pcs_nodes(Name=f"more{at}") for at in range(9)},
    ],
)
def test_names_and_numbers_within_the_limits(more):
    assert_passes("UC-PCS-005", pcs_app(**more))


def test_a_name_that_is_not_known():
    assert_not_judged("UC-PCS-005", pcs_app(Nodes=pcs_nodes(Name=TEXT)))


# UC-PCS-006

NODES, PLANE = {"Ref": "NodeGroup"}, {"Ref": "Plane"}


def group(*ingress):
    return resource("EC2::SecurityGroup", GroupDescription="pcs", VpcId="vpc-1", SecurityGroupIngress=list(ingress))


def let_in(source, first=0, last=65535, protocol="tcp"):
    peer = {"CidrIp": source} if isinstance(source, str) else {"SourceSecurityGroupId": source}
    return {"IpProtocol": protocol, "FromPort": first, "ToPort": last, **peer}


def itself(name):
    own = {"Ref": name}
    return {
        f"{name}In": resource("EC2::SecurityGroupIngress", GroupId=own, IpProtocol="-1", SourceSecurityGroupId=own),
        f"{name}Out": resource(
            "EC2::SecurityGroupEgress", GroupId=own, IpProtocol="-1", DestinationSecurityGroupId=own
        ),
    }


def talking(*, nodes=(NODES,), plane=(PLANE,), of_nodes=(), of_plane=(), data=None, settings=(), **more):
    networking = {"SubnetIds": ["subnet-0123456789abcdef0"], "SecurityGroupIds": list(plane)}
    cluster = pcs_cluster(
        Networking={key: value for key, value in networking.items() if value},
        SlurmConfiguration={"Accounting": {"Mode": "NONE"}, "SlurmCustomSettings": list(settings)},
    )
    data = {"NetworkInterfaces": [entry(0, 0, Groups=list(nodes))]} if data is None else data
    return pcs_app(
        {"InstanceType": P5, **data}, Pcs=cluster, NodeGroup=group(*of_nodes), Plane=group(*of_plane), **more
    )


SRUN = [{"ParameterName": "SrunPortRange", "ParameterValue": "60001-63000"}]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            talking(),
            "Lt LaunchTemplateData.NetworkInterfaces[0].Groups[0]: no rule for TCP 6817 into Pcs, TCP 6818 into the",
        ),
        (
            talking(data={"SecurityGroupIds": [NODES]}),
            "Lt LaunchTemplateData.SecurityGroupIds[0]: no rule for TCP 6817",
        ),
        # The group of the fabric alone: it lets in itself, not the scheduler.
        (talking(**itself("NodeGroup")), "TCP 6817 into Pcs, TCP 6818 into the nodes"),
        (talking(of_plane=[let_in(NODES, 6817, 6817)]), "no rule for TCP 6818 into the nodes, between"),
        (talking(of_nodes=[let_in(PLANE, 6818, 6818)]), "no rule for TCP 6817 into Pcs, between"),
        (
            talking(
                of_plane=[let_in(NODES)], of_nodes=[let_in(PLANE, 6818, 6818), let_in(NODES, 22, 22)], settings=SRUN
            ),
            "no rule for TCP 60001-63000 among the nodes",
        ),
        (talking(nodes=[PLANE], plane=[PLANE]), "no rule for TCP 6817"),
    ],
)
def test_nobody_lets_the_other_in(found, said):
    assert_finds("UC-PCS-006", found, place=said)
    assert ids("PCS", found) == {"UC-PCS-006"}


@pytest.mark.parametrize(
    "found",
    [
        talking(nodes=[NODES, PLANE], **itself("Plane")),
        talking(of_plane=[let_in(NODES, 6817, 6817)], of_nodes=[let_in(PLANE, 6818, 6818)]),
        talking(of_plane=[let_in("0.0.0.0/0")], of_nodes=[let_in(PLANE, protocol="-1")]),
        talking(of_plane=[let_in(NODES)], of_nodes=[let_in(PLANE), let_in(NODES)], settings=SRUN),
        talking(
            data={"NetworkInterfaces": [entry(0, 0, Groups=[PLANE]), entry(1, 1, "efa-only", Groups=[NODES])]},
            **itself("Plane"),
        ),
    ],
)
def test_both_let_the_other_in(found):
    assert_passes("UC-PCS-006", found)


@pytest.mark.parametrize(
    "found",
    [
        talking(nodes=[TEXT], plane=[TEXT]),
        talking(nodes=["sg-0123456789abcdef0"]),
        talking(plane=()),
        talking(data={"BlockDeviceMappings": []}),
        talking(of_plane=[let_in("10.0.0.0/8")], of_nodes=[let_in("10.0.0.0/8")]),
        talking(Nodes=pcs_nodes(ClusterId="pcs_0123456789")),
    ],
)
def test_groups_that_are_not_known(found):
    assert_not_judged("UC-PCS-006", found)


# UC-PCS-007


def subnet(zone=None, **more):
    return resource("EC2::Subnet", VpcId="vpc-1", CidrBlock="10.0.0.0/20", AvailabilityZone=zone, **more)


def standing(*subnets, **more):
    networking = {"SubnetIds": list(subnets), "SecurityGroupIds": ["sg-0123456789abcdef0"]}
    return pcs_app(Pcs=pcs_cluster(Networking=networking), **more)


ONE = {"Ref": "One"}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            standing(ONE, One=subnet("us-east-1-dfw-2a")),
            "!Ref One lies in the Local Zone us-east-1-dfw-2a, where PCS does",
        ),
        (standing(ONE, One=subnet("us-east-1-wl1-bos-wlz-1")), "in the Wavelength Zone us-east-1-wl1-bos-wlz-1"),
        (standing(ONE, One=subnet("us-east-1a", OutpostArn="arn")), "!Ref One lies on an Outpost"),
        (standing(ONE, ONE, One=subnet("us-east-1a")), "Pcs Networking.SubnetIds: 2 subnets, PCS takes one"),
        (standing(), "Networking.SubnetIds: 0 subnets"),
    ],
)
def test_a_subnet_that_pcs_does_not_take(found, said):
    assert_finds("UC-PCS-007", found, place=said)
    assert ids("PCS", found) == {"UC-PCS-007"}


@pytest.mark.parametrize("zone", ["us-east-1a", {"Fn::Select": [0, {"Fn::GetAZs": ""}]}])
def test_an_ordinary_subnet(zone):
    assert_passes("UC-PCS-007", standing(ONE, One=subnet(zone)))


@pytest.mark.parametrize("found", [standing(TEXT), standing("subnet-0123456789abcdef0"), standing(ONE, One=subnet())])
def test_a_subnet_that_is_not_known(found):
    assert_not_judged("UC-PCS-007", found)


# UC-PCS-012


def accounting(body):
    configuration = None if body is None else {"Accounting": body}
    return pcs_app(Pcs=pcs_cluster(SlurmConfiguration=configuration))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (None, "Pcs SlurmConfiguration.Accounting.Mode: absent (NONE), so nobody can tell later who used what"),
        (
            {"Mode": "STANDARD", "DefaultPurgeTimeInDays": 0},
            "Accounting.DefaultPurgeTimeInDays: 0 days, PCS takes 1 to",
        ),
    ],
)
def test_accounting_that_nobody_decided(body, said):
    found = accounting(body)
    assert_finds("UC-PCS-012", found, place=said)
    assert ids("PCS", found) == {"UC-PCS-012"}


@pytest.mark.parametrize(
    "body", [{"Mode": "STANDARD"}, {"Mode": "NONE"}, {"Mode": "STANDARD", "DefaultPurgeTimeInDays": -1}]
)
def test_accounting_that_somebody_decided(body):
    assert_passes("UC-PCS-012", accounting(body))


def test_accounting_that_is_not_known():
    assert_not_judged("UC-PCS-012", accounting({"Mode": "STANDARD", "DefaultPurgeTimeInDays": TEXT}))


def test_accounting_under_a_condition():
    parameters, conditions = switch()
    body = either("Big", {"Mode": "STANDARD"}, NONE)
    found = pcs_app(None, parameters, conditions, Pcs=pcs_cluster(SlurmConfiguration={"Accounting": body}))
    assert_finds("UC-PCS-012", found)
    assert len(judged(found).of("UC-PCS-012")) == 1
