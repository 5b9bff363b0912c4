"""The examples of the documentation run: the docstrings, the Python code of the pages, and the tutorial."""

from __future__ import annotations

import copy
import difflib
import doctest
import inspect
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias, cast

import nbclient
import nbformat
import numpy as np
import polars as pl
import pytest
import tetrys as tt
from conftest import ROWS, picture, points

Notebook: TypeAlias = Any  # nbformat has no types


def documented() -> Iterator[tuple[str, str]]:
    for name in tt.__all__:
        thing = getattr(tt, name)
        yield name, inspect.getdoc(thing) or ""
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for member, value in vars(thing).items():
                if member == "__init__" or not member.startswith("_"):
                    yield f"{name}.{member}", inspect.getdoc(value) or ""


EXAMPLES = {name: text for name, text in documented() if ">>>" in text}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the table `drives` that the examples use."""
    monkeypatch.chdir(tmp_path)
    tt.write_table(
        "drives",
        {
            "log_id": ["monday"] * 10 + ["tuesday"] * 10,
            "timestamp": np.arange(ROWS) * 100,
            "pedestrians": np.arange(ROWS) % 5,
            "lidar.points": [points(row) for row in range(ROWS)],
            "camera.intrinsics": np.zeros((ROWS, 3, 3)),
            "camera.jpeg": [picture(row, "jpeg") for row in range(ROWS)],
            "labels.text": [f"row {row}" for row in range(ROWS)],
        },
        index=["log_id", "timestamp", "pedestrians"],
        sequence_by=["log_id"],
        order_by=["timestamp"],
        units={"timestamp": "ms"},
    )
    return tmp_path


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_does_what_it_says(folder: Path, name: str) -> None:
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name], {"tt": tt, "np": np, "pl": pl}, name, None, None)
    output: list[str] = []
    failed, tried = doctest.DocTestRunner().run(example, out=output.append)
    assert tried > 0 and not failed, "".join(output)


def test_every_public_name_is_documented_and_the_main_ones_by_example() -> None:
    assert [name for name, text in documented() if not text and not name.startswith("Ragged.")] == []
    shown = {"Index", "Index.filter", "RowLoader.get_row", "RowLoader.get_rows", "RowLoader.take", "RowLoader.scan", "Writer.__init__"}
    assert shown <= EXAMPLES.keys()


def test_the_merge_script_does_what_it_asserts(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "examples" / "merge.py"
    assert len(script.read_text().splitlines()) < 100
    ran = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "busy rows of 1000" in ran.stdout


PAGES = [
    "README.md",
    "docs/guide/coming-from.md",
    "docs/guide/level5.md",
    "docs/guide/logs.md",
    "docs/guide/production.md",
    "docs/guide/python.md",
    "docs/guide/training.md",
    "docs/guide/troubles.md",
    "docs/guide/your-logs.md",
    "python/README.md",
]


def run_code_of(page: str) -> dict[str, object]:
    """Runs the blocks of a page that open with ```python. Blocks with ```py do not run: they need several processes or other packages."""
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return names


@pytest.mark.parametrize("page", PAGES)
def test_the_python_code_of_a_page_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    monkeypatch.chdir(tmp_path)
    if page.endswith("level5.md"):
        (tmp_path / "sample.zarr").symlink_to(os.environ["TETRYS_L5"])
    run_code_of(page)


def test_every_page_with_python_code_is_run_by_a_test() -> None:
    root = Path(__file__).parents[2]
    pages = [page.relative_to(root).as_posix() for page in [*root.glob("docs/**/*.md"), root / "README.md", root / "python" / "README.md"]]
    with_code = {page for page in pages if "\n```python\n" in (root / page).read_text(encoding="utf-8")}
    others = {"docs/across-stores.md", "docs/guide/cluster.md", "docs/guide/object-training.md", "docs/guide/petastorm.md"}
    assert with_code == set(PAGES) | others


@pytest.fixture
def two_buckets(bucket: str, s3_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The buckets `lab` and `team` of the pages, empty, and an empty working folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("lab", "team"):
        urllib.request.urlopen(urllib.request.Request(f"{s3_server}/{name}", method="PUT")).close()


@pytest.mark.usefixtures("two_buckets")
def test_the_python_code_of_the_page_about_other_stores_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TETRYS_ALLOW", raising=False)
    keys = {"log": ["a"] * 20, "time": np.arange(20) * 100}
    how: dict[str, Any] = {"index": ["log", "time"], "sequence_by": ["log"], "order_by": ["time"]}
    sensors = tt.write_table("s3://lab/sensors", {**keys, "lidar.text": ["sweep"] * 20}, **how)
    labels = tt.write_table("s3://team/labels", {**keys, "labels.text": ["car"] * 20}, **how)
    tt.merge(tt.read_index(sensors), tt.read_index(labels), on=["log", "time"]).save("s3://team/labelled")
    names = run_code_of("docs/across-stores.md")
    assert len(cast("tt.Index", names["index"])) == 20
    assert len(tt.open_table("s3://team/short", allow=["s3://lab/sensors"])) == 10


@pytest.mark.usefixtures("two_buckets")
def test_the_program_that_trains_on_object_storage_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("TETRYS_CACHE", "")  # restored at the end: the page sets it
    monkeypatch.delenv("TETRYS_CACHE")
    names = run_code_of("docs/guide/object-training.md")
    seen = sum(cast("dict[str, int]", model)["seen"] for model in cast("list[object]", names["models"]))
    assert seen == 192, "each draw of the epoch once, before and after the kill"
    stats = cast("dict[str, int]", names["stats"])
    assert stats["requests"] < stats["planned_requests"], "the cache answers what was read before"


TUTORIAL = Path(__file__).parent.parent / "tutorial.ipynb"


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> tuple[Notebook, Notebook]:
    """The tutorial as it is kept, and the same just run. `TETRYS_REWRITE=1` keeps the latter."""
    kept, notebook = nbformat.read(TUTORIAL, as_version=4), nbformat.read(TUTORIAL, as_version=4)
    folder = tmp_path_factory.mktemp("tutorial")
    environment = os.environ | {"IPYTHONDIR": str(folder / "ipython"), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}, record_timing=False)
    done = client.execute(env=environment)
    done.metadata = kept.metadata
    for cell in done.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("image/jpeg", None)  # the same picture is there as PNG
            for texts, name in [(output, "text"), (output.get("data", {}), "text/plain"), (output.get("data", {}), "text/html")]:
                if name in texts:
                    texts[name] = texts[name].replace(folder.as_uri(), "file:///home/me")
    if os.environ.get("TETRYS_REWRITE") == "1":
        nbformat.write(done, TUTORIAL)
        kept = done
    return kept, done


def steady(text: str) -> str:
    """A text output without what differs between runs and versions of other packages: locators, bytes, and the lines of tables."""
    text = re.sub(r"_row_[0-9a-f]+|\b\d{15,19}\b|[\d.]+ [kM]?B\b", "#", text)
    text = re.sub(r"(bytes': )\d+|(values )\[\d+\]", r"\1\2#", text)
    return re.sub(r"[\s─═┌┬┐╞╪╡└┴┘┆│]+", " ", text).strip()


def text_of(cell: Notebook) -> str:
    """The text outputs of a cell. What it prints may come in several pieces."""
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)


def stale(kept: Notebook, done: Notebook) -> list[str]:
    """Says for each cell whose kept text outputs are not those of the run what is kept and what came out."""
    found = []
    for old, new in zip(kept.cells, done.cells, strict=True):
        if old.cell_type == "code" and steady(text_of(old)) != steady(text_of(new)):
            lines = difflib.unified_diff(text_of(old).splitlines(), text_of(new).splitlines(), "kept", "now", lineterm="", n=1)
            found.append("\n".join([f"tutorial.ipynb, cell In [{new.execution_count}], `{new.source.splitlines()[0]}`:", *lines]))
    return found


def test_the_tutorial_runs_and_its_kept_outputs_are_those_of_the_run(tutorial: tuple[Notebook, Notebook]) -> None:
    complaints = stale(*tutorial)
    assert not complaints, "\n".join([*complaints, "look at the difference; TETRYS_REWRITE=1 with this test keeps the new outputs"])
    shown = [output.get("data", {}) for cell in tutorial[0].cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("<img" in data.get("text/html", "") for data in shown), "the index shows its pictures"
    assert sum("image/png" in data for data in shown) == 2, "the pictures of the window, and a sweep"


def test_a_stale_output_of_the_tutorial_is_named_with_its_cell(tutorial: tuple[Notebook, Notebook]) -> None:
    kept = copy.deepcopy(tutorial[0])
    counted = next(cell for cell in kept.cells if "GROUP BY drive" in cell.source)
    counted.outputs[0].data["text/plain"] = counted.outputs[0].data["text/plain"].replace("monday", "sunday")
    (complaint,) = stale(kept, tutorial[1])
    assert complaint.startswith(f"tutorial.ipynb, cell In [{counted.execution_count}], `busy = index.filter")
    assert re.search(r"^-.*sunday", complaint, re.MULTILINE) and re.search(r"^\+.*monday", complaint, re.MULTILINE)
    counted.outputs = []
    assert len(stale(kept, tutorial[1])) == 1
