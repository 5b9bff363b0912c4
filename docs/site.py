#!/usr/bin/env python3
"""Builds the pages of this repository as a web site with search, beside the references of Rust and Python, and checks its links.

    python3 docs/site.py OUT [--mdbook PROGRAM] [--python PROGRAM] [--sources URL] [--without-rust] [--without-python]

OUT is a new or empty folder, or a site that this script made before. `--help` says what the options do, and CONTRIBUTING.md how to
get the tools. The script ends with 1 if a page is in no part of the site, if a tool fails, or if a link or an anchor of the site
leads nowhere. It needs Python 3.10 or later, and git.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

ROOT = Path(__file__).resolve().parent.parent

# Pages for those who read the repository itself.
LEFT_OUT = {".github/ISSUE_TEMPLATE/missing.md", ".github/ISSUE_TEMPLATE/wrong.md", "tests/common/tls/README.md"}

# A file of this kind that a page links to becomes a page of the site.
SHOWN = {"", ".py", ".rs", ".sh", ".toml", ".yml"}

# Packages whose documentation `cargo doc` makes.
CRATES = ["tetrys", "tetrys-images", "tetrys-l5", "tetrys-logs", "tetrys-petastorm", "tetrys-view", "tetrys-l5-view"]

LINK = re.compile(r"(?P<code>(`+)[^`].*?\2)|(?P<image>!?)\[(?P<text>(?:`[^`]*`|[^\[\]`])*)\]\((?P<target>[^()\s]+)\)", re.DOTALL)
FENCED = re.compile(r"^([ ]*)```.*?^\1```[ ]*$", re.MULTILINE | re.DOTALL)


def main() -> None:
    options = arguments()
    out: Path = options.out.resolve()
    if out.exists() and any(out.iterdir()) and not (out / ".site").exists():
        sys.exit(f"{out}: this folder has files and no site of this script: name a new or empty one")
    parts = order()
    require_all_pages(parts)
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as work:
        book = Path(work)
        good, bad = ([], []) if options.without_python else python_reference(options.python, book / "python")
        pages = gather(parts, book / "src", options.sources, reference(options, good, bad))
        (book / "book.toml").write_text(SETTINGS, encoding="utf-8")
        run([options.mdbook, "build", "--dest-dir", str(out), str(book)])
        if good:
            shutil.copytree(book / "python", out / "python-reference")
    (out / ".site").write_text("made by docs/site.py\n", encoding="utf-8")
    if not options.without_rust:
        rust_reference(out / "rust")
    count, wrong = check(out)
    if wrong:
        sys.exit("\n".join([*wrong, f"error: {len(wrong)} wrong links; X.html is made of X.md, index.html of README.md"]))
    print(f"{out}: {pages} pages of the book, {len(good)} modules of Python, {'no' if options.without_rust else len(CRATES)} crates, {count} links, all good")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Build the site of the documentation and check every link in it.")
    parser.add_argument("out", type=Path, help="folder of the site; a site that is there is replaced")
    parser.add_argument("--mdbook", default="mdbook", metavar="PROGRAM", help="mdBook 0.5 with search; default: %(default)s")
    parser.add_argument("--python", default=sys.executable, metavar="PROGRAM", help="a Python that imports tetrys and pdoc 16; default: the one that runs this")
    parser.add_argument("--sources", default="", metavar="URL", help="links to folders and other files of the repository go below this URL; without it only their text stays")
    parser.add_argument("--without-rust", action="store_true", help="leave the Rust reference out (`cargo doc` compiles all dependencies)")
    parser.add_argument("--without-python", action="store_true", help="leave the Python reference out (needs no built package then)")
    return parser.parse_args()


SETTINGS = """\
[book]
title = "Tetrys"
language = "en"

[build]
create-missing = false
use-default-preprocessors = false

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"
smart-punctuation = false
no-section-label = true
input-404 = ""

[output.html.print]
enable = false

[output.html.fold]
enable = true
level = 1

[output.html.playground]
runnable = false

[output.html.search]
limit-results = 30
"""


# ------------------------------------------------------------------------------------------------------------------- pages


def order() -> dict[str, list[str]]:
    """Returns the pages of each part of the site, in reading order: that of the tables in the guide, in the format and in the decisions."""
    return {
        "": ["README.md"],
        "Guide": ["docs/guide/README.md", *rows_of("docs/guide/README.md")],
        "Reference": ["python/README.md", "python/reader/README.md", "cli/README.md", "view/README.md", "docs/compatibility.md", "GUARANTEES.md"],
        "Format": ["format-spec/README.md", *rows_of("format-spec/README.md")],
        "Figures": ["benches/README.md", "benches/journal.md"],
        "Project": [
            "docs/roadmap.md",
            "ARCHITECTURE.md",
            *(f"{crate}/ARCHITECTURE.md" for crate in ("l5", "logs", "petastorm", "images", "view", "python")),
            "docs/decisions/README.md",
            *rows_of("docs/decisions/README.md"),
            "docs/protocol.md",
            "CONTRIBUTING.md",
            "RELEASING.md",
            "SECURITY.md",
            "CHANGELOG.md",
        ],
    }


def rows_of(page: str) -> list[str]:
    """Returns the page that each row of the tables of a page begins with."""
    return [normpath(join(dirname(page), found)) for found in re.findall(r"^\| \[[^\]]+\]\(([^)#]+\.md)\)", read(page), re.MULTILINE)]


def require_all_pages(parts: dict[str, list[str]]) -> None:
    tracked = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    there = {page for page in tracked.stdout.split() if (ROOT / page).exists()} - LEFT_OUT
    named = [page for pages in parts.values() for page in pages]
    for page in sorted(there - set(named)):
        sys.exit(f"{page}: in no part of the site; add it to `order` of docs/site.py, or to `LEFT_OUT`")
    for page in named:
        if page not in there or named.count(page) > 1:
            sys.exit(f"{page}: docs/site.py names it {named.count(page)} times, and it is {'there' if page in there else 'not there'}")


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def title(text: str) -> str:
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1].replace("[", r"\[").replace("]", r"\]") if found else "?"


def place(page: str) -> str:
    """Returns where a file of the repository is in the source of the book. A README is the front page of its folder."""
    if Path(page).name == "README.md":
        return join(dirname(page), "index.md")
    return page if page.endswith(".md") else f"{page}.md"


def gather(parts: dict[str, list[str]], source: Path, sources: str, interfaces: str) -> int:
    """Writes all pages with their links rewritten, and SUMMARY.md. Returns how many pages there are."""
    known = {page for pages in parts.values() for page in pages}
    shown: dict[str, str] = {}

    def target_of(page: str, target: str) -> str | None:
        path, mark, anchor = target.partition("#")
        linked = normpath(join(dirname(page), path)) if path else page
        if (ROOT / linked).is_dir() and f"{linked}/README.md" in known:
            linked += "/README.md"
        if linked.endswith(".png"):
            copy(linked, source)
            return relpath(linked, dirname(page) or ".")
        if linked not in known and (ROOT / linked).is_file() and Path(linked).suffix in {*SHOWN, ".ipynb"}:
            shown.setdefault(linked, "")
        if linked in known or linked in shown:
            return relpath(place(linked), dirname(page) or ".") + mark + anchor
        return sources.rstrip("/") + "/" + linked + mark + anchor if sources else None

    summary = ["# Summary", ""]
    for part, pages in parts.items():
        summary += [f"# {part}", ""] if part else []
        for page in pages:
            text = rewritten(read(page), lambda target, page=page: target_of(page, target))  # type: ignore[misc]
            write(source / place(page), text)
            is_listed = page.startswith(("format-spec/", "docs/decisions/")) and not page.endswith("/README.md")
            below = is_listed or page.endswith("/ARCHITECTURE.md")
            name = title(text) if part else "Tetrys"
            summary.append(f"{'  ' if below else '- ' if part else ''}{'- ' if below else ''}[{name}]({place(page)})")
        if part == "Reference":
            write(source / "reference.md", interfaces)
            write(source / "command-line.md", command_line())
            summary += ["- [Rust and Python](reference.md)", "- [Command line: help of every command](command-line.md)"]
        summary.append("")
    summary += ["# Files", ""]
    for page in sorted(shown):
        write(source / place(page), notebook(page, source) if page.endswith(".ipynb") else file_page(page))
        summary.append(f"- [{page}]({place(page)})")
    write(source / "SUMMARY.md", "\n".join(summary) + "\n")
    return len(known) + len(shown) + 2


def rewritten(text: str, target_of: Callable[[str], str | None]) -> str:
    """Returns the text with other targets of its links. Where `target_of` gives none, the text of the link stays."""

    def link(found: re.Match[str]) -> str:
        target = found["target"]
        if found["code"] or re.match(r"[a-z]+:", target):
            return found[0]
        new = target_of(target)
        return found["text"] if new is None else f"{found['image']}[{found['text']}]({new})"

    pieces, at = [], 0
    for fence in FENCED.finditer(text):
        pieces += [LINK.sub(link, text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*pieces, LINK.sub(link, text[at:])])


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def copy(file: str, source: Path) -> None:
    (source / file).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / file, source / file)


def fence(text: str, language: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````\n"


def file_page(file: str) -> str:
    language = {".py": "python", ".rs": "rust,ignore", ".sh": "sh", ".toml": "toml", ".yml": "yaml"}.get(Path(file).suffix, "text")
    return f"# {file}\n\n{fence(read(file), language)}"


def command_line() -> str:
    return f"# Command line\n\n`--help` of every command, as the tests compare it.\n\n{fence(read('cli/tests/help.txt'), 'text')}"


def notebook(file: str, source: Path) -> str:
    """Returns the cells and outputs of a notebook as a page. Pictures become files beside it."""
    pieces: list[str] = []
    for number, cell in enumerate(json.loads(read(file))["cells"]):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            pieces.append(text)
            continue
        pieces.append(fence(text, "python"))
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                picture = f"{Path(file).stem}-{number}.png"
                (source / dirname(file)).mkdir(parents=True, exist_ok=True)
                (source / dirname(file) / picture).write_bytes(base64.b64decode("".join(data["image/png"])))
                pieces.append(f"![output of the cell above]({picture})")
            elif output.get("text") or "text/plain" in data:
                pieces.append(fence("".join(output.get("text") or data["text/plain"]), "text"))
    return "\n\n".join(pieces) + "\n"


# -------------------------------------------------------------------------------------------------------------- references


def reference(options: argparse.Namespace, modules: list[str], missing: list[str]) -> str:
    """Returns the page that leads to the references beside the book."""
    lines = ["# Reference of Rust and Python", "", "These are made from the sources, and have a search of their own.", ""]
    if options.without_rust:
        lines.append("- Rust: not in this build of the site. `cargo doc --no-deps --open` makes it.")
    else:
        lines += [f"- Rust: [{crate}](rust/{crate.replace('-', '_')}/index.html)" for crate in CRATES]
    if options.without_python:
        lines.append("- Python: not in this build of the site.")
    lines += [f"- Python: [{module}](python-reference/{module.replace('.', '/')}.html)" for module in modules]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        lines += ["", f"Not in this build of the site, because the packages that they need were not installed: {names}."]
    return "\n".join(lines) + "\n"


def python_reference(python: str, out: Path) -> tuple[list[str], list[str]]:
    """Writes the reference of the Python packages. Returns its modules, and those whose packages are not installed."""
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT / "python" / "reader")]))
    command = [python, str(ROOT / "docs" / "python_reference.py"), str(out)]
    made = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE, text=True, check=False)
    if made.returncode:
        sys.exit(f"error: {python} must import tetrys (install the wheel), what tetrys_reader needs, and pdoc 16; or pass --without-python")
    good, bad = json.loads(made.stdout.splitlines()[-1])
    return good, bad


def rust_reference(out: Path) -> None:
    run(["cargo", "doc", "--locked", "--no-deps", *(word for crate in CRATES for word in ("--package", crate))])
    metadata = subprocess.run(["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"], cwd=ROOT, capture_output=True, text=True, check=True)
    shutil.copytree(Path(json.loads(metadata.stdout)["target_directory"]) / "doc", out, ignore=shutil.ignore_patterns(".lock"))
    # Pages of rustdoc link to a list of crates, which stable compilers do not write.
    crates = "".join(f'<li><a href="{crate}/index.html">{crate}</a></li>' for crate in (crate.replace("-", "_") for crate in CRATES))
    write(out / "index.html", f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Crates</title><h1>Crates</h1><ul>{crates}</ul></html>\n')


def run(command: list[str]) -> None:
    try:
        subprocess.run(command, cwd=ROOT, check=True)
    except FileNotFoundError:
        sys.exit(f"there is no program `{command[0]}`; CONTRIBUTING.md says how to get it")
    except subprocess.CalledProcessError as error:
        sys.exit(f"`{' '.join(command[:4])} ..` failed with {error.returncode}")


# ------------------------------------------------------------------------------------------------------------------- check


class Page(HTMLParser):
    """What a page of the site links to and loads, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        # The page to which this one leads on, as rustdoc makes them for things that are defined elsewhere.
        self.leads_to: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        if tag == "meta" and of.get("http-equiv") == "refresh":
            self.leads_to = (of.get("content") or "").partition("URL=")[2] or None
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif name == "href" and tag == "a":
                self.links.append(value)
            elif (name == "href" and tag == "link") or (name == "src" and tag in {"img", "script", "iframe", "source"}):
                self.loads.append(value)

    handle_startendtag = handle_starttag


def check(out: Path) -> tuple[int, list[str]]:
    """Returns how many links the pages have, and what is wrong with them: no file, no anchor, or something loaded from elsewhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(out.rglob("*.html"))}
    wrong: list[str] = []
    count = 0
    for path, page in pages.items():
        name = path.relative_to(out).as_posix()
        for link in page.loads:
            if re.match(r"(https?:)?//", link):
                wrong.append(f"{name}: loads {link}, so the site does not work without a network")
        for link, complaint in complaints(path, page, pages, out):
            count += 1
            if complaint:
                wrong.append(f"{name}: the link `{link}` leads nowhere: {complaint}")
    return count, wrong


def complaints(path: Path, page: Page, pages: dict[Path, Page], out: Path) -> Iterator[tuple[str, str | None]]:
    for link in [*page.links, *page.loads]:
        address = urllib.parse.urlsplit(link)
        if address.scheme or address.netloc:
            continue
        linked = Path(os.path.normpath(path.parent / urllib.parse.unquote(address.path))) if address.path else path
        if linked.is_dir():
            linked /= "index.html"
        # rustdoc copies texts of other packages about their traits, whose links it cannot resolve.
        if is_of_others(path, linked, out):
            continue
        if linked in pages and (onward := pages[linked].leads_to):
            linked = Path(os.path.normpath(linked.parent / urllib.parse.unquote(onward)))
        if out not in linked.parents:
            yield link, "outside the site"
        elif not linked.is_file():
            yield link, f"there is no {linked.relative_to(out).as_posix()}"
        # Scripts of rustdoc answer line numbers such as #10-20.
        elif address.fragment and linked in pages and not re.fullmatch(r"\d+(-\d+)?", address.fragment) and not anchored(pages[linked], address.fragment):
            yield link, f"{linked.relative_to(out).as_posix()} has no such anchor"
        else:
            yield link, None


def is_of_others(path: Path, linked: Path, out: Path) -> bool:
    """Whether a link of a page of the Rust reference names something of another package, and no file: `dispatcher`, `futures_core::future`."""
    is_rust = path.relative_to(out).parts[0] == "rust"
    return is_rust and linked.suffix == "" and not linked.exists()


def anchored(page: Page, fragment: str) -> bool:
    return fragment in page.anchors or urllib.parse.unquote(fragment) in page.anchors


if __name__ == "__main__":
    main()
