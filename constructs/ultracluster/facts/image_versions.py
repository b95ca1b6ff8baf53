"""Reader of `data/image_versions.json`: what a tuned image is built from, and how each part is checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.values import dataclass

__all__ = ["ImageVersions", "build_instance_types", "build_root_gib", "image_addresses", "image_versions"]

DATA_FILE = Path(__file__).with_name("data") / "image_versions.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageVersions:
    """Pinned versions; `dataclasses.replace(image_versions(), efa="1.50.0", efa_sha256=...)` takes others.

    Attributes:
        efa: of the EFA installer.
        efa_sha256: checksum of its archive; None checks the signature alone.
        efa_fingerprint: of the key that signs it.
        nvidia_driver: of the driver, the fabric manager and the persistence daemon, which have to be the same.
        cuda: of the toolkit, as its packages name it (`13-0`).
        nvidia_rpm_fingerprint: of the key of NVIDIA's RPM repositories.
        nvidia_deb_fingerprint: of the key of NVIDIA's Debian repositories.
        dcgm: of the Data Center GPU Manager.
        dcgm_exporter: of its exporter.
        gdrcopy: of GDRCopy.
        gdrcopy_sha256: checksum of its sources.
        neuron_driver: of the Neuron driver.
        neuron_collectives: of the Neuron collectives.
        neuron_runtime: of the Neuron runtime.
        neuron_tools: of the Neuron tools.
        neuron_fingerprint: of the key of the Neuron repositories.
        lustre_fingerprint: of the key of the Lustre client's repository for Ubuntu.
        node_exporter: of the Prometheus node exporter.
        node_exporter_sha256: checksums of its archives by architecture.
    """

    efa: str
    efa_sha256: str | None
    efa_fingerprint: str
    nvidia_driver: str
    cuda: str
    nvidia_rpm_fingerprint: str
    nvidia_deb_fingerprint: str
    dcgm: str
    dcgm_exporter: str
    gdrcopy: str
    gdrcopy_sha256: str
    neuron_driver: str
    neuron_collectives: str
    neuron_runtime: str
    neuron_tools: str
    neuron_fingerprint: str
    lustre_fingerprint: str
    node_exporter: str
    node_exporter_sha256: Mapping[str, str]


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


@cache
def image_versions() -> ImageVersions:
    """The versions of the file."""
    rows = _document()
    efa, nvidia, neuron = rows["efa"], rows["nvidia"], rows["neuron"]
    return ImageVersions(
        efa=efa["version"],
        efa_sha256=efa["sha256"],
        efa_fingerprint=efa["fingerprint"],
        nvidia_driver=nvidia["driver"],
        cuda=nvidia["cuda"],
        nvidia_rpm_fingerprint=nvidia["rpm_fingerprint"],
        nvidia_deb_fingerprint=nvidia["deb_fingerprint"],
        dcgm=rows["dcgm"]["version"],
        dcgm_exporter=rows["dcgm"]["exporter"],
        gdrcopy=rows["gdrcopy"]["version"],
        gdrcopy_sha256=rows["gdrcopy"]["sha256"],
        neuron_driver=neuron["driver"],
        neuron_collectives=neuron["collectives"],
        neuron_runtime=neuron["runtime"],
        neuron_tools=neuron["tools"],
        neuron_fingerprint=neuron["fingerprint"],
        lustre_fingerprint=rows["lustre"]["fingerprint"],
        node_exporter=rows["node_exporter"]["version"],
        node_exporter_sha256=rows["node_exporter"]["sha256"],
    )


@cache
def image_addresses() -> Mapping[str, str]:
    """Where the parts are fetched from, and the names of keys beside them."""
    rows = _document()
    return {
        "efa": rows["efa"]["address"],
        "efa_key": rows["efa"]["key"],
        "nvidia": rows["nvidia"]["address"],
        "nvidia_rpm_key": rows["nvidia"]["rpm_key"],
        "nvidia_deb_key": rows["nvidia"]["deb_key"],
        "gdrcopy": rows["gdrcopy"]["address"],
        "neuron_rpm": rows["neuron"]["rpm_address"],
        "neuron_deb": rows["neuron"]["deb_address"],
        "neuron_key": rows["neuron"]["key"],
        "node_exporter": rows["node_exporter"]["address"],
    }


def build_instance_types(architecture: str) -> tuple[str, ...]:
    """Types that images of an architecture are built on when nobody names one; none has an accelerator."""
    return tuple(_document()["build_instance_types"][architecture])


def build_root_gib(kind: str) -> int:
    """Root volume of the build instance in GiB for a `plain` or a `dlami` base."""
    return int(_document()["root_gib"][kind])
