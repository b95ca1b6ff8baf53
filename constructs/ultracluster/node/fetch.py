"""`python3 -m node.fetch URL SHA256 DESTINATION`: bring the programs onto a node at its first boot.

A signed GET from S3 with the credentials of the instance's role. The file appears whole, executable and with the pinned
digest, or not at all; an image that already has it is left alone. User data carries this module, `imds` and `sigv4`.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from . import NodeError
from .imds import Imds
from .sigv4 import sign

ATTEMPTS = 6
_OK = 200
_LONGEST_ERROR = 300


def fetch(url: str, sha256: str, destination: Path, *, imds: Imds, attempts: int = ATTEMPTS) -> bool:
    """Install a file; whether it had to be fetched.

    Args:
        url: address of the object, `https://<bucket>.s3.<region>.<domain>/<key>`.
        sha256: digest in hexadecimal.
        destination: where it goes.
        imds: gives region and credentials.
        attempts: the role's rights and the network can be seconds late at a first boot.

    Raises:
        NodeError: no attempt brought a file with that digest.
    """
    if destination.exists() and hashlib.sha256(destination.read_bytes()).hexdigest() == sha256:
        return False
    destination.parent.mkdir(parents=True, exist_ok=True)
    why = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(min(2 ** (attempt - 1), 15))
        try:
            data = download(url, imds)
        except (OSError, http.client.HTTPException, NodeError) as error:
            why = str(error) or type(error).__name__
            continue
        found = hashlib.sha256(data).hexdigest()
        if found == sha256:
            _install(data, destination)
            return True
        why = f"its digest is {found}"
    raise NodeError(f"{url} gives no file with SHA-256 {sha256}: {why}; check the role, the bucket and the way to S3")


def download(url: str, imds: Imds) -> bytes:
    """The object.

    Raises:
        NodeError: another status than 200.
        OSError: no connection.
        http.client.HTTPException: no answer, or a part of one.
    """
    parts = urlsplit(url)
    headers = sign(
        "GET", url, {}, b"", credentials=imds.credentials(), region=imds.region(), service="s3", now=time.time()
    )
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    link = kind(parts.netloc, timeout=20)
    try:
        link.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""), headers=headers)
        answer = link.getresponse()
        data = answer.read()
    finally:
        link.close()
    if answer.status != _OK:
        raise NodeError(f"status {answer.status}: {' '.join(data[:_LONGEST_ERROR].decode(errors='replace').split())}")
    return data


def _install(data: bytes, destination: Path) -> None:
    part = destination.with_name(f"{destination.name}.part")  # one name: what a killed attempt left is written over
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fchmod(file.fileno(), 0o755)
        os.fsync(file.fileno())
    part.replace(destination)


def main(url: str, sha256: str, destination: str) -> int:
    """Fetch, and say in one line what came of it."""
    try:
        new = fetch(url, sha256, Path(destination), imds=Imds())
    except NodeError as error:
        print(f"ultracluster fetch: {error}", file=sys.stderr)
        return 1
    print(f"ultracluster fetch: {destination} {'installed' if new else 'is there'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
