"""AWS Signature Version 4 with headers, as the EC2, S3, Auto Scaling and EventBridge APIs take it.

See https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

_ALGORITHM = "AWS4-HMAC-SHA256"


def sign(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    credentials: Mapping[str, str],
    region: str,
    service: str,
    now: float,
) -> dict[str, str]:
    """The headers of a request with those that sign it.

    Args:
        method: for example `GET`.
        url: with its path and query already percent-encoded.
        headers: what else is sent; all of it is signed.
        body: what is sent.
        credentials: `AccessKeyId`, `SecretAccessKey` and `Token`, as the metadata service gives them.
        region: of the service.
        service: its name in signatures, for example `s3`.
        now: seconds since 1970.
    """
    parts = urlsplit(url)
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    digest = hashlib.sha256(body).hexdigest()
    signed = {**headers, "Host": parts.netloc, "X-Amz-Date": moment}
    if service == "s3":
        signed["X-Amz-Content-SHA256"] = digest
    if credentials.get("Token"):
        signed["X-Amz-Security-Token"] = credentials["Token"]
    canonical = {name.lower(): " ".join(value.split()) for name, value in signed.items()}
    names = ";".join(sorted(canonical))
    request = "\n".join(
        [
            method,
            _path(parts.path, service),
            "&".join(sorted(parts.query.split("&"), key=lambda pair: pair.partition("=")[::2])),
            *(f"{name}:{canonical[name]}" for name in sorted(canonical)),
            "",
            names,
            digest,
        ]
    )
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = "\n".join([_ALGORITHM, moment, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{credentials['SecretAccessKey']}".encode()
    for word in (*scope.split("/"), text):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    who = f"Credential={credentials['AccessKeyId']}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
    return {**signed, "Authorization": f"{_ALGORITHM} {who}"}


def _path(path: str, service: str) -> str:
    # S3 signs the path as it is sent; every other service encodes it once more.
    return path or "/" if service == "s3" else quote(path or "/", safe="/~")
