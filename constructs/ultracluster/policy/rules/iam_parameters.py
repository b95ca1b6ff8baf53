"""Rule on parameters that carry secrets; apart, because it is the one rule on secrets that every template meets."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.secrets import secret_facts
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import TEMPLATE, rule
from ultracluster.policy.states import ABSENT
from ultracluster.policy.value import Value
from ultracluster.policy.view import Template

_TEXTS = ("String", "CommaDelimitedList")


@rule("UC-IAM-008", on=TEMPLATE)
def parameters_hide_secrets(template: Template) -> Iterator[Problem]:
    """A parameter for a secret has NoEcho and no default."""
    facts = secret_facts()
    for name in filter(facts.is_secret_name, template.model.section("Parameters")):
        parameter = template.section("Parameters")[name]
        with parameter.judged_apart():
            if not _is_free_text(parameter):
                continue
            # As it is written: a dynamic reference is the place of a secret.
            default = parameter["Default"].written
            if isinstance(default, str) and facts.is_secret(default):
                yield Problem(parameter, "a secret with a default, which everybody reads who has the template")
            elif default in ("", ABSENT) and not parameter["NoEcho"].boolean(False):
                yield Problem(parameter, "a secret without NoEcho, which everybody reads who may describe the stack")


def _is_free_text(parameter: Value) -> bool:
    return parameter["Type"].text("") in _TEXTS and not parameter["AllowedValues"].exists
