"""Changes that break rules on file systems, volumes and the state of stacks."""

from __future__ import annotations

from support.mutations.tools import Change, Mutation, Place, attribute, drop, each, needs, one_of, put

_FSX, _LINK, _EFS = "FSx::FileSystem", "FSx::DataRepositoryAssociation", "EFS::FileSystem"
_LT, _BUCKET, _INGRESS = "EC2::LaunchTemplate", "S3::Bucket", "EC2::SecurityGroupIngress"
_LUSTRE = "LustreConfiguration"


def _capacity(*values: int) -> Change:
    def change(place: Place) -> None:
        needs("StorageCapacity" in place.properties)
        place.properties["StorageCapacity"] = place.pick.choice(values)

    return change


def _has_fabric(place: Place) -> None:
    needs(place.at(_LUSTRE).get("EfaEnabled"))


def _without_fabric(place: Place) -> None:
    place.at(_LUSTRE).pop("EfaEnabled", None)


def _same_directory(place: Place) -> None:
    others = [
        body["Properties"]["FileSystemPath"]
        for name, body in place.template["Resources"].items()
        if body["Type"] == f"AWS::{_LINK}" and name != place.logical_id
    ]
    needs(others)
    place.properties["FileSystemPath"] = f"{others[0]}/{place.pick.choice(['raw', 'a/b'])}"


def _same_prefix(place: Place) -> None:
    others = [
        body["Properties"]["DataRepositoryPath"]
        for name, body in place.template["Resources"].items()
        if body["Type"] == f"AWS::{_LINK}" and name != place.logical_id
    ]
    needs(others)
    place.properties["DataRepositoryPath"] = others[0]


def _in_no_order(place: Place) -> None:
    needs(place.body.pop("DependsOn", None))


def _scratch(place: Place) -> None:
    _has_fabric(place)
    place.properties[_LUSTRE] = {"DeploymentType": "SCRATCH_1"}
    for key in ("KmsKeyId", "FileSystemTypeVersion"):
        place.properties.pop(key, None)
    place.properties["StorageCapacity"] = 3600


def _old_by_default(place: Place) -> None:
    needs("KmsKeyId" in place.properties)
    place.properties[_LUSTRE] = {"DeploymentType": "SCRATCH_2"}
    place.properties["StorageCapacity"] = 2400
    for key in ("KmsKeyId", "FileSystemTypeVersion"):
        del place.properties[key]


def _linked_in_itself(place: Place) -> None:
    needs("KmsKeyId" in place.properties)
    place.properties[_LUSTRE] = {"DeploymentType": "SCRATCH_2", "ImportPath": "s3://made-up-bucket/in"}
    del place.properties["KmsKeyId"]
    place.properties["StorageCapacity"] = 2400


def _deletions_without_versions(place: Place) -> None:
    needs("datasets" in str(place.at("DataRepositoryPath")))
    place.properties["S3"]["AutoExportPolicy"] = {"Events": ["DELETED"]}


def _has_image(place: Place) -> None:
    needs("ImageId" in place.data)


def _older_ports(place: Place) -> None:
    needs(place.properties.get("FromPort") == 1018 and "Servers" in str(place.at("GroupId")))
    place.properties["FromPort"] = 1021


def _nfs_closed(place: Place) -> None:
    needs(place.properties.get("FromPort") == 2049)
    place.properties.update(FromPort=2050, ToPort=2050)


def _nfs_to_the_world(place: Place) -> None:
    needs(place.properties.get("FromPort") in (988, 2049))
    place.add("World", "EC2::SecurityGroupIngress", **{**place.properties, "CidrIp": "0.0.0.0/0"})
    del place.template["Resources"]["World"]["Properties"]["SourceSecurityGroupId"]


def _volume(**values: object) -> Change:
    def change(place: Place) -> None:
        volume = place.at("LaunchTemplateData", "BlockDeviceMappings", 0, "Ebs")
        volume.update(values)
        for key in [key for key, value in values.items() if value is None]:
            volume.pop(key)

    return change


def _other_root(place: Place) -> None:
    _has_image(place)
    place.at("LaunchTemplateData", "BlockDeviceMappings", 0)["DeviceName"] = "/dev/sda1"


def _one_port_between(place: Place) -> None:
    groups = str([place.at("GroupId"), place.properties.get("SourceSecurityGroupId")])
    # Of an EFA-enabled file system clients beside the fleets carry a group of their own.
    needs(place.properties.get("IpProtocol") == "-1" and "Servers" in groups and "GroupsClients" not in groups)
    place.properties.update(IpProtocol="tcp", FromPort=988, ToPort=988)


def _one_target_less(place: Place) -> None:
    targets = [body for body in place.template["Resources"].values() if body["Type"] == "AWS::EFS::MountTarget"]
    needs(len(targets) > 1)
    del place.template["Resources"][place.logical_id]


def _lasting(change: Change) -> Change:
    """A change of a persistent Lustre file system."""

    def changed(place: Place) -> None:
        needs(str(place.properties.get(_LUSTRE, {}).get("DeploymentType")).startswith("PERSISTENT"))
        change(place)

    return changed


STORAGE = (
    Mutation("LUS-001", _FSX, each(_without_fabric, _capacity(3600, 1800, 2500))),
    Mutation("LUS-002", _FSX, _lasting(put(_LUSTRE, "PerUnitStorageThroughput", 333))),
    Mutation("LUS-003", _FSX, _lasting(put("StorageType", "HDD"))),
    Mutation("LUS-004", _FSX, _lasting(put(_LUSTRE, "ImportPath", "s3://made-up-bucket/in")), frozenset({"DRA-007"})),
    Mutation(
        "LUS-005",
        _FSX,
        _lasting(put("FileSystemTypeVersion", "2.10")),
        frozenset({"LUS-006", "LUS-007", "DRA-001"}),
        at=_FSX,
    ),
    Mutation("LUS-006", _FSX, _old_by_default, frozenset({"DRA-001", "LUS-010"})),
    Mutation("LUS-007", _FSX, each(_has_fabric, drop(_LUSTRE, "MetadataConfiguration"))),
    Mutation("LUS-008", _FSX, each(_has_fabric, _capacity(2400, 7200))),
    Mutation("LUS-009", _INGRESS, _older_ports, at="*"),
    Mutation("LUS-010", _INGRESS, _one_port_between, at="*"),
    Mutation(
        "LUS-014",
        _FSX,
        _lasting(put("StorageType", "INTELLIGENT_TIERING")),
        frozenset({"LUS-001", "LUS-003", "LUS-008", "DRA-001"}),
    ),
    Mutation(
        "LUS-015", _FSX, _lasting(put(_LUSTRE, "MetadataConfiguration", {"Mode": "USER_PROVISIONED", "Iops": 5000}))
    ),
    Mutation("LUS-017", _FSX, _lasting(put(_LUSTRE, "AutomaticBackupRetentionDays", 7))),
    Mutation(
        "LUS-018", _FSX, _lasting(one_of(attribute("DeletionPolicy", None), attribute("UpdateReplacePolicy", "Delete")))
    ),
    Mutation("LUS-020", _FSX, lambda place: place.at("SubnetIds").append("subnet-0123456789abcdef0")),
    Mutation("LUS-022", _FSX, _lasting(put(_LUSTRE, "LogConfiguration", "Level", "INFO"))),
    Mutation("DRA-001", _FSX, _scratch, frozenset({"LUS-006", "LUS-010", "LUS-022"}), at=_LINK),
    Mutation("DRA-007", _FSX, _linked_in_itself, frozenset({"LUS-006", "LUS-010"})),
    Mutation("DRA-003", _LINK, _same_directory, at="*"),
    Mutation("DRA-004", _LINK, _same_prefix, frozenset({"DRA-010", "DRA-011"}), at="*"),
    Mutation("DRA-004", _LINK, put("DataRepositoryPath", "https://made-up.example/data"), frozenset({"DRA-009"})),
    Mutation("DRA-005", _LINK, _in_no_order, at="*"),
    Mutation("DRA-008", _LINK, put("S3", {"AutoImportPolicy": {"Events": ["NEW_CHANGED"]}}), frozenset({"DRA-006"})),
    Mutation("DRA-010", _LINK, _deletions_without_versions),
    Mutation("EFS-002", "EFS::MountTarget", _one_target_less, at="*"),
    Mutation("EFS-003", _INGRESS, _nfs_closed, at="*"),
    Mutation("EFS-005", _EFS, drop("Encrypted")),
    Mutation("EFS-006", _EFS, put("ThroughputMode", "provisioned")),
    Mutation("NET-010", _INGRESS, _nfs_to_the_world, at="*"),
    Mutation("TPL-006", _EFS, one_of(attribute("DeletionPolicy", "Delete"), attribute("UpdateReplacePolicy", None))),
    Mutation("IMG-006", _LT, _other_root),
    Mutation("IMG-007", _LT, each(_has_image, _volume(VolumeSize=75))),
    Mutation("IMG-008", _LT, _volume(Throughput=1000, Iops=3000)),
    Mutation("IMG-009", _LT, one_of(_volume(Encrypted=False), _volume(Encrypted=None))),
    Mutation("CST-010", _LT, _volume(DeleteOnTermination=False)),
)
