#!/usr/bin/env python3
"""Writes the reference of the Python packages with pdoc: `python3 docs/python_reference.py OUT`.

Prints two lists as JSON: the modules that it documented, and those that need packages that are not installed here. The Python that
runs this must import tetrys, tetrys_reader and pdoc 16. `docs/site.py` calls it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import re
import sys
import textwrap
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pdoc
import pdoc.doc
import pdoc.docstrings
import pdoc.render
import tetrys
import tetrys_reader


def names_of(package: ModuleType) -> list[str]:
    """Returns the public modules of a package."""
    root = os.path.dirname(package.__file__ or "")
    names = []
    for folder, folders, files in os.walk(root, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith("_"))
        for file in sorted(files):
            if file.endswith(".py") and (file == "__init__.py" or not file.startswith("_")):
                parts = [package.__name__, *os.path.relpath(os.path.join(folder, file[:-3]), root).split(os.sep)]
                names.append(".".join(part for part in parts if part != "__init__"))
    return sorted(names)


def show_members_of_private_bases(modules: list[ModuleType]) -> None:
    """Lets pdoc document what a class inherits from a class that no module gives out: its users know only the former."""
    named = [getattr(module, name) for module in modules for name in getattr(module, "__all__", vars(module)) if not name.startswith("_")]
    public = {(thing.__module__, thing.__qualname__) for thing in named if isinstance(thing, type)}
    own = vars(pdoc.doc.Class)["own_members"].func
    every = vars(pdoc.doc.Namespace)["inherited_members"].func

    def is_private(origin: tuple[str, str]) -> bool:
        return origin[0].startswith("tetrys") and origin not in public

    def own_members(self: pdoc.doc.Class) -> list[pdoc.doc.Doc[Any]]:
        return [*own(self), *(member for origin, members in every(self).items() if is_private(origin) for member in members)]

    def inherited_members(self: pdoc.doc.Class) -> dict[tuple[str, str], list[pdoc.doc.Doc[Any]]]:
        return {origin: members for origin, members in every(self).items() if not is_private(origin)}

    for function in (own_members, inherited_members):
        replaced = functools.cached_property(function)
        replaced.__set_name__(pdoc.doc.Class, function.__name__)
        setattr(pdoc.doc.Class, function.__name__, replaced)


def show_examples_as_code() -> None:
    """Lets pdoc show the section `Example:` of a docstring as code, also where its lines do not begin with `>>>`."""
    google = pdoc.docstrings.google

    def with_fences(docstring: str) -> str:
        def fenced(example: re.Match[str]) -> str:
            return f"**Example**\n\n```python\n{textwrap.dedent(example[1]).strip()}\n```\n\n"

        return google(re.sub(r"^Examples?:\n((?:\n| {4}.*(?:\n|$))+)", fenced, docstring, flags=re.MULTILINE))

    pdoc.docstrings.google = with_fences


def drop_links_to_what_is_not_shown(page: Path) -> None:
    """Keeps the text alone where pdoc made a link to a member that this page does not have, such as one of a lazy frame of polars."""
    text = page.read_text(encoding="utf-8")
    anchors = set(re.findall(r'\bid="([^"]+)"', text))
    page.write_text(re.sub(r'<a href="#([^"]+)"[^>]*>(.*?)</a>', lambda link: link[0] if link[1] in anchors else link[2], text), encoding="utf-8")


def main() -> None:
    good, bad = [], []
    for name in [*names_of(tetrys), *names_of(tetrys_reader)]:
        try:
            good.append(importlib.import_module(name))
        except (ImportError, tetrys.Unsupported):
            bad.append(name)
    show_members_of_private_bases(good)
    show_examples_as_code()
    pdoc.render.configure(docformat="google", footer_text=f"tetrys {tetrys.__version__}")
    # A package brings some of its modules along, and pdoc warns where they are named too.
    warnings.filterwarnings("ignore", message=".*has already been added")
    with contextlib.redirect_stdout(sys.stderr):
        pdoc.pdoc(*(module.__name__ for module in good), output_directory=Path(sys.argv[1]))
    for page in Path(sys.argv[1]).rglob("*.html"):
        drop_links_to_what_is_not_shown(page)
    print(json.dumps([[module.__name__ for module in good], bad]))


if __name__ == "__main__":
    main()
