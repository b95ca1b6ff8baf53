"""S3 on loopback for the programs that move data, and the environment that leads a transfer tool to it."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

import boto3
from boto3.s3.transfer import TransferConfig

from ultracluster.local import LocalCloud, LocalSettings


@contextlib.contextmanager
def served(folder: Path, port: int) -> Iterator[str]:
    """The embedded AWS on a port; its address."""
    cloud = LocalCloud(LocalSettings(state_dir=folder), port=port)
    cloud.start()
    try:
        # The CRT of the AWS CLI drops a port from an address, also the usual one.
        yield "http://127.0.0.1" + ("" if port == 80 else f":{port}")
    finally:
        cloud.server.stop()


def environment(endpoint: str, home: Path) -> dict[str, str]:
    """Variables for a transfer tool."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "HOME": str(home),
    }


class Bucket:
    """A new bucket.

    Args:
        endpoint: where S3 is.
    """

    def __init__(self, endpoint: str) -> None:
        self.name = f"data-{uuid.uuid4().hex[:12]}"
        self.client = boto3.client(
            "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
        )
        self.client.create_bucket(Bucket=self.name)

    def put(self, key: str, data: bytes, **options: str) -> None:
        """An object in one piece."""
        self.client.put_object(Bucket=self.name, Key=key, Body=data, **options)

    def upload(self, key: str, path: Path, *, part_mib: int) -> None:
        """An object in parts."""
        config = TransferConfig(multipart_threshold=1 << 20, multipart_chunksize=part_mib << 20)
        self.client.upload_file(str(path), self.name, key, Config=config)
