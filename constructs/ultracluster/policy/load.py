"""From paths to assemblies: which files are templates, which belong together, which are nested in which."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ultracluster.policy.cloud_assembly import MANIFEST, is_broken_assembly, is_cloud_assembly, read_cloud_assembly
from ultracluster.policy.document import MOST_BYTES, Document, is_template, looks_like_template, read_document
from ultracluster.policy.linking import link
from ultracluster.policy.model import AssemblyModel, Environment, TemplateModel
from ultracluster.policy.unreadable import Unreadable

__all__ = ["Loaded", "NotRead", "assembly_of", "load"]

STDIN = "-"
_SUFFIXES = frozenset({".json", ".template", ".yaml", ".yml"})
# Folders that hold other people's files, or copies of what is judged elsewhere.
_PASSED_BY = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})


@dataclass(frozen=True, slots=True)
class NotRead:
    """A file that was asked for, or that is meant as a template, and cannot be read.

    Attributes:
        name: the file as it was given.
        reason: why.
        line: line, from 1; None when the whole file is meant.
        column: column, from 1.
    """

    name: str
    reason: str
    line: int | None = None
    column: int | None = None


@dataclass(slots=True)
class Loaded:
    """What was found under some paths.

    Attributes:
        assemblies: templates that belong together.
        not_read: files that should have been templates.
        skipped: how many files of the folders are no templates.
    """

    assemblies: list[AssemblyModel] = field(default_factory=list)
    not_read: list[NotRead] = field(default_factory=list)
    skipped: int = 0

    @property
    def templates(self) -> list[TemplateModel]:
        """All templates, nested ones once per use."""
        return [template for assembly in self.assemblies for template in assembly.templates]


def assembly_of(
    documents: Sequence[Document], *, is_app: bool = False, environment: Environment | None = None
) -> AssemblyModel:
    """Documents that are deployed together, without nesting.

    Args:
        documents: one per stack.
        is_app: whether they are a whole app.
        environment: where they are deployed, as far as it is known.
    """
    templates = [TemplateModel(document, environment=environment) for document in documents]
    return AssemblyModel(templates, is_app=is_app)


def load(paths: Sequence[str], *, environment: Environment | None = None, pass_over_others: bool = False) -> Loaded:
    """Read files, folders, globs, cloud assemblies, and `-` for standard input.

    Args:
        paths: as given on the command line.
        environment: where plain templates are deployed, as far as it is known; a cloud assembly says it itself.
        pass_over_others: whether files that are named and are no templates are passed over, as those of a folder are.
    """
    loaded = Loaded()
    plain: dict[str, tuple[Document, Path | None]] = {}
    for path in paths:
        wrong = len(loaded.not_read)
        holds = [_take(found, loaded, plain, pass_over_others=pass_over_others) for found in _found(path, loaded)]
        if not any(holds) and len(loaded.not_read) == wrong and not pass_over_others:
            # A pipeline that names the wrong folder would be told for ever that all is well.
            loaded.not_read.append(NotRead(path, f"no template found in {path}"))
    loaded.assemblies.extend(link(list(plain.values()), environment or Environment()))
    return loaded


def _take(
    found: _File | _App, loaded: Loaded, plain: dict[str, tuple[Document, Path | None]], *, pass_over_others: bool
) -> bool:
    """Read a file or an app; whether there is a template in it."""
    if isinstance(found, _App):
        return _take_app(found.folder, loaded)
    if found.name not in plain:
        document = _document(replace(found, named=False) if pass_over_others else found, loaded)
        if document is not None:
            plain[found.name] = (document, found.path)
    return found.name in plain


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    path: Path | None
    named: bool


@dataclass(frozen=True, slots=True)
class _App:
    folder: Path


def _found(path: str, loaded: Loaded) -> list[_File | _App]:
    """What a path stands for; a name too long, a folder that is closed or a pattern that is none is noted."""
    try:
        return list(_expand(path, loaded))
    except OSError as error:
        loaded.not_read.append(NotRead(path, _told(error)))
    except (ValueError, NotImplementedError, IndexError) as error:
        loaded.not_read.append(NotRead(path, f"no path and no pattern: {str(error).lower()}"))
    return []


def _told(error: OSError) -> str:
    return str(error.strerror or error).lower()


def _expand(path: str, loaded: Loaded) -> Iterator[_File | _App]:
    if path == STDIN:
        yield _File("<stdin>", None, named=True)
        return
    place = Path(path)
    if place.is_dir():
        yield from _folder(place, loaded)
    elif place.name == MANIFEST and is_cloud_assembly(place.parent):
        yield _App(place.parent)
    elif place.exists():
        yield _File(str(place), place, named=True)
    elif glob.has_magic(path):
        anchor = place.anchor or "."
        matches = sorted(str(match) for match in Path(anchor).glob(str(place.relative_to(anchor))))
        if not matches:
            loaded.not_read.append(NotRead(path, "the pattern matches no file"))
        for match in matches:
            inner = Path(match)
            yield from _folder(inner, loaded) if inner.is_dir() else [_File(match, inner, named=False)]
    else:
        loaded.not_read.append(NotRead(path, "no such file or folder"))


def _folder(folder: Path, loaded: Loaded) -> Iterator[_File | _App]:
    if is_cloud_assembly(folder):
        yield _App(folder)
        return
    if is_broken_assembly(folder):
        loaded.not_read.append(NotRead(str(folder / MANIFEST), "no manifest of a cloud assembly; run cdk synth again"))
    # A folder that is closed to us may hold templates: that is no pass.
    for root, folders, files in os.walk(
        folder, onerror=lambda error: loaded.not_read.append(NotRead(str(error.filename), _told(error)))
    ):
        apps = [name for name in folders if is_cloud_assembly(Path(root, name))]
        yield from (_App(Path(root, name)) for name in sorted(apps))
        folders[:] = sorted(
            name for name in folders if name not in apps and name not in _PASSED_BY and not name.startswith(".")
        )
        for name in sorted(files):
            file = Path(root, name)
            if file.suffix.lower() in _SUFFIXES:
                yield _File(str(file), file, named=False)


def _take_app(folder: Path, loaded: Loaded) -> bool:
    before = len(loaded.assemblies)
    for found in read_cloud_assembly(folder):
        if isinstance(found, AssemblyModel):
            loaded.assemblies.append(found)
        else:
            loaded.not_read.append(NotRead(*found))
    return any(assembly.templates for assembly in loaded.assemblies[before:])


def _document(file: _File, loaded: Loaded) -> Document | None:
    """The document of a file; what is wrong with it is noted, or counted where nobody named the file."""
    try:
        data = _bytes(file)
        if not file.named and not looks_like_template(data):
            loaded.skipped += 1
            return None
        return _template(file.name, data)
    except OSError as error:
        loaded.not_read.append(NotRead(file.name, _told(error)))
    except Unreadable as error:
        if file.named or (error.line is not None and _is_meant(file)):
            loaded.not_read.append(NotRead(file.name, error.reason, error.line, error.column))
        else:
            loaded.skipped += 1
    return None


def _template(name: str, data: bytes) -> Document:
    document = read_document(name, data)
    if not is_template(document.value):
        raise Unreadable("no CloudFormation template: no Resources with types")
    return document


def _is_meant(file: _File) -> bool:
    """Whether a file of a folder that cannot be read is meant as a template."""
    return file.path is not None and b"AWSTemplateFormatVersion" in file.path.read_bytes()


def _bytes(file: _File) -> bytes:
    """The bytes of a file, never more than are read at all."""
    if file.path is None:
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    if not file.path.is_file():
        raise Unreadable("no ordinary file")
    size = file.path.stat().st_size
    if size > MOST_BYTES:
        raise Unreadable(f"{size} bytes are over the {MOST_BYTES} that are read (CloudFormation takes 1 MB)")
    return file.path.read_bytes()
