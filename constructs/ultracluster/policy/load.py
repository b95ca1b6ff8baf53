"""From documents to assemblies: which templates belong together, and which are nested in which."""

from __future__ import annotations

from collections.abc import Sequence

from ultracluster.policy.document import Document
from ultracluster.policy.model import AssemblyModel, TemplateModel

__all__ = ["assembly_of"]


def assembly_of(documents: Sequence[Document], *, is_app: bool = False) -> AssemblyModel:
    """Documents that are deployed together, without nesting.

    Args:
        documents: one per stack.
        is_app: whether they are a whole app.
    """
    return AssemblyModel([TemplateModel(document) for document in documents], is_app=is_app)
