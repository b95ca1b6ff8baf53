"""Rules on what a compute environment of AWS Batch launches: types, strategy, image, overrides."""

from __future__ import annotations

from collections.abc import Iterator

from ultracluster.facts.batch import batch_facts
from ultracluster.policy.graph.accelerators import accelerators_of, is_accelerated
from ultracluster.policy.graph.batch import COMPUTE_ENVIRONMENT, environment_kind
from ultracluster.policy.graph.certainty import any_known
from ultracluster.policy.graph.images import image_beginning
from ultracluster.policy.problem import Problem
from ultracluster.policy.registry import rule
from ultracluster.policy.states import NotKnown
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource

_ON_EC2 = ("EC2", "SPOT")


@rule("UC-BAT-008", on=COMPUTE_ENVIRONMENT)
def exact_types_only(environment: Resource) -> Iterator[Problem]:
    """Beside accelerated types stands no bundle, from which Batch would pick types without."""
    types = environment.get("ComputeResources", "InstanceTypes").items()
    bundles = [kind for kind in types if kind.is_scalar and kind.known and kind.text() in batch_facts().bundles]
    others = [kind for kind in types if kind not in bundles]
    if bundles and any_known(others, lambda kind: _is_accelerated(kind.text())):
        named = ", ".join(kind.shown for kind in others)
        yield Problem(
            bundles[0], f"{bundles[0].shown} beside {named}: jobs may be placed on types without accelerators"
        )


def _is_accelerated(name: str) -> bool:
    return is_accelerated(name) or accelerators_of(name) is not None


@rule("UC-BAT-016", on=COMPUTE_ENVIRONMENT)
def strategy_of_the_type(environment: Resource) -> Iterator[Problem]:
    """The allocation strategy is one of the type of the environment."""
    strategy = environment.get("ComputeResources", "AllocationStrategy")
    if not strategy.exists:
        return
    facts, name = batch_facts(), strategy.text().upper()
    if name in facts.spot_strategies:
        wanted = "SPOT"
    elif name in facts.on_demand_strategies:
        wanted = "EC2"
    else:
        return
    kind = environment_kind(environment)
    if kind in _ON_EC2 and kind != wanted:
        yield Problem(strategy, f"{strategy.shown} with Type {kind}, Batch takes it with {wanted} only")


@rule("UC-BAT-017", on=COMPUTE_ENVIRONMENT)
def environment_can_be_updated(environment: Resource) -> Iterator[Problem]:
    """The allocation strategy allows infrastructure updates."""
    strategy = environment.get("ComputeResources", "AllocationStrategy")
    fixed = batch_facts().fixed_strategy
    if environment.get("EksConfiguration").exists or strategy.text(fixed).upper() != fixed:
        return
    if environment_kind(environment) in _ON_EC2:
        shown = strategy.shown if strategy.exists else f"absent ({fixed})"
        yield Problem(strategy, f"{shown}, with which the environment takes no infrastructure update")


@rule("UC-BAT-019", on=COMPUTE_ENVIRONMENT)
def image_type_is_current(environment: Resource) -> Iterator[Problem]:
    """The image type is one with which Batch still makes environments."""
    resources = environment.get("ComputeResources")
    facts = batch_facts()
    for entry in resources["Ec2Configuration"].items():
        kind = entry["ImageType"]
        with kind.judged_apart():
            if entry["ImageIdOverride"].exists or resources["ImageId"].exists:
                continue
            instead = facts.blocked_image_types.get(kind.text(""))
            if instead is not None:
                message = f"{kind.shown}, with which Batch makes no environment since {facts.blocked_since}"
                yield Problem(kind, message, f"use {instead}")


@rule("UC-BAT-020", on=COMPUTE_ENVIRONMENT)
def overrides_are_apart(environment: Resource) -> Iterator[Problem]:
    """Overrides are few, for types of the environment, and no two for the same."""
    resources = environment.get("ComputeResources")
    overrides = resources.get("LaunchTemplate", "Overrides")
    entries = overrides.items()
    most = batch_facts().most_overrides
    if len(entries) > most:
        yield Problem(overrides, f"{len(entries)} overrides, Batch takes {most}")
    seen: list[Value] = []
    for target in (kind for entry in entries for kind in entry["TargetInstanceTypes"].items()):
        with target.judged_apart():
            other = next((each for each in seen if _meet(each.text(), target.text())), None)
            if other is not None:
                yield Problem(
                    target, f"{target.shown} and {other.shown} ({other.path}) meet, Batch takes each type once"
                )
            elif not _is_within(target.text(), resources["InstanceTypes"].items()):
                yield Problem(target, f"{target.shown} is not among InstanceTypes of the environment")
        seen.append(target)


def _meet(one: str, other: str) -> bool:
    """Whether two types or families have a type in common."""
    return one == other or one.split(".", 1)[0] == other or other.split(".", 1)[0] == one


def _is_within(target: str, types: list[Value]) -> bool:
    """Whether a type or family is among the types of the environment.

    Raises:
        NotKnown: it is not known what those are.
    """
    if target in batch_facts().bundles:
        return False
    names = [kind.text() for kind in types]
    if target in names or target.split(".", 1)[0] in names:
        return True
    if any(name in batch_facts().bundles for name in names) or any(name.startswith(f"{target}.") for name in names):
        raise NotKnown(f"whether Batch takes {target} for {', '.join(names)}")
    return False


@rule("UC-BAT-022", on=COMPUTE_ENVIRONMENT)
def images_are_ids(environment: Resource) -> Iterator[Problem]:
    """Where Batch takes an image it takes an id."""
    resources = environment.get("ComputeResources")
    for image in (resources["ImageId"], *(entry["ImageIdOverride"] for entry in resources["Ec2Configuration"].items())):
        with image.judged_apart():
            beginning = image_beginning(image) if image.exists else ""
            if beginning and not beginning.startswith("ami-"):
                yield Problem(image, f"{image.shown} is no image id, so the environment turns INVALID")
