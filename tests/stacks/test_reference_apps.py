"""Every reference cluster: decisions as agreed, state where it was, templates that the services accept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.clusters import CLUSTERS, NOW, STACKS, golden, name_of, new_app, synthesized
from support.efa_rule import efa_faults
from support.linting import lint_errors
from support.nag import nag_report, reasons, unacknowledged
from support.sources import ROOT
from support.templates import all_properties, launch_template_data, references, resources
from ultracluster.facts.instances import instance_type
from ultracluster.plan.template_limits import check_template_limits
from ultracluster_cli.check import check
from ultracluster_stacks.assemble import assemble

pytestmark = pytest.mark.slow
each_cluster = pytest.mark.parametrize("cluster", CLUSTERS, ids=name_of)


@each_cluster
@pytest.mark.parametrize("file", ["plan.json", "ids.json", "resources.json"])
def test_golden_files_hold(cluster: Path, file: str) -> None:
    kept = json.loads((ROOT / "tests/golden" / name_of(cluster) / file).read_text(encoding="utf-8"))
    assert golden(cluster)[file] == kept, "a wanted change is written by: python scripts/update_golden.py"


@each_cluster
def test_every_launch_template_meets_rule_efa(cluster: Path) -> None:
    made = synthesized(cluster)
    templates = launch_template_data(made.templates["compute"])
    layouts = [(plan, layout) for plan in made.plan.fleets for layout in plan.layouts]
    assert len(templates) == len(layouts) >= 1
    for data, (plan, layout) in zip(templates, layouts, strict=True):
        for facts in layout.instance_types:
            asked = 0 if plan.efa_count == 0 else None
            assert efa_faults(instance_type(facts.name), data, efa=asked) == []


@each_cluster
def test_templates_pass_the_registry_schemas(cluster: Path) -> None:
    made = synthesized(cluster)
    assert {stack: lint_errors(made.templates[stack], made.plan.region) for stack in STACKS} == {
        stack: [] for stack in STACKS
    }


@each_cluster
def test_templates_stay_far_below_the_limits(cluster: Path) -> None:
    made = synthesized(cluster)
    for stack, template in made.templates.items():
        assert check_template_limits(template, subject=stack, size_bytes=made.sizes[stack]) == ()


@each_cluster
def test_state_is_retained_and_stands_apart_from_compute(cluster: Path) -> None:
    made = synthesized(cluster)
    for kind in ("AWS::FSx::FileSystem", "AWS::EFS::FileSystem", "AWS::S3::Bucket"):
        for body in resources(made.templates["storage"], kind).values():
            assert (body["DeletionPolicy"], body["UpdateReplacePolicy"]) == ("Retain", "Retain")
        assert resources(made.templates["compute"], kind) == {}


@each_cluster
def test_nothing_refers_to_the_compute_stack(cluster: Path) -> None:
    made = synthesized(cluster)
    compute = f"{made.plan.name}-compute"
    for stack in ("network", "storage", "observability"):
        assert compute not in json.dumps(made.templates[stack])
    assert "Outputs" not in made.templates["compute"]


@each_cluster
def test_no_statement_allows_every_action_on_everything(cluster: Path) -> None:
    for template in synthesized(cluster).templates.values():
        policies = all_properties(template, "AWS::IAM::ManagedPolicy")
        for role in all_properties(template, "AWS::IAM::Role"):
            policies += role.get("Policies", [])
        for policy in policies:
            for statement in policy["PolicyDocument"]["Statement"]:
                actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
                assert not (statement["Resource"] == "*" and any(action.endswith("*") for action in actions))


@each_cluster
def test_security_groups_let_nobody_in_from_outside(cluster: Path) -> None:
    for template in synthesized(cluster).templates.values():
        rules = all_properties(template, "AWS::EC2::SecurityGroupIngress")
        for group in all_properties(template, "AWS::EC2::SecurityGroup"):
            rules += group.get("SecurityGroupIngress", [])
        assert [rule for rule in rules if rule.get("CidrIp") == "0.0.0.0/0" or rule.get("CidrIpv6") == "::/0"] == []


@each_cluster
def test_what_carries_lustre_over_efa_stands_beside_the_interfaces(cluster: Path) -> None:
    """One group of clients in the compute stack, both ways open to itself and to the servers, on every interface."""
    made = synthesized(cluster)
    compute = made.templates["compute"]
    groups = [key for key in resources(compute, "AWS::EC2::SecurityGroup") if key.startswith("Clients")]
    assert len(groups) == sum(lustre.efa for lustre in made.plan.lustre)
    for key in groups:
        ours = {"Ref": key}
        peers = {"AWS::EC2::SecurityGroupIngress": [], "AWS::EC2::SecurityGroupEgress": []}
        for kind, others in peers.items():
            other = "SourceSecurityGroupId" if kind.endswith("Ingress") else "DestinationSecurityGroupId"
            for rule in all_properties(compute, kind):
                if ours in (rule["GroupId"], rule[other]):
                    assert rule["IpProtocol"] == "-1"
                    others.append((rule["GroupId"] == ours, rule[other] == ours))
        both_ways = [(False, True), (True, False), (True, True)]
        assert [sorted(others) for others in peers.values()] == [both_ways, both_ways]
        for template in all_properties(compute, "AWS::EC2::LaunchTemplate"):
            for interface in template["LaunchTemplateData"]["NetworkInterfaces"]:
                assert ours in interface["Groups"]


@each_cluster
def test_every_alarm_has_an_action_and_says_what_to_do(cluster: Path) -> None:
    alarms = all_properties(synthesized(cluster).templates["observability"], "AWS::CloudWatch::Alarm")
    assert len(alarms) >= 8
    for alarm in alarms:
        assert alarm["AlarmActions"], alarm["AlarmName"]
        assert "What to do" in alarm["AlarmDescription"], alarm["AlarmName"]
        assert alarm["TreatMissingData"] in {"missing", "breaching", "notBreaching", "ignore"}


@each_cluster
def test_the_scheduled_scale_in_comes_before_the_end_of_the_block(cluster: Path) -> None:
    made = synthesized(cluster)
    actions = all_properties(made.templates["compute"], "AWS::AutoScaling::ScheduledAction")
    ends = [plan.capacity for plan in made.plan.fleets if plan.capacity.end is not None]
    assert len(actions) == len(ends)
    for action, capacity in zip(actions, ends, strict=True):
        assert (action["MinSize"], action["MaxSize"], action["DesiredCapacity"]) == (0, 0, 0)
        assert action["StartTime"] == "2030-01-15T10:55:00Z"
        assert references(action["AutoScalingGroupName"])
        assert capacity.kind == "capacity-block"


def test_nag_finds_nothing_unacknowledged_and_every_reason_is_specific(tmp_path: Path) -> None:
    app = new_app(str(tmp_path))
    for cluster in CLUSTERS:
        assemble(app, cluster, now=NOW)
    report = nag_report(app)
    assert unacknowledged(report) == []
    told = reasons(report)
    assert told
    assert [rule for rule, reason in told.items() if len(reason) < 40] == []


@each_cluster
def test_our_own_checks_find_nothing_in_the_cloud_assembly(cluster: Path, tmp_path: Path) -> None:
    app = new_app(str(tmp_path))
    assemble(app, cluster, now=NOW)
    app.synth()
    run = CliRunner().invoke(check, [str(tmp_path), "--fail-on", "warning", "--format", "json"])
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)["findings"] == []
