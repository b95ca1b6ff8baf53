"""The MIME document: a cloud-config part writes the files, a shell part fetches the programs and starts them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable

from ultracluster.plan.node_files import NodeFile, start_parts
from ultracluster.plan.user_data_parts import Part, Shared, Slot, Text, merged

__all__ = ["MARKER", "mime_parts", "plain"]

MARKER = "ultracluster-bootstrap"
"""Stands in the first line of the user data of every launch template that this library makes."""

_PLAIN = re.compile(r"[\t\n\x20-\x7e]*")


def plain(text: str) -> bool:
    """Whether a text survives as it is: cloud-init reads the document as ASCII, YAML knows no control characters."""
    return _PLAIN.fullmatch(text) is not None and not text[:1].isspace()


def mime_parts(files: Iterable[NodeFile]) -> tuple[Part, ...]:
    """The document."""
    files = tuple(files)
    boundary = MARKER
    while any(f"--{boundary}" in _text(file) for file in files):
        boundary += "-"
    parts: list[Part] = [
        Text(text=f'Content-Type: multipart/mixed; boundary="{boundary}"\n'),
        Shared(
            label="Head",
            text=f"MIME-Version: 1.0\n\n--{boundary}\n"
            'Content-Type: text/cloud-config; charset="us-ascii"\n\n#cloud-config\nwrite_files:\n',
        ),
    ]
    for file in files:
        parts.extend(_entry(file))
    head = f'\n--{boundary}\nContent-Type: text/x-shellscript; charset="us-ascii"\n\n'
    parts += [Shared(label="Start", text=head), *start_parts(), Shared(label="End", text=f"\n--{boundary}--\n")]
    return tuple(merged(parts))


def _text(file: NodeFile) -> str:
    return "".join(part.text for part in file.parts if not isinstance(part, Slot))


def _entry(file: NodeFile) -> Iterable[Part]:
    """One item of `write_files`: a literal block, or base64 where the text would not survive."""
    head = f"- path: {file.path}\n" + ("  permissions: '0755'\n" if file.executable else "")
    if plain(_text(file)):
        yield Shared(label="File", text=f"{head}  content: |\n")
        yield from _indented(file.parts)
    else:
        encoded = base64.b64encode(_text(file).encode("utf-8")).decode("ascii")
        yield Shared(label="File", text=f"{head}  encoding: b64\n  content: ")
        yield Text(text=f"{encoded}\n")


def _indented(parts: tuple[Part, ...]) -> Iterable[Part]:
    """Content of a literal block: three spaces before every line that is not empty."""
    start = True
    for part in parts:
        if isinstance(part, Text | Shared):
            text = re.sub(r"(?m)^(?=.)", "   ", part.text) if start else re.sub(r"(?<=\n)(?=.)", "   ", part.text)
            start = part.text.endswith("\n")
            yield Text(text=text) if isinstance(part, Text) else Shared(label=part.label, text=text)
        else:
            start = False
            yield part
