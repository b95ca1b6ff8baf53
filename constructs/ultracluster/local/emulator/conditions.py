"""Conditions of a template, with every value resolved before it is compared.

MiniStack compares `Fn::Join` and its like unresolved, so that the CDK bootstrap template goes the wrong way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ultracluster.local.emulator.internals import part
from ultracluster.local.values import same

__all__ = ["evaluate"]


def evaluate(_: Callable[..., dict[str, bool]]) -> Callable[..., dict[str, bool]]:
    """Replace the engine's evaluation: every value is resolved before it is compared."""

    def evaluated(template: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, bool]:
        return _Conditions(template, parameters).all()

    return evaluated


class _Conditions:
    def __init__(self, template: Mapping[str, Any], parameters: Mapping[str, Any]) -> None:
        self._definitions: Mapping[str, Any] = template.get("Conditions") or {}
        self._mappings = template.get("Mappings") or {}
        self._parameters = parameters
        self._known: dict[str, bool] = {}

    def all(self) -> dict[str, bool]:
        return {name: self._named(name) for name in self._definitions}

    def _named(self, name: str) -> bool:
        if name not in self._known:
            if name not in self._definitions:
                raise ValueError(f"Template format error: Unresolved condition dependency {name}")
            self._known[name] = self._holds(self._definitions[name])
        return self._known[name]

    def _holds(self, expression: Any) -> bool:
        function, given = next(iter(expression.items())) if isinstance(expression, Mapping) else ("", expression)
        judges: Mapping[str, Callable[[], bool]] = {
            "Condition": lambda: self._named(given),
            "Fn::And": lambda: all(self._holds(inner) for inner in given),
            "Fn::Or": lambda: any(self._holds(inner) for inner in given),
            "Fn::Not": lambda: not self._holds(given[0]),
            "Fn::Equals": lambda: same(*(self._value(side) for side in given)),
        }
        return judges[function]() if function in judges else same(self._value(expression), True)

    def _value(self, value: Any) -> Any:
        resolve = part("services.cloudformation.engine")._resolve_refs
        return resolve(value, {}, self._parameters, self._known, self._mappings, "", "")
