"""A program without comments is the same program."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ultracluster.node
from ultracluster.plan.bare_source import bare_source

SOURCES = sorted(Path(ultracluster.node.__file__).parent.glob("*.py"))


def tree(text: str) -> str:
    parsed = ast.parse(text)
    for node in ast.walk(parsed):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or ([] if isinstance(node, ast.Module) else [ast.Pass()])
    return ast.dump(parsed)


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.name)
def test_the_program_is_the_same_and_shorter(file):
    text = file.read_text(encoding="utf-8")
    bare = bare_source(text)
    assert ast.dump(ast.parse(bare)) == tree(text)
    assert len(bare) < len(text)


def test_what_looks_like_a_comment_in_a_string_stays():
    assert bare_source("x = '# no comment'  # one\n\n\n# two\ny = 1\n") == "x = '# no comment'\ny = 1\n"


def test_a_body_of_nothing_but_words_keeps_a_body():
    assert bare_source('class E(Exception):\n    """Why."""\n') == "class E(Exception):\n\tpass\n"


@pytest.mark.parametrize("text", ['x = """a\nb"""\n', "x = f'''{1}\n'''\n"])
def test_strings_over_several_lines_are_refused(text):
    with pytest.raises(ValueError, match="line 1: a string over several lines"):
        bare_source(text)
