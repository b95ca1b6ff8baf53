"""UC-BAT-003, 005, 012, 013 and 023: multi-node job definitions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.orchestrators import (
    NONE,
    P5,
    container,
    either,
    environment,
    ids,
    job,
    parameter,
    queue,
    resource,
    switch,
    template,
)
from support.policy import assert_finds, assert_not_judged, assert_passes
from ultracluster.plan.batch_nodes import check_node_ranges, node_span

UNKNOWN = {"Ref": "Text"}


def span(target, **more):
    return {"TargetNodes": target, "Container": container(), **more}


def made(*ranges, parameters=None, conditions=None, **more):
    return template({"Text": parameter(), **(parameters or {})}, conditions, Job=job(*ranges, **more))


def test_a_plain_job_is_clean():
    assert ids("BAT", made()) == set()
    assert ids("BAT", template(Job=job(), Queue=queue("Env"), Env=environment())) == set()


# UC-BAT-003


@pytest.mark.parametrize(
    ("targets", "nodes", "main", "place"),
    [
        (["1:3"], 4, 1, "Job NodeProperties.NodeRangeProperties: no range holds node 0 of 4"),
        (["0:1", "3:"], 8, 0, "no range holds node 2 of 8"),
        (["0:1", "5:7"], 8, 0, "no range holds nodes 2 to 4 of 8"),
        (["0:3"], 8, 0, "no range holds nodes 4 to 7 of 8"),
        ([":1", "9:"], 8, 0, "no range holds nodes 2 to 7 of 8"),
        (["0:"], 4, 4, "Job NodeProperties.MainNode: node 4 is the main one, and the job has nodes 0 to 3"),
        (["0:"], 4, -1, "MainNode: node -1 is the main one"),
    ],
)
def test_nodes_without_a_range(targets, nodes, main, place):
    found = made(*map(span, targets), nodes=nodes, main=main)
    assert_finds("UC-BAT-003", found, place=place)
    assert ids("BAT", found) == {"UC-BAT-003"}


@pytest.mark.parametrize(
    ("targets", "nodes", "main"),
    [
        (["0:"], 4, 0),
        ([":"], 4, 3),
        (["0:3"], 4, 0),
        (["0:0", "1:"], 4, 0),
        ([":1", "2:3"], 4, 0),
        (["0:10", "4:5"], 11, 0),
        (["0:7"], 4, 0),
        (["0:"], "4", "3"),
    ],
)
def test_ranges_that_cover_all(targets, nodes, main):
    assert_passes("UC-BAT-003", made(*map(span, targets), nodes=nodes, main=main))


@pytest.mark.parametrize(
    ("targets", "nodes", "main"),
    [(["0:"], UNKNOWN, 0), (["0:"], 4, UNKNOWN), ([UNKNOWN], 4, 0), (["all"], 4, 0), (["0"], 1, 0)],
)
def test_ranges_that_are_not_known(targets, nodes, main):
    assert_not_judged("UC-BAT-003", made(*map(span, targets), nodes=nodes, main=main))


@pytest.mark.parametrize(("nodes", "expected"), [((4, 8), set()), ((8, 4), {"UC-BAT-003"})])
def test_range_and_nodes_under_one_condition(nodes, expected):
    parameters, conditions = switch()
    target = either("Big", "0:3", "0:7")
    found = made(span(target), parameters=parameters, conditions=conditions, nodes=either("Big", *nodes))
    assert ids("BAT", found) == expected


@given(st.integers(1, 40), st.lists(st.tuples(st.integers(0, 45), st.integers(0, 45)), max_size=6))
def test_a_gap_is_found_exactly_where_one_is(nodes, pairs):
    held = {node for first, last in pairs for node in range(first, last + 1)}
    found = check_node_ranges(pairs, num_nodes=nodes, main_node=0, subject="job")
    assert bool(found) == bool(set(range(nodes)) - held)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0:3", (0, 3)), (":3", (0, 3)), ("4:", (4, 7)), (" 1 : 2 ", (1, 2)), ("4", None), ("", None)],
)
def test_the_nodes_of_a_range(text, expected):
    assert node_span(text, 8) == expected


# UC-BAT-005


def of_type(kind):
    return environment(Type=kind)


UNMANAGED = {"Type": "AWS::Batch::ComputeEnvironment", "Properties": {"Type": "UNMANAGED"}}


@pytest.mark.parametrize(
    ("resources", "kinds"),
    [
        ({"Env": of_type("SPOT"), "Queue": queue("Env")}, "SPOT"),
        ({"Env": of_type("FARGATE"), "Queue": queue("Env")}, "FARGATE"),
        ({"Env": of_type("ECS_MANAGED_INSTANCES"), "Queue": queue("Env")}, "ECS_MANAGED_INSTANCES"),
        ({"Env": UNMANAGED, "Queue": queue("Env")}, "UNMANAGED"),
        (
            {"Env": of_type("SPOT"), "Other": UNMANAGED, "Queue": queue("Env"), "More": queue("Other")},
            "SPOT, UNMANAGED",
        ),
        # An environment that no queue leads to does not help.
        ({"Env": of_type("SPOT"), "Idle": environment(), "Queue": queue("Env")}, "SPOT"),
    ],
)
def test_nowhere_to_run(resources, kinds):
    found = template(Job=job(), **resources)
    assert_finds("UC-BAT-005", found, place=f"Job Type: multinode, and every queue leads to {kinds} only: it waits for")
    assert ids("BAT", found) == {"UC-BAT-005"}


@pytest.mark.parametrize(
    "resources",
    [
        {"Env": environment(), "Queue": queue("Env")},
        {"Env": of_type("ec2"), "Spot": of_type("SPOT"), "Queue": queue("Spot"), "More": queue("Env")},
        {"Env": of_type("SPOT")},
    ],
)
def test_somewhere_to_run(resources):
    assert_passes("UC-BAT-005", template(Job=job(), **resources))


def test_single_containers_run_anywhere():
    single = resource("Batch::JobDefinition", Type="container", ContainerProperties={"Image": "train:1"})
    assert_passes("UC-BAT-005", template(Job=single, Env=of_type("SPOT"), Queue=queue("Env")))


@pytest.mark.parametrize(
    "resources",
    [
        {"Queue": queue(UNKNOWN)},
        {"Queue": queue({"Fn::Sub": "arn:aws:batch:us-east-1:111122223333:compute-environment/train"})},
        {"Env": of_type(UNKNOWN), "Queue": queue("Env")},
    ],
)
def test_queues_that_are_not_known(resources):
    assert_not_judged("UC-BAT-005", template({"Text": parameter()}, Job=job(), **resources))


def test_job_and_environment_under_one_condition():
    parameters, conditions = switch()
    conditions["Small"] = {"Fn::Not": [{"Condition": "Big"}]}
    found = template(parameters, conditions, Job=job(), Env=of_type(either("Big", "EC2", "SPOT")), Queue=queue("Env"))
    found["Resources"]["Job"]["Condition"] = "Big"
    assert_passes("UC-BAT-005", found)
    found["Resources"]["Job"]["Condition"] = "Small"
    assert_finds("UC-BAT-005", found)


# UC-BAT-012


def long(*more, parameters=None):
    return made(span("0:", Container=container(Command=["bash", "-c", "x" * 22_000, *more])), parameters=parameters)


def test_a_long_definition():
    found = long("y" * 2_500)
    size = len(json.dumps(found["Resources"]["Job"]["Properties"]["NodeProperties"], separators=(",", ":")))
    assert_finds("UC-BAT-012", found, place=f"Job NodeProperties: {size} bytes at least, Batch takes 24576")
    assert ids("BAT", found) == {"UC-BAT-012"}


def test_many_ranges_make_a_long_definition():
    ranges = [span(f"{at}:{at}") for at in range(5)]
    for each in ranges:
        each["Container"]["Command"] = ["bash", "-c", "x" * 3_500]
        for device in each["Container"]["LinuxParameters"]["Devices"]:
            device["ContainerPath"] = device["HostPath"]
    assert ids("BAT", made(*ranges, nodes=5)) == {"UC-BAT-012"}


def test_a_definition_that_fits():
    assert_passes("UC-BAT-012", made())
    assert_passes(
        "UC-BAT-012", made(span("0:", Container=container(Image={"Fn::Sub": "${AWS::AccountId}.ecr/train:1"})))
    )
    small = resource("Batch::JobDefinition", Type="container", ContainerProperties={"Command": ["x" * 30_000]})
    assert_passes("UC-BAT-012", template(Job=small))


def test_a_definition_near_the_limit():
    assert_not_judged("UC-BAT-012", long(UNKNOWN))
    assert_not_judged("UC-BAT-012", long({"Fn::Sub": "${Text}"}))


# UC-BAT-013


def typed(target, kind, **more):
    return span(target, Container=container(InstanceType=kind), **more)


@pytest.mark.parametrize(
    ("ranges", "place"),
    [
        (
            [typed("0:0", P5), typed("1:", "p5e.48xlarge")],
            "NodeRangeProperties[1].Container.InstanceType: p5e.48xlarge beside p5.48xlarge, all nodes of a job",
        ),
        (
            [typed("0:", None, InstanceTypes=[P5]), typed("1:", None, InstanceTypes=["p5e.48xlarge"])],
            "NodeRangeProperties[1].InstanceTypes[0]: p5e.48xlarge beside",
        ),
        ([typed("0:", P5, InstanceTypes=["p5e.48xlarge"])], "Container.InstanceType: p5.48xlarge beside p5e.48xlarge"),
        ([span(f"{at}:{at}") for at in range(6)], "Job NodeProperties.NodeRangeProperties: 6 ranges, Batch takes 5"),
    ],
)
def test_ranges_of_two_types(ranges, place):
    found = made(*ranges, nodes=len(ranges))
    assert_finds("UC-BAT-013", found, place=place)
    assert "UC-BAT-013" in ids("BAT", found) <= {"UC-BAT-013", "UC-BAT-006"}


@pytest.mark.parametrize(
    "ranges", [[typed("0:0", P5), typed("1:", P5)], [typed("0:", None)], [span(f"{at}:{at}") for at in range(5)]]
)
def test_ranges_of_one_type(ranges):
    assert_passes("UC-BAT-013", made(*ranges, nodes=len(ranges)))


def test_ranges_whose_types_are_not_known():
    assert_not_judged("UC-BAT-013", made(typed("0:0", P5), typed("1:", UNKNOWN)))
    assert_passes("UC-BAT-013", made(typed("0:0", UNKNOWN), typed("1:", UNKNOWN)))


def test_types_under_opposite_conditions():
    parameters, conditions = switch()
    types = ("p5e.48xlarge", P5)
    one, other = either("Big", *types), either("Big", *types)
    found = made(typed("0:0", one), typed("1:", other), parameters=parameters, conditions=conditions)
    assert_passes("UC-BAT-013", found)
    other = either("Big", *reversed(types))
    found = made(typed("0:0", one), typed("1:", other), parameters=parameters, conditions=conditions)
    assert_finds("UC-BAT-013", found)


# UC-BAT-023


def test_nothing_ends():
    found = template(Job=job(Timeout=None), Env=environment(), Queue=queue("Env", JobStateTimeLimitActions=None))
    assert_finds(
        "UC-BAT-023", found, place="Job Timeout.AttemptDurationSeconds: absent, so nodes whose collective hangs"
    )
    assert_finds("UC-BAT-023", found, place="Queue JobStateTimeLimitActions: absent, so a job that can never be placed")
    assert ids("BAT", found) == {"UC-BAT-023"}


def test_an_empty_list_of_actions():
    found = template(Job=job(), Env=environment(), Queue=queue("Env", JobStateTimeLimitActions=[]))
    assert_finds("UC-BAT-023", found, place="Queue JobStateTimeLimitActions")


def test_everything_ends():
    assert_passes("UC-BAT-023", template(Job=job(), Env=environment(), Queue=queue("Env")))
    single = resource("Batch::JobDefinition", Type="container", ContainerProperties={"Image": "train:1"})
    plain = queue("Env", JobStateTimeLimitActions=None)
    assert_passes("UC-BAT-023", template(Job=single, Env=environment(), Queue=plain))
    assert_passes("UC-BAT-023", template(Job=job(), Spot=of_type("SPOT"), Queue=queue("Spot")))


def test_limits_that_are_not_known():
    found = template(
        {"Text": parameter()}, Job=job(), Env=environment(), Queue=queue("Env", JobStateTimeLimitActions=UNKNOWN)
    )
    assert_not_judged("UC-BAT-023", found)


def test_a_limit_under_a_condition():
    parameters, conditions = switch()
    found = made(
        parameters=parameters, conditions=conditions, Timeout=either("Big", {"AttemptDurationSeconds": 60}, NONE)
    )
    assert_finds("UC-BAT-023", found)
