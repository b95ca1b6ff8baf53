"""User data as it reaches an instance: decoded, with marks for what only the deployment knows."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from ultracluster.plan.user_data_parts import SLOT_LENGTHS
from ultracluster.policy.states import NotKnown, Opaque
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource
from ultracluster.policy.world import remembered

__all__ = ["MARK", "MimePart", "UserData", "user_data"]

MARK = "\ufffc"
"""Stands in `UserData.text` for a part that is not known."""

# Ids, names, ARNs and endpoints that CloudFormation puts in for a reference or a pseudo parameter; an ARN has at most
# 2,048 characters.
_MOST_REFERENCE = 2048
# Rules search this text; EC2 takes 16 KB, and for more there is a rule that counts.
_MOST_TEXT = 20_000
# References whose length the bootstrap knows.
_SLOTS = {
    ("AWS::FSx::FileSystem", ""): "file_system_id",
    ("AWS::FSx::FileSystem", "DNSName"): "dns_name",
    ("AWS::FSx::FileSystem", "LustreMountName"): "mount_name",
    ("AWS::EFS::FileSystem", ""): "file_system_id",
    ("AWS::EFS::FileSystem", "FileSystemId"): "file_system_id",
    ("AWS::EFS::AccessPoint", ""): "access_point_id",
    ("AWS::EFS::AccessPoint", "AccessPointId"): "access_point_id",
}
_BOUNDARY = re.compile(r'boundary\s*=\s*(?:"([^"\r\n]+)"|([^\s;"]+))', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MimePart:
    """One part of a multipart document.

    Attributes:
        content_type: in lower case, without parameters; empty when it is not written.
        body: the text, with marks.
    """

    content_type: str
    body: str


@dataclass(frozen=True, slots=True)
class UserData:
    """The user data of one launch template or instance.

    Attributes:
        value: the property.
        is_encoded: whether it is Fn::Base64 of a text, or a text in base64; EC2 takes no other form.
        parts: the decoded text, what is not known as `Opaque`.
    """

    value: Value
    is_encoded: bool
    parts: tuple[str | Opaque, ...]

    @property
    def text(self) -> str:
        """The text with `MARK` for what is not known; no more than EC2 takes, whatever a template holds."""
        return "".join(part if isinstance(part, str) else MARK for part in self.parts)[:_MOST_TEXT]

    @property
    def first(self) -> str:
        """The known text at its start, without blank lines.

        Raises:
            NotKnown: it begins with something that is not known.
        """
        head = self.parts[0] if self.parts else ""
        if isinstance(head, Opaque):
            raise NotKnown(f"how the user data begins: {head.reason}")
        return head.lstrip()

    @property
    def least_bytes(self) -> int:
        """Bytes of what is known."""
        return sum(len(part.encode()) for part in self.parts if isinstance(part, str))

    @property
    def most_bytes(self) -> int | None:
        """Bytes at most, references at their longest; None when a part has no limit."""
        opaque = [part for part in self.parts if isinstance(part, Opaque)]
        if any(part.reference is None and not part.name.startswith("AWS::") for part in opaque):
            return None
        return self.least_bytes + sum(map(_longest, opaque))

    @property
    def placeholders(self) -> list[Opaque]:
        """What is not known, in order."""
        return [part for part in self.parts if isinstance(part, Opaque)]

    @property
    def boundary(self) -> str | None:
        """The boundary of a multipart document; None when it is none.

        Raises:
            NotKnown: as `first`.
        """
        head = self.first
        if not head.lower().startswith(("mime-version", "content-type", "from ", "subject:")):
            return None
        header = re.split(r"\r?\n\r?\n", head, maxsplit=1)[0]
        found = _BOUNDARY.search(header) if "multipart/" in header.lower() else None
        return (found.group(1) or found.group(2)) if found else None

    @property
    def mime_parts(self) -> list[MimePart]:
        """The parts of a multipart document; none when it is none.

        Raises:
            NotKnown: as `first`.
        """
        boundary = self.boundary
        if boundary is None:
            return []
        pieces = re.split(rf"(?m)^--{re.escape(boundary)}(?:--)?[ \t]*\r?$", self.text)
        return [_mime_part(piece.lstrip("\r\n")) for piece in pieces[1:] if piece.strip()]

    @property
    def is_closed(self) -> bool:
        """Whether a multipart document ends with its closing boundary.

        Raises:
            NotKnown: as `first`.
        """
        boundary = self.boundary
        return boundary is not None and self.text.rstrip().endswith(f"--{boundary}--")

    @property
    def scripts(self) -> list[str]:
        """What is run as a script: the whole text, or the script parts of a multipart document.

        Raises:
            NotKnown: as `first`.
        """
        if self.boundary is None:
            return [self.text] if self.first.startswith("#!") else []
        return [part.body for part in self.mime_parts if part.content_type == "text/x-shellscript"]


def _longest(part: Opaque) -> int:
    """Bytes of a reference at most."""
    found = part.reference
    slot = _SLOTS.get((found.type, found.attribute)) if found is not None else None
    return SLOT_LENGTHS[slot] if slot is not None else _MOST_REFERENCE


def _mime_part(piece: str) -> MimePart:
    header, _, body = piece.replace("\r\n", "\n").partition("\n\n")
    kind = re.search(r"(?im)^content-type:\s*([^;\s]+)", header)
    return MimePart(kind.group(1).lower(), body) if kind else MimePart("", piece)


@remembered
def user_data(resource: Resource) -> UserData | None:
    """The user data of a launch template or instance; None when it has none.

    Raises:
        NotKnown: nothing of it is known.
    """
    keys = ("LaunchTemplateData", "UserData") if resource.type == "AWS::EC2::LaunchTemplate" else ("UserData",)
    value = resource.get(*keys)
    if not value.exists:
        return None
    if value.is_encoded:
        return UserData(value, is_encoded=True, parts=value.parts())
    if value.reference() is not None:
        raise NotKnown(f"user data is {value.shown}")
    parts = value.parts()
    decoded = _decoded(parts[0]) if len(parts) == 1 and isinstance(parts[0], str) else None
    return UserData(value, is_encoded=decoded is not None, parts=parts if decoded is None else (decoded,))


def _decoded(text: str) -> str | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", errors="replace")
    except (binascii.Error, ValueError):
        return None
