"""The plan of a shared home: an EFS file system for home directories, code and small shared data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from ultracluster.facts.efs import efs_facts
from ultracluster.findings import raise_if_errors
from ultracluster.plan.decision import Decision
from ultracluster.plan.home_rules import check_home, check_home_clients
from ultracluster.values import dataclass

if TYPE_CHECKING:
    from ultracluster.findings import Finding

__all__ = ["AccessPoint", "HomePlan", "HomeRequest", "check_home", "check_home_clients", "plan_home"]

RemovalChoice = Literal["retain", "destroy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPoint:
    """A directory that a container or a job sees as the root, as one fixed user.

    Attributes:
        name: the user's stable name.
        path: directory on the file system; at most four levels and 100 characters.
        uid: POSIX user of every operation, also the owner of the directory.
        gid: POSIX group of every operation, also the group of the directory.
        permissions: mode of the directory when it is made, in octal.
    """

    name: str
    path: str
    uid: int
    gid: int
    permissions: str = "0750"


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeRequest:
    """What is asked.

    Attributes:
        name: the user's stable name.
        availability_zones: zones that get a mount target; every zone of every fleet belongs here.
        throughput_mode: `elastic` unless said otherwise: it follows the load, while bursting is tied to the stored size
            and so is slowest on a new, empty file system.
        provisioned_throughput_mibps: 1 to 3414 MiB/s, with `provisioned` and only then.
        performance_mode: `generalPurpose` (lowest latency) or `maxIO`.
        one_zone: keep the data in this one zone; cheaper, gone with the zone.
        customer_key: whether a customer-managed KMS key is given; the file system is encrypted either way.
        infrequent_access_after_days: days without access before a file moves to Infrequent Access, `None` for never.
        archive_after_days: days without access before a file moves to Archive, `None` for never; only with `elastic`.
        backup: daily backups by AWS Backup; on, because home directories hold work that exists nowhere else.
        access_points: directories for containers or jobs.
        mount_access_point: name of the access point that fleets mount; `None` for the whole file system, so that each
            user keeps an identity of their own.
        mount_path: directory on the nodes. Not `/home` itself, which would hide the image's own users.
        purpose: what lies on it.
        removal_policy: what becomes of it when it leaves the template; `retain` unless said otherwise.
    """

    name: str
    availability_zones: tuple[str, ...]
    throughput_mode: str = "elastic"
    provisioned_throughput_mibps: float | None = None
    performance_mode: str = "generalPurpose"
    one_zone: str | None = None
    customer_key: bool = False
    infrequent_access_after_days: int | None = 30
    archive_after_days: int | None = 90
    backup: bool = True
    access_points: tuple[AccessPoint, ...] = ()
    mount_access_point: str | None = None
    mount_path: str = "/home/shared"
    purpose: Literal["home", "data", "checkpoints"] = "home"
    removal_policy: RemovalChoice = "retain"


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePlan:
    """What was decided; fields and units as in `HomeRequest`.

    Attributes:
        lifecycle: pairs of the life-cycle transition and its value, as the API spells them.
        mount_options: options of the client's mount.
    """

    name: str
    availability_zones: tuple[str, ...]
    throughput_mode: str
    provisioned_throughput_mibps: float | None
    performance_mode: str
    one_zone: str | None
    lifecycle: tuple[tuple[str, str], ...]
    backup: bool
    access_points: tuple[AccessPoint, ...]
    mount_access_point: str | None
    mount_path: str
    mount_options: tuple[str, ...]
    purpose: str
    removal_policy: RemovalChoice
    port: int
    decisions: tuple[Decision, ...]
    warnings: tuple[Finding, ...]


def plan_home(request: HomeRequest, *, subject: str) -> HomePlan:
    """Decide.

    Raises:
        FindingsError: with every fault of the request.
    """
    warnings = raise_if_errors(check_home(request, subject=subject))
    return HomePlan(
        name=request.name,
        availability_zones=request.availability_zones,
        throughput_mode=request.throughput_mode,
        provisioned_throughput_mibps=request.provisioned_throughput_mibps,
        performance_mode=request.performance_mode,
        one_zone=request.one_zone,
        lifecycle=tuple(_lifecycle(request)),
        backup=request.backup,
        access_points=request.access_points,
        mount_access_point=request.mount_access_point,
        mount_path=request.mount_path,
        mount_options=efs_facts().mount_options,
        purpose=request.purpose,
        removal_policy=request.removal_policy,
        port=efs_facts().port,
        decisions=tuple(_decisions(request, subject)),
        warnings=warnings,
    )


def _lifecycle(request: HomeRequest) -> Iterator[tuple[str, str]]:
    def after(days: int) -> str:
        return f"AFTER_{days}_DAY" if days == 1 else f"AFTER_{days}_DAYS"

    if request.infrequent_access_after_days is not None:
        yield "TransitionToIA", after(request.infrequent_access_after_days)
        # What is read again is likely to be read often: it goes back instead of being paid for by every read.
        yield "TransitionToPrimaryStorageClass", "AFTER_1_ACCESS"
    if request.archive_after_days is not None:
        yield "TransitionToArchive", after(request.archive_after_days)


def _decisions(request: HomeRequest, subject: str) -> Iterator[Decision]:
    reasons = {
        "elastic": "elastic follows the load; bursting is tied to the stored size and slowest when the system is new",
        "bursting": "asked for; its throughput grows with the stored size",
        "provisioned": "asked for; paid for whether used or not",
    }
    yield Decision(
        subject=f"{subject}.throughput_mode", value=request.throughput_mode, because=reasons[request.throughput_mode]
    )
    yield Decision(
        subject=f"{subject}.mount_targets",
        value=", ".join(request.availability_zones),
        because="a client reaches EFS through the mount target of its own zone without transfer between zones",
    )
    yield Decision(
        subject=f"{subject}.transport",
        value="TLS only",
        because="the file-system policy refuses a mount without TLS, and access that passes by the mount targets",
    )
