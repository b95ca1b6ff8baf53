"""Calls to AWS APIs with the instance's role, without an SDK or the aws command."""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from . import NodeError
from .sigv4 import sign

if TYPE_CHECKING:
    from .host import Node

__all__ = ["Aws", "AwsError"]

ATTEMPTS = 5
TIMEOUT_S = 10
_OK = range(200, 300)
_TRANSIENT = frozenset({429, 500, 502, 503, 504})
_THROTTLED = re.compile(r"Throttl|TooManyRequests|RequestLimitExceeded|RequestExpired|ExpiredToken")


class AwsError(NodeError):
    """A call that AWS refused, or that did not get through.

    Attributes:
        code: AWS's name of the error; empty when there was no answer.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class Aws:
    """The APIs in the node's Region.

    Args:
        node: gives credentials, Region and domain. `AWS_ENDPOINT_URL` and `AWS_ENDPOINT_URL_<SERVICE>` in its
            environment lead elsewhere, as with the SDKs.
        attempts: how often a call is tried while AWS is out of reach, throttles or has a fault of its own.
        timeout_s: for each of connecting, sending and receiving.
    """

    def __init__(self, node: Node, *, attempts: int = ATTEMPTS, timeout_s: float = TIMEOUT_S) -> None:
        self._node, self._attempts, self._timeout_s = node, attempts, timeout_s

    def query(self, service: str, action: str, version: str, params: Mapping[str, str]) -> str:
        """Call an API of the query kind (`autoscaling`, `ec2`); the answer is XML.

        Args:
            service: also its name in signatures.
            action: for example `CompleteLifecycleAction`.
            version: date of the API.
            params: flat parameters; lists as `Name.member.1`.

        Raises:
            AwsError: refused, or no answer.
        """
        body = urlencode({"Action": action, "Version": version, **params})
        return self._call(service, action, body, {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"})

    def json(self, service: str, target: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Call an API of the JSON kind (`events`).

        Args:
            service: also its name in signatures.
            target: for example `AWSEvents.PutEvents`.
            body: the parameters.

        Raises:
            AwsError: refused, or no answer.
        """
        headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": target}
        answer: dict[str, Any] = json.loads(self._call(service, target, json.dumps(body), headers) or "{}")
        return answer

    def _call(self, service: str, name: str, body: str, headers: Mapping[str, str]) -> str:
        error = AwsError(f"{name}: not tried")
        for attempt in range(self._attempts):
            if attempt:
                self._node.sleep(min(0.5 * 2 ** (attempt - 1), 8))
            try:
                status, text = self._send(service, body.encode(), headers)
            except (OSError, http.client.HTTPException) as fault:
                error = AwsError(f"{name}: no answer from {service} ({fault}); check endpoint, route and name server")
                continue
            if status in _OK:
                return text
            error = _refusal(name, status, text)
            if status not in _TRANSIENT and not _THROTTLED.search(error.code):
                break
        raise error

    def _send(self, service: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
        imds = self._node.imds
        region = imds.region()
        url = self._endpoint(service, region)
        signed = sign(
            "POST",
            url,
            headers,
            body,
            credentials=imds.credentials(),
            region=region,
            service=service,
            now=time.time(),
        )
        parts = urlsplit(url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        link = kind(parts.netloc, timeout=self._timeout_s)
        try:
            link.request("POST", parts.path, body=body, headers=signed)
            answer = link.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            link.close()

    def _endpoint(self, service: str, region: str) -> str:
        environ = self._node.environ
        given = environ.get(f"AWS_ENDPOINT_URL_{service.upper()}") or environ.get("AWS_ENDPOINT_URL")
        if given:
            return given.rstrip("/") + "/"
        return f"https://{service}.{region}.{self._node.imds.require('services/domain')}/"


def _refusal(name: str, status: int, text: str) -> AwsError:
    """XML has <Code> and <Message>, JSON has __type and message."""
    code = re.search(r"<Code>([^<]*)|\"__type\"\s*:\s*\"(?:[^\"#]*#)?([^\"]*)", text)
    message = re.search(r"<Message>([^<]*)|\"[Mm]essage\"\s*:\s*\"([^\"]*)", text)
    found = next(filter(None, code.groups()), "") if code else ""
    said = next(filter(None, message.groups()), "") if message else ""
    return AwsError(f"{name} is refused with status {status} {found}: {said or 'no reason'}", found)
