"""The MIME document: one cloud-config part that writes the files, one shell part that starts the node program."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby

from ultracluster.plan.node_files import NodeFile
from ultracluster.plan.user_data_parts import Part, Shared, Slot, Text

__all__ = ["MARKER", "mime_parts", "plain"]

MARKER = "ultracluster-bootstrap"
"""Stands in the first line of the user data of every launch template that this library makes."""

_START = "#!/bin/bash\nexec /bin/bash /opt/ultracluster/node.sh first\n"
_PLAIN = re.compile(r"[\t\n\x20-\x7e]*")


def plain(text: str) -> bool:
    """Whether a text survives as it is: cloud-init reads the document as ASCII, YAML knows no control characters."""
    return _PLAIN.fullmatch(text) is not None and not text[:1].isspace()


def mime_parts(files: Iterable[NodeFile], *, compressed: frozenset[str] = frozenset()) -> tuple[Part, ...]:
    """The document; files whose path is in `compressed` are written compressed."""
    files = tuple(files)
    boundary = MARKER
    while any(f"--{boundary}" in _text(file) for file in files):
        boundary += "-"
    parts: list[Part] = [
        Text(text=f'Content-Type: multipart/mixed; boundary="{boundary}"\n'),
        Shared(
            key="Head",
            text=f"MIME-Version: 1.0\n\n--{boundary}\n"
            'Content-Type: text/cloud-config; charset="us-ascii"\n\n#cloud-config\nwrite_files:\n',
        ),
    ]
    for file in files:
        parts.extend(_entry(file, compress=file.path in compressed))
    start = f'\n--{boundary}\nContent-Type: text/x-shellscript; charset="us-ascii"\n\n{_START}\n--{boundary}--\n'
    parts.append(Shared(key="Start", text=start))
    return tuple(_merged(parts))


def _text(file: NodeFile) -> str:
    return "".join(part.text for part in file.parts if not isinstance(part, Slot))


def _entry(file: NodeFile, *, compress: bool) -> Iterable[Part]:
    """One item of `write_files`: a literal block, or base64 where the text would not survive."""
    if compress or not plain(_text(file)):
        content = _encoded(_text(file), compress=compress)
        item: tuple[Part, ...] = (
            Text(text=f"- path: {file.path}\n  encoding: {'gz+b64' if compress else 'b64'}\n  content: {content}\n"),
        )
    else:
        item = (Text(text=f"- path: {file.path}\n  content: |\n"), *_indented(file.parts))
    for part in item:
        yield Shared(key=file.label, text=part.text) if file.label and isinstance(part, Text) else part


@lru_cache(maxsize=64)
def _encoded(text: str, *, compress: bool) -> str:
    data = text.encode("utf-8")
    return base64.b64encode(gzip.compress(data, 9, mtime=0) if compress else data).decode("ascii")


def _indented(parts: tuple[Part, ...]) -> Iterable[Part]:
    """Content of a literal block: three spaces before every line that is not empty."""
    start = True
    for part in parts:
        if isinstance(part, Text | Shared):
            text = re.sub(r"(?m)^(?=.)", "   ", part.text) if start else re.sub(r"(?<=\n)(?=.)", "   ", part.text)
            start = part.text.endswith("\n")
            yield Text(text=text) if isinstance(part, Text) else Shared(key=part.key, text=text)
        else:
            start = False
            yield part


def _merged(parts: Iterable[Part]) -> Iterable[Part]:
    """Neighbouring own text as one part, neighbouring shared text likewise; the key of a shared part tells its text.

    With a digest in the key two texts never meet under one key, and fleets of one kind always do.
    """
    for kind, group in groupby(parts, key=type):
        pieces = list(group)
        text = "".join(piece.text for piece in pieces if not isinstance(piece, Slot))
        if kind is Slot:
            yield from pieces
        elif kind is Text:
            yield Text(text=text)
        else:
            label = next(piece.key for piece in pieces if isinstance(piece, Shared))
            yield Shared(key=f"{label}{hashlib.sha256(text.encode()).hexdigest()[:8]}", text=text)
