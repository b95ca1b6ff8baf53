"""Rules on volumes: the root device name, sizes, the numbers of gp3, encryption."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from ultracluster.facts.ebs import gp3
from ultracluster.facts.image_names import image_systems, is_dlami
from ultracluster.facts.images import recommended_root_gib
from ultracluster.plan.volumes import RootVolume, check_root_volume
from ultracluster.policy.graph.attached_groups import INSTANCE
from ultracluster.policy.graph.image_sources import LAUNCHED, RECIPE, launched_images, mappings, root_system
from ultracluster.policy.graph.launch_templates import LAUNCH_TEMPLATE, users_of
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import ASSEMBLY, rule
from ultracluster.policy.states import NotKnown, Reference
from ultracluster.policy.value import Value
from ultracluster.policy.view import Assembly, Resource

_VOLUME = "AWS::EC2::Volume"
_WORDS = {"raise iops": "raise Iops", "(or leave it out)": ""}


@rule("UC-IMG-006", on=(*LAUNCHED, RECIPE))
def root_under_its_name(resource: Resource) -> Iterator[Problem]:
    """The root volume is mapped under the root device name of the image."""
    names = [entry["DeviceName"] for entry in mappings(resource)]
    roots = {system.root_device_name for system in image_systems()}
    suspects = [name for name in names if name.text("") in roots]
    if not suspects:
        return
    system = root_system(resource)
    expected = system.root_device_name
    if all(name.text("") != expected for name in names):
        message = f"{suspects[0].shown} is not the root of {system.title}, so this becomes a second volume"
        yield Problem(suspects[0], message, f"map {expected}")


@rule("UC-IMG-007", on=(*LAUNCHED, RECIPE))
def root_is_large_enough(resource: Resource) -> Iterator[Problem]:
    """The root volume holds what the image brings and the job adds."""
    volumes = mappings(resource)
    if not volumes:
        return
    if resource.type == RECIPE:
        recommended = recommended_root_gib("recipe")
    else:
        is_full = any(is_dlami(named.name) for named in launched_images(resource))
        recommended = recommended_root_gib("dlami") if is_full else None
    root = _root(resource, volumes) if recommended is not None else None
    if root is None or not root.get("Ebs", "VolumeSize").exists:
        return
    size = root.get("Ebs", "VolumeSize")
    found = check_root_volume(RootVolume(size_gib=size.integer()), recommended_size_gib=recommended, subject="")
    yield from from_findings((each for each in found if each.rule_id == "UC-IMG-007"), lambda _: size)


def _root(resource: Resource, volumes: list[Value]) -> Value | None:
    """The mapping of the root volume: the only one, or that under the root name; None when the root is not mapped."""
    if len(volumes) == 1 and resource.type == RECIPE:
        return volumes[0]
    expected = root_system(resource).root_device_name
    return next((entry for entry in volumes if entry["DeviceName"].text("") == expected), None)


@rule("UC-IMG-008", on=(*LAUNCHED, RECIPE, _VOLUME))
def gp3_numbers(resource: Resource) -> Iterator[Problem]:
    """Size, IOPS and throughput of a gp3 volume go together."""
    volumes = [resource.properties] if resource.type == _VOLUME else [entry["Ebs"] for entry in mappings(resource)]
    for volume in volumes:
        with volume.judged_apart():
            if volume["VolumeType"].text("") == "gp3":
                yield from _gp3(volume, "Size" if resource.type == _VOLUME else "VolumeSize")


def _gp3(volume: Value, size_key: str) -> Iterator[Problem]:
    size, iops, throughput = volume[size_key], volume["Iops"], volume["Throughput"]
    if not (iops.exists or throughput.exists or size.exists):
        return
    request = RootVolume(
        # A volume without a size has that of its snapshot, which may be large enough for any rate.
        size_gib=size.integer(gp3().max_size_gib),
        # What the plan would raise, EBS leaves at what is included.
        iops=iops.integer(gp3().baseline_iops),
        throughput_mibps=throughput.integer(None),
    )
    places = {"size_gib": size, "iops": iops, "throughput_mibps": throughput}
    found = (each for each in check_root_volume(request, subject="") if each.rule_id == "UC-IMG-008")
    yield from from_findings(found, lambda subject: places[subject.rpartition(".")[2]], names=_WORDS)


@rule("UC-IMG-009", on=LAUNCH_TEMPLATE)
def volumes_are_encrypted(launch_template: Resource) -> Iterator[Problem]:
    """Every volume of a launch template is encrypted, whoever uses it."""
    open_ones: list[Value] = []
    volumes = mappings(launch_template)
    for entry in volumes:
        with entry.judged_apart():
            if not entry.get("Ebs", "Encrypted").boolean(False):
                open_ones.append(entry)
    if open_ones:
        encrypted = open_ones[0].get("Ebs", "Encrypted")
        names = ", ".join(entry["DeviceName"].shown for entry in open_ones)
        yield Problem(encrypted, f"{encrypted.shown}: {names} not encrypted")


@rule("UC-IMG-017", on=ASSEMBLY)
def fleets_encrypt_alike(assembly: Assembly) -> Iterator[Problem]:
    """The root volumes of all fleets are encrypted with the same key."""
    first: tuple[Resource, Value] | None = None
    for launch_template in assembly.resources(LAUNCH_TEMPLATE):
        with launch_template.properties.judged_apart():
            root = _encrypted_root(launch_template) if _is_of_a_fleet(launch_template) else None
            if root is None:
                continue
            key = root.get("Ebs", "KmsKeyId")
            if first is None:
                first = (launch_template, key)
            elif _differ(key, first[1]):
                told = " and ".join(
                    f"{holder} with {value.shown if value.exists else 'the default key'}"
                    for holder, value in ((launch_template, key), first)
                )
                yield Problem(key if key.exists else root["Ebs"], f"fleets encrypt their root volumes unlike: {told}")


def _is_of_a_fleet(launch_template: Resource) -> bool:
    return any(use.consumer.type != INSTANCE for use in users_of(launch_template))


def _differ(one: Value, other: Value) -> bool:
    """Whether two keys are certainly not the same.

    Raises:
        NotKnown: it cannot be told.
    """
    marks = [_mark(one), _mark(other)]
    if marks[0] == marks[1]:
        return False
    doubtful = [mark for mark in marks if isinstance(mark, str) and mark.startswith("alias/")]
    # An alias may be one of any key, and that of the service is the default unless the account chose another one.
    if doubtful and (None in marks or len(doubtful) == 1):
        raise NotKnown(f"which key {doubtful[0]} stands for")
    if None in marks or all(value.known or isinstance(value.state, Reference) for value in (one, other)):
        return True
    raise NotKnown("whether two keys are the same")


def _mark(key: Value) -> Hashable:
    """What stands for a key: of a literal its id or alias, which an ARN ends with; None for the default key."""
    state = key.state
    if isinstance(state, Reference):
        return id(state.target)
    if not key.exists:
        return None
    return key.text().rpartition(":")[2].removeprefix("key/") if key.known else key.symbol()


def _encrypted_root(launch_template: Resource) -> Value | None:
    roots = {system.root_device_name for system in image_systems()}
    for entry in mappings(launch_template):
        if entry["DeviceName"].text("") in roots and entry.get("Ebs", "Encrypted").boolean(False):
            return entry
    return None
