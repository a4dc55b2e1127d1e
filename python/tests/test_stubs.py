"""The stubs have the docstrings and the parameters of what is compiled.

``HAMDEX_BLESS=1 python -m pytest tests/test_stubs.py`` writes the docstrings into the stubs.
"""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hamdex import _hamdex

STUBS = Path(__file__).parents[1] / "python" / "hamdex" / "_hamdex.pyi"

Definition = ast.ClassDef | ast.FunctionDef


def definitions(body: list[ast.stmt], owner: Any, indent: int) -> Iterator[tuple[Definition, Any, int]]:
    """Iterate over what the stubs define: each with what is compiled, and its indentation; of overloads the first."""
    seen = set()
    for node in body:
        if not isinstance(node, Definition) or node.name in seen or not hasattr(owner, node.name):
            continue
        seen.add(node.name)
        value = getattr(owner, node.name)
        yield node, value, indent
        if isinstance(node, ast.ClassDef):
            yield from definitions(node.body, value, indent + 4)


def with_docstrings(stubs: str) -> str:
    """Return the stubs with the docstrings of what is compiled."""
    lines = stubs.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    text = b"".join(lines)
    edits: list[tuple[int, int, bytes]] = []
    for node, value, indent in definitions(ast.parse(stubs).body, _hamdex, 0):
        documentation = None if node.name.startswith("_") else inspect.getdoc(value)
        if documentation is None:
            continue
        quoted = f'"""{documentation}\n"""' if "\n" in documentation else f'"""{documentation}"""'
        assert "\\" not in quoted
        pad = " " * (indent + 4)
        shown = "\n".join(pad + line if line else "" for line in quoted.split("\n"))
        first = node.body[0]
        # A property begins with its decorator.
        begin = min([first, *getattr(first, "decorator_list", [])], key=lambda part: part.lineno)
        start = starts[begin.lineno - 1] + begin.col_offset - (begin is not first)
        end = starts[(first.end_lineno or 0) - 1] + (first.end_col_offset or 0)
        is_replaced = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        if not is_replaced:
            end = start
        # From the end of the line before, or from the colon.
        while text[start - 1 : start].isspace():
            start -= 1
        rest = b"" if is_replaced else b"\n" + pad.encode()
        edits.append((start, end, b"\n" + shown.encode() + rest))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text.decode()


def test_docstrings_are_in_the_stubs() -> None:
    stubs = STUBS.read_text(encoding="utf-8")
    wanted = with_docstrings(stubs)
    if os.environ.get("HAMDEX_BLESS") == "1":
        STUBS.write_text(wanted, encoding="utf-8")
    else:
        assert stubs == wanted, "write them: HAMDEX_BLESS=1 python -m pytest tests/test_stubs.py"
    documented = [node for node, _, _ in definitions(ast.parse(wanted).body, _hamdex, 0) if ast.get_docstring(node)]
    assert len(documented) > 60


def parameters(value: Any) -> list[str]:
    signature = value if isinstance(value, inspect.Signature) else inspect.signature(value)
    return [name for name in signature.parameters if name != "self"]


@pytest.mark.parametrize(
    ("node", "value"),
    [(node, value) for node, value, _ in definitions(ast.parse(STUBS.read_text(encoding="utf-8")).body, _hamdex, 0)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_parameters_are_those_of_the_stubs(node: Definition, value: Any) -> None:
    if isinstance(node, ast.FunctionDef) and callable(value) and not node.name.startswith("_"):
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        assert parameters(value) == [one.arg for one in arguments if one.arg != "self"]


def test_nothing_public_is_missing_in_the_stubs() -> None:
    defined = {id(value) for _, value, _ in definitions(ast.parse(STUBS.read_text(encoding="utf-8")).body, _hamdex, 0)}
    for name, value in vars(_hamdex).items():
        if name.startswith("_"):
            continue
        assert id(value) in defined, name
        if inspect.isclass(value):
            for key in vars(value):
                if not key.startswith("_"):
                    assert f"def {key}(" in STUBS.read_text(encoding="utf-8"), f"{name}.{key}"
