"""The scripts in `examples/l5`, which do the data steps of L5Kit's notebooks, run on L5Kit's own scene with a map and a photograph."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tetrys.l5 import ChunkedDataset

SHARED = Path(__file__).parents[3] / "shared" / "l5"
EXAMPLES = Path(__file__).parents[2] / "examples" / "l5"
SAYS = {
    "visualise_data": ["Num Scenes", "PERCEPTION_LABEL_CAR: 5749", "1127 samples of agents", "50 frames in"],
    "agent_motion_prediction": ["1127 samples to learn from", "linear: NLL", "standing still: NLL"],
    "planning": ["recorded: ADE", "perturbed: ADE"],
    "urban_driver": ["lanes_mid: float32 (16, 30, 20, 3)", "243 plans: ADE"],
    "closed_loop": ["1 scenes of 50 steps: off by 0.16 m after 10 steps", "by more than 30 m: 0", "50 frames in"],
}
WITH_L5KIT = [pytest.mark.torch, pytest.mark.skipif(importlib.util.find_spec("l5kit") is None, reason="L5Kit is not installed: python/tests/l5kit.txt")]
FILES = {
    "scenes/sample.zarr": "artefacts/single_scene.zarr", "semantic_map/semantic_map.pb": "golden/synth_semantic_map.pb",
    "aerial_map/aerial_map.png": "golden/synth_aerial_map.png", "meta.json": "artefacts/meta.json",
}  # fmt: skip


def test_each_script_is_run_and_is_short() -> None:
    scripts = {script.stem: script for script in EXAMPLES.glob("*.py")}
    assert scripts.keys() == SAYS.keys()
    assert all(len(script.read_text().splitlines()) < 100 for script in scripts.values())


def run(name: str, folder: Path, scenes: Path = SHARED / FILES["scenes/sample.zarr"]) -> str:
    """Runs a script on a data set, and returns what it prints."""
    data = folder / "data"
    for place, file in FILES.items():
        (data / place).parent.mkdir(parents=True, exist_ok=True)
        if not (data / place).exists():
            (data / place).symlink_to(scenes if place.startswith("scenes") else SHARED / file)
    environment = os.environ | {"L5KIT_DATA_FOLDER": str(data), "XDG_CACHE_HOME": str(folder / "cache")}
    ran = subprocess.run([sys.executable, EXAMPLES / f"{name}.py", folder / "work"], capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.skipif(not SHARED.exists(), reason="no shared Level 5 data")
@pytest.mark.parametrize("name", [pytest.param(name, marks=WITH_L5KIT if name == "closed_loop" else []) for name in SAYS])
def test_a_script_runs_twice_and_says_the_same(name: str, tmp_path: Path) -> None:
    # As the cells of a notebook, it may run again: what is there is used.
    outputs = [run(name, tmp_path) for _ in range(2 if name == "agent_motion_prediction" else 1)]
    assert set(outputs) == {outputs[0]}
    for line in SAYS[name]:
        assert line in outputs[0], outputs[0]
    if name == "visualise_data":
        pictures = sorted(file.name for file in (tmp_path / "work").iterdir() if file.suffix in (".png", ".gif"))
        of_maps = [f"{kind} {map_type}.png" for kind in ("ego", "plot") for map_type in ("py_satellite", "py_semantic")]
        assert pictures == ["agent py_satellite.png", *of_maps, "scene.gif"]
        colours = [len(Image.open(tmp_path / "work" / picture).convert("RGB").getcolors(1 << 16) or range(1 << 16)) for picture in pictures]
        assert min(colours) > 5, "no picture is empty"


@pytest.mark.skipif(not SHARED.exists(), reason="no shared Level 5 data")
@pytest.mark.parametrize(("name", "line"), [("planning", r"recorded: ADE .*"), ("urban_driver", r"plans: ADE .*")])
def test_errors_of_a_scene_twice_are_those_of_the_scene(name: str, line: str, tmp_path: Path) -> None:
    """At the end of each scene, targets that nobody saw are zeros, which are no errors."""
    scene = ChunkedDataset(str(SHARED / FILES["scenes/sample.zarr"])).open()
    arrays = {part: np.concatenate([getattr(scene, part)[:]] * 2) for part in ("scenes", "frames", "agents", "tl_faces")}
    arrays["scenes"]["frame_index_interval"][1] += len(scene.frames)
    for interval, part in (("agent_index_interval", "agents"), ("traffic_light_faces_index_interval", "tl_faces")):
        arrays["frames"][interval][len(scene.frames) :] += len(getattr(scene, part))
    twice = ChunkedDataset(str(tmp_path / "twice.zarr")).initialize(**{f"num_{part}": len(array) for part, array in arrays.items()})
    for part, array in arrays.items():
        getattr(twice, part)[:] = array
    of_one, of_two = (re.findall(line, run(name, tmp_path / folder, *scenes)) for folder, scenes in (("one", ()), ("two", (tmp_path / "twice.zarr",))))
    assert of_one == of_two and len(of_one) == 1
