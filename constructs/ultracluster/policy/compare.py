"""Rules over two versions of the same templates: what an update would do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath

from ultracluster.policy.explore import read_once
from ultracluster.policy.fault import Fault
from ultracluster.policy.load import Loaded
from ultracluster.policy.model import AssemblyModel, ResourceModel, TemplateModel
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import Rule, rules
from ultracluster.policy.view import Resource
from ultracluster.policy.world import World

__all__ = ["compare"]

Pair = tuple[ResourceModel | None, ResourceModel | None]


def compare(old: Loaded, new: Loaded, *, wanted: Callable[[str], bool] | None = None) -> Iterator[Fault]:
    """Apply every rule over two versions, with parameters at their defaults.

    Args:
        old: the earlier or deployed templates.
        new: the templates to judge.
        wanted: which ids; all by default.
    """
    chosen = [known for known in rules() if known.is_diff and (wanted is None or any(map(wanted, known.ids)))]
    for before, after in _paired(old, new):
        worlds = World(_assembly(old, before)), World(_assembly(new, after))
        for known in chosen:
            for pair in _resources(before, after, known):
                yield from _faults(known, pair, worlds)


def _faults(known: Rule, pair: Pair, worlds: tuple[World, World]) -> Iterator[Fault]:
    def read(world: World) -> Iterator[Problem]:
        worlds[0].restart({})
        views = [_view(model, each) for model, each in zip(pair, (worlds[0], world), strict=True)]
        return iter(known.check(*views) or ()) if any(view is not None for view in views) else iter(())

    for fault in read_once(worlds[1], read):
        yield fault if fault.rule_id else replace(fault, rule_id=known.ids[0])


def _view(model: ResourceModel | None, world: World) -> Resource | None:
    view = Resource(model, world) if model is not None else None
    return view if view is not None and view.exists else None


def _assembly(loaded: Loaded, template: TemplateModel) -> AssemblyModel:
    return next(assembly for assembly in loaded.assemblies if template in assembly.templates)


def _paired(old: Loaded, new: Loaded) -> Iterator[tuple[TemplateModel, TemplateModel]]:
    """Templates of the same stack: by stack name, nested path, or file name; a single one on each side is a pair."""
    before, after = old.templates, new.templates
    if len(before) == len(after) == 1:
        yield before[0], after[0]
        return
    by_name = {_name(template): template for template in before}
    for template in after:
        found = by_name.get(_name(template))
        if found is not None:
            yield found, template


def _name(template: TemplateModel) -> str:
    own = template.environment.stack_name or PurePath(template.name).name
    parent = template.parent
    return own if parent is None else f"{_name(parent.template)}/{parent.logical_id}"


def _resources(before: TemplateModel, after: TemplateModel, known: Rule) -> Iterator[Pair]:
    for kind in known.on:
        old, new = (_by_id(template, kind) for template in (before, after))
        for logical_id in dict.fromkeys([*new, *old]):
            yield old.get(logical_id), new.get(logical_id)


def _by_id(template: TemplateModel, kind: str) -> Mapping[str, ResourceModel]:
    return {model.logical_id: model for model in template.by_type.get(kind, ())}
