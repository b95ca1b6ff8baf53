"""What an image gets, component by component, in the order in which they run.

The kernel is settled first: updated and booted on a plain base, held as it is on a Deep Learning AMI. Everything with
a module is built after that, so no module goes into the folder of a kernel that never boots.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ultracluster.facts.image_versions import ImageVersions, image_addresses
from ultracluster.facts.node_packages import node_packages
from ultracluster.plan.image_document import Document, Download, Reboot, Script, Step
from ultracluster.plan.node_program import INSTALLED_AT, node_program
from ultracluster.values import dataclass

__all__ = ["OPTIONAL_PARTS", "PROGRAM_PARAMETER", "Build", "components"]

PROGRAM_PARAMETER = "NodeProgram"
"""Parameter of the component that fetches the programs of a node: address of the object."""
OPTIONAL_PARTS = ("agent", "dcgm", "efa", "gdrcopy", "lustre", "node-exporter")
"""Parts that an image can do without."""

_DEB = {"x86_64": "amd64", "arm64": "arm64"}
_NVIDIA = {"x86_64": "x86_64", "arm64": "sbsa"}
_DOWNLOADED = "/tmp/ultracluster-node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What an image is built for.

    Attributes:
        vendor: `nvidia` or `aws`.
        os: key of `facts.images.operating_systems()`.
        architecture: `x86_64` or `arm64`.
        has_software: whether driver, EFA and container runtime are in the base already.
        without: parts that are left out.
        opt_ins: settings of the table that were asked for.
        versions: what is installed.
    """

    vendor: str
    os: str
    architecture: str
    has_software: bool
    without: frozenset[str]
    opt_ins: tuple[str, ...]
    versions: ImageVersions

    @property
    def is_ubuntu(self) -> bool:
        """Whether packages come by apt."""
        return self.os.startswith("ubuntu")

    def has(self, part: str) -> bool:
        """Whether a part is in the image."""
        return part in _PARTS_OF.get(self.vendor, ()) and part not in self.without


_PARTS_OF = {
    "nvidia": ("agent", "dcgm", "efa", "gdrcopy", "lustre", "node-exporter"),
    "aws": ("agent", "efa", "lustre", "node-exporter"),
}


def components(build: Build) -> tuple[Document, ...]:
    """The documents of an image, in the order of the recipe.

    Args:
        build: what it is built for.
    """
    driver = _nvidia if build.vendor == "nvidia" else _neuron
    parts: tuple[tuple[str, Callable[[Build], Document]], ...] = (
        ("gdrcopy", _gdrcopy),
        ("efa", _efa),
        ("lustre", _lustre),
        ("dcgm", _dcgm),
        ("agent", _agent),
        ("node-exporter", _node_exporter),
    )
    chosen = (make(build) for part, make in parts if build.has(part))
    return (_kernel(build), _programs(), driver(build), *chosen, _tune(build), _test(build))


def _kernel(build: Build) -> Document:
    update: tuple[Step, ...] = ()
    if not build.has_software:
        update = (Script(name="UpdatePackages", file="kernel_update", minutes=60),)
        if build.is_ubuntu and build.has("lustre"):
            update += (Script(name="KernelOfTheLustreClient", file="kernel_lustre", settings=_lustre_settings(build)),)
        update += (Reboot(name="BootThatKernel"),)
    return Document(
        name="kernel",
        description="the kernel that every module is built for, held from here on",
        build=(*update, Script(name="HoldKernel", file="kernel_hold")),
        validate=(Script(name="KernelIsHeld", file="kernel_check"),),
    )


def _programs() -> Document:
    settings = {"SOURCE": _DOWNLOADED, "TARGET": INSTALLED_AT, "SHA256": node_program().sha256}
    return Document(
        name="programs",
        description="the programs that run on a node, checked against their digest",
        parameters={PROGRAM_PARAMETER: "address of the programs in S3"},
        build=(
            Download(name="FetchPrograms", source=f"{{{{ {PROGRAM_PARAMETER} }}}}", destination=_DOWNLOADED),
            Script(name="InstallPrograms", file="programs", settings=settings),
        ),
        validate=(Script(name="ProgramsRun", file="programs_check", settings=settings),),
    )


def _nvidia(build: Build) -> Document:
    versions = build.versions
    if build.has_software:
        install = Script(name="HoldDriver", file="nvidia_hold")
        check = {"DRIVER": ""}
    else:
        settings = {**_nvidia_settings(build), "DRIVER": versions.nvidia_driver, "CUDA": versions.cuda}
        install = Script(name="InstallDriver", file="nvidia", settings=settings, minutes=60)
        check = {"DRIVER": versions.nvidia_driver}
    return Document(
        name="nvidia",
        description="driver, fabric manager and persistence daemon of one version, held together",
        build=(install,),
        validate=(Script(name="VersionsAreEqual", file="nvidia_check", settings=check),),
    )


def _nvidia_settings(build: Build) -> Mapping[str, str]:
    addresses = image_addresses()
    return {
        "ADDRESS": addresses["nvidia"],
        "ARCHITECTURE": _NVIDIA[build.architecture],
        "RPM_KEY": addresses["nvidia_rpm_key"],
        "RPM_FINGERPRINT": build.versions.nvidia_rpm_fingerprint,
        "DEB_KEY": addresses["nvidia_deb_key"],
        "DEB_FINGERPRINT": build.versions.nvidia_deb_fingerprint,
    }


def _dcgm(build: Build) -> Document:
    versions = build.versions
    settings = {"CUDA": versions.cuda, "DCGM": versions.dcgm, "EXPORTER": versions.dcgm_exporter}
    return Document(
        name="dcgm",
        description="diagnostics of GPUs and their exporter, held together",
        build=(Script(name="InstallDcgm", file="dcgm", settings={**_nvidia_settings(build), **settings}),),
        validate=(Script(name="DcgmRuns", file="dcgm_check"),),
    )


def _gdrcopy(build: Build) -> Document:
    settings = {
        "ADDRESS": image_addresses()["gdrcopy"],
        "VERSION": build.versions.gdrcopy,
        "SHA256": build.versions.gdrcopy_sha256,
    }
    return Document(
        name="gdrcopy",
        description="copies between host and GPU memory for small messages",
        build=(Script(name="BuildGdrcopy", file="gdrcopy", settings=settings),),
        validate=(Script(name="ModuleFits", file="gdrcopy_check"),),
    )


def _neuron(build: Build) -> Document:
    addresses, versions = image_addresses(), build.versions
    settings = {
        "RPM_ADDRESS": addresses["neuron_rpm"],
        "DEB_ADDRESS": addresses["neuron_deb"],
        "KEY": addresses["neuron_key"],
        "FINGERPRINT": versions.neuron_fingerprint,
        "DRIVER": versions.neuron_driver,
        "COLLECTIVES": versions.neuron_collectives,
        "RUNTIME": versions.neuron_runtime,
        "TOOLS": versions.neuron_tools,
    }
    install = Script(name="InstallDriver", file="neuron", settings=settings, minutes=60)
    return Document(
        name="neuron",
        description="driver, collectives, runtime and tools of one Neuron release, held together",
        build=(Script(name="HoldDriver", file="neuron_hold") if build.has_software else install,),
        validate=(Script(name="ModuleFits", file="neuron_check"),),
    )


def _efa(build: Build) -> Document:
    addresses, versions = image_addresses(), build.versions
    settings = {
        "VERSION": versions.efa,
        "ADDRESS": addresses["efa"],
        "KEY": addresses["efa_key"],
        "FINGERPRINT": versions.efa_fingerprint,
        "SHA256": versions.efa_sha256 or "",
    }
    return Document(
        name="efa",
        description="fabric driver, libfabric and the plugin of NCCL, all by signature",
        build=(Script(name="InstallEfa", file="efa", settings=settings, minutes=60),),
        validate=(Script(name="EfaFits", file="efa_check", settings={"VERSION": versions.efa}),),
    )


def _lustre_settings(build: Build) -> Mapping[str, str]:
    packages = node_packages()
    return {
        "LUSTRE_ADDRESS": packages.lustre_repository,
        "LUSTRE_KEY": packages.lustre_key,
        "LUSTRE_FINGERPRINT": build.versions.lustre_fingerprint,
    }


def _lustre(build: Build) -> Document:
    settings = _lustre_settings(build) if build.is_ubuntu else {}
    # The branch for Amazon Linux reads none of them; bash stops at a variable that is not set only where it is read.
    return Document(
        name="lustre",
        description="the Lustre client that fits the kernel",
        build=(Script(name="InstallClient", file="lustre", settings=settings),),
        validate=(Script(name="ClientFits", file="lustre_check"),),
    )


def _agent(build: Build) -> Document:
    packages = node_packages()
    settings = {
        "ADDRESS": packages.agent_address,
        "FINGERPRINT": packages.agent_key,
        "DEB_ARCHITECTURE": _DEB[build.architecture],
    }
    return Document(
        name="agent",
        description="the CloudWatch agent, which a node starts with its fleet's configuration",
        build=(Script(name="InstallAgent", file="agent", settings=settings),),
        validate=(Script(name="AgentIsThere", file="agent_check"),),
    )


def _node_exporter(build: Build) -> Document:
    versions = build.versions
    settings = {
        "ADDRESS": image_addresses()["node_exporter"],
        "VERSION": versions.node_exporter,
        "SHA256": versions.node_exporter_sha256[build.architecture],
        "DEB_ARCHITECTURE": _DEB[build.architecture],
    }
    return Document(
        name="node-exporter",
        description="the Prometheus exporter of the node, with the metrics of its own programs",
        build=(Script(name="InstallExporter", file="node_exporter", settings=settings),),
        validate=(
            Script(name="ExporterIsThere", file="node_exporter_check", settings={"VERSION": versions.node_exporter}),
        ),
    )


def _tune_settings(build: Build) -> dict[str, str]:
    asked = "".join(f" --with {name}" for name in build.opt_ins)
    return {"TARGET": INSTALLED_AT, "TUNE_ARGUMENTS": f"--stage image --vendor {build.vendor}{asked}"}


def _tune(build: Build) -> Document:
    settings = _tune_settings(build)
    return Document(
        name="tune",
        description="kernel, limits, timers, clock and services after the table of settings",
        build=(Script(name="ApplySettings", file="tune", settings=settings), Reboot(name="BootWithSettings")),
        validate=(Script(name="SettingsAreInForce", file="tune_check", settings=settings),),
    )


def _test(build: Build) -> Document:
    module = "nvidia" if build.vendor == "nvidia" else "neuron"
    modules = {"efa": "efa", "lustre": "lustre", "gdrcopy": "gdrdrv"}
    fitting = " ".join([module, *(name for part, name in modules.items() if build.has(part))])
    settings = {**_tune_settings(build), "KERNEL_MODULES": fitting, "SHA256": node_program().sha256}
    devices = {"TARGET": INSTALLED_AT, "DRIVER_MODULE": module}
    return Document(
        name="test",
        description="a new instance of the image: modules, settings, programs, and devices where it has some",
        test=(
            Script(name="ModulesAndSettings", file="test", settings=settings),
            Script(name="Devices", file="test_devices", settings=devices),
        ),
    )
