"""The instance metadata service, version 2 only.

Plain sockets instead of `http.client`: that module loads OpenSSL, which alone would take a third of the memory that the
program which watches for notices may have.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable

from . import NodeError

ENDPOINT = "http://169.254.169.254"
TOKEN_S = 21600  # the longest that the service gives
_OK, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 200, 401, 403, 404
_LONGEST_PAUSE_S = 5.0


class ImdsError(NodeError):
    """The metadata service gives no answer."""


class _RetryError(Exception):
    """This attempt failed; another may not."""


class Imds:
    """A client with one connection and one session token, both renewed when they end.

    Args:
        endpoint: where the service listens; `ULTRACLUSTER_IMDS` or the link-local address by default.
        timeout_s: for one request, from connecting to the last byte.
        attempts: how often a request is tried while the service is silent, overloaded (429) or broken (5xx).
        clock: seconds that never jump.
        sleep: waits for seconds.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        timeout_s: float = 1.0,
        attempts: int = 5,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._socket: socket.socket | None = None
        address = endpoint or os.environ.get("ULTRACLUSTER_IMDS") or ENDPOINT
        host = address.split("//")[-1].rstrip("/")
        name, _, port = host.rpartition(":") if host.rpartition(":")[2].isdigit() else (host, "", "80")
        self._host, self._address = host, (name.strip("[]"), int(port))
        self._timeout_s, self._attempts = timeout_s, attempts
        self._clock, self._sleep = clock, sleep
        self._token, self._renew_at = "", 0.0

    def __del__(self) -> None:
        self.close()

    def get(self, path: str) -> str | None:
        """A value, or None when the service has none under this name (404).

        Args:
            path: below `latest/meta-data/`, or from the top when it begins with a slash.

        Raises:
            ImdsError: no answer after all attempts, or the service is switched off for this instance.
        """
        full = path if path.startswith("/") else f"/latest/meta-data/{path}"
        why = ""
        for attempt in range(self._attempts):
            if attempt:
                self._sleep(min(0.2 * 2 ** (attempt - 1), _LONGEST_PAUSE_S))
            try:
                return self._get(full)
            except _RetryError as error:
                why = str(error)
        raise ImdsError(f"the metadata service gives no answer to {full} ({why}); it has to be on, with hop limit 1")

    def require(self, path: str) -> str:
        """A value that every instance has.

        Raises:
            ImdsError: there is none, or no answer.
        """
        value = self.get(path)
        if value is None:
            raise ImdsError(f"the metadata service has no {path}; this is no EC2 instance with that property")
        return value

    def region(self) -> str:
        """Region of the instance."""
        return self.require("placement/region")

    def credentials(self) -> dict[str, str]:
        """Temporary credentials of the instance's role: `AccessKeyId`, `SecretAccessKey`, `Token`.

        Raises:
            ImdsError: the instance has no role, or no answer.
        """
        folder = "iam/security-credentials/"
        roles = (self.get(folder) or "").split()
        if not roles:
            raise ImdsError("the instance has no role; attach an instance profile")
        found: dict[str, str] = json.loads(self.require(folder + roles[0]))
        if "AccessKeyId" not in found:
            raise ImdsError(f"the role {roles[0]} gives no credentials ({found.get('Message', 'no reason')})")
        return found

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _get(self, path: str) -> str | None:
        status, body = self._ask(path)
        if status == _UNAUTHORIZED:
            self._token = ""  # ended early: the node was suspended, or the service was restarted
            status, body = self._ask(path)
        if status == _NOT_FOUND:
            return None
        return _checked(status, body)

    def _ask(self, path: str) -> tuple[int, bytes]:
        return self._request("GET", path, {"X-aws-ec2-metadata-token": self._session()})

    def _session(self) -> str:
        if not self._token or self._clock() >= self._renew_at:
            headers = {"X-aws-ec2-metadata-token-ttl-seconds": str(TOKEN_S)}
            self._token = _checked(*self._request("PUT", "/latest/api/token", headers))
            self._renew_at = self._clock() + TOKEN_S / 2
        return self._token

    def _request(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, bytes]:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._host}", "Content-Length: 0"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        request = ("\r\n".join(lines) + "\r\n\r\n").encode()
        kept = self._socket is not None
        try:
            return self._exchange(request, self._clock() + self._timeout_s)
        except (OSError, ValueError) as error:
            self.close()
            if kept and isinstance(error, ConnectionError):
                return self._request(method, path, headers)  # the other side had closed the connection that was kept
            raise _RetryError(str(error) or type(error).__name__) from error

    def _exchange(self, request: bytes, deadline: float) -> tuple[int, bytes]:
        link = self._connected(deadline)
        link.sendall(request)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._receive(link, deadline)
        head, _, body = received.partition(b"\r\n\r\n")
        status, length, keep = _parsed(head)
        while len(body) < length:
            body += self._receive(link, deadline)
        if not keep:
            self.close()
        return status, body

    def _connected(self, deadline: float) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, max(deadline - self._clock(), 0.001))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _receive(self, link: socket.socket, deadline: float) -> bytes:
        left = deadline - self._clock()
        if left <= 0:
            raise TimeoutError("timed out")
        link.settimeout(left)
        part = link.recv(65536)
        if not part:
            raise ConnectionResetError("closed within the answer")
        return part


def _parsed(head: bytes) -> tuple[int, int, bool]:
    """Status, length of the body, whether the connection stays open."""
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    keep = first.startswith("HTTP/1.1") and headers.get("connection", "").lower() != "close"
    return int(first.split()[1]), int(headers.get("content-length", "0")), keep


def _checked(status: int, body: bytes) -> str:
    if status == _OK:
        return body.decode()
    if status == _FORBIDDEN:
        raise ImdsError("the metadata service is switched off for this instance (403); set HttpEndpoint to enabled")
    raise _RetryError(f"status {status}")
