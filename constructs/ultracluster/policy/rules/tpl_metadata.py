"""Rules on tags, suppressions and macros."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from ultracluster.plan.tags import check_tag, check_tag_count, is_plain
from ultracluster.policy.acknowledgements import PLUGIN_PREFIX
from ultracluster.policy.model import ResourceModel
from ultracluster.policy.problem import Problem, from_findings
from ultracluster.policy.registry import TEMPLATE, rule, rules_by_type
from ultracluster.policy.value import Value
from ultracluster.policy.view import Resource, Template

_LAUNCH_TEMPLATE = "AWS::EC2::LaunchTemplate"
_LOOP, _TRANSFORM = "Fn::ForEach::", "Fn::Transform"
# What these leave is what stands in the template, with what belongs to them added.
_OPEN_MACROS = ("AWS::Serverless", "AWS::LanguageExtensions", "AWS::SecretsManager", "AWS::CodeDeploy")
# Where other tools keep their suppressions: keys in the metadata of a resource, and the key of the reason.
_SUPPRESSIONS = ((("cdk_nag", "rules_to_suppress"), "reason"), (("cfn_nag", "rules_to_suppress"), "reason"))
_CHECKOV = (("checkov", "skip"), "comment")


@rule("UC-TPL-010", on=TEMPLATE)
def suppressions_say_why(template: Template) -> Iterator[Problem]:
    """Suppressions of other tools, and acknowledgements of the CDK, carry a full id and a reason."""
    for path, rule_id, reason in template.model.acknowledged:
        if rule_id.startswith(PLUGIN_PREFIX):
            continue  # judged with the findings themselves
        where = _at(template, path)
        if "::" not in rule_id:
            yield Problem(where, f"{rule_id} is acknowledged on {path} without the name of its plugin in front")
        elif not reason.strip():
            yield Problem(where, f"{rule_id} is acknowledged on {path} without a reason")
    for model in template.model.resources.values():
        for rule_id in _without_reason(model):
            yield Problem(Resource(model, template.world), f"{rule_id} is suppressed without a reason")


def _at(template: Template, construct_path: str) -> Resource | Template:
    for model in template.model.resources.values():
        if model.construct_path == construct_path:
            return Resource(model, template.world)
    return template


def _without_reason(model: ResourceModel) -> Iterator[str]:
    metadata = model.raw.get("Metadata")
    if not isinstance(metadata, dict):
        return
    for (tool, key), reason in (*_SUPPRESSIONS, _CHECKOV):
        section = metadata.get(tool)
        listed = section.get(key) if isinstance(section, dict) else None
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, dict) and not str(entry.get(reason) or "").strip():
                yield str(entry.get("id", "a rule"))


@rule("UC-TPL-011", on=TEMPLATE)
def tags_fit(template: Template) -> Iterator[Problem]:
    """No resource has too many tags, one too long, or one with a reserved key."""
    for model in template.model.resources.values():
        properties = model.raw.get("Properties")
        if not isinstance(properties, dict) or not model.type.startswith("AWS::"):
            continue
        keys: list[tuple[str, ...]] = []
        if "Tags" in properties and not _is_plain(properties["Tags"]):
            keys.append(("Tags",))
        if model.type == _LAUNCH_TEMPLATE:
            keys += [("TagSpecifications",), ("LaunchTemplateData", "TagSpecifications")]
        if keys:
            yield from _tags_of(Resource(model, template.world), keys)


def _is_plain(raw: object) -> bool:
    """Whether the tags are literals without a fault, the most common case by far."""
    if isinstance(raw, dict):
        return not any(key == "Ref" or str(key).startswith("Fn::") for key in raw) and is_plain(raw.items())
    if not isinstance(raw, list):
        return False
    try:
        return is_plain((entry["Key"], entry.get("Value")) for entry in raw)
    except (AttributeError, KeyError, TypeError):
        return False


def _tags_of(resource: Resource, keys: list[tuple[str, ...]]) -> Iterator[Problem]:
    if not resource.exists:
        return
    for path in keys:
        value = resource.get(*path)
        with value.judged_apart():
            lists = [entry["Tags"] for entry in value.items()] if path[-1] == "TagSpecifications" else [value]
            for tags in lists:
                yield from _tags(tags)


def _tags(tags: Value) -> Iterator[Problem]:
    if tags.is_object:
        pairs = [(key, value, value) for key, value in tags.fields().items() if not str(key).startswith("Fn::")]
        yield from from_findings(check_tag_count(len(pairs), subject=""), lambda _: tags)
        for name, text, where in pairs:
            yield from _tag(name, text, where)
        return
    entries = tags.items()
    yield from from_findings(check_tag_count(len(entries), subject=""), lambda _: tags)
    for entry in entries:
        with entry.judged_apart():
            yield from _tag(entry["Key"].text(), entry["Value"], entry["Key"])


def _tag(key: str, value: Value, where: Value) -> Iterator[Problem]:
    text = value.text("") if value.is_scalar and value.known else None
    yield from from_findings(check_tag(key, text, subject=""), lambda _: where)


@rule("UC-TPL-013", on=TEMPLATE)
def macros_hide_nothing(template: Template) -> Iterator[Problem]:
    """No macro or loop makes resources that the rules would have to see."""
    raw, text = template.model.document.value, template.model.document.text
    if text and "Transform" not in text and "ForEach" not in text:
        return
    for name in _macros(raw.get("Transform")):
        yield Problem(template.section("Transform"), f"macro {name} may change or add resources that no rule sees")
    resources = raw.get("Resources")
    for key, body in resources.items() if isinstance(resources, dict) else ():
        what = _hidden(key, body)
        if what:
            yield Problem(template.section("Resources"), what)


def _macros(transform: object) -> Iterator[str]:
    for entry in transform if isinstance(transform, list) else [transform]:
        name = entry.get("Name") if isinstance(entry, dict) else entry
        if isinstance(name, str) and not name.startswith(_OPEN_MACROS):
            yield name


def _hidden(key: str, body: object) -> str:
    """What an entry of the resources hides; empty when it hides nothing that rules read."""
    if key == _TRANSFORM:
        return f"{key} may add resources that no rule sees"
    if str(key).startswith(_LOOP):
        types = sorted(_types(body) & _read_types()) or sorted(kind for kind in _types(body) if "{" in kind)
        if types and not _is_written_out(body):
            return f"{key} makes {types[0]}, as many as the deployment says"
        return ""
    if not isinstance(body, dict):
        return ""
    inner = _marker_in(body.get("Properties"))
    if inner and str(body.get("Type")) in _read_types():
        return f"{inner} in {key} may add properties that no rule sees"
    return ""


@cache
def _read_types() -> frozenset[str]:
    return frozenset(rules_by_type())


def _types(loop: object) -> set[str]:
    found: set[str] = set()
    stack = [loop]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            kind = value.get("Type")
            if isinstance(kind, str) and "::" in kind:
                found.add(kind)
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return found


def _is_written_out(loop: object) -> bool:
    """Whether the loop runs over a list of literals, and so do the loops in it: then its resources are all seen."""
    if not (isinstance(loop, list) and len(loop) == 3 and isinstance(loop[1], list)):  # noqa: PLR2004 - name, list, body
        return False
    inner: Mapping[str, object] = loop[2] if isinstance(loop[2], dict) else {}
    literal = all(isinstance(entry, str | int) for entry in loop[1])
    return literal and all(_is_written_out(body) for key, body in inner.items() if str(key).startswith(_LOOP))


def _marker_in(raw: object) -> str:
    """The first transform, or the first loop over something unknown, in the properties of a resource."""
    stack = [raw]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            for key, inner in value.items():
                if key == _TRANSFORM or (str(key).startswith(_LOOP) and not _is_written_out(inner)):
                    return str(key)
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return ""
