"""Templates that belong together: nested stacks with their parents, exporters with importers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from ultracluster.policy.document import MOST_BYTES, Document, is_template, read_document
from ultracluster.policy.mentions import exports, imports_of
from ultracluster.policy.model import AssemblyModel, Environment, ResourceModel, TemplateModel
from ultracluster.policy.unreadable import Unreadable

__all__ = ["Reader", "link", "nest"]

STACK = "AWS::CloudFormation::Stack"
_MOST_NESTED = 8
_MOST_USES = 200

Reader = Callable[[str], Document | None]
"""From the place that a nested stack names to its template, where that is at hand."""


def nest(parents: Sequence[TemplateModel], read: Reader) -> list[TemplateModel]:
    """Templates with those nested in them; each use of a nested template is one of its own.

    Args:
        parents: templates that are deployed by themselves.
        read: finds the template of a nested stack.
    """
    found: list[TemplateModel] = list(parents)
    for template in found:  # grows while it is walked
        if len(_ancestors(template)) < _MOST_NESTED and len(found) < _MOST_USES:
            found.extend(_children(template, read))
    return found


def _children(template: TemplateModel, read: Reader) -> Iterator[TemplateModel]:
    for resource in template.by_type.get(STACK, ()):
        place = _place(resource)
        document = read(place) if place else None
        if document is None or document in _ancestors(template) or not _takes(document, resource):
            continue
        environment = Environment(region=template.environment.region, account=template.environment.account)
        child = TemplateModel(document, environment=environment, parent=resource)
        template.children[resource.logical_id] = child
        yield child


def _ancestors(template: TemplateModel) -> list[Document]:
    found = [template.document]
    while template.parent is not None:
        template = template.parent.template
        found.append(template.document)
    return found


def _place(resource: ResourceModel) -> str | None:
    """Where a nested stack says that its template is: the file of the CDK, a local path, or the end of an address."""
    metadata, properties = resource.raw.get("Metadata"), resource.raw.get("Properties")
    asset = metadata.get("aws:asset:path") if isinstance(metadata, dict) else None
    if isinstance(asset, str):
        return asset
    url = properties.get("TemplateURL") if isinstance(properties, dict) else None
    if isinstance(url, dict) and len(url) == 1:
        url = next(iter(url.values()))
        if isinstance(url, list) and url:
            url = _last_text(url)
    return url if isinstance(url, str) else None


def _last_text(parts: list[object]) -> object:
    """The pattern of Fn::Sub, or the last part of Fn::Join."""
    if isinstance(parts[0], str) and "${" in parts[0]:
        return parts[0]
    inner = parts[-1]
    return inner[-1] if isinstance(inner, list) and inner else inner


def _takes(document: Document, resource: ResourceModel) -> bool:
    """Whether a template has the parameters that a nested stack passes: a guard against another file of that name."""
    properties = resource.raw.get("Properties")
    passed = properties.get("Parameters") if isinstance(properties, dict) else None
    declared = document.value.get("Parameters")
    return not isinstance(passed, dict) or passed.keys() <= (declared.keys() if isinstance(declared, dict) else set())


def link(documents: Sequence[tuple[Document, Path | None]], environment: Environment) -> list[AssemblyModel]:
    """Group plain templates into assemblies.

    Args:
        documents: templates with their files; None for standard input.
        environment: where they are deployed, as far as it is known.
    """
    library = _Library(documents)
    groups: list[list[TemplateModel]] = []
    for document, file in documents:
        root = TemplateModel(document, environment=environment)
        groups.append(nest([root], library.reader(file)))
    nested = {template.document for group in groups for template in group[1:]}
    # A template that is only ever part of another is judged there, with the parameters it gets.
    roots = [group for group in groups if group[0].document not in nested] or groups
    return [AssemblyModel(group) for group in _joined(roots)]


class _Library:
    """Templates by place and by name."""

    def __init__(self, documents: Sequence[tuple[Document, Path | None]]) -> None:
        self.by_path = {file.resolve(): document for document, file in documents if file is not None}
        self.by_name: dict[str, list[Document]] = {}
        for path, document in self.by_path.items():
            self.by_name.setdefault(path.name, []).append(document)

    def reader(self, file: Path | None) -> Reader:
        """The reader for nested stacks of one file."""

        def read(place: str) -> Document | None:
            if file is None:
                return None
            if "://" not in place and "${" not in place:
                return self._local(file, place)
            found = self.by_name.get(PurePosixPath(place).name, [])
            return found[0] if len(found) == 1 else None

        return read

    def _local(self, file: Path, place: str) -> Document | None:
        path = (file.parent / place).resolve()
        known = self.by_path.get(path)
        # A template names its neighbours; it does not lead out of its folder.
        if known is not None or not path.is_relative_to(file.parent.resolve()) or not path.is_file():
            return known
        try:
            if path.stat().st_size > MOST_BYTES:
                return None
            document = read_document(str(file.parent / place), path.read_bytes())
        except (Unreadable, OSError):
            return None
        if not is_template(document.value):
            return None
        self.by_path[path] = document
        return document


def _joined(groups: Sequence[list[TemplateModel]]) -> Iterator[list[TemplateModel]]:
    """Groups that import from one another, put together."""
    owner = {id(template): at for at, group in enumerate(groups) for template in group}
    exported = exports([template for group in groups for template in group])
    parent = list(range(len(groups)))

    def root(at: int) -> int:
        while parent[at] != at:
            at = parent[at]
        return at

    for at, group in enumerate(groups):
        for template in group:
            for name in imports_of(template):
                if name in exported:
                    parent[root(at)] = root(owner[id(exported[name][0])])
    joined: dict[int, list[TemplateModel]] = {}
    for at, group in enumerate(groups):
        joined.setdefault(root(at), []).extend(group)
    yield from joined.values()
