"""Pictures of trajectories, samples and scenes. L5Kit's own functions made the expected pictures, with OpenCV 4.9:

    from l5kit.visualization.utils import draw_reference_trajectory, draw_trajectory
"""

from __future__ import annotations

import doctest
import hashlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tetrys as tt
from l5_scenes import random_dataset
from PIL import Image
from tetrys.l5 import AgentDataset, ChunkedDataset, EgoDataset, LocalDataManager, build_rasterizer, filter_agents_by_labels, visualization
from tetrys.l5.visualization import (
    TARGET_POINTS_COLOR,
    draw_reference_trajectory,
    draw_sample,
    draw_scene,
    draw_trajectory,
    write_gif,
)

CFG: dict[str, Any] = {
    "model_params": {"history_num_frames": 1, "future_num_frames": 8, "step_time": 0.1, "render_ego_history": True},
    "raster_params": {
        "raster_size": [48, 40], "pixel_size": [0.5, 0.5], "ego_center": [0.25, 0.5], "map_type": "box_debug", "filter_agents_threshold": 0.5,
        "disable_traffic_light_faces": False, "set_origin_to_bottom": True,
    },
}  # fmt: skip


def blank(height: int, width: int) -> np.ndarray:
    return np.zeros((height, width, 3), np.uint8)


def art(picture: np.ndarray) -> list[str]:
    assert (picture[:, :, 0] == picture.max(axis=2)).all()
    return ["".join(".#"[value > 0] for value in row) for row in picture[:, :, 0].tolist()]


@pytest.fixture(scope="module")
def scenes() -> ChunkedDataset:
    dataset = ChunkedDataset("")
    dataset.scenes, dataset.frames, dataset.agents, dataset.tl_faces = random_dataset(3, scenes=3, max_frames=25)
    return dataset


@pytest.fixture(scope="module")
def ego(scenes: ChunkedDataset) -> EgoDataset:
    return EgoDataset(CFG, scenes, build_rasterizer(CFG, LocalDataManager(".")), threads=1)


def test_discs_have_the_pixels_of_l5kit() -> None:
    small, large = blank(8, 12), blank(8, 12)
    draw_trajectory(small, np.array([[1.9, 1.2], [6, 3], [11.5, 7]]), TARGET_POINTS_COLOR)
    draw_trajectory(large, np.array([[5.0, 4]]), TARGET_POINTS_COLOR, 3)
    assert art(small) == [".#..........", "###.........", ".#....#.....", ".....###....", "......#.....", "............", "...........#", "..........##"]
    assert art(large) == ["............", ".....#......", "...#####....", "...#####....", "..#######...", "...#####....", "...#####....", ".....#......"]


def test_arrows_have_the_pixels_of_l5kit() -> None:
    picture = blank(8, 12)
    draw_trajectory(picture, np.array([[2.0, 4], [8.0, 4], [11.0, 0]]), TARGET_POINTS_COLOR, yaws=np.array([[0.0], [np.pi / 4], [3.0]]))
    assert art(picture) == [".........###", ".#........#.", "..#......#.#", "...#.....#..", "..###...##..", "...#..####..", "..#.........", ".#.........."]


def test_a_reference_trajectory_has_the_pixels_of_l5kit() -> None:
    # The third position is left out and the fourth is not: L5Kit compares x with the height, and y with the width.
    picture = blank(6, 9)
    draw_reference_trajectory(picture, [[2, 0, 1], [0, 2, 1], [0, 0, 1]], [[0.5, 0.5], [1.9, 1.2], [3.0, 1.0], [1.0, 2.6]])
    assert art(picture) == [".........", "..#......", ".####....", "..####...", "....#....", "...#....."]


def test_many_trajectories_have_the_pixels_of_l5kit() -> None:
    """The hashes are those of pictures that these lines drew with L5Kit's functions."""
    numbers = np.arange(400)
    points = np.stack([numbers * 7919 % 1009, numbers * 6007 % 997], axis=1) / 12 - 10
    discs, arrows, reference = (blank(60, 60) for _ in range(3))
    for place, point in enumerate(points):
        color = (place % 255 + 1, 0, 0)
        draw_trajectory(discs, point[None], color, place % 7)
        draw_trajectory(arrows, point[None], color, yaws=np.array([[place % 629 / 100]]))
    draw_reference_trajectory(reference, np.array([[0.8, 0.3, 1], [-0.3, 0.8, 9], [0, 0, 1]]), points)
    assert [hashlib.sha256(picture.tobytes()).hexdigest()[:16] for picture in (discs, arrows, reference)] == [
        "ac983d086334285c", "4dd0faf2274c0568", "2eb96cb50df150a9",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["draw_reference_trajectory", "draw_trajectory", "write_gif"])
def test_an_example_does_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = inspect.getdoc(getattr(visualization, name)) or ""
    output: list[str] = []
    failed, tried = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(text, {"np": np}, name, None, None), out=output.append)
    assert tried > 1 and not failed, "".join(output)


def test_what_cannot_be_drawn_is_an_error_that_says_why() -> None:
    picture, points = blank(4, 4), np.ones((2, 2))
    with pytest.raises(AssertionError, match=r"yaws: expected one for each of 2 positions, found the shape \[3\]"):
        draw_trajectory(picture, points, TARGET_POINTS_COLOR, yaws=[0, 1, 2])
    with pytest.raises(TypeError, match=r"expected a picture, uint8 \[height, width, 3\], found float64 \[4, 4\]"):
        draw_trajectory(np.zeros((4, 4)), points, TARGET_POINTS_COLOR)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="positions: expected finite numbers"):
        draw_trajectory(picture, points * np.nan, TARGET_POINTS_COLOR)
    picture.setflags(write=False)
    with pytest.raises(ValueError, match="read-only: draw onto a copy"):
        draw_trajectory(picture, points, TARGET_POINTS_COLOR)


def test_far_positions_and_none_draw_nothing() -> None:
    picture = blank(4, 4)
    for yaws in (None, [0.5]):
        draw_trajectory(picture, [[1e18, -1e18]], TARGET_POINTS_COLOR, yaws=yaws)
    draw_trajectory(picture, np.empty((0, 2)), TARGET_POINTS_COLOR)
    draw_reference_trajectory(picture, np.eye(3), np.empty((0, 2)))
    assert not picture.any()


def test_a_drawn_sample_is_its_raster_with_the_steps_of_the_future_that_were_seen(ego: EgoDataset) -> None:
    ends = ego.dataset.scenes["frame_index_interval"][:, 1]
    for index in (int(ends[0]) - 1, int(ends[0]) - 3):
        sample = ego[index]
        raster = ego.rasterizer.to_rgb(sample["image"].transpose(1, 2, 0))
        changed = (draw_sample(ego, index) != raster).any(axis=2)
        assert changed.any() == (sample["target_availabilities"] > 0).any()
    assert draw_sample(ego, 0).shape == (40, 48, 3)
    with pytest.raises(TypeError, match="dataset: expected a EgoDataset, found"):
        draw_sample(ego.dataset, 0)  # type: ignore[arg-type]


def test_a_scene_has_a_picture_of_each_frame_and_of_each_valid_agent(scenes: ChunkedDataset, ego: EgoDataset) -> None:
    pictures = list(draw_scene(ego, 0, 5))
    indices = ego.get_scene_indices(0)[::5]
    assert len(pictures) == len(indices) > 1
    np.testing.assert_array_equal(pictures[1], draw_sample(ego, int(indices[1])))
    rows = [row for row in range(len(scenes.agents)) if len(filter_agents_by_labels(scenes.agents[row : row + 1], 0.5))]
    mask = np.isin(np.arange(len(scenes.agents)), rows[:7])
    agents = AgentDataset(CFG, scenes, ego.rasterizer, agents_mask=mask, threads=1)
    assert len(list(draw_scene(agents, 0))) == 7
    with pytest.raises(AssertionError, match="scene_idx 9 is over len 3"):
        draw_scene(ego, 9)


def test_a_gif_has_the_pictures_in_their_order_and_its_size(tmp_path: Path) -> None:
    colors = [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
    pictures = [np.full((6, 8, 3), color, np.uint8) for color in colors]
    pictures[1] = pictures[1].transpose(2, 0, 1)
    write_gif(tmp_path / "small.gif", iter(pictures), (8, 6), fps=10)
    write_gif(tmp_path / "large.gif", pictures, (16, 12), fps=10, loop=3)
    for name, size in (("small", (8, 6)), ("large", (16, 12))):
        with Image.open(tmp_path / f"{name}.gif") as file:
            assert (file.size, file.n_frames, file.info["duration"]) == (size, 3, 100)
            for place, color in enumerate(colors):
                file.seek(place)
                assert file.convert("RGB").getpixel((3, 3)) == color
    with pytest.raises(ValueError, match="images: found none"):
        write_gif(tmp_path / "small.gif", [], (8, 6))
    with pytest.raises(tt.Invalid, match=r"images\[0\]: expected a picture"):
        write_gif(tmp_path / "small.gif", [np.zeros((6, 8), np.uint8)], (8, 6))
    assert Image.open(tmp_path / "small.gif").n_frames == 3, "a failed call leaves the file that was there"
