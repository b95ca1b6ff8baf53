"""A metadata service with AWS's semantics, for tests and as a process: standard library only.

    python imds_server.py --bind 127.0.0.1 --port 0 --control 0 [--values FILE.json]

prints `{"port": ..., "control": ...}` and serves until it is ended. On the control port, which always listens on
127.0.0.1, `POST /` takes `{"values": {path: text or null}, "faults": {...}}` and `GET /` gives the requests so far.
Rules: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html
"""

from __future__ import annotations

import argparse
import http.server
import json
import re
import secrets
import socket
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from typing import Any

ACCESS_KEY = "access-key-of-the-test"
SECRET_KEY = "secret/of+the+test"
SESSION_TOKEN = "session-token=="
_LONGEST_TOKEN_S = 21600
_HOPS = 64
_VERSION = re.compile(r"/(?:latest|\d{4}-\d\d-\d\d)/(.*)")


def instance_values(**changes: str) -> dict[str, str]:
    """What an instance says of itself; paths are below `latest/`. Two underscores in a name stand for a slash."""
    credentials = {
        "Code": "Success",
        "Type": "AWS-HMAC",
        "AccessKeyId": ACCESS_KEY,
        "SecretAccessKey": SECRET_KEY,
        "Token": SESSION_TOKEN,
        "Expiration": "2099-01-01T00:00:00Z",
    }
    values = {
        "instance-id": "i-0123456789abcdef0",
        "instance-type": "p5.48xlarge",
        "ami-id": "ami-0123456789abcdef0",
        "local-hostname": "ip-10-0-0-9.ec2.internal",
        "hostname": "ip-10-0-0-9.ec2.internal",
        "local-ipv4": "10.0.0.9",
        "placement/region": "us-west-2",
        "placement/availability-zone": "us-west-2a",
        "services/domain": "amazonaws.com",
        "services/partition": "aws",
        "iam/security-credentials/node-role": json.dumps(credentials),
        "autoscaling/target-lifecycle-state": "InService",
        **{name.replace("__", "/").replace("_", "-"): value for name, value in changes.items()},
    }
    return {f"meta-data/{name}": value for name, value in values.items()}


@dataclass
class Faults:
    """What goes wrong.

    Attributes:
        down: connections are closed without an answer.
        slow_s: seconds before each answer.
        status: every request, tokens too, ends with it (500, 503, 429).
        disabled: 403 for everything, as with HttpEndpoint `disabled`.
        times: after so many faulty requests the service is well again; 0 for never.
    """

    down: bool = False
    slow_s: float = 0
    status: int = 0
    disabled: bool = False
    times: int = 0


@dataclass
class Request:
    """A request that was answered."""

    at: float
    method: str
    path: str
    status: int


@dataclass
class ImdsServer:
    """The service.

    Attributes:
        values: path below `latest/` to text; a path that is absent gives 404, a folder lists its names.
        faults: what goes wrong at the moment.
        requests: what was asked.
        hop_limit: how many hops the answer with a token survives, as HttpPutResponseHopLimit.
    """

    values: dict[str, str] = field(default_factory=instance_values)
    faults: Faults = field(default_factory=Faults)
    requests: list[Request] = field(default_factory=list)
    bind: str = "127.0.0.1"
    port: int = 0
    hop_limit: int = 1
    _tokens: dict[str, float] = field(default_factory=dict)

    def start(self) -> ImdsServer:
        """Listen; `port` is the real one afterwards."""
        handler = type("Handler", (_Handler,), {"service": self})
        self._server = QuietServer((self.bind, self.port), handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> ImdsServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{self.bind}:{self.port}"

    def set(self, path: str, text: str | None) -> None:
        """Give a value below `latest/meta-data/`, or take it away."""
        self._set(f"meta-data/{path}", text)

    def _set(self, full: str, text: str | None) -> None:
        if text is None:
            self.values.pop(full, None)
        else:
            self.values[full] = text

    def expire_tokens(self) -> None:
        """End all tokens before their time."""
        self._tokens.clear()

    def apply(self, change: dict[str, Any]) -> None:
        """What the control port takes."""
        for path, text in change.get("values", {}).items():
            self._set(path if path.startswith(("meta-data/", "dynamic/", "user-data")) else f"meta-data/{path}", text)
        if "faults" in change:
            self.faults = Faults(**change["faults"])
        if change.get("expire_tokens"):
            self.expire_tokens()

    def answer(self, method: str, path: str, headers: Any) -> tuple[int, str]:
        """Status and body of a request."""
        if self.faults.disabled:
            return 403, ""
        if method == "PUT":
            return self._new_token(path, headers)
        if method != "GET":
            return 405, ""
        ends = self._tokens.get(headers.get("X-aws-ec2-metadata-token", ""))
        if ends is None or ends < time.monotonic():
            return 401, ""
        return self._value(path)

    def _new_token(self, path: str, headers: Any) -> tuple[int, str]:
        ttl = headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
        if path != "/latest/api/token":
            return 405, ""
        if headers.get("X-Forwarded-For"):
            return 403, ""
        if not ttl.isdigit() or not 1 <= int(ttl) <= _LONGEST_TOKEN_S:
            return 400, ""
        token = secrets.token_urlsafe(40)
        self._tokens[token] = time.monotonic() + int(ttl)
        return 200, token

    def _value(self, path: str) -> tuple[int, str]:
        if path == "/":
            return 200, "1.0\n2021-03-23\n2024-04-11\nlatest"
        found = _VERSION.fullmatch(path)
        name = found[1] if found else ""
        if not found:
            return 404, ""
        if name in self.values:
            return 200, self.values[name]
        folder = name.rstrip("/") + "/" if name else ""
        below = [value[len(folder) :].partition("/") for value in list(self.values) if value.startswith(folder)]
        names = sorted({first + slash for first, slash, _ in below})
        return (200, "\n".join(names)) if names else (404, "")


class QuietServer(http.server.ThreadingHTTPServer):
    """Says nothing of clients that went away in the middle, or did not like a certificate."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Other faults are told."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "EC2ws"
    disable_nagle_algorithm = True
    service: ImdsServer

    def _serve(self) -> None:
        faults = self.service.faults
        self._body()
        status, body = self._faulty(faults) or self.service.answer(self.command, self.path, self.headers)
        self.service.requests.append(Request(time.time(), self.command, self.path, status))
        if faults.slow_s:
            time.sleep(faults.slow_s)
        if not status:
            self.close_connection = True
            return
        data = body.encode()
        # It stays until the next request, so that what is sent again is no more far-reaching.
        hops = self.service.hop_limit if self.command == "PUT" else _HOPS
        self.connection.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, hops)
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(data)))
        if self.command == "PUT" and status == 200:
            self.send_header(
                "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
            )
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 - names of the standard library

    def _body(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _faulty(self, faults: Faults) -> tuple[int, str] | None:
        if not (faults.down or faults.status):
            return None
        if faults.times:
            faults.times -= 1
            if not faults.times:
                self.service.faults = Faults()
        return (0, "") if faults.down else (faults.status, "")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing: tests read `requests`."""


def control_server(target: Any, port: int, state: Any) -> http.server.ThreadingHTTPServer:
    """A server on 127.0.0.1 whose POST calls `target.apply(change)` and whose GET gives `state()`, both JSON."""

    class Control(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            target.apply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self._answer({})

        def do_GET(self) -> None:
            self._answer(state())

        def _answer(self, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Control)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> None:
    """Serve as a process."""
    parser = argparse.ArgumentParser(description="a metadata service for tests")
    parser.add_argument("--bind", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--control", type=int, default=0)
    parser.add_argument("--values", type=argparse.FileType(), help="JSON object of paths below latest/, on top")
    options = parser.parse_args()
    service = ImdsServer(bind=options.bind, port=options.port)
    if options.values:
        service.values |= json.load(options.values)
    service.start()
    control = control_server(service, options.control, lambda: [asdict(request) for request in service.requests])
    sys.stdout.write(json.dumps({"port": service.port, "control": control.server_address[1]}) + "\n")
    sys.stdout.flush()
    sys.stdin.read() if not sys.stdin.isatty() else threading.Event().wait()


if __name__ == "__main__":
    main()
