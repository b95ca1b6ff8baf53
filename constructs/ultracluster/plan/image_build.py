"""What a tuned image is built from, and with which versions of recipe and components.

Pure: the same request gives the same documents and the same versions, on any machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from ultracluster.facts.image_names import architecture_of_type
from ultracluster.facts.image_versions import ImageVersions, build_instance_types, build_root_gib, image_versions
from ultracluster.facts.images import PublicImage, operating_systems, public_images
from ultracluster.facts.node_tuning import opt_ins
from ultracluster.findings import Finding, finding, raise_if_errors
from ultracluster.plan.decision import Decision
from ultracluster.plan.image_components import OPTIONAL_PARTS, Build, components
from ultracluster.plan.image_document import Document
from ultracluster.plan.image_options import Al2023, Dlami, OperatingSystem, Ubuntu
from ultracluster.values import dataclass

__all__ = ["Base", "TunedImagePlan", "TunedImageRequest", "check_tuned_image", "plan_tuned_image"]

Base = Dlami | Al2023 | Ubuntu
_VENDORS, _ARCHITECTURES = ("nvidia", "aws"), ("x86_64", "arm64")
_SYSTEMS = {"al2023": "Amazon Linux 2023", "ubuntu-22.04": "Ubuntu 22", "ubuntu-24.04": "Ubuntu 24"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedImageRequest:
    """What was asked for.

    Attributes:
        base: what the image starts from.
        vendor: whose accelerators it is for: `nvidia`, or `aws` for Trainium and Inferentia.
        architecture: of the processor.
        opt_ins: settings of the table that are not applied unasked.
        without: parts that are left out, of `OPTIONAL_PARTS`.
        versions: what is installed; the pinned versions of this library by default.
        instance_types: what it is built and tested on; types without accelerator by default.
        root_gib: root volume of the image in GiB; by default what the build needs.
    """

    base: Base
    vendor: str = "nvidia"
    architecture: str = "x86_64"
    opt_ins: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    versions: ImageVersions | None = None
    instance_types: tuple[str, ...] = ()
    root_gib: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedImagePlan:
    """The image as decided.

    Attributes:
        os: its operating system.
        supported_os: as Image Builder names it.
        parent: the public parameter that holds the id of the base.
        root_device_name: under which name the root volume is mapped.
        root_gib: size of the root volume in GiB.
        components: documents in their order.
        recipe_content: all of the above as a text, from which the version of the recipe follows.
        instance_types: what it is built and tested on.
        decisions: why.
        warnings: findings that do not stop the plan.
    """

    os: OperatingSystem
    supported_os: str
    parent: str
    root_device_name: str
    root_gib: int
    components: tuple[Document, ...]
    recipe_content: str
    instance_types: tuple[str, ...]
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[Finding, ...] = ()


def check_tuned_image(request: TunedImageRequest, *, subject: str) -> tuple[Finding, ...]:
    """All faults of a request; see `plan_tuned_image`."""
    return tuple(_findings(request, subject))


def plan_tuned_image(request: TunedImageRequest, *, subject: str) -> TunedImagePlan:
    """Decide on base, components and versions.

    Args:
        request: what was asked for.
        subject: the construct's path.

    Raises:
        FindingsError: UC-API-107 (no such base), UC-API-118 (no base at all), UC-API-130 (unknown name), UC-IMG-005
            (build type of another architecture), UC-IMG-007 (root volume too small).
    """
    warnings = raise_if_errors(check_tuned_image(request, subject=subject))
    found = _parent(request)
    base = next(iter(found))
    kind = "dlami" if isinstance(request.base, Dlami) else "plain"
    build = Build(
        vendor=request.vendor,
        os=base.os,
        architecture=request.architecture,
        has_software=kind == "dlami",
        without=frozenset(request.without),
        opt_ins=tuple(sorted(set(request.opt_ins))),
        versions=request.versions or image_versions(),
    )
    documents = tuple(replace(each, supported_os=_SYSTEMS[base.os]) for each in components(build))
    root_gib = request.root_gib or build_root_gib(kind)
    root_device_name = operating_systems()[base.os].root_device_name
    return TunedImagePlan(
        os=cast("OperatingSystem", base.os),
        supported_os=_SYSTEMS[base.os],
        parent=base.ssm_parameter,
        root_device_name=root_device_name,
        root_gib=root_gib,
        components=documents,
        recipe_content=_recipe_content(base.ssm_parameter, root_device_name, root_gib, documents),
        instance_types=request.instance_types or build_instance_types(request.architecture),
        decisions=tuple(_decisions(request, base, build, documents, subject)),
        warnings=warnings,
    )


def _recipe_content(parent: str, root_device_name: str, root_gib: int, documents: tuple[Document, ...]) -> str:
    content = [parent, root_device_name, root_gib, [[each.name, each.version] for each in documents]]
    return json.dumps(content)


def _parent(request: TunedImageRequest) -> list[PublicImage]:
    kind = "dlami" if isinstance(request.base, Dlami) else "plain"
    return [row for row in _fitting(kind, request) if row.os == _os(request.base)]


def _fitting(kind: str, request: TunedImageRequest) -> list[PublicImage]:
    return [
        row
        for row in public_images()
        if row.kind == kind and row.architecture == request.architecture and row.vendor in (None, request.vendor)
    ]


def _os(base: Base) -> str:
    match base:
        case Al2023():
            return "al2023"
        case Ubuntu():
            return f"ubuntu-{base.version}"
        case Dlami():
            return base.os


def _findings(request: TunedImageRequest, subject: str) -> Iterator[Finding]:
    base: object = request.base
    if not isinstance(base, Dlami | Al2023 | Ubuntu):
        fix = "use Dlami(), Al2023() or Ubuntu()"
        yield finding("UC-API-118", f"{subject}.base", f"{base!r} is no base of an image", fix)
        return
    named = (
        ("vendor", [request.vendor], _VENDORS),
        ("architecture", [request.architecture], _ARCHITECTURES),
        ("opt_ins", request.opt_ins, tuple(opt_ins())),
        ("without", request.without, OPTIONAL_PARTS),
    )
    unknown = [
        finding("UC-API-130", f"{subject}.{place}", f"{name!r} is not known", f"use {', '.join(known)}")
        for place, names, known in named
        for name in names
        if name not in known
    ]
    yield from unknown
    if not any(each.subject.endswith((".vendor", ".architecture")) for each in unknown):
        yield from _check_base(request, subject)
        yield from _check_types(request, subject)
    yield from _check_root(request, subject)


def _check_base(request: TunedImageRequest, subject: str) -> Iterator[Finding]:
    kind = "dlami" if isinstance(request.base, Dlami) else "plain"
    if not _parent(request):
        choices = ", ".join(row.os for row in _fitting(kind, request))
        message = f"no {kind} image with {_os(request.base)} for {request.vendor} on {request.architecture}"
        yield finding("UC-API-107", f"{subject}.base", message, f"use {choices}" if choices else "use a plain base")
    elif kind == "dlami" and _os(request.base).startswith("ubuntu") and "lustre" not in request.without:
        message = (
            "the kernel of this base may be newer than any that the Lustre client was built for; the build then ends"
        )
        yield finding("UC-API-131", f"{subject}.base", message)


def _check_types(request: TunedImageRequest, subject: str) -> Iterator[Finding]:
    for name in request.instance_types:
        found = architecture_of_type(name)
        if found is not None and found != request.architecture:
            message = f"{name} is {found}, the image {request.architecture}"
            yield finding("UC-IMG-005", f"{subject}.instance_types", message, f"build on {request.architecture}")


def _check_root(request: TunedImageRequest, subject: str) -> Iterator[Finding]:
    least = build_root_gib("dlami" if isinstance(request.base, Dlami) else "plain")
    if request.root_gib is not None and request.root_gib < least:
        message = f"{request.root_gib} GiB; the build needs {least} GiB"
        yield finding("UC-IMG-007", f"{subject}.root_gib", message, f"use {least} or more")


def _decisions(
    request: TunedImageRequest, base: PublicImage, build: Build, documents: tuple[Document, ...], subject: str
) -> Iterator[Decision]:
    kernel = (
        "the kernel of the base stays: its driver was built for it"
        if build.has_software
        else "the newest kernel is booted before anything is built for it"
    )
    yield Decision(subject=f"{subject}.base", value=base.ssm_parameter, because=f"{base.title}; {kernel}")
    names = ", ".join(each.name for each in documents)
    yield Decision(subject=f"{subject}.components", value=names, because="in the order in which they need each other")
    if not request.instance_types:
        because = "modules are built for the kernel, not for the device; devices are counted on types that have some"
        types = ", ".join(build_instance_types(request.architecture))
        yield Decision(subject=f"{subject}.instance_types", value=types, because=because)
