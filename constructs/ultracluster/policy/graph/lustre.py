"""The settings of a Lustre file system, property by property, in the form in which the plan judges them.

A template may leave one property open and still be wrong in another. So a rule reads only the properties that decide
it, and of what the plan finds it keeps the findings of its own id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ultracluster.facts.lustre import deployment, deployments, lustre_facts
from ultracluster.plan.lustre_deployments import AUTOMATIC, DeploymentFields, ReadCache
from ultracluster.plan.lustre_shape import check_shape
from ultracluster.policy.graph.file_systems import associations_of, is_lustre
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

if TYPE_CHECKING:
    from ultracluster.facts.lustre import DeploymentFacts
    from ultracluster.findings import Finding

__all__ = ["Lustre", "judged_as", "lustre_of"]

LINKS_INSIDE = ("ImportPath", "ExportPath", "AutoImportPolicy", "ImportedFileChunkSize")
"""Properties that link the file system itself to S3, the older form."""

_SETTINGS = "LustreConfiguration"
_METADATA = (_SETTINGS, "MetadataConfiguration")
_READ_CACHE = (_SETTINGS, "DataReadCacheConfiguration")
# Where the template writes what the plan calls by that name.
_PLACES: Mapping[str, tuple[str, ...]] = {
    "deployment_type": (_SETTINGS, "DeploymentType"),
    "storage_type": ("StorageType",),
    "capacity_gib": ("StorageCapacity",),
    "throughput_mbps_per_tib": (_SETTINGS, "PerUnitStorageThroughput"),
    "throughput_capacity_mbps": (_SETTINGS, "ThroughputCapacity"),
    "file_system_type_version": ("FileSystemTypeVersion",),
    "metadata_iops": (*_METADATA, "Iops"),
    "efa": (_SETTINGS, "EfaEnabled"),
    "drive_cache": (_SETTINGS, "DriveCacheType"),
    "read_cache": _READ_CACHE,
    "read_cache.mode": (*_READ_CACHE, "SizingMode"),
    "read_cache.size_gib": (*_READ_CACHE, "SizeGiB"),
    "import_path": (_SETTINGS, "ImportPath"),
    "encryption_key": ("KmsKeyId",),
    "log_level": (_SETTINGS, "LogConfiguration", "Level"),
    "backup_retention_days": (_SETTINGS, "AutomaticBackupRetentionDays"),
    "backup_start_time": (_SETTINGS, "DailyAutomaticBackupStartTime"),
    "copy_tags_to_backups": (_SETTINGS, "CopyTagsToBackups"),
}
# Words of the plan as they read in a template.
_WORDS: Mapping[str, str] = {
    **{name: keys[-1] for name, keys in _PLACES.items() if "." not in name and name != "efa"},
    "metadata_iops": "MetadataConfiguration",
    "drop efa": "drop EfaEnabled",
    ' "automatic"': " Mode AUTOMATIC",
    " (data_repositories)": "",
}


@dataclass(frozen=True, slots=True)
class Lustre:
    """A Lustre file system whose properties are read when they are asked for.

    Attributes:
        file_system: the resource.
    """

    file_system: Resource

    def at(self, name: str) -> Value:
        """The property behind a name of the plan, `capacity_gib` or `.capacity_gib`."""
        return self.file_system.get(*_PLACES[name.removeprefix(".")])

    @property
    def from_backup(self) -> bool:
        """Whether it is restored from a backup, whose settings hold where none are written."""
        return self.file_system.get("BackupId").exists

    @property
    def deployment_type(self) -> str:
        """The deployment type.

        Raises:
            NotKnown: not known, none that the facts have, or that of a backup.
        """
        return self._one_of("deployment_type", {row.deployment_type for row in deployments()}, "SCRATCH_1")

    @property
    def storage_type(self) -> str:
        """The storage type; raises like `deployment_type`."""
        return self._one_of("storage_type", {row.storage_type for row in deployments()}, "SSD")

    @property
    def facts(self) -> DeploymentFacts | None:
        """The pair of both; None when the service has no such pair.

        Raises:
            NotKnown: one of them is not known.
        """
        return deployment(self.deployment_type, self.storage_type)

    @property
    def is_persistent(self) -> bool:
        """Whether its data is replicated; a backup is always one of a persistent file system.

        Raises:
            NotKnown: the deployment is not known.
        """
        if self.from_backup and not self.at("deployment_type").exists:
            return True
        wanted = self.deployment_type
        return any(row.persistent for row in deployments() if row.deployment_type == wanted)

    @property
    def metadata(self) -> Value:
        """The metadata configuration."""
        return self.file_system.get(*_METADATA)

    @property
    def version(self) -> str:
        """The server version that it gets, the default one where none is written.

        Raises:
            NotKnown: not known, or that of a backup.
        """
        written = self.at("file_system_type_version")
        if written.exists:
            return written.text()
        facts, limits = self.facts, lustre_facts()
        if facts is None or self.from_backup:
            raise NotKnown("the server version of a backup or of an unknown deployment")
        if limits.default_version in facts.versions:
            return limits.default_version
        return limits.metadata_version if self.metadata.exists else facts.versions[0]

    @property
    def serves_efa(self) -> bool:
        """Whether EFA is enabled.

        Raises:
            NotKnown: not known.
        """
        return self.at("efa").boolean(False)

    @property
    def links_inside(self) -> list[Value]:
        """What links the file system itself to S3."""
        settings = self.file_system.get(_SETTINGS)
        return [value for name in LINKS_INSIDE if (value := settings[name]).exists]

    @property
    def is_linked(self) -> bool:
        """Whether it is linked to S3, by itself or by an association of the assembly."""
        return bool(self.links_inside or associations_of(self.file_system))

    def fields(self, *names: str) -> DeploymentFields:
        """The flat form with these properties; all others count as absent.

        Args:
            names: of the properties beside deployment and storage type, as `DeploymentFields` calls them.

        Raises:
            NotKnown: one of them is not known.
        """
        read: dict[str, Any] = {name: _READERS[name](self) for name in names}
        return DeploymentFields(deployment_type=self.deployment_type, storage_type=self.storage_type, **read)

    def judged(self, rule_id: str, *names: str, version: str = "", about: str = "") -> Iterator[Problem]:
        """What the plan finds about the shape under one id, judged by some properties.

        Args:
            rule_id: the id.
            names: the properties that decide, as in `fields`.
            version: the server version, where it decides.
            about: only findings about this property; all when it is left empty.

        Raises:
            NotKnown: one of them is not known.
        """
        found = check_shape(self.fields(*names), version, "")
        return judged_as(rule_id, (each for each in found if each.subject.startswith(f".{about}")), self)

    def _one_of(self, name: str, known: set[str], default: str) -> str:
        value = self.at(name)
        if not value.exists and self.from_backup:
            raise NotKnown(f"{_PLACES[name][-1]} of a backup")
        text = value.text(default)
        if text not in known:
            raise NotKnown(f"{_PLACES[name][-1]} {value.shown}")
        return text


def judged_as(rule_id: str, findings: Iterable[Finding], lustre: Lustre) -> Iterator[Problem]:
    """Findings of one id as problems, in the words of a template."""
    return from_findings((found for found in findings if found.rule_id == rule_id), lustre.at, names=_WORDS)


@remembered
def lustre_of(file_system: Resource) -> Lustre | None:
    """The settings of a file system; None when it is not one of Lustre.

    Raises:
        NotKnown: its type is not known.
    """
    return Lustre(file_system) if is_lustre(file_system) else None


def _metadata_iops(lustre: Lustre) -> int | str | None:
    if not lustre.metadata.exists:
        return None
    return lustre.at("metadata_iops").integer(AUTOMATIC)


def _read_cache(lustre: Lustre) -> ReadCache | None:
    if not lustre.at("read_cache").exists:
        return None
    mode: Any = lustre.at("read_cache.mode").text()
    return ReadCache(mode=mode, size_gib=lustre.at("read_cache.size_gib").integer(None))


def _integer(name: str) -> Callable[[Lustre], int | None]:
    return lambda lustre: lustre.at(name).integer(None)


_READERS: Mapping[str, Callable[[Lustre], Any]] = {
    "capacity_gib": _integer("capacity_gib"),
    "throughput_mbps_per_tib": _integer("throughput_mbps_per_tib"),
    "throughput_capacity_mbps": _integer("throughput_capacity_mbps"),
    "metadata_iops": _metadata_iops,
    "efa": lambda lustre: lustre.serves_efa,
    "drive_cache": lambda lustre: lustre.at("drive_cache").text(None),
    "read_cache": _read_cache,
}
