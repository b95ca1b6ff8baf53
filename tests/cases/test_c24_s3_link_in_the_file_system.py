"""C24: PERSISTENT_2 takes no import or export path; the bucket is linked by an association."""

from __future__ import annotations

import pytest
from aws_cdk import aws_s3 as s3

from support.templates import only
from ultracluster.findings import FindingsError
from ultracluster.plan.lustre import DeploymentFields, Persistent2
from ultracluster.storage.data_repository import DataRepository


def test_paths_in_the_file_system_are_refused(lustre) -> None:
    wanted = DeploymentFields(
        deployment_type="PERSISTENT_2",
        capacity_gib=1200,
        throughput_mbps_per_tib=125,
        import_path="s3://demo-bucket/in",
        export_path="s3://demo-bucket/out",
    )
    with pytest.raises(FindingsError) as caught:
        lustre(wanted)
    assert [each.rule_id for each in caught.value.findings] == ["UC-LUS-004", "UC-LUS-004"]
    assert "data_repositories" in caught.value.findings[0].fix


def test_an_association_stands_in_their_place(lustre, stack, synth) -> None:
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "demo-bucket")
    lustre(
        Persistent2(capacity_gib=1200, throughput_mbps_per_tib=125),
        data_repositories=[DataRepository(file_system_path="/in", bucket=bucket, prefix="in")],
    )
    template = synth(stack)
    part = only(template, "AWS::FSx::FileSystem")["LustreConfiguration"]
    assert not {"ImportPath", "ExportPath", "AutoImportPolicy", "ImportedFileChunkSize"} & set(part)
    association = only(template, "AWS::FSx::DataRepositoryAssociation")
    assert association["DataRepositoryPath"] == "s3://demo-bucket/in/"
    assert association["FileSystemPath"] == "/in"
