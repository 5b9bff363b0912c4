"""The site of the documentation: which links it rewrites, and which it finds wrong. `.ci/full` builds it whole."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tetrys_site", Path(__file__).parents[2] / "docs" / "site.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_links_get_new_targets_and_code_and_other_sites_stay(site: ModuleType) -> None:
    page = "[a `x[0]`\nb](a.md#c), ![p](p.png), `[code](a.md)`, [far](https://example.org), [gone](gone.rs)\n\n```sh\n[fenced](a.md)\n```\n[d](d.md)"
    new = {"a.md#c": "../a.html#c", "p.png": "../p.png", "d.md": "d.html"}
    expected = (
        "[a `x[0]`\nb](../a.html#c), ![p](../p.png), `[code](a.md)`, [far](https://example.org), gone\n\n```sh\n[fenced](a.md)\n```\n[d](d.html)"
    )
    assert site.rewritten(page, new.get) == expected


def test_a_wrong_link_is_named_with_its_page(site: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "index.html").write_text('<a href="below/page.html#here">a</a><a href="below/page.html#there">b</a><a href="https://example.org">c</a>')
    (tmp_path / "below" / "page.html").write_text(
        '<h2 id="here"></h2><a href="../index.html">a</a><a href="gone.html">b</a><a href="../../up.html">c</a><script src="//example.org/x.js"></script>'
    )
    count, wrong = site.check(tmp_path)
    assert count == 5
    assert wrong == [
        "below/page.html: loads //example.org/x.js, so the site does not work without a network",
        "below/page.html: the link `gone.html` leads nowhere: there is no below/gone.html",
        "below/page.html: the link `../../up.html` leads nowhere: outside the site",
        "index.html: the link `below/page.html#there` leads nowhere: below/page.html has no such anchor",
    ]


def test_every_page_of_the_repository_is_in_the_site(site: ModuleType) -> None:
    parts = site.order()
    site.require_all_pages(parts)
    assert parts["Guide"][:2] == ["docs/guide/README.md", "docs/guide/your-logs.md"]
    assert parts["Guide"][-1] == "docs/guide/glossary.md"
    assert "docs/across-stores.md" in parts["Guide"]
