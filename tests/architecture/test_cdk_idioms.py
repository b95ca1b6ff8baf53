"""Traps between Python and CDK that nothing else reports: the template is only smaller than it should be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.sources import place, python_files, tree

# Arguments that CloudFormation defines as free JSON or as a map: their keys are the user's, not property names.
FREE_FORM = {
    "access_policy",
    "assume_role_policy_document",
    "dashboard_body",
    "event_pattern",
    "file_system_policy",
    "key_policy",
    "mapping",
    "policy_document",
    "redrive_allow_policy",
    "redrive_policy",
    "tags",
}


def _is_level_one(function: ast.expr) -> bool:
    """`ec2.CfnLaunchTemplate`, `CfnLaunchTemplate.EbsProperty`, `ec2.CfnLaunchTemplate.EbsProperty`."""
    while isinstance(function, ast.Attribute):
        if function.attr.startswith("Cfn"):
            return True
        function = function.value
    return isinstance(function, ast.Name) and function.id.startswith("Cfn")


def dictionaries_lost_in_level_one_calls(module: ast.Module) -> Iterator[ast.expr]:
    """Dictionaries handed to an L1 or to one of its structs: jsii drops their snake_case keys without a word."""
    for call in ast.walk(module):
        if not isinstance(call, ast.Call) or not _is_level_one(call.func):
            continue
        arguments = call.args + [keyword.value for keyword in call.keywords if keyword.arg not in FREE_FORM]
        for argument in arguments:
            candidates = argument.elts if isinstance(argument, ast.List) else [argument]
            yield from (inner for inner in candidates if isinstance(inner, ast.Dict | ast.DictComp))


@pytest.mark.parametrize(
    ("code", "lost"),
    [
        ("ec2.CfnLaunchTemplate(self, 'T', launch_template_data={'image_id': 'ami-1'})", 1),
        ("CfnVolume(self, 'V', settings=[{'a': 1}, {'b': 2}])", 2),
        ("ec2.CfnLaunchTemplate.EbsProperty(volume={key: 1 for key in keys})", 1),
        ("iam.CfnRole(self, 'R', assume_role_policy_document={'Version': '2012-10-17'})", 0),
        ("ec2.CfnLaunchTemplate(self, 'T', launch_template_data=data)", 0),
        ("iam.PolicyStatement.from_json({'Effect': 'Allow'})", 0),
    ],
)
def test_the_search_finds_what_it_should(code: str, lost: int) -> None:
    assert len(list(dictionaries_lost_in_level_one_calls(ast.parse(code)))) == lost


def test_no_dictionary_is_handed_to_a_level_one_construct() -> None:
    found = [place(path, node) for path in python_files() for node in dictionaries_lost_in_level_one_calls(tree(path))]
    assert found == []


def test_no_lookup_in_library_constructs() -> None:
    """A lookup needs an account, and without one synthesizes a made-up answer."""
    lookups = {"from_lookup", "value_from_lookup"}
    found = [
        place(path, node)
        for path in python_files("constructs", "stacks")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and node.attr in lookups
    ]
    assert found == []


def test_library_code_does_not_rely_on_assert() -> None:
    found = [
        place(path, node) for path in python_files() for node in ast.walk(tree(path)) if isinstance(node, ast.Assert)
    ]
    assert found == []


def _keywords_only(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if not isinstance(node, ast.FunctionDef) or node.name != "__init__":
            continue
        names = [argument.arg for argument in node.args.posonlyargs + node.args.args]
        if names[1:2] == ["scope"] and names != ["self", "scope", "construct_id"]:
            yield f"{place(path, node)} {names}"


def test_everything_after_the_construct_id_is_keyword_only() -> None:
    assert [wrong for path in python_files() for wrong in _keywords_only(path)] == []


def test_tests_are_neither_skipped_nor_expected_to_fail() -> None:
    silencers = {"skip", "skipif", "xfail", "importorskip"}
    found = [
        place(path, node)
        for path in python_files("tests")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and node.attr in silencers
    ]
    assert found == []
