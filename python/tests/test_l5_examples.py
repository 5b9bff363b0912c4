"""The scripts in `examples/l5`, which do the data steps of L5Kit's notebooks, run on L5Kit's own scene with a map and a photograph."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

SHARED = Path(__file__).parents[3] / "shared" / "l5"
EXAMPLES = Path(__file__).parents[2] / "examples" / "l5"
SAYS = {
    "visualise_data": ["Num Scenes", "PERCEPTION_LABEL_CAR: 5749", "1127 samples of agents", "50 frames in"],
    "agent_motion_prediction": ["1127 samples to learn from", "linear: NLL", "standing still: NLL"],
    "planning": ["recorded: ADE", "perturbed: ADE"],
    "urban_driver": ["lanes_mid: float32 (16, 30, 20, 3)", "plans: ADE"],
}
FILES = {
    "scenes/sample.zarr": "artefacts/single_scene.zarr", "semantic_map/semantic_map.pb": "golden/synth_semantic_map.pb",
    "aerial_map/aerial_map.png": "golden/synth_aerial_map.png", "meta.json": "artefacts/meta.json",
}  # fmt: skip


def test_each_script_is_run_and_is_short() -> None:
    scripts = {script.stem: script for script in EXAMPLES.glob("*.py")}
    assert scripts.keys() == SAYS.keys()
    assert all(len(script.read_text().splitlines()) < 100 for script in scripts.values())


@pytest.mark.skipif(not SHARED.exists(), reason="no shared Level 5 data")
@pytest.mark.parametrize("name", SAYS)
def test_a_script_runs_twice_and_says_the_same(name: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    for place, file in FILES.items():
        (data / place).parent.mkdir(parents=True, exist_ok=True)
        (data / place).symlink_to(SHARED / file)
    environment = os.environ | {"L5KIT_DATA_FOLDER": str(data), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    said = []
    # As the cells of a notebook, it may run again: what is there is used.
    for _ in range(2 if name == "agent_motion_prediction" else 1):
        ran = subprocess.run([sys.executable, EXAMPLES / f"{name}.py", tmp_path / "work"], capture_output=True, text=True, env=environment, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        said.append(ran.stdout)
    assert set(said) == {said[0]}
    for line in SAYS[name]:
        assert line in said[0], said[0]
    if name == "visualise_data":
        pictures = sorted(file.name for file in (tmp_path / "work").iterdir() if file.suffix in (".png", ".gif"))
        of_maps = [f"{kind} {map_type}.png" for kind in ("ego", "plot") for map_type in ("py_satellite", "py_semantic")]
        assert pictures == ["agent py_satellite.png", *of_maps, "scene.gif"]
        colours = [len(Image.open(tmp_path / "work" / picture).convert("RGB").getcolors(1 << 16) or range(1 << 16)) for picture in pictures]
        assert min(colours) > 5, "no picture is empty"
