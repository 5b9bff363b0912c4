"""The stubs have the docstrings of the native module. `python tests/test_stubs.py` writes them into the stubs."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path

import tetrys as tt
from tetrys import _tetrys

STUBS = Path(_tetrys.__file__).with_name("_tetrys.pyi")
PUBLIC = [name for name in tt.__all__ if inspect.isclass(getattr(tt, name)) and getattr(_tetrys, name, None) is getattr(tt, name)]

Documented = ast.ClassDef | ast.FunctionDef


def documented(stubs: str) -> Iterator[tuple[str, Documented, str]]:
    """Yields each public class of the native module and its members: name, node in the stubs, and docstring."""
    for node in ast.parse(stubs).body:
        if isinstance(node, ast.ClassDef) and node.name in PUBLIC:
            there = getattr(tt, node.name)
            yield node.name, node, inspect.getdoc(there) or ""
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and (member.name == "__new__" or not member.name.startswith("_")):
                    # The docstring of the class describes its constructor.
                    doc = "" if member.name == "__new__" else inspect.getdoc(getattr(there, member.name)) or ""
                    yield f"{node.name}.{member.name}", member, doc


def test_every_public_member_has_a_stub() -> None:
    stubs = {name for name, _, _ in documented(STUBS.read_text())}
    native = {f"{name}.{member}" for name in PUBLIC for member in vars(getattr(tt, name)) if not member.startswith("_")}
    assert native - stubs == set() and set(PUBLIC) <= stubs


def test_the_stubs_say_what_the_module_says() -> None:
    wrong = [name for name, node, doc in documented(STUBS.read_text()) if (ast.get_docstring(node) or "") != doc]
    assert wrong == [], "write them by: python tests/test_stubs.py"


def rewritten(stubs: str) -> str:
    lines = stubs.split("\n")
    for _, node, doc in sorted(documented(stubs), key=lambda one: -one[1].lineno):
        first, indent = node.body[0], " " * (node.col_offset + 4)
        is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and first.value.value is not Ellipsis
        is_dots = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and first.value.value is Ellipsis
        quoted = textwrap.indent(f'"""{doc}\n"""' if "\n" in doc else f'"""{doc}"""', indent, lambda line: bool(line.strip()))
        start = min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", []))]) - 1
        before = lines[start][: first.col_offset].rstrip() if is_text or is_dots else ""
        rest = lines[(first.end_lineno or first.lineno) :] if is_text or is_dots else lines[start:]
        if not doc:
            kept = [f"{before} ..." if before else f"{indent}..."] if is_dots or (is_text and len(node.body) == 1) else []
        else:
            kept = [*([before] if before else []), quoted]
        while isinstance(node, ast.ClassDef) and not (is_text or is_dots) and kept and rest and rest[0].strip() == "":
            rest = rest[1:]
        lines = [*lines[:start], *kept, *rest]
    return "\n".join(lines)


if __name__ == "__main__":
    STUBS.resolve().write_text(rewritten(STUBS.read_text()))
