"""Loops of AWS::LanguageExtensions written out, where their collection is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ultracluster.policy.parameters import as_text
from ultracluster.policy.states import Path

__all__ = ["expand"]

_LOOP = "Fn::ForEach::"
# Entries and values that loops make; a template has 500 resources at most.
_MOST_MADE = 20_000
_SECTIONS = ("Conditions", "Resources", "Outputs")


def expand(template: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[tuple[str, str], Path], list[str]]:
    """The template without its loops, where each entry that a loop made is written, and loops that stay."""
    if not any(_has_loop(template.get(section)) for section in _SECTIONS):
        return template, {}, []
    work = _Work(template)
    made = dict(template)
    for section in _SECTIONS:
        entries = template.get(section)
        if isinstance(entries, dict):
            made[section] = work.section(section, entries)
    return made, work.origins, work.left


def _has_loop(value: object) -> bool:
    stack = [value]
    while stack:
        raw = stack.pop()
        if isinstance(raw, dict):
            if any(isinstance(key, str) and key.startswith(_LOOP) for key in raw):
                return True
            stack.extend(raw.values())
        elif isinstance(raw, list):
            stack.extend(raw)
    return False


class _Work:
    def __init__(self, template: Mapping[str, Any]) -> None:
        parameters = template.get("Parameters")
        self.parameters: Mapping[str, Any] = parameters if isinstance(parameters, dict) else {}
        self.origins: dict[tuple[str, str], Path] = {}
        self.left: list[str] = []
        self.made = 0

    def section(self, section: str, entries: Mapping[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, inner in entries.items():
            for name, value in self.entry(key, inner, {}).items():
                result[name] = value
                if name != key:
                    self.origins[section, name] = (section, key)
        return result

    def entry(self, key: str, inner: object, names: Mapping[str, str]) -> dict[str, Any]:
        """One entry of an object: itself, or what a loop makes of it."""
        key = str(key)  # a template that comes as a value may have numbers for keys
        if not key.startswith(_LOOP):
            return {_filled(key, names): self.value(inner, names)}
        parts = inner if isinstance(inner, list) else []
        collection = self.collection(parts[1], names) if len(parts) == 3 else None  # noqa: PLR2004 - name, list, body
        if collection is None or not isinstance(parts[2], dict) or self.made > _MOST_MADE:
            self.left.append(key.removeprefix(_LOOP))
            return {key: inner}
        result: dict[str, Any] = {}
        for item in collection:
            if self.made > _MOST_MADE:
                self.left.append(key.removeprefix(_LOOP))
                return {key: inner}
            for name, body in parts[2].items():
                result |= self.entry(name, body, {**names, str(parts[0]): item})
        return result

    def collection(self, raw: object, names: Mapping[str, str]) -> list[str] | None:
        if isinstance(raw, dict) and len(raw) == 1 and isinstance(raw.get("Ref"), str):
            declaration = self.parameters.get(raw["Ref"])
            default = as_text(declaration.get("Default")) if isinstance(declaration, dict) else None
            return [part.strip() for part in default.split(",")] if default else None
        texts = [as_text(entry) for entry in raw] if isinstance(raw, list) else [None]
        return [_filled(text, names) for text in texts if text is not None] if None not in texts else None

    def value(self, raw: object, names: Mapping[str, str]) -> object:
        self.made += bool(names)
        if isinstance(raw, dict):
            named = raw.get("Ref") if len(raw) == 1 else None
            if isinstance(named, str) and named in names:
                return names[named]
            result: dict[str, Any] = {}
            for key, inner in raw.items():
                result |= self.entry(key, inner, names)
            return result
        if isinstance(raw, list):
            return [self.value(entry, names) for entry in raw]
        return _filled(raw, names) if isinstance(raw, str) and names else raw


def _filled(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        if name in text:
            text = text.replace(f"${{{name}}}", value)
            text = text.replace(f"&{{{name}}}", re.sub(r"[^A-Za-z0-9]", "", value))
    return text
