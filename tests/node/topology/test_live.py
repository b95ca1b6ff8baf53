"""Topology asked of EC2: with the role of the node, and with the credentials of an admin's shell."""

from __future__ import annotations

import argparse
import json

import boto3
import pytest
from botocore.stub import Stubber
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from support.topology import records
from ultracluster.node import topology
from ultracluster.node.aws import Aws
from ultracluster.node.host import NodeError
from ultracluster.node.topology.live import described, parse_answer
from ultracluster.node.topology.records import TopologyError
from ultracluster_cli.main import main


def answer(instances, token=""):
    """One page, as the query API of EC2 writes it."""
    items = "".join(
        f"<item><instanceId>{each['InstanceId']}</instanceId><instanceType>{each['InstanceType']}</instanceType>"
        f"<networkNodeSet>{''.join(f'<item>{node}</item>' for node in each['NetworkNodes'])}</networkNodeSet></item>"
        for each in instances
    )
    following = f"<nextToken>{token}</nextToken>" if token else ""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<DescribeInstanceTopologyResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>1</requestId>'
        f"<instanceSet>{items}</instanceSet>{following}</DescribeInstanceTopologyResponse>"
    )


@pytest.fixture
def ec2(monkeypatch):
    """EC2 with two pages; the parameters of each call."""
    pages = {"": answer(records(2, 2)[:3], "more"), "more": answer(records(2, 2)[3:])}
    asked = []

    def query(self, service, action, version, params):
        asked.append((service, action, version, dict(params)))
        return pages[params.get("NextToken", "")]

    monkeypatch.setattr(Aws, "query", query)
    return asked


def test_all_pages_are_asked_for(machine, ec2):
    found = described(machine.node(), ["instance-type=p5.48xlarge,p5e.48xlarge"])
    assert [each.id for each in found] == ["i-00000", "i-00001", "i-00002", "i-00003"]
    assert found[3].path == ("nn-top", "nn-mid000", "nn-leaf001")
    filters = {
        "MaxResults": "100",
        "Filter.1.Name": "instance-type",
        "Filter.1.Value.1": "p5.48xlarge",
        "Filter.1.Value.2": "p5e.48xlarge",
    }
    call = ("ec2", "DescribeInstanceTopology", "2016-11-15")
    assert ec2 == [(*call, filters), (*call, {**filters, "NextToken": "more"})]


def test_the_program_prints_what_it_was_told(machine, ec2, capsys):
    parser = argparse.ArgumentParser()
    topology.arguments(parser)
    assert topology.run(parser.parse_args(["--live", "--output", "hostfile", "--slots", "8"]), machine.node()) == 0
    assert capsys.readouterr().out == "".join(f"i-0000{n} slots=8\n" for n in range(4))


def test_a_filter_without_a_value_is_refused(machine, ec2):
    with pytest.raises(NodeError, match="'p5' is no filter; write name=value"):
        described(machine.node(), ["p5"])
    assert ec2 == []


@given(st.integers(0, 2000))
def test_a_broken_answer_is_one_line(cut):
    text = answer(records(2, 2), "more")
    try:
        found, token = parse_answer(text[:cut])
    except TopologyError:
        assert cut < len(text)
    else:
        assert (len(found), token) == (4, "more")


def test_an_instance_without_an_id_is_refused():
    with pytest.raises(TopologyError, match="instance without an id"):
        parse_answer("<a><instanceSet><item/></instanceSet></a>")


class TestCommand:
    def run(self, *arguments, text=""):
        return CliRunner().invoke(main, ["topology", *arguments], input=text)

    def test_records_from_standard_input(self):
        done = self.run("-", "--format", "hostfile", text=json.dumps({"Instances": records(1, 2)}))
        assert (done.exit_code, done.stdout, done.stderr) == (0, "i-00000\ni-00001\n", "")

    def test_records_and_names_from_files(self, tmp_path):
        (tmp_path / "r.json").write_text(json.dumps(records(2, 1)))
        (tmp_path / "names").write_text("i-00000 b\ni-00001 a\ni-0000f c\n")
        done = self.run(str(tmp_path / "r.json"), "--names", str(tmp_path / "names"), "--format", "labels")
        assert done.exit_code == 0
        assert done.stdout.splitlines()[0] == (
            "kubectl label node b --overwrite topology.k8s.aws/network-node-layer-1=nn-top "
            "topology.k8s.aws/network-node-layer-2=nn-mid000 topology.k8s.aws/network-node-layer-3=nn-leaf000"
        )
        assert "warning: EC2 tells no place of 1 of 3 instances (c)" in done.stderr

    @pytest.mark.parametrize("arguments", [[], ["-", "--live"]])
    def test_one_source_is_needed(self, arguments):
        done = self.run(*arguments)
        assert done.exit_code == 2
        assert "give RECORDS, or --live to ask EC2; one of the two" in done.stderr

    @pytest.mark.parametrize("text", ["", "{", "[]", "\0"])
    def test_what_cannot_be_read_ends_with_2_and_one_line(self, text):
        done = self.run("-", text=text)
        assert done.exit_code == 2
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1

    def test_live(self, monkeypatch):
        client = boto3.client("ec2", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        stub = Stubber(client)
        filters = {"Filters": [{"Name": "instance-type", "Values": ["p5.48xlarge"]}]}
        stub.add_response("describe_instance_topology", {"Instances": records(1, 1), "NextToken": "t"}, filters)
        stub.add_response("describe_instance_topology", {"Instances": records(1, 2)[1:]}, {**filters, "NextToken": "t"})
        stub.add_client_error("describe_instance_topology", "UnauthorizedOperation", "no permission")
        monkeypatch.setattr(boto3, "client", lambda *arguments, **keywords: client)
        live = ["--live", "--region", "us-east-1", "--filter", "instance-type=p5.48xlarge"]
        with stub:
            done = self.run(*live, "--format", "hostfile")
            assert (done.exit_code, done.stdout) == (0, "i-00000\ni-00001\n")
            done = self.run(*live)
        assert done.exit_code == 2
        assert "UnauthorizedOperation" in done.stderr

    def test_a_filter_without_a_value_is_bad_usage(self):
        done = self.run("--live", "--region", "us-east-1", "--filter", "p5")
        assert done.exit_code == 2
        assert "'p5' has no value; write name=value" in done.stderr
