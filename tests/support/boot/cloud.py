"""What surrounds an instance: its subnet, the metadata service, the AWS services under their own names."""

from __future__ import annotations

import json
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from support.aws_endpoint import AwsEndpoint
from support.boot.network import CLOCK, GUEST_ADDRESS, MAC, METADATA, ROUTER, Network
from support.boot.ntp import TimeServer
from support.imds_server import ImdsServer, instance_values

REGION = "us-west-2"
_NAMES = ("amazonaws.com", f"{REGION}.amazonaws.com", f"s3.{REGION}.amazonaws.com")


@dataclass
class Cloud:
    """The surroundings.

    Attributes:
        network: the subnet.
        imds: the metadata service at its own address.
        time: the time service.
        aws: S3, Auto Scaling, EC2 and EventBridge under their own names, over TLS.
    """

    network: Network
    imds: ImdsServer
    aws: AwsEndpoint
    time: TimeServer

    def close(self) -> None:
        """Take everything down."""
        for service in (self.imds, self.aws, self.time):
            service.stop()
        self.network.close()


def make_cloud(folder: Path, root: Path) -> Cloud:
    """Set the surroundings up.

    Args:
        folder: for their files.
        root: what `root_folder` gave; the guest trusts the authority that lies there.
    """
    network = Network(folder)
    imds = ImdsServer(values=_metadata(), bind=METADATA, port=80)
    aws = AwsEndpoint(bind=ROUTER, port=443, tls=_certificate(folder, root))
    network.inside(imds.start)
    network.inside(aws.start)
    clock = TimeServer(CLOCK)
    network.inside(clock.start)
    return Cloud(network, imds, aws, clock)


def _metadata() -> dict[str, str]:
    """What cloud-init asks for beside what the programs read; without an answer it asks each for two minutes."""
    name = "ip-10-0-0-10.us-west-2.compute.internal"
    interface = {
        "device-number": "0",
        "interface-id": "eni-0123456789abcdef0",
        "local-hostname": name,
        "local-ipv4s": GUEST_ADDRESS,
        "mac": MAC,
        "owner-id": "111122223333",
        "subnet-id": "subnet-0123456789abcdef0",
        "subnet-ipv4-cidr-block": "10.0.0.0/24",
        "vpc-id": "vpc-0123456789abcdef0",
    }
    values = instance_values(
        local_ipv4=GUEST_ADDRESS,
        local_hostname=name,
        hostname=name,
        mac=MAC,
        reservation_id="r-0123456789abcdef0",
        block_device_mapping__ami="/dev/sda1",
        **{f"network__interfaces__macs__{MAC}__{key}": value for key, value in interface.items()},
    )
    of = ("instance-id", "instance-type", "placement/region", "placement/availability-zone")
    said = {path.rpartition("/")[2]: values[f"meta-data/{path}"] for path in of}
    document = {
        "accountId": "111122223333",
        "architecture": "x86_64",
        "availabilityZone": said["availability-zone"],
        "instanceId": said["instance-id"],
        "instanceType": said["instance-type"],
        "region": said["region"],
        "version": "2017-09-30",
    }
    return {**values, "dynamic/instance-identity/document": json.dumps(document)}


def _certificate(folder: Path, root: Path) -> ssl.SSLContext:
    """A certificate for the names of the services, signed by whom the guest trusts."""
    key, request, signed = (folder / f"endpoint.{kind}" for kind in ("key", "csr", "crt"))
    names = ",".join(f"DNS:*.{name}" for name in _NAMES) + f",DNS:s3.{REGION}.amazonaws.com,DNS:*.s3.amazonaws.com"
    extensions = folder / "endpoint.ext"
    extensions.write_text(f"subjectAltName={names}\n")
    _openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=aws", "-keyout", key, "-out", request)
    _openssl(
        *("x509", "-req", "-in", request, "-CA", root / "ca.crt", "-CAkey", root / "ca.key", "-CAcreateserial"),
        *("-days", "30", "-extfile", extensions, "-out", signed),
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(signed, key)
    return context


def _openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
