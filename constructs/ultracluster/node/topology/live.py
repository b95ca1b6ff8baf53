"""Ask EC2 itself for the topology, with the role of the instance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from .. import NodeError
from .records import Instance, TopologyError

if TYPE_CHECKING:
    from ..host import Node

__all__ = ["described", "parse_answer"]

_VERSION = "2016-11-15"
_PAGE = "100"


def described(node: Node, filters: Sequence[str] = ()) -> tuple[Instance, ...]:
    """All instances of the account that EC2 tells a topology of.

    Args:
        node: gives role and Region; needs `ec2:DescribeInstanceTopology`.
        filters: `name=value,value` as of the API, for example `instance-type=p5.48xlarge`.

    Raises:
        TopologyError: a filter has no value, or the answer is broken.
        AwsError: EC2 refuses, or is out of reach.
    """
    from ..aws import Aws

    aws, params = Aws(node), {"MaxResults": _PAGE, **_filters(filters)}
    found: list[Instance] = []
    while True:
        page, token = parse_answer(aws.query("ec2", "DescribeInstanceTopology", _VERSION, params))
        found.extend(page)
        if not token:
            return tuple(found)
        params["NextToken"] = token


def _filters(filters: Sequence[str]) -> dict[str, str]:
    params = {}
    for number, text in enumerate(filters, 1):
        name, _, values = text.partition("=")
        if not name or not values:
            raise NodeError(f"{text!r} is no filter; write name=value, for example instance-type=p5.48xlarge")
        params[f"Filter.{number}.Name"] = name
        for index, value in enumerate(values.split(","), 1):
            params[f"Filter.{number}.Value.{index}"] = value
    return params


def parse_answer(text: str) -> tuple[tuple[Instance, ...], str]:
    """Instances of one page, and the token of the next; empty on the last one.

    Raises:
        TopologyError: it is no answer of the API.
    """
    try:
        document = ET.fromstring(text)
    except ET.ParseError as error:
        raise TopologyError(f"EC2's answer is no XML ({error}); look at the endpoint") from error
    space = document.tag.partition("}")[0] + "}" if document.tag.startswith("{") else ""
    items = document.iterfind(f"{space}instanceSet/{space}item")
    return tuple(_instances(items, space)), document.findtext(f"{space}nextToken") or ""


def _instances(items: Iterator[ET.Element], space: str) -> Iterator[Instance]:
    for item in items:
        name = item.findtext(f"{space}instanceId")
        if not name:
            raise TopologyError("EC2's answer has an instance without an id; look at the endpoint")
        path = tuple(node.text or "" for node in item.iterfind(f"{space}networkNodeSet/{space}item"))
        yield Instance(
            id=name,
            name=name,
            path=tuple(filter(None, path)),
            block=item.findtext(f"{space}capacityBlockId") or "",
            type=item.findtext(f"{space}instanceType") or "",
        )
