"""The validation plugin of the CDK, and the assertion for the tests of other apps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk.assertions import Template

from ultracluster import UltraClusterChecks
from ultracluster.acknowledge import OWN_PLUGIN, acknowledge
from ultracluster.facts.rules import rule_registry
from ultracluster.findings import Severity
from ultracluster.policy.acknowledgements import PLUGIN_PREFIX
from ultracluster.policy.check import Options, check_loaded
from ultracluster.policy.load import load
from ultracluster.testing import assert_passes_ultracluster

pytest_plugins = ["ultracluster.testing.pytest_plugin"]
ONLY = ("UC-LUS-001", "UC-LUS-018", "UC-ACK")


def lustre(scope, name: str, capacity: int = 2400, *, retained: bool = True) -> fsx.CfnFileSystem:
    made = fsx.CfnFileSystem(
        scope,
        name,
        file_system_type="LUSTRE",
        subnet_ids=["subnet-1"],
        storage_capacity=capacity,
        lustre_configuration=fsx.CfnFileSystem.LustreConfigurationProperty(
            deployment_type="PERSISTENT_2", per_unit_storage_throughput=125
        ),
    )
    if retained:
        made.apply_removal_policy(cdk.RemovalPolicy.RETAIN)
    return made


@pytest.fixture
def app(tmp_path: Path) -> cdk.App:
    return cdk.App(
        outdir=str(tmp_path / "cdk.out"), builtin_cloud_formation_validation=False, analytics_reporting=False
    )


def judge(app: cdk.App, **options) -> dict:
    """Synthesize with the plugin; its part of the validation report, and whether synthesis failed."""
    cdk.Validations.of(app).add_plugins(UltraClusterChecks(**{"select": ONLY, **options}))
    failed = False
    try:
        app.synth()
    except RuntimeError as error:
        failed = "ValidationFailed" in str(error)
    document = json.loads(Path(app.outdir, "validation-report.json").read_text())
    # The CDK leaves out plugins that have nothing to say.
    nothing = {"pluginName": OWN_PLUGIN, "conclusion": "success", "violations": [], "metadata": {}}
    report = next((part for part in document["pluginReports"] if part["pluginName"] == OWN_PLUGIN), nothing)
    return {**report, "failed": failed}


def names(report: dict, key: str = "violations") -> list[str]:
    return sorted(row["ruleName"] for row in report.get(key, []))


def test_a_clean_app_passes(app: cdk.App) -> None:
    lustre(cdk.Stack(app, "Data"), "Lustre")
    report = judge(app)
    assert (report["conclusion"], report["failed"], names(report)) == ("success", False, [])


def test_a_fault_fails_synthesis_with_construct_property_and_line_of_python(
    app: cdk.App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JSII_HOST_STACK_TRACES", "1")
    lustre(cdk.Stack(app, "Data"), "Lustre", 3600)
    report = judge(app)
    assert report["failed"]
    (row,) = report["violations"]
    assert (row["ruleName"], row["severity"]) == ("UC-LUS-001", "fatal")
    (where,) = row["violatingConstructs"]
    assert where["constructPath"] == "Data/Lustre"
    assert where["cloudFormationResource"]["propertyPaths"] == ["Properties.StorageCapacity"]
    assert "3600" in row["description"]
    assert "2400 and 4800" in row["suggestedFix"]
    assert "test_plugin.py" in json.dumps(where["stackTraces"])


APP = """\
import aws_cdk as cdk
from aws_cdk import aws_fsx as fsx

from ultracluster import UltraClusterChecks

app = cdk.App(outdir="cdk.out", builtin_cloud_formation_validation=False, analytics_reporting=False)
fsx.CfnFileSystem(
    cdk.Stack(app, "Data"), "Lustre", file_system_type="LUSTRE", subnet_ids=["subnet-1"], storage_capacity=3601
)
cdk.Validations.of(app).add_plugins(UltraClusterChecks(select=["UC-LUS-001"]))
app.synth()
"""


@pytest.mark.parametrize(("wish", "named"), [(None, True), ("0", False)])
def test_the_line_of_python_needs_nothing_from_the_user(tmp_path: Path, wish: str | None, named: bool) -> None:
    (tmp_path / "infra.py").write_text(APP)
    environment = {key: value for key, value in os.environ.items() if key != "JSII_HOST_STACK_TRACES"}
    environment |= {} if wish is None else {"JSII_HOST_STACK_TRACES": wish}
    done = subprocess.run(
        [sys.executable, "infra.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    report = json.loads((tmp_path / "cdk.out" / "validation-report.json").read_text())
    (where,) = report["pluginReports"][0]["violations"][0]["violatingConstructs"]
    line = APP.splitlines().index("fsx.CfnFileSystem(") + 1
    assert (f"infra.py:{line}" in json.dumps(where.get("stackTraces", []))) is named
    assert (f"infra.py:{line}" in done.stdout + done.stderr) is named


def test_nested_stacks_and_stages_are_judged(app: cdk.App) -> None:
    nested = cdk.NestedStack(cdk.Stack(app, "Data"), "Inner")
    lustre(nested, "Lustre", 3600)
    lustre(cdk.Stack(cdk.Stage(app, "Prod"), "Data"), "Lustre", 3000)
    paths = {where["constructPath"] for row in judge(app)["violations"] for where in row["violatingConstructs"]}
    assert paths == {"Data/Inner/Lustre", "Prod/Data/Lustre"}


def test_an_acknowledgement_is_kept_with_its_reason(app: cdk.App) -> None:
    stack = cdk.Stack(app, "Data")
    acknowledge(lustre(stack, "Lustre", retained=False), {"UC-LUS-018": "rebuilt every night"})
    report = judge(app)
    assert not report["failed"]
    assert names(report) == []
    (row,) = report["suppressedViolations"]
    assert (row["ruleName"], row["reason"], row["acknowledgedAt"]) == (
        "UC-LUS-018",
        "rebuilt every night",
        "Data/Lustre",
    )


def test_an_acknowledgement_of_a_whole_stack_covers_what_is_below(app: cdk.App) -> None:
    stack = cdk.Stack(app, "Data")
    lustre(stack, "One", retained=False)
    lustre(stack, "Two", retained=False)
    acknowledge(stack, {"UC-LUS-018": "a test bed"})
    report = judge(app)
    assert names(report, "suppressedViolations") == ["UC-LUS-018", "UC-LUS-018"]
    assert names(report) == []


def test_what_is_fatal_stays_and_says_so(app: cdk.App) -> None:
    acknowledge(lustre(cdk.Stack(app, "Data"), "Lustre", 3600), {"UC-LUS-001": "please"})
    report = judge(app)
    assert report["failed"]
    assert names(report) == ["UC-ACK-001", "UC-LUS-001"]


def test_a_stale_acknowledgement_is_told_and_fails_nothing(app: cdk.App) -> None:
    acknowledge(lustre(cdk.Stack(app, "Data"), "Lustre"), {"UC-LUS-018": "no longer needed"})
    report = judge(app)
    assert not report["failed"]
    (row,) = report["violations"]
    assert (row["ruleName"], row["severity"]) == ("UC-ACK-002", "warning")
    assert row["violatingConstructs"][0]["constructPath"] == "Data/Lustre"


def test_the_check_command_reads_the_same_acknowledgements(app: cdk.App) -> None:
    stack = cdk.Stack(app, "Data")
    acknowledge(lustre(stack, "One", retained=False), {"UC-LUS-018": "rebuilt every night"})
    lustre(stack, "Two", retained=False)
    folder = app.synth().directory
    report = check_loaded(load([folder]), Options(select=ONLY))
    assert [found.construct_path for found in report.findings] == ["Data/Two"]
    assert [each.reason for each in report.acknowledged] == ["rebuilt every night"]


@pytest.mark.parametrize("directions", [("source", "destination"), ("source",)])
def test_sibling_stacks_are_seen_together(app: cdk.App, directions: tuple[str, ...]) -> None:
    """The group is in one stack, the launch template that uses it in another, the rules of the group in a third."""
    network, compute, rules = (cdk.Stack(app, name) for name in ("Network", "Compute", "Rules"))
    group = ec2.CfnSecurityGroup(network, "Group", group_description="nodes").attr_group_id
    kinds = {"source": ec2.CfnSecurityGroupIngress, "destination": ec2.CfnSecurityGroupEgress}
    for side in directions:
        kinds[side](rules, side, group_id=group, ip_protocol="-1", **{f"{side}_security_group_id": group})
    entry = ec2.CfnLaunchTemplate.NetworkInterfaceProperty
    ec2.CfnLaunchTemplate(
        compute,
        "Template",
        launch_template_data=ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
            instance_type="g5.48xlarge",
            network_interfaces=[entry(device_index=0, network_card_index=0, interface_type="efa", groups=[group])],
        ),
    )
    assert names(judge(app, select=("UC-EFA-005",))) == ([] if len(directions) == 2 else ["UC-EFA-005"])


def test_rules_can_be_left_out_and_the_threshold_moved(app: cdk.App) -> None:
    lustre(cdk.Stack(app, "Data"), "Lustre", 3600, retained=False)
    report = judge(app, ignore=["UC-LUS-001"], fail_on=Severity.FATAL)
    assert (names(report), report["failed"]) == (["UC-LUS-018"], False)


def test_the_plugin_offers_the_ids_of_the_registry() -> None:
    assert set(UltraClusterChecks().rule_ids) == set(rule_registry())
    assert UltraClusterChecks(select=["UC-LUS-001"]).rule_ids == ["UC-LUS-001"]
    assert f"{UltraClusterChecks().name}::" == PLUGIN_PREFIX


class TestAssertion:
    def test_a_clean_stack_passes_and_gives_the_report(self, app: cdk.App) -> None:
        stack = cdk.Stack(app, "Data")
        lustre(stack, "Lustre")
        assert assert_passes_ultracluster(stack, select=ONLY).templates == 1

    def test_a_faulty_stack_fails_with_the_whole_report(self, app: cdk.App) -> None:
        stack = cdk.Stack(app, "Data")
        lustre(stack, "Lustre", 3600)
        with pytest.raises(AssertionError, match="UC-LUS-001") as failed:
            assert_passes_ultracluster(stack, select=ONLY)
        assert "Data/Lustre StorageCapacity: 3600" in str(failed.value)

    def test_faults_of_a_sibling_do_not_fail_a_stack_but_the_app(self, app: cdk.App) -> None:
        clean, faulty = cdk.Stack(app, "Clean"), cdk.Stack(app, "Faulty")
        lustre(clean, "Lustre")
        lustre(faulty, "Lustre", 3600)
        assert_passes_ultracluster(clean, select=ONLY)
        with pytest.raises(AssertionError):
            assert_passes_ultracluster(app, select=ONLY)

    def test_templates_as_values_texts_and_files(self, tmp_path: Path) -> None:
        value = {"Resources": {"B": {"Type": "AWS::S3::Bucket"}}}
        file = tmp_path / "t.json"
        file.write_text(json.dumps(value))
        for form in (value, json.dumps(value, indent=1), json.dumps(value), file, str(file)):
            assert assert_passes_ultracluster(form, select=ONLY).templates == 1
        with pytest.raises(AssertionError, match="unreadable"):
            assert_passes_ultracluster("Resources: {\n")

    def test_a_template_of_the_assertions_of_the_cdk(self, app: cdk.App) -> None:
        stack = cdk.Stack(app, "Data")
        lustre(stack, "Lustre", 3600)
        with pytest.raises(AssertionError, match="UC-LUS-001"):
            assert_passes_ultracluster(Template.from_stack(stack), select=ONLY)

    @pytest.mark.parametrize("given", [3, None, object()])
    def test_something_else_is_refused(self, given: object) -> None:
        with pytest.raises(TypeError, match="a stack, stage or app, a template, or a path is needed"):
            assert_passes_ultracluster(given)

    def test_a_misspelt_id_is_no_pass(self) -> None:
        with pytest.raises(ValueError, match="did you mean UC-LUS"):
            assert_passes_ultracluster({"Resources": {}}, select=["UC-LUSS"])
        with pytest.raises(ValueError, match="did you mean UC-LUS-001"):
            UltraClusterChecks(ignore=["UC-LUS-01"])

    def test_the_fixture_is_the_function(self, assert_passes_ultracluster) -> None:
        report = assert_passes_ultracluster({"Resources": {"B": {"Type": "AWS::S3::Bucket"}}}, select=ONLY)
        assert report.resources == 1
