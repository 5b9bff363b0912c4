"""What a release builds agrees with itself: versions, licences, extras, targets, and the order in which crates are published."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tetrys_reader
import yaml

tomllib = pytest.importorskip("tomllib")
ROOT = Path(__file__).parents[2]


def toml(path: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / path).read_text(encoding="utf-8"))
    return found


def workflow(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows" / name).read_text(encoding="utf-8"))
    return found


def needs_of(job: dict[str, Any]) -> list[str]:
    needs = job.get("needs", [])
    return [needs] if isinstance(needs, str) else needs


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_jobs_of_a_workflow_need_jobs_that_exist_and_may_do_little(name: str) -> None:
    found = workflow(name)
    jobs = found["jobs"]
    assert found["permissions"] == {"contents": "read"}
    for job in jobs.values():
        assert set(needs_of(job)) <= set(jobs) and job["timeout-minutes"] <= 150
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)


def test_what_publishes_waits_for_the_word_of_the_owner() -> None:
    jobs = workflow("release.yml")["jobs"]
    publishing = {name: job for name, job in jobs.items() if "secrets." in str(job) or "cargo publish" in str(job)}
    assert set(publishing) == {"publish", "publish-image"}
    for job in publishing.values():
        assert job["if"] == "vars.PUBLISH == 'true'" and job["environment"] == "release" and "draft" in needs_of(job)
    pushes = {name: step["with"]["push"] for name, job in jobs.items() for step in job["steps"] if "build-push" in step.get("uses", "")}
    assert pushes == {"image": False, "publish-image": True}


def test_crates_are_published_after_those_that_they_need() -> None:
    folders = [".", *toml("Cargo.toml")["workspace"]["members"]]
    crates = [toml(f"{folder}/Cargo.toml") for folder in folders]
    public = {crate["package"]["name"]: crate for crate in crates if crate["package"].get("publish", True)}
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    order = re.search(r"for package in (.*); do", text)
    assert order
    names = order[1].split()
    assert sorted(names) == sorted(public)
    for name, crate in public.items():
        own = [other for other in crate["dependencies"] if other in public]
        assert all(names.index(other) < names.index(name) for other in own)


def test_licences_of_every_target_are_collected() -> None:
    built = {entry["target"] for entry in workflow("release.yml")["jobs"]["build"]["strategy"]["matrix"]["include"]}
    assert built == set(toml("about.toml")["targets"])


def test_packages_have_the_version_and_the_licence_of_the_project() -> None:
    assert toml("Cargo.toml")["workspace"]["package"]["version"] == tetrys_reader.__version__
    licence = (ROOT / "LICENSE").read_bytes()
    for folder in ("cli", "images", "l5", "logs", "petastorm", "python", "python/reader"):
        assert (ROOT / folder / "LICENSE").read_bytes() == licence


def test_the_image_and_the_workflows_use_the_compiler_of_the_manifest() -> None:
    compiler = toml("Cargo.toml")["workspace"]["package"]["rust-version"]
    for path in ("Dockerfile", ".github/workflows/ci.yml", ".github/workflows/release.yml"):
        text = (ROOT / path).read_text(encoding="utf-8")
        named = re.findall(r'(?:FROM rust:|toolchain install |rust-toolchain: ")(\d+\.\d+)', text)
        assert named and set(named) == {compiler}, path
    assert f"| Rust compiler | {compiler} or later |" in (ROOT / "docs/compatibility.md").read_text(encoding="utf-8")


def test_the_page_of_the_package_names_every_extra() -> None:
    extras = set(toml("python/pyproject.toml")["project"]["optional-dependencies"]) - {"test"}
    sentence = re.search(r"has these extras: (.*?)\.", (ROOT / "python/README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert sentence and set(re.findall(r"`(\w+)`", sentence[1])) == extras
