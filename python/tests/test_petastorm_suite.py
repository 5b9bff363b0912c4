"""Petastorm's own tests, of its wheel, run against `tetrys.petastorm`: each test passes, or `petastorm_suite/expected.txt` says why not.

The package `petastorm` in `petastorm_suite/shim` answers their imports. With `TETRYS_CLUSTER=1`, all tests run, and Spark writes their
data sets. Else those run that need neither data sets nor tensors. Skipped where the wheel is not installed.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "petastorm_suite"
CHAPTER = Path(__file__).parents[2] / "docs" / "guide" / "petastorm.md"
SLICE = ["test_codec_*.py", "test_decode_row.py", "test_ngram.py", "test_predicates.py", "test_run_in_subprocess.py", "test_transform.py", "test_unischema.py"]
FULL = os.environ.get("TETRYS_CLUSTER") == "1"
KINDS = {
    "differs": "a row of the table \"Differences\" of the chapter, by its first cell",
    "chance": "as `differs`, but the test passes at times",
    "wording": "the error or the warning is there, with other words",
    "private": "the test uses names or files that are private to Petastorm",
    "older": "the test needs older releases of other libraries, or packages that are not installed",
}


def expected() -> dict[str, str]:
    """Returns why tests do not pass: {test or file: reason}. A test without parameters stands for all of its parameters."""
    reasons: dict[str, str] = {}
    reason = ""
    for line in (HERE / "expected.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            reason = line.strip("[]")
            assert reason.partition(": ")[0] in KINDS, line
        else:
            assert reason and line not in reasons, line
            reasons[line] = reason
    return reasons


def installed(package: str) -> Path:
    """Returns the folder of a package of Petastorm's wheel."""
    try:
        return Path(str(importlib.metadata.distribution("petastorm").locate_file(package)))
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("petastorm is not installed: python/tests/petastorm_suite.txt")


@pytest.mark.slice
def test_each_difference_has_a_row_in_the_chapter() -> None:
    rows = set(re.findall(r"^\| ([^|]+) \|", CHAPTER.read_text(), re.MULTILINE))
    named = {reason.partition(": ")[2] for reason in expected().values() if reason.startswith(("differs", "chance"))}
    assert named <= rows, named - rows


@pytest.mark.slice
def test_each_test_of_petastorm_passes_or_its_reason_is_listed(tmp_path: Path) -> None:
    package = installed("petastorm")
    # Those of `hdfs/` and `workers_pool/` test these private modules alone.
    files = sorted(f"tests/{file.name}" for file in package.glob("tests/test_*.py"))
    if not FULL:
        files = [file for file in files if any(fnmatch(file.removeprefix("tests/"), pattern) for pattern in SLICE)]
    outcomes = run(package, [package / file for file in files], tmp_path)
    reasons = {place: reason for place, reason in expected().items() if place.partition("::")[0] in files}

    def reason_of(test: str) -> str | None:
        return next((place for place in (test, test.partition("[")[0], test.partition("::")[0]) if place in reasons), None)

    failed = {test: message for test, (outcome, message) in outcomes.items() if outcome == "failed"}
    unlisted = {test: message for test, message in failed.items() if reason_of(test) is None}
    run_of = {test.partition("[")[0] for test in outcomes} | {test.partition("::")[0] for test in outcomes}
    idle = {place for place, reason in reasons.items() if place.partition("[")[0] in run_of and not reason.startswith("chance")} - {reason_of(test) for test in failed}
    counts = Counter(outcome for outcome, _ in outcomes.values()) + Counter(reasons[str(reason_of(test))].partition(":")[0] for test in failed if test not in unlisted)
    print(dict(counts))
    assert not unlisted, "\n\n".join(f"{test}: {message}" for test, message in unlisted.items())
    assert not idle, f"these pass now, so remove their lines: {sorted(idle)}"
    assert counts["passed"] >= (200 if FULL else 60), counts


EXAMPLES = """
import tensorflow.compat.v1 as tf
from examples.hello_world.external_dataset import generate_external_dataset, python_hello_world, pytorch_hello_world, tensorflow_hello_world
from examples.hello_world.petastorm_dataset import generate_petastorm_dataset as generate
from examples.hello_world.petastorm_dataset import pyspark_hello_world as spark, python_hello_world as plain, pytorch_hello_world as torch
from examples.hello_world.petastorm_dataset import tensorflow_hello_world as tensorflow

# The examples are for TensorFlow 1.
tf.disable_eager_execution()
generate.generate_petastorm_dataset("file://" + FOLDER + "/hello")
for module, name in ((plain, "python"), (torch, "pytorch"), (tensorflow, "tensorflow"), (spark, "pyspark")):
    print("== ", name)
    getattr(module, f"{name}_hello_world")("file://" + FOLDER + "/hello")
generate_external_dataset.generate_external_dataset("file://" + FOLDER + "/external")
for module, name in ((python_hello_world, "python"), (pytorch_hello_world, "pytorch"), (tensorflow_hello_world, "tensorflow")):
    print("== external", name)
    getattr(module, f"{name}_hello_world")("file://" + FOLDER + "/external")
"""


@pytest.mark.skipif(not FULL, reason="needs Spark, PyTorch and TensorFlow: TETRYS_CLUSTER=1")
def test_the_examples_of_petastorm_run(tmp_path: Path) -> None:
    """`examples/hello_world`, and `examples/mnist` with the data of its tests, both of the wheel."""
    examples = installed("examples")
    ran = subprocess.run([sys.executable, "-c", f"FOLDER = {str(tmp_path)!r}\n{EXAMPLES}"], env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-3000:]
    assert ran.stdout.count("==") == 7 and "Number of rows in the dataset: 10" in ran.stdout, ran.stdout
    outcomes = run(examples, [examples / "mnist" / "tests"], tmp_path)
    assert Counter(outcome for outcome, _ in outcomes.values()) == {"passed": 4, "skipped": 1}, outcomes


def environment(folder: Path) -> dict[str, str]:
    """Returns the variables of a process whose imports of Petastorm are ours, and which writes into a folder."""
    paths = [HERE / "shim", HERE, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, paths)), "OUTCOMES": str(folder / "outcomes.jsonl"), "TMPDIR": str(folder), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "TF_CPP_MIN_LOG_LEVEL": "2",
        "WITHOUT_DATA_SETS": "" if FULL else "1",
    }  # fmt: skip


def run(root: Path, files: list[Path], folder: Path) -> dict[str, tuple[str, str]]:
    """Runs files of tests. Returns {test: (outcome, what was said)}; of a file that cannot be imported, {file: ..}."""
    outcomes_file = folder / "outcomes.jsonl"
    # Otherwise pytest puts the folder of the real package in front of the path, which worker processes get.
    arguments = ["-q", "--import-mode=append", "-p", "outcomes", "-p", "no:cacheprovider", "-c", os.devnull, "--continue-on-collection-errors", "--rootdir", str(root), "--basetemp", str(folder / "base")]
    command = [sys.executable, "-m", "pytest", *arguments, *map(str, files)]
    ran = subprocess.run(command, env=environment(folder), cwd=folder, capture_output=True, text=True, check=False)
    assert outcomes_file.exists() and ran.returncode in (0, 1, 2), ran.stdout[-3000:] + ran.stderr[-3000:]
    outcomes: dict[str, tuple[str, str]] = {}
    for one in map(json.loads, outcomes_file.read_text().splitlines()):
        # An error at the end of a test comes after its outcome.
        if one["outcome"] != "passed" or one["test"] not in outcomes:
            outcomes[one["test"]] = (one["outcome"], one["said"])
    return outcomes
