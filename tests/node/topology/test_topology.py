"""Instance topology to what schedulers read: any depth, any order of the records, the same text."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import random
import re
import time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from support.topology import expanded, fleet, parse_conf, records
from ultracluster.node import topology
from ultracluster.node.topology.output import FORMATS, labels, render
from ultracluster.node.topology.records import Instance, TopologyError, natural, parse_names, parse_records, with_names
from ultracluster.node.topology.slurm import block_sizes, hostlist
from ultracluster.node.topology.tree import build

# Layers of letters, so that the same id at one depth means the same network node.
PATHS = st.lists(
    st.one_of(
        st.just(()),
        st.lists(st.sampled_from("ab"), min_size=1, max_size=5).map(
            lambda steps: tuple("nn-" + "".join(steps[: depth + 1]) for depth in range(len(steps)))
        ),
    ),
    min_size=1,
    max_size=30,
)


def instances(paths):
    return [Instance(id=f"i-{n:x}", name=f"node-{n}", path=path) for n, path in enumerate(paths)]


@settings(max_examples=60)
@given(PATHS, st.randoms())
def test_every_host_hangs_on_one_switch_of_one_tree_and_leaves_stand_together(paths, chance):
    built = build(instances(paths))
    assert sorted(built.hosts) == sorted(f"node-{n}" for n in range(len(paths)))
    on = [(host, switch.name) for switch in built.switches for host in switch.hosts]
    assert sorted(host for host, _ in on) == sorted(built.hosts)
    assert [host for host, _ in on] == list(built.hosts), "ranks follow the tree"
    below = [child.name for switch in built.switches for child in switch.children]
    assert len(set(below)) == len(below) == len(built.switches) - 1, "one root, one parent each"
    assert all(bool(switch.children) != bool(switch.hosts) for switch in built.switches)
    leaves = [name for _, name in on]
    assert len({name for i, name in enumerate(leaves) if i and leaves[i - 1] != name} | {leaves[0]}) == 1 + sum(
        leaves[i] != leaves[i - 1] for i in range(1, len(leaves))
    ), "hosts of one leaf are contiguous"
    shuffled = instances(paths)
    chance.shuffle(shuffled)
    assert [render(build(shuffled), form) for form in ("tree", "labels", "hostfile", "json")] == [
        render(built, form) for form in ("tree", "labels", "hostfile", "json")
    ]


@settings(max_examples=60)
@given(PATHS)
def test_the_files_say_what_the_tree_says(paths):
    built = build(instances(paths))
    conf = parse_conf(render(built, "tree"))
    wanted = {
        switch.name: {
            **({"Nodes": sorted(switch.hosts)} if switch.hosts else {}),
            **({"Switches": sorted(child.name for child in switch.children)} if switch.children else {}),
        }
        for switch in built.switches
    }
    assert conf == wanted
    document = yaml.safe_load(render(built, "yaml"))
    tree = {each["switch"]: each for each in document[0]["tree"]["switches"]}
    assert document[0]["cluster_default"] is True
    assert {name: sorted(expanded(each["nodes"])) for name, each in tree.items() if "nodes" in each} == {
        name: each["Nodes"] for name, each in wanted.items() if "Nodes" in each
    }
    assert {name: sorted(each["children"].split(",")) for name, each in tree.items() if "children" in each} == {
        name: each["Switches"] for name, each in wanted.items() if "Switches" in each
    }
    if any(paths):
        block = document[1]["block"]
        members = [host for each in block["blocks"] for host in expanded(each["nodes"])]
        assert sorted([*members, *built.unplaced]) == sorted(built.hosts)


@given(st.lists(st.from_regex(r"\A[a-z][a-z0-9.-]{0,6}[0-9]{0,11}\Z"), min_size=1, max_size=40, unique=True))
def test_host_lists_name_the_same_hosts(names):
    assert sorted(expanded(hostlist(names))) == sorted(names)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["n3", "n1", "n2"], "n[1-3]"),
        (["n1", "n2", "n9", "login"], "n[1-2,9],login"),
        (["n01", "n1"], "n01,n1"),
        (["ip-10-0-1-4", "ip-10-0-1-5", "ip-10-0-2-5"], "ip-10-0-1-[4-5],ip-10-0-2-5"),
    ],
)
def test_host_lists_are_short(names, text):
    assert hostlist(names) == text


def test_three_and_four_layers_make_one_tree():
    """P5 answers with three network nodes, P6-B200 with four."""
    text = json.dumps(
        {
            "Instances": [
                {"InstanceId": "i-1", "InstanceType": "p5.48xlarge", "NetworkNodes": ["nn-a", "nn-b", "nn-c"]},
                {
                    "InstanceId": "i-2",
                    "InstanceType": "p6-b200.48xlarge",
                    "NetworkNodes": ["nn-a", "nn-b", "nn-d", "nn-e"],
                },
                {"InstanceId": "i-3", "NetworkNodes": ["nn-a", "nn-b"]},
            ]
        }
    )
    assert render(build(parse_records(text)), "tree") == (
        "SwitchName=nn-a Switches=nn-b\n"
        "SwitchName=nn-b Switches=nn-b-hosts,nn-c,nn-d\n"
        "SwitchName=nn-b-hosts Nodes=i-3\n"
        "SwitchName=nn-c Nodes=i-1\n"
        "SwitchName=nn-d Switches=nn-e\n"
        "SwitchName=nn-e Nodes=i-2\n"
    )


@settings(max_examples=60)
@given(PATHS.filter(any))
def test_blocks_follow_the_grammar_of_slurm(paths):
    """`BlockName=NAME Nodes=LIST` lines, then one `BlockSizes=` with doublings of a size that no block is below."""
    built = build(instances(paths))
    *lines, last = render(built, "block").splitlines()
    blocks = {}
    for line in lines:
        name, hosts = re.fullmatch(r"BlockName=(\S+) Nodes=(\S+)", line).groups()
        assert name not in blocks
        blocks[name] = expanded(hosts)
    members = [host for hosts in blocks.values() for host in hosts]
    assert sorted([*members, *built.unplaced]) == sorted(built.hosts)
    sizes = [int(size) for size in re.fullmatch(r"BlockSizes=(\d+(?:,\d+)*)", last)[1].split(",")]
    assert sizes[0] == min(map(len, blocks.values()))
    assert all(larger == 2 * smaller for smaller, larger in itertools.pairwise(sizes))
    assert sizes[-1] // sizes[0] <= len(blocks)


def test_without_any_place_there_are_no_blocks():
    with pytest.raises(TopologyError, match="no instance tells its place, so there are no blocks"):
        render(build([Instance("i-1", "a")]), "block")


def test_ultraservers_are_the_blocks_where_there_are_any():
    text = json.dumps(
        [
            {"InstanceId": f"i-{n}", "NetworkNodes": ["nn-a", f"nn-{n % 2}"], "CapacityBlockId": f"cb-{n // 4}"}
            for n in range(8)
        ]
    )
    named = with_names(parse_records(text), {f"i-{n}": f"gb-{n}" for n in range(8)})
    assert render(build(named), "block") == (
        "BlockName=cb-0 Nodes=gb-[0-3]\nBlockName=cb-1 Nodes=gb-[4-7]\nBlockSizes=4,8\n"
    )
    assert render(build(named), "block", base=2).endswith("BlockSizes=2,4\n")
    assert labels(build(named))["gb-5"] == {
        "topology.k8s.aws/network-node-layer-1": "nn-a",
        "topology.k8s.aws/network-node-layer-2": "nn-1",
        "topology.k8s.aws/ultraserver-id": "cb-1",
    }


def test_block_sizes_double_as_far_as_there_are_blocks_and_none_is_larger_than_a_block():
    blocks = {f"b{n}": tuple("xyz"[: 2 + n % 2]) for n in range(5)}
    assert block_sizes(blocks) == [2, 4, 8]
    with pytest.raises(TopologyError, match="3 hosts per unit, and b0 has 2; ask for fewer"):
        block_sizes(blocks, 3)


def test_hosts_without_a_place_are_last_on_a_switch_of_their_own_and_named(machine, capsys):
    file = machine.write("/records.json", json.dumps([*records(2, 2), {"InstanceId": "i-999"}]))
    parser = argparse.ArgumentParser()
    topology.arguments(parser)
    assert topology.run(parser.parse_args(["--records", str(file)]), machine.node(program="topology")) == 0
    out = capsys.readouterr()
    assert out.out.splitlines()[0] == "SwitchName=cluster Switches=nn-top,unplaced"
    assert "SwitchName=unplaced Nodes=i-999" in out.out
    assert "ultracluster topology: EC2 tells no place of 1 of 5 instances (i-999)" in out.err


def test_a_host_that_has_a_name_and_no_record_is_not_lost():
    built = topology.arranged(parse_records(json.dumps(records(1, 2))), "i-00000 a\ni-00001 b\ni-0000f c\n")
    assert (built.hosts, built.unplaced) == (("a", "b", "c"), ("c",))


@pytest.mark.parametrize("form", FORMATS)
def test_a_thousand_instances_in_under_a_second(form):
    every = fleet(1024)
    random.Random(7).shuffle(every)
    text = json.dumps({"Instances": every})
    started = time.perf_counter()
    result = render(build(parse_records(text)), form)
    assert time.perf_counter() - started < 1
    assert len(result) > 1000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the records are no JSON"),
        ("[]", "the records name no instance"),
        ('{"Instances": []}', "the records name no instance"),
        ('{"Instances": {"a": 1}}', "the records name no instance"),
        ('[{"InstanceId": 7}]', "has no InstanceId"),
        ('[{"InstanceId": "i-1", "NetworkNodes": "nn-1"}]', "i-1: NetworkNodes is no list of names"),
        ('[{"InstanceId": "i-1", "NetworkNodes": [null]}]', "i-1: NetworkNodes is no list of names"),
    ],
)
def test_other_documents_are_refused_in_one_line(text, said):
    with pytest.raises(TopologyError, match=said):
        parse_records(text)


@given(
    st.text(max_size=60)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["Instances", "InstanceId", "NetworkNodes", "Reservations"]), inner, max_size=3
            )
        ),
    ).map(json.dumps)
)
def test_whatever_is_read_there_is_no_traceback(text):
    for read in (parse_records, parse_names):
        with contextlib.suppress(TopologyError):
            read(text)


def test_a_network_node_at_two_places_is_refused():
    twice = [Instance("i-1", "a", ("nn-1", "nn-3")), Instance("i-2", "b", ("nn-2", "nn-3"))]
    with pytest.raises(TopologyError, match="nn-3 hangs on nn-1 and on nn-2; take records of one time"):
        build(twice)
    with pytest.raises(TopologyError, match="two instances are called a"):
        build([Instance("i-1", "a"), Instance("i-2", "a")])


@pytest.mark.parametrize("form", ["tree", "block", "yaml", "labels"])
def test_names_that_the_scheduler_cannot_take_are_refused(form):
    with pytest.raises(TopologyError, match="cannot be"):
        render(build([Instance("i-1", "a", ("nn 1",))]), form)


class TestNames:
    def test_lines(self):
        assert parse_names("# comment\ni-0a node-1\ni-0b,node-2\n\ni-0c=node-3  # x\n") == {
            "i-0a": "node-1",
            "i-0b": "node-2",
            "i-0c": "node-3",
        }

    def test_scontrol(self):
        text = (
            "NodeName=q-1 Arch=x86_64 CoresPerSocket=48\n   State=IDLE\n   InstanceId=i-0a InstanceType=p5.48xlarge\n\n"
            "NodeName=q-2 Arch=x86_64\n   State=IDLE\n   InstanceId=i-0b\n\nNodeName=down-3 State=CLOUD\n"
        )
        assert parse_names(text) == {"i-0a": "q-1", "i-0b": "q-2"}

    def test_describe_instances(self):
        text = json.dumps(
            {
                "Reservations": [
                    {"Instances": [{"InstanceId": "i-0a", "PrivateDnsName": "ip-10-0-0-9.ec2.internal"}]},
                    {"Instances": [{"InstanceId": "i-0b", "PrivateDnsName": ""}]},
                ]
            }
        )
        assert parse_names(text) == {"i-0a": "ip-10-0-0-9"}

    def test_an_object(self):
        assert parse_names('{"i-0a": "x"}') == {"i-0a": "x"}

    @pytest.mark.parametrize("text", ["node-1", "i-0a", '{"i-0a": 7}', "{", "i-0a x\ni-0b x\n"])
    def test_anything_else_is_refused(self, text):
        with pytest.raises(TopologyError):
            parse_names(text)


def test_names_sort_by_their_numbers():
    assert sorted(["n10", "n9", "n09", "m"], key=natural) == ["m", "n09", "n9", "n10"]
