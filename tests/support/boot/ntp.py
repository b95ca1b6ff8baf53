"""The time service of a VPC at 169.254.169.123: enough of NTP that chrony follows it (RFC 5905, figure 8)."""

from __future__ import annotations

import socket
import struct
import threading
import time

_FROM_1900_TO_1970 = 2_208_988_800
_VERSION_4_SERVER = 0b00_100_100
_PACKET = struct.Struct("!BBbbII4sQQQQ")


class TimeServer:
    """Answers with the time of this machine."""

    def __init__(self, address: str) -> None:
        self._address = address

    def start(self) -> TimeServer:
        """Listen."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((self._address, 123))
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def stop(self) -> None:
        """Stop listening."""
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                request, peer = self._socket.recvfrom(1024)
            except OSError:
                return
            if len(request) < _PACKET.size:
                continue
            received = _stamp()
            (sent,) = struct.unpack("!Q", request[40:48])
            answer = (_VERSION_4_SERVER, 3, request[2], -20, 0x10, 0x10, b"\xa9\xfe\xa9\x7a")
            self._socket.sendto(_PACKET.pack(*answer, received, sent, received, _stamp()), peer)


def _stamp() -> int:
    return int((time.time() + _FROM_1900_TO_1970) * 2**32)
