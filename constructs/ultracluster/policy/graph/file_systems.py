"""FSx for Lustre file systems and the data repository associations that belong to them."""

from __future__ import annotations

from ultracluster.policy.states import NotKnown
from ultracluster.policy.view import Assembly, Resource
from ultracluster.policy.world import remembered

__all__ = ["ASSOCIATION", "FILE_SYSTEM", "associations_of", "file_system_of", "is_lustre", "lustre_file_systems"]

FILE_SYSTEM = "AWS::FSx::FileSystem"
ASSOCIATION = "AWS::FSx::DataRepositoryAssociation"


def is_lustre(file_system: Resource) -> bool:
    """Whether a file system is FSx for Lustre.

    Raises:
        NotKnown: its type is not known.
    """
    return file_system.get("FileSystemType").text("") == "LUSTRE"


def lustre_file_systems(assembly: Assembly) -> list[Resource]:
    """The Lustre file systems of an assembly; one whose type is not known is left out."""
    found: list[Resource] = []
    for file_system in assembly.resources(FILE_SYSTEM):
        kind = file_system.get("FileSystemType")
        with kind.judged_apart():
            if is_lustre(file_system):
                found.append(file_system)
    return found


def file_system_of(association: Resource) -> Resource | None:
    """The file system of an association; None when it is one of elsewhere, named by a literal id.

    Raises:
        NotKnown: it is not known which.
    """
    return association.get("FileSystemId").resource(FILE_SYSTEM)


@remembered
def associations_of(file_system: Resource) -> list[Resource]:
    """The associations of a file system, in the order of the template."""
    found: list[Resource] = []
    for association in file_system.referrers(ASSOCIATION):
        try:
            if file_system_of(association) == file_system:
                found.append(association)
        except NotKnown:
            continue  # it names the file system elsewhere, not as its own
    return found
