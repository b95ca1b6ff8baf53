"""Rules on images: that one exists, and that it fits vendor, architecture, operating system and root device."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ultracluster.facts.image_names import architecture_named, system_named
from ultracluster.facts.images import operating_systems, parameter_families, public_images
from ultracluster.findings import Finding, finding
from ultracluster.plan.image_options import Al2023, Ami, Dlami, Image, SsmImage, Ubuntu
from ultracluster.plan.references import AMI_ID, SSM_PARAMETER, is_unresolved, well_formed

if TYPE_CHECKING:
    from ultracluster.facts.images import ParameterFamily
    from ultracluster.facts.instances import InstanceType

__all__ = ["image_findings", "image_os", "parameter_family", "parameter_os"]

_VENDORS = {"nvidia": "NVIDIA GPUs", "aws": "Trainium and Inferentia (Neuron)"}


def image_os(image: Image) -> str:
    """The operating system of an image, as the cluster file names it."""
    match image:
        case Al2023():
            return "al2023"
        case Ubuntu():
            return f"ubuntu-{image.version}"
        case _:
            return image.os


def parameter_family(parameter: str) -> ParameterFamily | None:
    """The family of public parameters that a name belongs to; None for any other name."""
    return next((family for family in parameter_families() if parameter.startswith(family.prefix)), None)


def image_findings(image: Image, types: tuple[InstanceType, ...], place: str) -> tuple[Finding, ...]:
    """All faults of an image for these types; `place` is the path of the image in the user's terms."""
    if not types:
        return ()
    mixed = _check_one_kind(types, place)
    if mixed:
        return mixed
    unknown = _check_kind_and_os(image, place)
    if unknown:
        return unknown
    match image:
        case Ami():
            return (*_check_ami_id(image, place), *_check_root_name(image, place, known=False))
        case SsmImage():
            return _check_parameter(image, types[0], place)
        case _:
            return (*_check_public(image, types[0], place), *_warn_plain(image, types[0], place))


def _check_one_kind(types: tuple[InstanceType, ...], place: str) -> tuple[Finding, ...]:
    kinds = {(facts.vendor, facts.architecture) for facts in types}
    if len(kinds) == 1:
        return ()
    names = ", ".join(f"{facts.name} ({facts.vendor}, {facts.architecture})" for facts in types)
    message = f"one image cannot serve {names}"
    return (finding("UC-API-111", place, message, "make one fleet per vendor and architecture"),)


def _check_kind_and_os(image: Image, place: str) -> tuple[Finding, ...]:
    asked: object = image
    if not isinstance(asked, Al2023 | Ami | Dlami | SsmImage | Ubuntu):
        fix = "use Dlami(), Al2023(), Ubuntu(), Ami(ami_id=..., os=...) or SsmImage(parameter=..., os=...)"
        return (finding("UC-API-118", place, f"{asked!r} is no image", fix),)
    os = image_os(image)
    known = operating_systems()
    if os in known:
        return ()
    message = f"{os!r} is no operating system that nodes can run"
    return (finding("UC-API-107", f"{place}.os", message, f"use {', '.join(known)}"),)


def _check_public(image: Image, facts: InstanceType, place: str) -> tuple[Finding, ...]:
    kind = "dlami" if isinstance(image, Dlami) else "plain"
    fitting = [
        row
        for row in public_images()
        if row.kind == kind and row.architecture == facts.architecture and row.vendor in (None, facts.vendor)
    ]
    os = image_os(image)
    if any(row.os == os for row in fitting):
        return ()
    message = f"no {kind} image with {operating_systems()[os].title} for {facts.name} ({facts.architecture})"
    choices = ", ".join(row.os for row in fitting)
    fix = f"use {choices}" if choices else "use a plain image, or name one by its id"
    return (finding("UC-API-107", f"{place}.os", message, fix),)


def _warn_plain(image: Image, facts: InstanceType, place: str) -> tuple[Finding, ...]:
    if isinstance(image, Dlami) or not facts.accelerator_count:
        return ()
    message = f"{operating_systems()[image_os(image)].title} brings no driver for {facts.accelerator_name}"
    return (finding("UC-API-109", place, message, "use the DLAMI, or install driver and EFA in the user data"),)


def _check_ami_id(image: Ami, place: str) -> tuple[Finding, ...]:
    if well_formed(image.ami_id, AMI_ID):
        return ()
    message = f"{image.ami_id!r} is no image id"
    return (finding("UC-API-107", f"{place}.ami_id", message, "write ami- and 17 hexadecimal digits"),)


def _check_root_name(image: Ami | SsmImage, place: str, *, known: bool) -> tuple[Finding, ...]:
    name = image.root_device_name
    where = f"{place}.root_device_name"
    how = "`aws ec2 describe-images --image-ids ID --query 'Images[].RootDeviceName'` prints it"
    if name is None and not known:
        expected = operating_systems()[image.os].root_device_name
        message = f"the root device of an own image is not known (public {image.os} images have {expected})"
        return (finding("UC-IMG-006", where, message, f"give the name; {how}"),)
    if name is not None and not is_unresolved(name) and not re.fullmatch(r"/dev/[a-z0-9]+", name):
        return (finding("UC-IMG-006", where, f"{name!r} is no device name", f"give a name as /dev/xvda; {how}"),)
    return ()


def _check_parameter(image: SsmImage, facts: InstanceType, place: str) -> tuple[Finding, ...]:
    where = f"{place}.parameter"
    if not well_formed(image.parameter, SSM_PARAMETER):
        message = f"{image.parameter!r} is no name of a parameter"
        return (finding("UC-API-107", where, message, "write the name, for example /images/train/latest"),)
    family = parameter_family(image.parameter)
    findings = [*_check_root_name(image, place, known=family is not None)]
    if family is None:
        return tuple(findings)
    if family.vendor is not None and family.vendor != facts.vendor:
        message = f"an image for {_VENDORS[family.vendor]} on {facts.name}"
        findings.append(finding("UC-API-108", where, message, "leave the image out, or take the one of the vendor"))
    architecture = architecture_named(image.parameter)
    if architecture is not None and architecture != facts.architecture:
        message = f"an {architecture} image on {facts.name}, which is {facts.architecture}"
        findings.append(finding("UC-IMG-005", where, message, f"take the {facts.architecture} image"))
    findings.extend(_check_parameter_os(image, place))
    return tuple(findings)


def parameter_os(parameter: str) -> str | None:
    """The operating system that the name of a parameter tells; None for one that tells none that nodes can run."""
    named = system_named(parameter)
    return named.os if named is not None and named.os in operating_systems() else None


def _check_parameter_os(image: SsmImage, place: str) -> tuple[Finding, ...]:
    named = parameter_os(image.parameter)
    if named is None or named == image.os:
        return ()
    message = f"{image.os}, but the parameter names {named}, whose root device and boot differ"
    return (finding("UC-IMG-006", f"{place}.os", message, f"set os to {named}"),)
