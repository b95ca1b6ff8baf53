"""Written templates of file systems and of Prometheus."""

from __future__ import annotations

import base64

from support.mutations.parts import TAGS, Body, alarm, kept, network
from support.orchestrators import resource

FIELDS = """DCGM_FI_DEV_GPU_UTIL, gauge, use
DCGM_FI_DEV_XID_ERRORS, gauge, number of the last XID
"""
ALERTS = """groups:
- name: gpu
  rules:
  - alert: Xid
    expr: changes(DCGM_FI_DEV_XID_ERRORS[5m]) > 0
    for: 1m
"""
SCRAPES = """global:
  scrape_interval: 30s
scrape_configs:
- job_name: dcgm
  scrape_timeout: 10s
"""


def prometheus() -> Body:
    """Alerts and scrapes of the exporter of DCGM."""
    return {
        "Fields": resource("SSM::Parameter", Type="String", Value=FIELDS),
        "Alerts": resource("APS::RuleGroupsNamespace", Name="gpu", Workspace="ws", Data=ALERTS),
        "Scraper": resource(
            "APS::Scraper", ScrapeConfiguration={"ConfigurationBlob": base64.b64encode(SCRAPES.encode()).decode()}
        ),
    }


def openzfs() -> Body:
    """A file system of OpenZFS."""
    settings = {"DeploymentType": "SINGLE_AZ_2", "ThroughputCapacity": 320}
    home = resource(
        "FSx::FileSystem",
        FileSystemType="OPENZFS",
        StorageCapacity=256,
        SubnetIds=[{"Ref": "Private"}],
        SecurityGroupIds=[{"Ref": "Control"}],
        OpenZFSConfiguration=settings,
        Tags=TAGS[0]["Tags"],
    )
    fabric = ("Efa", "EfaIn", "EfaOut")
    return {**{name: body for name, body in network().items() if name not in fabric}, "Home": kept(home)}


def linked() -> Body:
    """A scratch file system whose results go to a bucket of another Region."""
    scratch = resource(
        "FSx::FileSystem",
        FileSystemType="LUSTRE",
        FileSystemTypeVersion="2.15",
        StorageCapacity=2400,
        SubnetIds=[{"Ref": "Private"}],
        SecurityGroupIds=[{"Ref": "Efa"}],
        LustreConfiguration={
            "DeploymentType": "SCRATCH_2",
            "LogConfiguration": {"Level": "WARN_ERROR"},
        },
        Tags=TAGS[0]["Tags"],
    )
    link = resource(
        "FSx::DataRepositoryAssociation",
        FileSystemId={"Ref": "Scratch"},
        FileSystemPath="/results",
        DataRepositoryPath="s3://made-up-results/run",
        S3={"AutoExportPolicy": {"Events": ["NEW", "CHANGED"]}},
    )
    alarms = {
        f"Watch{at}": alarm(name, Namespace="AWS/FSx", Dimensions=_of_scratch(**more))
        for at, (name, more) in enumerate(
            (
                ("FreeDataStorageCapacity", {"StorageTargetId": "OST0000"}),
                ("AgeOfOldestQueuedMessage", {"Publisher": "AutoExport"}),
            )
        )
    }
    return {**network(), "Scratch": scratch, "Link": link, **alarms}


def _of_scratch(**more: str) -> list[Body]:
    dimensions = {"FileSystemId": {"Ref": "Scratch"}, **more}
    return [{"Name": name, "Value": value} for name, value in dimensions.items()]


def far_bucket() -> Body:
    """The bucket."""
    return {"Results": kept(resource("S3::Bucket", BucketName="made-up-results"))}
