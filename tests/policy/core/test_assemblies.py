"""Which templates belong together: nested stacks, imports, cloud assemblies, folders and patterns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ultracluster.policy.check import Options, check_loaded
from ultracluster.policy.load import load
from ultracluster.policy.view import Resource
from ultracluster.policy.world import World

CHILD = """\
Parameters:
  Size: {Type: Number}
  Groups: {Type: 'List<AWS::EC2::SecurityGroup::Id>'}
Resources:
  X:
    Type: AWS::X::Y
    Properties: {Size: !Ref Size, Groups: !Ref Groups}
Outputs:
  Made: {Value: !Ref X}
"""
PARENT = """\
Parameters: {Capacity: {Type: Number, Default: 7}}
Resources:
  G1: {Type: AWS::EC2::SecurityGroup}
  G2: {Type: AWS::EC2::SecurityGroup}
  Nested:
    Type: AWS::CloudFormation::Stack
    Properties:
      TemplateURL: %s
      Parameters: {Size: !Ref Capacity, Groups: !Join [',', [!Ref G1, !GetAtt G2.GroupId]]}
  User: {Type: AWS::X::User, Properties: {Of: !GetAtt Nested.Outputs.Made}}
"""
PLAIN = "Resources: {A: {Type: AWS::S3::Bucket}}\n"


def write(folder: Path, **files: str) -> None:
    """Write files whose names have `_` for a dot and `__` for a slash."""
    for name, text in files.items():
        file = folder / name.replace("__", "/").replace("_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def names(loaded) -> list[list[str]]:
    return [[Path(template.name).name for template in assembly.templates] for assembly in loaded.assemblies]


@pytest.mark.parametrize(
    "url",
    [
        "./child.yaml",
        "child.yaml",
        "https://s3.amazonaws.com/b/child.yaml",
        "!Sub 'https://${B}.s3.${AWS::URLSuffix}/p/child.yaml'",
        "!Sub ['https://${B}/child.yaml', {B: x}]",
        "!Join ['/', ['https://x', 'child.yaml']]",
    ],
)
def test_a_nested_template_is_read_with_the_parameters_it_gets(tmp_path: Path, url: str) -> None:
    write(tmp_path, parent_yaml=PARENT % url, child_yaml=CHILD)
    loaded = load([str(tmp_path)])
    assert names(loaded) == [["parent.yaml", "child.yaml"]]
    child = loaded.assemblies[0].templates[1]
    world = World(loaded.assemblies[0])
    inner = Resource(child.resources["X"], world)
    assert inner.get("Size").integer() == 7
    groups = [value.resource() for value in inner.get("Groups").items()]
    assert [group.logical_id for group in groups if group] == ["G1", "G2"]
    user = Resource(loaded.assemblies[0].templates[0].resources["User"], world)
    assert user.get("Of").resource() == inner
    assert user in inner.referrers("AWS::X::User")
    assert inner in Resource(loaded.assemblies[0].templates[0].resources["G1"], world).referrers("AWS::X::Y")


def test_a_nested_template_is_found_beside_the_one_that_was_named(tmp_path: Path) -> None:
    write(tmp_path, parent_yaml=PARENT % "./child.yaml", child_yaml=CHILD)
    assert names(load([str(tmp_path / "parent.yaml")])) == [["parent.yaml", "child.yaml"]]


def test_a_template_does_not_lead_out_of_its_folder(tmp_path: Path) -> None:
    write(tmp_path, in__parent_yaml=PARENT % "../child.yaml", child_yaml=CHILD)
    assert names(load([str(tmp_path / "in/parent.yaml")])) == [["parent.yaml"]]


def test_a_file_of_that_name_with_other_parameters_is_another_template(tmp_path: Path) -> None:
    write(tmp_path, parent_yaml=PARENT % "https://x/child.yaml", child_yaml=CHILD.replace("Groups", "Others"))
    assert sorted(map(len, names(load([str(tmp_path)])))) == [1, 1]


def test_a_stack_nested_in_itself_ends(tmp_path: Path) -> None:
    write(tmp_path, a_yaml="Resources: {S: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: a.yaml}}}\n")
    assert names(load([str(tmp_path)])) == [["a.yaml"]]


def test_a_template_that_is_nested_twice_has_its_faults_once(tmp_path: Path) -> None:
    faulty = "Resources:\n  F: {Type: AWS::FSx::FileSystem, Properties: {FileSystemType: LUSTRE, StorageCapacity: 3000,"
    faulty += " LustreConfiguration: {DeploymentType: SCRATCH_2}}}\n"
    twice = "Resources:\n" + "".join(
        f"  S{at}: {{Type: AWS::CloudFormation::Stack, Properties: {{TemplateURL: child.yaml}}}}\n" for at in range(2)
    )
    write(tmp_path, parent_yaml=twice, child_yaml=faulty)
    loaded = load([str(tmp_path)])
    assert names(loaded) == [["parent.yaml", "child.yaml", "child.yaml"]]
    report = check_loaded(loaded, Options(select=("UC-LUS-001",)))
    assert [found.rule_id for found in report.findings] == ["UC-LUS-001"]


def test_templates_that_import_from_one_another_are_one_assembly(tmp_path: Path) -> None:
    write(
        tmp_path,
        a_yaml="Resources: {A: {Type: AWS::S3::Bucket}}\nOutputs: {O: {Value: !Ref A, Export: {Name: n}}}\n",
        b_yaml="Resources: {B: {Type: AWS::X::Y, Properties: {V: !ImportValue n}}}\n",
        c_yaml=PLAIN,
    )
    loaded = load([str(tmp_path)])
    assert sorted(names(loaded)) == [["a.yaml", "b.yaml"], ["c.yaml"]]
    assert not any(assembly.is_app for assembly in loaded.assemblies)


class TestPaths:
    def test_folders_hold_templates_and_other_things(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            a_yaml=PLAIN,
            deep__b_template=json.dumps({"Resources": {"A": {"Type": "AWS::S3::Bucket"}}}),
            pod_yaml="kind: Pod\n",
            values_json='{"a": 1}',
            notes_txt=PLAIN,
        )
        (tmp_path / "node_modules").mkdir()
        (tmp_path / "node_modules" / "c.yaml").write_text(PLAIN)
        (tmp_path / ".hidden").mkdir()
        (tmp_path / ".hidden" / "d.yaml").write_text(PLAIN)
        loaded = load([str(tmp_path)])
        assert sorted(names(loaded)) == [["a.yaml"], ["b.template"]]
        assert loaded.skipped == 2
        assert loaded.not_read == []

    def test_a_broken_template_of_a_folder_is_told_but_a_broken_chart_is_not(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            a_yaml="AWSTemplateFormatVersion: '2010-09-09'\nResources: {A: {Type: 'AWS::S3::Bucket'\n",
            chart_yaml="Resources: {{ .Values.x }}\n  - AWS::S3::Bucket {{ end }}\n",
        )
        loaded = load([str(tmp_path)])
        assert [Path(entry.name).name for entry in loaded.not_read] == ["a.yaml"]
        assert loaded.skipped == 1

    @pytest.mark.parametrize(
        ("path", "reason"),
        [
            ("missing.yaml", "no such file or folder"),
            ("*.nothing", "the pattern matches no file"),
            ("pod.yaml", "no CloudFormation template: no Resources with types"),
        ],
    )
    def test_what_was_named_has_to_be_a_template(self, tmp_path: Path, path: str, reason: str) -> None:
        write(tmp_path, pod_yaml="kind: Pod\n")
        loaded = load([str(tmp_path / path)])
        assert [entry.reason for entry in loaded.not_read] == [reason]

    def test_patterns_and_repeated_paths(self, tmp_path: Path) -> None:
        write(tmp_path, a_yaml=PLAIN, deep__b_yaml=PLAIN)
        pattern = str(tmp_path / "**" / "*.yaml")
        assert sorted(names(load([pattern]))) == [["a.yaml"], ["b.yaml"]]
        assert names(load([str(tmp_path / "a.yaml"), str(tmp_path / "a.yaml")])) == [["a.yaml"]]

    def test_a_folder_link_in_a_circle_ends(self, tmp_path: Path) -> None:
        write(tmp_path, a_yaml=PLAIN)
        (tmp_path / "again").symlink_to(tmp_path)
        assert names(load([str(tmp_path)])) == [["a.yaml"]]

    def test_a_device_is_no_template(self) -> None:
        (entry,) = load(["/dev/null"]).not_read
        assert entry.reason == "no ordinary file"


class TestCloudAssembly:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        tmp_path = tmp_path / "cdk.out"
        tmp_path.mkdir()
        stack = {"Resources": {"L": {"Type": "AWS::FSx::FileSystem", "Properties": {"FileSystemType": "LUSTRE"}}}}
        nested = {
            "N": {
                "Type": "AWS::CloudFormation::Stack",
                "Properties": {"TemplateURL": {"Fn::Join": ["", ["https://x/", "abc.json"]]}},
            }
        }
        artifacts = {
            "One": {
                "type": "aws:cloudformation:stack",
                "environment": "aws://111122223333/us-west-2",
                "properties": {"templateFile": "One.template.json"},
                "displayName": "One",
                "additionalMetadataFile": "One.metadata.json",
            },
            "Two": {
                "type": "aws:cloudformation:stack",
                "environment": "aws://unknown-account/unknown-region",
                "properties": {"templateFile": "Two.template.json", "stackName": "second"},
            },
            "Stage": {"type": "cdk:cloud-assembly", "properties": {"directoryName": "assembly-Stage"}},
            "Tree": {"type": "cdk:tree", "properties": {"file": "tree.json"}},
            "Odd": 5,
        }
        metadata = {
            "/One/Data/Resource": [
                {"type": "aws:cdk:logicalId", "data": "L"},
                {"type": "aws:cdk:acknowledged-rules", "data": {"UltraClusterChecks::UC-LUS-018": "because"}},
            ],
            "/One/N/Inner": [{"type": "aws:cdk:logicalId", "data": "Inner"}],
            "/One/N.NestedStack/N.NestedStackResource": [{"type": "aws:cdk:logicalId", "data": "N"}],
        }
        assets = {"files": {"h": {"source": {"path": "Nested.json"}, "destinations": {"d": {"objectKey": "abc.json"}}}}}
        write_json(tmp_path, "manifest.json", {"version": "55.0.0", "artifacts": artifacts})
        write_json(tmp_path, "One.template.json", {"Resources": {**stack["Resources"], **nested}})
        write_json(tmp_path, "One.metadata.json", metadata)
        write_json(tmp_path, "One.assets.json", assets)
        write_json(tmp_path, "Nested.json", {"Resources": {"Inner": {"Type": "AWS::S3::Bucket"}}})
        write_json(tmp_path, "Two.template.json", stack)
        (tmp_path / "assembly-Stage").mkdir()
        stage = {"Three": {**artifacts["Two"], "properties": {"templateFile": "Three.template.json"}}}
        write_json(tmp_path / "assembly-Stage", "manifest.json", {"version": "55.0.0", "artifacts": stage})
        write_json(tmp_path / "assembly-Stage", "Three.template.json", stack)
        return tmp_path

    @pytest.mark.parametrize("suffix", ["", "manifest.json"])
    def test_stacks_are_one_app_and_each_stage_another(self, folder: Path, suffix: str) -> None:
        loaded = load([str(folder / suffix)])
        assert sorted(names(loaded)) == [
            ["One.template.json", "Two.template.json", "Nested.json"],
            ["Three.template.json"],
        ]
        assert all(assembly.is_app for assembly in loaded.assemblies)

    def test_an_assembly_inside_a_folder_is_found(self, folder: Path) -> None:
        assert len(load([str(folder.parent)]).assemblies) == 2

    def test_environment_names_and_construct_paths_come_from_the_manifest(self, folder: Path) -> None:
        app = next(assembly for assembly in load([str(folder)]).assemblies if len(assembly.templates) == 3)
        one, two, nested = app.templates
        assert (one.environment.region, one.environment.account) == ("us-west-2", "111122223333")
        assert (one.environment.stack_name, two.environment.stack_name) == ("One", "second")
        assert (two.environment.region, two.environment.account) == (None, None)
        assert one.resources["L"].construct_path == "One/Data"
        assert nested.resources["Inner"].name == "One/N/Inner"

    def test_a_template_that_is_missing_is_told(self, folder: Path) -> None:
        (folder / "Two.template.json").unlink()
        assert [Path(entry.name).name for entry in load([str(folder)]).not_read] == ["Two.template.json"]

    @pytest.mark.parametrize("manifest", ["[]", "{", '{"version": 5}', '{"version": "1", "artifacts": []}'])
    def test_another_manifest_makes_no_cloud_assembly(self, tmp_path: Path, manifest: str) -> None:
        write(tmp_path, a_yaml=PLAIN)
        (tmp_path / "manifest.json").write_text(manifest)
        assert names(load([str(tmp_path)])) == [["a.yaml"]]


def write_json(folder: Path, name: str, value: object) -> None:
    (folder / name).write_text(json.dumps(value), encoding="utf-8")


def test_a_value_that_a_nested_parameter_does_not_take_is_not_judged(tmp_path: Path) -> None:
    child = (
        "Parameters: {Mode: {Type: String, AllowedValues: [elastic, bursting]}}\n"
        "Resources: {Home: {Type: AWS::EFS::FileSystem, Properties: {ThroughputMode: !Ref Mode}}}\n"
    )
    parent = (
        "Resources:\n  S:\n    Type: AWS::CloudFormation::Stack\n"
        "    Properties: {TemplateURL: child.yaml, Parameters: {Mode: %s}}\n"
    )
    for given, is_judged in (("bursting", True), ("'~~/<set>/mode~~'", False)):
        write(tmp_path, child_yaml=child, parent_yaml=parent % given)
        report = check_loaded(load([str(tmp_path)]), Options(select=("UC-EFS-006",)))
        assert not report.findings
        assert [entry.reason for entry in report.not_judged] == (
            [] if is_judged else ["parameter Mode does not take '~~/<set>/mode~~', which is passed to it"]
        )
