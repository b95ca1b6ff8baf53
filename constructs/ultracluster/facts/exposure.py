"""Reader of `data/exposure.json`: ports that must not be open to the world, and what carries security groups."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.values import dataclass

__all__ = ["Ports", "bearer_types", "dashboard_installs", "ports_of"]

DATA_FILE = Path(__file__).with_name("data") / "exposure.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """One port or range with the service behind it.

    Attributes:
        first: first port.
        last: last port.
        protocols: tcp, udp.
        service: what answers there.
        source: key of the source.
    """

    first: int
    last: int
    protocols: tuple[str, ...]
    service: str
    source: str

    def meet(self, protocol: str, first: int, last: int) -> bool:
        """Whether a rule of a security group for one protocol reaches any of them; `-1` is left to the caller."""
        return protocol in self.protocols and first <= self.last and self.first <= last


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


@cache
def _kinds() -> Mapping[str, tuple[Ports, ...]]:
    kinds = _document()["kinds"].items()
    return {kind: tuple(Ports(**{**row, "protocols": tuple(row["protocols"])}) for row in rows) for kind, rows in kinds}


def ports_of(kind: str) -> tuple[Ports, ...]:
    """The ports of one kind: `login`, `storage`, `service`, `dashboard` or `web`.

    Raises:
        KeyError: no such kind, which is a fault of this library.
    """
    return _kinds()[kind]


@cache
def bearer_types(kind: str) -> frozenset[str]:
    """Resource types that carry security groups: `load_balancers`, `file_systems`, or others `without_login`.

    Raises:
        KeyError: no such kind, which is a fault of this library.
    """
    return frozenset(_document()["bearers"][kind])


@cache
def dashboard_installs() -> re.Pattern[str]:
    """What a script says that installs, starts or proxies Grafana or Prometheus."""
    return re.compile("|".join(_document()["dashboard_installs"]), re.IGNORECASE)
