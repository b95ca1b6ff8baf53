"""Calls MiniStack's own API actions inside the process, and writes answers in the shapes of the AWS service models."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape

from ultracluster.local.emulator.internals import action

__all__ = ["Answer", "call", "render"]


class Answer:
    """The XML answer of an API action."""

    def __init__(self, body: bytes) -> None:
        """Parse the answer; names are read without their namespace."""
        self._root = ET.fromstring(body)

    def text(self, name: str) -> str | None:
        """The text of the first element with a name, wherever it stands."""
        for element in self._root.iter():
            if element.tag.rpartition("}")[2] == name:
                return element.text
        return None


def call(service: str, name: str, **parameters: Any) -> Answer:
    """Call an API action as a client would.

    Args:
        service: MiniStack's module, for example `ec2`.
        name: the action.
        parameters: members of the request; lists and objects are flattened as the EC2 protocol wants.

    Raises:
        ValueError: the action answered with an error; the text is the service's code and message.
    """
    flat = {key: [value] for key, value in _flatten("", parameters)}
    status, _, body = action(service, name)(flat)
    answer = Answer(body)
    if status >= 400:  # noqa: PLR2004 - HTTP
        raise ValueError(f"{answer.text('Code')}: {answer.text('Message')}")
    return answer


def _flatten(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten(f"{prefix}.{key}" if prefix else str(key), inner)
    elif isinstance(value, list):
        for position, inner in enumerate(value, 1):
            yield from _flatten(f"{prefix}.{position}", inner)
    elif value is not None:
        yield prefix, str(value).lower() if isinstance(value, bool) else str(value)


def render(target: Any, value: Any) -> str:
    """A value as the inner XML of a shape; what the shape does not know is left out.

    CloudFormation and the services use the same member names, so that template properties can be rendered as they are.

    Args:
        target: the shape.
        value: the value, keyed by member names.
    """
    if target.type_name == "structure":
        return "".join(
            _member(target.members[name], name, inner) for name, inner in value.items() if name in target.members
        )
    if target.type_name == "list":
        tag = target.member.serialization.get("name", "member")
        return "".join(f"<{tag}>{render(target.member, inner)}</{tag}>" for inner in value)
    if target.type_name == "boolean":
        return str(value).lower()
    return escape(str(value))


def _member(target: Any, name: str, value: Any) -> str:
    tag = target.serialization.get("name", name)
    return f"<{tag}>{render(target, value)}</{tag}>"
