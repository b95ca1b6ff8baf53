"""S3, Auto Scaling, EC2 and EventBridge for tests, and as a process: they check signatures and note every call.

    python aws_endpoint.py --bind 127.0.0.1 --port 0 --control 0

prints `{"port": ..., "control": ...}`; on the control port `GET /` gives the calls so far and `POST /` takes
`{"objects": {"/bucket/key": FILE}, "faults": {action: [answers...]}}`. Needs botocore beside the standard library.
"""

from __future__ import annotations

import argparse
import http.server
import json
import re
import ssl
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

if __package__:
    from support.imds_server import ACCESS_KEY, SECRET_KEY, SESSION_TOKEN, QuietServer, control_server
else:
    from imds_server import ACCESS_KEY, SECRET_KEY, SESSION_TOKEN, QuietServer, control_server

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<day>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, "
    r"SignedHeaders=(?P<names>\S+), Signature=(?P<signature>[0-9a-f]{64})"
)
CLOSE = "close"  # a fault: the connection ends without an answer, before anything was done
HANG = "hang"  # a fault: no answer for half a minute
LOST = "lost"  # a fault: the call is carried out, its answer never arrives
TRUNCATE = "truncate"  # a fault of GET: half of the body arrives


@dataclass
class Call:
    """A call with a valid signature.

    Attributes:
        at: seconds since 1970.
        service: name in the signature.
        action: of a query, target of a JSON call, `GetObject` of S3.
        params: parameters.
        status: of the answer; 0 when none arrived.
    """

    at: float
    service: str
    action: str
    params: dict[str, Any]
    status: int


@dataclass
class AwsEndpoint:
    """The services.

    Attributes:
        calls: what was asked, with a valid signature.
        refused: why other requests were turned away.
        objects: path to content of S3.
        faults: per action what happens instead, first come first served: a status, or one of the words above.
        completed: life-cycle actions that are through; a second completion is an error, as with AWS.
        tls: certificate and key, for `https`; plain `http` without.
    """

    calls: list[Call] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    objects: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[int | str]] = field(default_factory=dict)
    completed: set[tuple[str, str]] = field(default_factory=set)
    bind: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None

    def start(self) -> AwsEndpoint:
        """Listen; `port` is the real one afterwards."""
        handler = type("Handler", (_Handler,), {"service": self})
        self._server = QuietServer((self.bind, self.port), handler)
        if self.tls is not None:
            self._server.socket = self.tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> AwsEndpoint:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Its address."""
        return f"{'https' if self.tls else 'http'}://{self.bind}:{self.port}"

    def of(self, action: str) -> list[dict[str, Any]]:
        """Parameters of the calls of one action that were carried out."""
        return [call.params for call in self.calls if call.action == action and call.status in (0, 200)]

    def apply(self, change: dict[str, Any]) -> None:
        """What the control port takes."""
        for path, file in change.get("objects", {}).items():
            self.objects[path] = Path(file).read_bytes()
        self.faults.update(change.get("faults", {}))

    def fault(self, action: str) -> int | str | None:
        """What goes wrong with the next call of an action."""
        waiting = self.faults.get(action)
        return waiting.pop(0) if waiting else None

    def perform(self, service: str, action: str, params: dict[str, Any], path: str) -> tuple[int, bytes]:
        """Status and body."""
        if service == "s3":
            data = self.objects.get(path)
            return (200, data) if data is not None else (404, b"<Error><Code>NoSuchKey</Code></Error>")
        if action == "AWSEvents.PutEvents":
            entries = [{"EventId": str(uuid.uuid4())} for _ in params["Entries"]]
            return 200, json.dumps({"FailedEntryCount": 0, "Entries": entries}).encode()
        if action == "CompleteLifecycleAction":
            key = (params["LifecycleHookName"], params["InstanceId"])
            if key in self.completed:
                return 400, _error("ValidationError", f"No active Lifecycle Action found with instance ID {key[1]}")
            self.completed.add(key)
        return 200, f"<{action}Response><{action}Result/></{action}Response>".encode()


def _error(code: str, message: str) -> bytes:
    return f"<ErrorResponse><Error><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>".encode()


def expected_signature(method: str, url: str, headers: Mapping[str, str], body: bytes, authorization: str) -> str:
    """The signature that botocore gives the headers which an Authorization header names."""
    found = _AUTHORIZATION.fullmatch(authorization)
    if found is None:
        raise ValueError(f"no signature of version 4: {authorization!r}")
    lower = {name.lower(): value for name, value in headers.items()}
    signed = {name: lower[name] for name in found["names"].split(";")}
    if "host" not in signed or "x-amz-date" not in signed:
        raise ValueError("host and date have to be signed")
    kind = S3SigV4Auth if found["service"] == "s3" else SigV4Auth
    signer = kind(Credentials(ACCESS_KEY, SECRET_KEY, SESSION_TOKEN), found["service"], found["region"])
    request = AWSRequest(method=method, url=url, headers=signed, data=body)
    request.context["timestamp"] = signed["x-amz-date"]
    if found["service"] == "s3":
        request.context["payload_signing_enabled"] = True
    text = signer.string_to_sign(request, signer.canonical_request(request))
    return str(signer.signature(text, request))


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: AwsEndpoint

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        why = self._wrong(body)
        if why:
            self.service.refused.append(why)
            self._answer(403, _error("SignatureDoesNotMatch", why))
            return
        name = _AUTHORIZATION.fullmatch(self.headers["Authorization"])["service"]
        action, params = self._call(name, body)
        fault = self.service.fault(action)
        if fault == HANG:
            time.sleep(30)
        if fault in (CLOSE, HANG):
            self.close_connection = True
            return
        status, data = (
            (fault, _error("Fault", "of the test")) if isinstance(fault, int) else self._perform(name, action, params)
        )
        noted = 0 if fault == LOST else status
        self.service.calls.append(Call(time.time(), name, action, params, noted))
        if fault == LOST:
            self.close_connection = True
            return
        self._answer(status, data, whole=fault != TRUNCATE)

    do_GET = do_POST = _serve  # noqa: N815 - names of the standard library

    def _perform(self, name: str, action: str, params: dict[str, Any]) -> tuple[int, bytes]:
        return self.service.perform(name, action, params, self.path.partition("?")[0])

    def _call(self, name: str, body: bytes) -> tuple[str, dict[str, Any]]:
        if name == "s3":
            return "GetObject", {"path": self.path}
        target = self.headers.get("X-Amz-Target")
        if target:
            return target, json.loads(body)
        params = dict(parse_qsl(body.decode(), strict_parsing=True))
        params.pop("Version")
        return params.pop("Action"), params

    def _wrong(self, body: bytes) -> str:
        given = self.headers.get("Authorization", "")
        try:
            expected = expected_signature(
                self.command, f"http://{self.headers['Host']}{self.path}", self.headers, body, given
            )
        except (KeyError, ValueError) as error:
            return str(error)
        if not given.endswith(expected):
            return f"the signature of {self.command} {self.path} should be {expected}"
        if self.headers.get("X-Amz-Security-Token") != SESSION_TOKEN:
            return "the session token is missing"
        return ""

    def _answer(self, status: int, data: bytes, *, whole: bool = True) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data if whole else data[: len(data) // 2])
        if not whole:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing: tests read `calls`."""


def main() -> None:
    """Serve as a process."""
    parser = argparse.ArgumentParser(description="AWS services for tests")
    parser.add_argument("--bind", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--control", type=int, default=0)
    options = parser.parse_args()
    service = AwsEndpoint(bind=options.bind, port=options.port).start()
    control = control_server(
        service,
        options.control,
        lambda: {"calls": [asdict(call) for call in service.calls], "refused": service.refused},
    )
    sys.stdout.write(json.dumps({"port": service.port, "control": control.server_address[1]}) + "\n")
    sys.stdout.flush()
    sys.stdin.read() if not sys.stdin.isatty() else threading.Event().wait()


if __name__ == "__main__":
    main()
