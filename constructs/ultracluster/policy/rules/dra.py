"""Rules on data repository associations: where they exist, their paths, order and events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ultracluster.plan.data_repository import DataRepositoryRequest, check_data_repositories
from ultracluster.plan.lustre_deployments import DeploymentFields
from ultracluster.plan.lustre_shape import check_shape
from ultracluster.policy.graph.data_links import Repository, events, repository, siblings
from ultracluster.policy.graph.dependencies import comes_after
from ultracluster.policy.graph.file_systems import ASSOCIATION, FILE_SYSTEM, associations_of, file_system_of
from ultracluster.policy.graph.lustre import judged_as, lustre_of
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

Read = Callable[[Resource], DataRepositoryRequest]
_ANY = DataRepositoryRequest(file_system_path="/", bucket="linked")
_WORDS = {
    "file_system_type_version": "FileSystemTypeVersion",
    'name a bucket of the cluster, or write "s3://bucket/prefix"': 'write "s3://bucket/prefix"',
}
_POLICIES = {"auto_import": "AutoImportPolicy", "auto_export": "AutoExportPolicy"}


def _at(association: Resource, subject: str) -> Value:
    name = subject.rpartition(".")[2]
    if name in _POLICIES:
        return association.get("S3", _POLICIES[name], "Events")
    return association.get("FileSystemPath" if name == "file_system_path" else "DataRepositoryPath")


def _judged(association: Resource, rule_id: str, requests: Sequence[DataRepositoryRequest]) -> Iterator[Problem]:
    """What the plan finds about the last of some associations."""
    last = f"[{len(requests) - 1}]."
    found = check_data_repositories(requests, None, version="", subject="")
    own = (each for each in found if each.rule_id == rule_id and each.subject.startswith(last))
    return from_findings(own, lambda subject: _at(association, subject), names=_WORDS)


def _with_earlier(association: Resource, read: Read) -> list[DataRepositoryRequest]:
    """An association behind those that stand before it; what cannot be read is noted as not judged."""
    requests: list[DataRepositoryRequest] = []
    for each in siblings(association):
        if each == association:
            break
        with each.properties.judged_apart():
            requests.append(read(each))
    return [*requests, read(association)]


@rule("UC-DRA-001", on=ASSOCIATION)
def file_system_can_be_linked(association: Resource) -> Iterator[Problem]:
    """The file system is of a kind that has associations."""
    value = association.get("FileSystemId")
    file_system = file_system_of(association)
    lustre = lustre_of(file_system) if file_system is not None else None
    if lustre is None:
        raise NotKnown(f"file system {value.shown} is not in the templates")
    found = check_data_repositories([_ANY], lustre.facts, version=lustre.version, subject="")
    for each in from_findings((one for one in found if one.rule_id == "UC-DRA-001"), lambda _: value, names=_WORDS):
        yield replace(each, message=f"{lustre.file_system}: {each.message}")


@rule("UC-DRA-002", on=ASSOCIATION)
def not_too_many(association: Resource) -> Iterator[Problem]:
    """A file system has a limited number of associations."""
    group = siblings(association)
    if group[-1] != association:
        return
    numbered = [replace(_ANY, file_system_path=f"/{at}", prefix=str(at)) for at in range(len(group))]
    found = check_data_repositories(numbered, None, version="", subject="")
    where = association.get("FileSystemId")
    yield from from_findings((each for each in found if each.rule_id == "UC-DRA-002"), lambda _: where)


@rule("UC-DRA-003", on=ASSOCIATION)
def directories_do_not_overlap(association: Resource) -> Iterator[Problem]:
    """A directory belongs to one association."""

    def read(each: Resource) -> DataRepositoryRequest:
        return replace(_ANY, file_system_path=each.get("FileSystemPath").text())

    if association.get("FileSystemPath").exists:
        yield from _judged(association, "UC-DRA-003", _with_earlier(association, read))


@rule("UC-DRA-004", on=ASSOCIATION)
def repositories_do_not_overlap(association: Resource) -> Iterator[Problem]:
    """What is linked is an S3 location, and no other association of the file system links it or a part of it."""
    value = association.get("DataRepositoryPath")
    own = repository(association) if value.exists else None
    if own is None:
        if value.exists:
            yield Problem(value, f"{value.shown} is no S3 location", 'write "s3://bucket/prefix"')
        return

    def read(each: Resource) -> DataRepositoryRequest:
        found = repository(each)
        if found is None:
            return replace(_ANY, bucket=str(each))  # reported where it stands
        return replace(_ANY, bucket=found.bucket, prefix=found.prefix, file_system_path=_path(each))

    yield from _judged(association, "UC-DRA-004", _with_earlier(association, read))
    for each in siblings(association):
        if each == association:
            return
        with value.judged_apart():
            _certainly_apart(own, repository(each))


def _path(association: Resource) -> str:
    return association.get("FileSystemPath").shown


def _certainly_apart(one: Repository, other: Repository | None) -> None:
    """Raise where two buckets may be the same one, under names of which one is not known."""
    if other is not None and one.bucket != other.bucket and not (one.is_literal and other.is_literal):
        if one.resource is not None and other.resource is not None:
            return
        nested = check_data_repositories(
            [replace(_ANY, prefix=one.prefix), replace(_ANY, prefix=other.prefix)], None, version="", subject=""
        )
        if any(found.rule_id == "UC-DRA-004" for found in nested):
            raise NotKnown(f"whether {one.bucket} and {other.bucket} are one bucket")


@rule("UC-DRA-005", on=ASSOCIATION)
def one_after_another(association: Resource) -> Iterator[Problem]:
    """The associations of a file system are made one after another."""
    for each in siblings(association):
        if each == association:
            return
        with association.properties.judged_apart():
            if not (comes_after(association, each) or comes_after(each, association)):
                message = f"is made at the same time as {each} of the same file system, and one of them may fail"
                yield Problem(association, message, f"let it depend on {each.logical_id} (DependsOn)")
                return


@rule("UC-DRA-007", on=FILE_SYSTEM)
def no_link_inside_beside_associations(file_system: Resource) -> Iterator[Problem]:
    """A file system with associations has no link of its own."""
    lustre = lustre_of(file_system)
    links = lustre.links_inside if lustre is not None else []
    if lustre is None or not links or not associations_of(file_system):
        return
    fields = DeploymentFields(deployment_type=lustre.deployment_type, import_path="linked")
    for problem in judged_as("UC-DRA-007", check_shape(fields, "", ""), lustre):
        yield from (replace(problem, where=link) for link in links)


@rule("UC-DRA-008", on=ASSOCIATION)
def events_exist(association: Resource) -> Iterator[Problem]:
    """The events of both directions are known ones, each once."""
    for name, policy in _POLICIES.items():
        with association.properties.judged_apart():
            listed = events(association, policy)
            request = replace(_ANY, auto_import=listed if name == "auto_import" else (), auto_export=())
            if name == "auto_export":
                request = replace(request, auto_export=listed)
            yield from _judged(association, "UC-DRA-008", [request])
