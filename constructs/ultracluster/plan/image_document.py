"""Documents of Image Builder components: their text, and the version that follows from it.

A component is immutable under its name and version. So the name stays, and the version is made of the digest of the
text: the same text has the same version wherever and whenever it is built, another text has another one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cache
from pathlib import Path

from ultracluster.values import dataclass

__all__ = ["Document", "Download", "Reboot", "Script", "Step", "content_version", "script_text"]

_STEPS = Path(__file__).with_name("image_steps")
_FUNCTION = re.compile(r"^(\w+)\(\)", re.MULTILINE)
_NODE_BITS = 30
"""Image Builder takes numbers up to 2**30 - 1 in each of the three places of a version."""
_MINUTE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A shell program.

    Attributes:
        name: of the step.
        file: its text, in `image_steps/` without `.sh`.
        settings: variables that it reads.
        minutes: after which it is stopped.
    """

    name: str
    file: str
    settings: Mapping[str, str] = field(default_factory=dict)
    minutes: int = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Reboot:
    """The build instance is rebooted, and the document goes on behind this step."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """An object of S3 is copied to the build instance.

    Attributes:
        name: of the step.
        source: address of the object; may name a parameter of the document.
        destination: path of the file.
    """

    name: str
    source: str
    destination: str


Step = Script | Reboot | Download


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A component.

    Attributes:
        name: what it is called beside the others of an image.
        description: one sentence.
        build: steps that change the image.
        validate: steps that look at the build instance when all components have been built.
        test: steps that look at a new instance of the finished image.
        parameters: values that the recipe gives it, each with its description.
        supported_os: the operating system that it is offered for.
    """

    name: str
    description: str
    supported_os: str = ""
    build: tuple[Step, ...] = ()
    validate: tuple[Step, ...] = ()
    test: tuple[Step, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The document as YAML."""
        return "\n".join(self._lines()) + "\n"

    @property
    def version(self) -> str:
        """The version that follows from everything that cannot be changed under one version."""
        return content_version(f"{self.supported_os}\n{self.text}")

    def _lines(self) -> Iterator[str]:
        yield f"name: {json.dumps(self.name)}"
        yield f"description: {json.dumps(self.description)}"
        yield "schemaVersion: 1.0"
        if self.parameters:
            yield "parameters:"
            for name, description in self.parameters.items():
                yield from (f"- {name}:", "    type: string", f"    description: {json.dumps(description)}")
        yield "phases:"
        for phase, steps in (("build", self.build), ("validate", self.validate), ("test", self.test)):
            if steps:
                yield from (f"- name: {phase}", "  steps:")
                for step in steps:
                    yield from _step(step)


def _step(step: Step) -> Iterator[str]:
    yield f"  - name: {step.name}"
    match step:
        case Script():
            yield from ("    action: ExecuteBash", f"    timeoutSeconds: {step.minutes * _MINUTE}", "    inputs:")
            yield from ("      commands:", "      - |")
            yield from (f"        {line}".rstrip() for line in script_text(step).splitlines())
        case Download():
            yield from ("    action: S3Download", f"    timeoutSeconds: {10 * _MINUTE}", "    inputs:")
            yield f"    - source: {json.dumps(step.source)}"
            yield f"      destination: {json.dumps(step.destination)}"
        case Reboot():
            yield from ("    action: Reboot", "    inputs:", "      delaySeconds: 10")


def script_text(step: Script) -> str:
    """The whole program of a step: its settings, the helpers that it calls, and its text, without comments.

    Args:
        step: the step.
    """
    body = _source(step.file)
    settings = "".join(f"{name}={_quoted(value)}\n" for name, value in step.settings.items())
    return "".join([settings, *_helpers(body), body])


def _helpers(body: str) -> Iterator[str]:
    """The beginning of the library, and the functions of it that the text needs, in their order."""
    head, *functions = _library()
    needed: set[str] = set()
    seen = {body}
    while seen:
        text = seen.pop()
        called = [part for part in functions if part not in needed and re.search(rf"\b{_name(part)}\b", text)]
        needed.update(called)
        seen.update(called)
    return iter([head, *(part for part in functions if part in needed)])


def _name(function: str) -> str:
    found = _FUNCTION.search(function)
    return found.group(1) if found else ""


@cache
def _library() -> tuple[str, ...]:
    parts = (_STEPS / "lib.sh").read_text(encoding="utf-8").split("\n\n")
    return tuple(_bare(part) for part in parts)


@cache
def _source(file: str) -> str:
    return _bare((_STEPS / f"{file}.sh").read_text(encoding="utf-8"))


def _bare(text: str) -> str:
    """Without comments and blank lines: a document has 16,000 characters."""
    kept: Iterable[str] = (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return "".join(f"{line}\n" for line in kept)


def _quoted(value: str) -> str:
    if "'" in value or "{{" in value:
        raise ValueError(f"{value!r} cannot stand in a step; it has a quote or a variable of the component manager")
    return f"'{value}'"


def content_version(content: str) -> str:
    """A version that stands for a text: `1.`, and 60 bits of its SHA-256 in two numbers.

    Args:
        content: the text.
    """
    bits = int(hashlib.sha256(content.encode()).hexdigest()[:15], 16)
    return f"1.{bits >> _NODE_BITS}.{bits & (1 << _NODE_BITS) - 1}"
