"""One small reader per resource type: what its service says of every resource of the type, keyed by physical id."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ultracluster.local.clients import Clients

__all__ = ["READERS", "Reader"]

_DATA = Path(__file__).with_name("readers.json")

Details = dict[str, Mapping[str, Any]]
Reader = Callable[[Clients], Details]


def _simple(service: str, operation: str, key: str, identifier: str, shown: Mapping[str, str]) -> Reader:
    """A reader of one list operation; `shown` maps the words of the inventory to members of the answer."""

    def read(clients: Clients) -> Details:
        items = clients.pages(service, operation, key)
        return {
            item[identifier]: {
                word: item[member] for word, member in shown.items() if item.get(member) not in (None, "")
            }
            for item in items
            if identifier in item
        }

    return read


def _launch_templates(clients: Clients) -> Details:
    found: Details = {}
    for template in clients.pages("ec2", "describe_launch_templates", "LaunchTemplates"):
        identifier = template["LaunchTemplateId"]
        (latest,) = clients("ec2").describe_launch_template_versions(LaunchTemplateId=identifier, Versions=["$Latest"])[
            "LaunchTemplateVersions"
        ]
        data = latest["LaunchTemplateData"]
        interfaces = data.get("NetworkInterfaces", [])
        found[identifier] = {
            **({"instance_type": data["InstanceType"]} if "InstanceType" in data else {}),
            "version": latest["VersionNumber"],
            "interfaces": len(interfaces),
            "efa_interfaces": sum(
                1 for interface in interfaces if interface.get("InterfaceType", "").startswith("efa")
            ),
        }
    return found


def _groups(clients: Clients) -> Details:
    return {
        group["AutoScalingGroupName"]: {
            "desired": group["DesiredCapacity"],
            "min": group["MinSize"],
            "max": group["MaxSize"],
            "listed_instances": len(group["Instances"]),
        }
        for group in clients.pages("autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups")
    }


def _security_groups(clients: Clients) -> Details:
    return {
        group["GroupId"]: {
            "ingress_rules": len(group["IpPermissions"]),
            "egress_rules": len(group["IpPermissionsEgress"]),
        }
        for group in clients.pages("ec2", "describe_security_groups", "SecurityGroups")
    }


def _file_systems(clients: Clients) -> Details:
    found: Details = {}
    for system in clients.pages("fsx", "describe_file_systems", "FileSystems"):
        lustre = system.get("LustreConfiguration", {})
        found[system["FileSystemId"]] = {
            "type": system["FileSystemType"],
            "deployment": lustre.get("DeploymentType", ""),
            "capacity_gib": system["StorageCapacity"],
            "mount_name": lustre.get("MountName", ""),
            "status": system["Lifecycle"],
        }
    return found


def _buckets(clients: Clients) -> Details:
    found: Details = {}
    for bucket in clients("s3").list_buckets()["Buckets"]:
        versions = clients("s3").get_bucket_versioning(Bucket=bucket["Name"]).get("Status", "off")
        found[bucket["Name"]] = {"versions": versions.lower()}
    return found


def _queues(clients: Clients) -> Details:
    found: Details = {}
    for url in clients.pages("sqs", "list_queues", "QueueUrls"):
        name = str(url)
        attributes = clients("sqs").get_queue_attributes(QueueUrl=name, AttributeNames=["All"])["Attributes"]
        found[name] = {"name": name.rsplit("/", 1)[1], "messages": int(attributes["ApproximateNumberOfMessages"])}
    return found


def _alarms(clients: Clients) -> Details:
    alarms = clients("cloudwatch").describe_alarms(AlarmTypes=["MetricAlarm", "CompositeAlarm"])
    found: Details = {}
    for alarm in alarms["MetricAlarms"]:
        metric = alarm.get("MetricName") or "an expression"
        found[alarm["AlarmName"]] = {
            "metric": metric,
            "state": alarm["StateValue"],
            "actions": len(alarm["AlarmActions"]),
        }
    for alarm in alarms["CompositeAlarms"]:
        found[alarm["AlarmName"]] = {
            "rule": alarm["AlarmRule"],
            "state": alarm["StateValue"],
            "actions": len(alarm["AlarmActions"]),
        }
    return found


def _listed() -> Iterator[tuple[str, Reader]]:
    for kind, row in json.loads(_DATA.read_text(encoding="utf-8"))["readers"].items():
        yield kind, _simple(row["service"], row["operation"], row["items"], row["id"], row["shown"])


READERS: Mapping[str, Reader] = {
    **dict(_listed()),
    "AWS::AutoScaling::AutoScalingGroup": _groups,
    "AWS::CloudWatch::Alarm": _alarms,
    "AWS::CloudWatch::CompositeAlarm": _alarms,
    "AWS::EC2::LaunchTemplate": _launch_templates,
    "AWS::EC2::SecurityGroup": _security_groups,
    "AWS::FSx::FileSystem": _file_systems,
    "AWS::S3::Bucket": _buckets,
    "AWS::SQS::Queue": _queues,
}
"""The types whose service is asked; every other type is looked up in Cloud Control."""
