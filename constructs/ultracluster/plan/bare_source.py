"""Python source without what only readers need, for programs that travel in user data."""

from __future__ import annotations

import ast
import io
import tokenize

__all__ = ["bare_source"]

_INDENT = 4
_STRINGS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def bare_source(text: str) -> str:
    """A program that does the same: no comments, docstrings and blank lines, a tab for each step of indentation.

    Args:
        text: a module without strings over several lines, docstrings aside.

    Raises:
        ValueError: a string goes over several lines, which tabs would change.
    """
    lines = text.splitlines()
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    _drop_docstrings(lines, text)
    for token in tokens:
        row, column = token.start
        if token.type == tokenize.COMMENT:
            lines[row - 1] = lines[row - 1][:column]
        elif token.type in _STRINGS and token.end[0] != row and lines[row - 1]:
            raise ValueError(f"line {row}: a string over several lines")
    return "".join(f"{_tabs(line.rstrip())}\n" for line in lines if line.strip())


def _drop_docstrings(lines: list[str], text: str) -> None:
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, _DOCUMENTED) or ast.get_docstring(node) is None:
            continue
        written = node.body[0]
        first, last = written.lineno - 1, written.end_lineno or written.lineno
        lines[first:last] = [""] * (last - first)
        if len(node.body) == 1 and not isinstance(node, ast.Module):
            lines[last - 1] = " " * written.col_offset + "pass"  # a body has to have something in it


def _tabs(line: str) -> str:
    bare = line.lstrip(" ")
    return "\t" * ((len(line) - len(bare)) // _INDENT) + bare
