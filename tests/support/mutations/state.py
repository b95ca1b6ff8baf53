"""More changes that break rules on file systems, on what they are linked with, and on whole templates."""

from __future__ import annotations

import json
from typing import Any

from support.mutations.tools import Body, Change, Mutation, Place, attribute, each, needs, one_of, put

_FSX, _LINK, _EFS = "FSx::FileSystem", "FSx::DataRepositoryAssociation", "EFS::FileSystem"
_LT, _ASG, _BUCKET, _KEY = "EC2::LaunchTemplate", "AutoScaling::AutoScalingGroup", "S3::Bucket", "KMS::Key"
_LUSTRE = "LustreConfiguration"
_KEPT = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}


def _copied(place: Place) -> Body:
    made: Body = json.loads(json.dumps(place.body))
    return made


def _many_links(place: Place) -> None:
    before = place.others(_LINK)[-1][0]  # the references make them in this order
    for at in range(8):
        more = _copied(place)
        more["Properties"] |= {"FileSystemPath": f"/more{at}", "DataRepositoryPath": f"s3://made-up-{at}/data"}
        more["DependsOn"] = [before]
        before = f"More{at}"
        place.template["Resources"][before] = more


def _linked_bucket(place: Place) -> Body:
    """The bucket that an association links, of the same template."""
    named = [
        name for name, _ in place.others(_BUCKET) if f'"Ref": "{name}"' in json.dumps(place.at("DataRepositoryPath"))
    ]
    needs(named)
    found: Body = place.template["Resources"][named[0]]
    return {"name": named[0], **found}


def _emptied(place: Place) -> None:
    bucket = {"Ref": _linked_bucket(place)["name"]}
    place.add("Emptier", "Custom::S3AutoDeleteObjects", ServiceToken="arn", BucketName=bucket)


def _lifecycle(**rule: Any) -> Change:
    def change(place: Place) -> None:
        rules = _linked_bucket(place)["Properties"].setdefault("LifecycleConfiguration", {}).setdefault("Rules", [])
        rules.insert(place.pick.randint(0, len(rules)), {"Status": "Enabled", **rule})

    return change


def _key_without_links(place: Place) -> None:
    needs(place.others(_LINK))
    statements = place.at("KeyPolicy", "Statement")
    kept = [each for each in statements if each.get("Sid") != "LustreLinks"]
    needs(len(kept) < len(statements))
    place.properties["KeyPolicy"]["Statement"] = kept


def _vpc_of(place: Place) -> Any:
    groups = [body for _, body in place.others("EC2::SecurityGroup")]
    needs(groups and "GetStackOutput" in str(groups[0]["Properties"]["VpcId"]))
    return groups[0]["Properties"]["VpcId"]


def _is_lustre(place: Place) -> None:
    needs(place.properties.get("FileSystemType") == "LUSTRE")


def _with_fabric(place: Place) -> None:
    needs(place.at(_LUSTRE).get("EfaEnabled"))


def _in_another_zone(place: Place) -> None:
    _with_fabric(place)
    place.add(
        "Elsewhere", "EC2::Subnet", VpcId=_vpc_of(place), CidrBlock="10.10.200.0/24", AvailabilityZone="eu-west-1c"
    )
    place.properties["SubnetIds"] = [{"Ref": "Elsewhere"}]


def _in_another_vpc(place: Place) -> None:
    _is_lustre(place)
    _vpc_of(place)
    place.add("Apart", "EC2::VPC", CidrBlock="10.99.0.0/16", EnableDnsHostnames=True, EnableDnsSupport=True)
    subnet = {"CidrBlock": "10.99.0.0/24", "AvailabilityZone": "eu-west-1c", "VpcId": {"Ref": "Apart"}}
    place.add("Elsewhere", "EC2::Subnet", **subnet)
    place.properties["SubnetIds"] = [{"Ref": "Elsewhere"}]


def _group_of_another_vpc(place: Place) -> None:
    needs("VpcId" in place.properties)
    named = f'"{place.logical_id}"'
    needs(any(named in json.dumps(body["Properties"].get("SecurityGroupIds")) for _, body in place.others(_FSX)))
    place.add("Apart", "EC2::VPC", CidrBlock="10.99.0.0/16")
    place.properties["VpcId"] = {"Ref": "Apart"}


def _scratch_with_a_key(place: Place) -> None:
    needs("KmsKeyId" in place.properties)
    place.properties[_LUSTRE] = {"DeploymentType": "SCRATCH_2", "LogConfiguration": {"Level": "WARN_ERROR"}}
    place.properties["StorageCapacity"] = 2400


def _beside_a_fleet(place: Place) -> None:
    place.add("Shared", _EFS, Encrypted=True, FileSystemTags=[{"Key": "cost-centre", "Value": "x"}])
    place.template["Resources"]["Shared"] |= _KEPT


def _section(name: str, value: object) -> Change:
    def change(place: Place) -> None:
        needs(name not in place.template)
        place.template[name] = value

    return change


def _macro_inside(place: Place) -> None:
    place.properties["Fn::Transform"] = {"Name": "OwnMacro", "Parameters": {"Size": "large"}}


def _gone(place: Place) -> None:
    del place.template["Resources"][place.logical_id]


def _version_kept(place: Place) -> None:
    document = json.loads(place.at("Data"))
    document["phases"][0]["steps"].append({"name": "Note", "action": "ExecuteBash", "inputs": {"commands": ["true"]}})
    place.properties["Data"] = json.dumps(document)


_NAG = {"cdk_nag": {"rules_to_suppress": [{"id": "AwsSolutions-S1"}]}}
_CHECKOV = {"checkov": {"skip": [{"id": "CKV_AWS_18", "comment": " "}]}}

STATE = (
    Mutation("DRA-002", _LINK, _many_links, at=_LINK),
    Mutation(
        "DRA-006",
        _LINK,
        each(
            lambda place: needs("made-up-results" in str(place.at("DataRepositoryPath"))),
            put("S3", "AutoImportPolicy", {"Events": ["NEW"]}),
        ),
    ),
    Mutation("DRA-009", _LINK, _emptied, frozenset({"TPL-006"})),
    Mutation("DRA-011", _LINK, _lifecycle(ExpirationInDays=30)),
    Mutation("DRA-011", _LINK, _lifecycle(Transitions=[{"StorageClass": "GLACIER", "TransitionInDays": 90}])),
    Mutation("DRA-012", _KEY, _key_without_links),
    Mutation("LUS-011", _FSX, _in_another_zone),
    Mutation("LUS-016", _FSX, _scratch_with_a_key, frozenset({"LUS-010"})),
    Mutation(
        "LUS-019",
        _FSX,
        each(_is_lustre, lambda place: place.at("SecurityGroupIds").append("sg-0123456789abcdef0")),
        frozenset({"NET-011"}),
    ),
    Mutation("NET-009", _FSX, _in_another_vpc, frozenset({"LUS-011", "NET-013"})),
    Mutation("NET-013", "EC2::SecurityGroup", _group_of_another_vpc, at="*"),
    Mutation("EFS-001", _EFS, put("AvailabilityZoneName", "eu-west-1c")),
    Mutation(
        "EFS-008",
        _FSX,
        each(
            lambda place: needs(place.properties.get("FileSystemType") == "OPENZFS"),
            put("OpenZFSConfiguration", "ThroughputCapacity", "64"),
        ),
    ),
    Mutation(
        "EFS-008",
        _FSX,
        each(
            lambda place: needs(place.properties.get("FileSystemType") == "OPENZFS"),
            lambda place: place.at("SubnetIds").append("subnet-0123456789abcdef0"),
        ),
    ),
    Mutation("TPL-007", _ASG, _beside_a_fleet, at=_EFS),
    Mutation("TPL-010", _BUCKET, one_of(attribute("Metadata", _NAG), attribute("Metadata", _CHECKOV))),
    Mutation("TPL-013", _BUCKET, _section("Transform", ["AWS::LanguageExtensions", "OwnMacro"]), at="*"),
    Mutation("TPL-013", _LT, _macro_inside, at="*"),
    # Over two versions.
    Mutation("IMG-001", "ImageBuilder::Component", _version_kept, is_update=True),
    Mutation("EKS-020", "EKS::Nodegroup", put("NodeRole", "arn:aws:iam::111122223333:role/other"), is_update=True),
    Mutation("EKS-020", "EKS::Nodegroup", put("CapacityType", "SPOT"), is_update=True),
    Mutation(
        "PCS-016", "PCS::ComputeNodeGroup", put("InstanceConfigs", [{"InstanceType": "p5en.48xlarge"}]), is_update=True
    ),
    Mutation("PLC-009", "EC2::PlacementGroup", put("Strategy", "spread"), is_update=True),
    Mutation("TPL-012", _FSX, put("StorageType", "HDD"), is_update=True),
    Mutation("TPL-012", _EFS, put("PerformanceMode", "maxIO"), is_update=True),
    Mutation("TPL-012", _BUCKET, put("BucketName", "made-up-name"), is_update=True),
    Mutation("TPL-012", "PCS::Cluster", put("Size", "LARGE"), is_update=True),
    Mutation("TPL-012", _KEY, _gone, is_update=True, at="*"),
)
