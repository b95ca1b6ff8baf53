"""What a property can turn out to be when its intrinsics are resolved, beside plain JSON values.

A resolved property is a plain scalar, a list, an object, or one of the states here. `NotKnown` is how a rule ends when
it asks for the literal of something that only the deployment knows: the engine counts it as *not judged*.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from ultracluster.policy.model import ResourceModel, TemplateModel

__all__ = [
    "ABSENT",
    "Absent",
    "Encoded",
    "Impossible",
    "Node",
    "NotKnown",
    "Opaque",
    "Path",
    "Reference",
    "Text",
    "Unknown",
]

Path = tuple[str | int, ...]


class NotKnown(Exception):  # noqa: N818 - reads as what it is: not an error but an answer
    """Asked for what the template does not tell.

    Attributes:
        reason: why it is not known, in words for the report.
    """

    def __init__(self, reason: str) -> None:
        """Keep the reason."""
        super().__init__(reason)
        self.reason = reason


class Impossible(Exception):  # noqa: N818 - likewise
    """The assignment of conditions and parameters that is being read cannot be deployed at all."""


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"


ABSENT: Final[Literal[Absent.ABSENT]] = Absent.ABSENT
"""Not written, or removed with AWS::NoValue."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that only the deployment knows.

    Attributes:
        reason: why.
        symbol: equal symbols stand for equal values; different ones may.
        may_be_absent: whether even its presence is unknown.
    """

    reason: str
    symbol: Hashable = None
    may_be_absent: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """A `Ref` or `Fn::GetAtt` of a resource.

    Attributes:
        target: the resource.
        attribute: name of the attribute; empty for `Ref`.
    """

    target: ResourceModel
    attribute: str = ""

    @property
    def logical_id(self) -> str:
        """Logical id of the resource."""
        return self.target.logical_id

    @property
    def type(self) -> str:
        """Type of the resource."""
        return self.target.type

    def __str__(self) -> str:
        """As it is written in YAML."""
        return f"!GetAtt {self.logical_id}.{self.attribute}" if self.attribute else f"!Ref {self.logical_id}"


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part of a text that is not known.

    Attributes:
        reason: why.
        reference: the resource that it names, when it is one.
        name: what stands between the braces of Fn::Sub, or a short form of the intrinsic.
    """

    reason: str
    reference: Reference | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A text of which parts are known."""

    parts: tuple[str | Opaque, ...]

    @property
    def reason(self) -> str:
        """Why it is not known as a whole."""
        return next(part.reason for part in self.parts if isinstance(part, Opaque))


@dataclass(frozen=True, slots=True)
class Encoded:
    """The result of Fn::Base64: what it encodes."""

    inner: Node


class Node:
    """A value in its place; never changed once it is made.

    A plain class, because a reading makes more of these than of anything else.

    Attributes:
        raw: the value as it stands in the template, or a state of this module once it is resolved.
        template: the template it stands in.
        path: its place in that template.
    """

    __slots__ = ("path", "raw", "template")

    def __init__(self, raw: object, template: TemplateModel, path: Path) -> None:
        """Keep the value with its place."""
        self.raw = raw
        self.template = template
        self.path = path

    def child(self, key: str | int, raw: object) -> Node:
        """A value below this one."""
        return Node(raw, self.template, (*self.path, key))

    def become(self, raw: object) -> Node:
        """The same place with another value."""
        return Node(raw, self.template, self.path)
