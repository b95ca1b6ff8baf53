"""Reader of `data/endpoints.json`: the interface endpoints that nodes call, with the reason for each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.values import dataclass

__all__ = ["EndpointFacts", "default_endpoints", "endpoint_facts", "endpoint_services", "services_on_other_ports"]

DATA_FILE = Path(__file__).with_name("data") / "endpoints.json"
SERVICES_FILE = Path(__file__).with_name("data") / "endpoint_services.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointFacts:
    """One AWS service that a node may call from inside the VPC.

    Attributes:
        service: the last part of the endpoint service name, for example `ssmmessages` or `ecr.api`.
        default: whether a network makes it unless told otherwise. Each one is billed per hour and zone, so only what
            every node calls is on.
        called_by: who calls it.
        without_it: what happens when neither the endpoint nor a way to the internet is there.
        source: the page that documents the endpoint.
    """

    service: str
    default: bool
    called_by: str
    without_it: str
    source: str


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return document


@cache
def endpoint_facts() -> Mapping[str, EndpointFacts]:
    """All known interface endpoints by service, the default ones first."""
    rows: Mapping[str, Mapping[str, object]] = _document()["endpoints"]
    known = {service: _read(service, row) for service, row in rows.items()}
    return dict(sorted(known.items(), key=lambda item: (not item[1].default, item[0])))


def default_endpoints() -> tuple[str, ...]:
    """The services that every node calls, in alphabetical order."""
    return tuple(service for service, facts in endpoint_facts().items() if facts.default)


@cache
def services_on_other_ports() -> frozenset[str]:
    """The services whose interface endpoints are not called over HTTPS alone."""
    return frozenset(_document()["other_ports"]["value"])


@cache
def endpoint_services() -> frozenset[str]:
    """Last parts of the names of all interface endpoint services of AWS that are on record."""
    return frozenset(json.loads(SERVICES_FILE.read_text(encoding="utf-8"))["services"])


def _read(service: str, row: Mapping[str, object]) -> EndpointFacts:
    return EndpointFacts(
        service=service,
        default=row["default"] is True,
        called_by=str(row["called_by"]),
        without_it=str(row["without_it"]),
        source=str(row["source"]),
    )
