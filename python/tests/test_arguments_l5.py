"""Arguments of Level 5 and of Petastorm: each silly value of each argument is an error of Tetrys that says what was expected, or has a
meaning. Each call begins with good arguments, of which one is changed.
"""

from __future__ import annotations

import inspect
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import l5_maps
import numpy as np
import pyarrow as pa
import pytest
import tetrys as tt
from l5_scenes import random_dataset, write_zarr
from silly import SILLY, wrong_answer
from tetrys import cluster, l5, petastorm
from tetrys.l5 import geometry, sampling, visualization
from tetrys.petastorm import codecs, fs_utils, generator, ngram, predicates, selectors, spark_utils, transform, unischema, utils, weighted_sampling_reader
from tetrys.petastorm.benchmark import throughput
from tetrys.petastorm.etl import dataset_metadata, rowgroup_indexers, rowgroup_indexing
from tetrys.petastorm.etl.petastorm_generate_metadata import generate_petastorm_metadata
from tetrys.petastorm.test_util import reader_mock
from tetrys.petastorm.tools.copy_dataset import copy_dataset


@dataclass
class World:
    """Data of which the calls are given parts."""

    zarr: Path
    table: Path
    drives: str
    folder: Path
    arrays: tuple[np.ndarray[Any, Any], ...]

    def require(self, key: str) -> str:
        return str(self.folder / key)

    def dataset(self) -> l5.ChunkedDataset:
        dataset = l5.ChunkedDataset("")
        dataset.scenes, dataset.frames, dataset.agents, dataset.tl_faces = self.arrays
        return dataset

    def cfg(self, map_type: str = "box_debug") -> dict[str, Any]:
        return {
            "model_params": {"history_num_frames": 1, "future_num_frames": 2, "step_time": 0.1, "render_ego_history": True},
            "raster_params": {
                "raster_size": [8, 6], "pixel_size": [0.5, 0.5], "ego_center": [0.25, 0.5], "map_type": map_type, "semantic_map_key": "map.pb",
                "dataset_meta_key": "meta.json", "filter_agents_threshold": 0.5, "set_origin_to_bottom": True, "disable_traffic_light_faces": False,
            },
        }  # fmt: skip

    def vector_cfg(self) -> dict[str, Any]:
        lanes = dict(max_num_lanes=3, max_points_per_lane=4, max_points_per_crosswalk=4, max_num_crosswalks=2, max_retrieval_distance_m=35)
        return {
            "model_params": dict(history_num_frames_ego=1, history_num_frames_agents=1, future_num_frames=2, step_time=0.1),
            "raster_params": self.cfg()["raster_params"],
            "data_generation_params": dict(other_agents_num=3, max_agents_distance=35, lane_params=lanes),
        }

    def rasterizer(self) -> l5.Rasterizer:
        return l5.build_rasterizer(self.cfg(), self)  # type: ignore[arg-type]

    def map_api(self) -> l5.MapAPI:
        return l5.MapAPI(self.require("map.pb"), l5_maps.world_to_ecef([0, 0, 0]))

    def vectorizer(self) -> l5.Vectorizer:
        return l5.Vectorizer(self.vector_cfg(), self.map_api(), "distance")

    def samples(self, kind: str) -> Any:
        if kind == "ego":
            return l5.EgoDataset(self.cfg(), self.dataset(), self.rasterizer(), threads=1)
        everyone = np.ones(len(self.arrays[2]), np.bool_)
        if kind == "agents":
            return l5.AgentDataset(self.cfg(), self.dataset(), self.rasterizer(), agents_mask=everyone, threads=1)
        return l5.EgoAgentDatasetVectorized(self.vector_cfg(), self.dataset(), self.vectorizer(), agents_mask=everyone, threads=1)


@pytest.fixture(scope="module")
def world(drives: str, tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("world")
    arrays = random_dataset(7, scenes=1, max_frames=25)
    zarr = write_zarr(folder / "s.zarr", arrays, compressed=False)
    tt.ingest_l5(zarr, folder / "t")
    side = np.cumsum(np.full((4, 3), 2.0), axis=0)
    (folder / "map.pb").write_bytes(l5_maps.fragment([l5_maps.lane("lane", side, side + [0, 3, 0]), l5_maps.crosswalk("walk", side), l5_maps.face("face", "red")]))
    (folder / "meta.json").write_text('{"world_to_ecef": ' + str(l5_maps.world_to_ecef([0, 0, 0]).tolist()) + "}")
    (folder / "config.yaml").write_text("a: {b: 1}")
    l5.write_gt_csv(folder / "gt.csv", np.arange(2), np.arange(2), np.ones((2, 3, 2)), np.ones((2, 3)))
    l5.write_pred_csv(folder / "pred.csv", np.arange(2), np.arange(2), np.ones((2, 3, 2)))
    return World(zarr, folder / "t", drives, folder, arrays)


Call = tuple[Callable[..., Any], dict[str, Any]]
METRIC: dict[str, Any] = {"ground_truth": np.ones((4, 2)), "pred": np.ones((2, 4, 2)), "confidences": np.array([0.5, 0.5]), "avails": np.ones(4)}
METRICS = "neg_multi_log_likelihood rmse prob_true_mode time_displace average_displacement_error_oracle average_displacement_error_mean".split()
METRICS += "final_displacement_error_oracle final_displacement_error_mean".split()
PIXELS = np.zeros((4, 4, 3), np.uint8)
ROWS: dict[str, Any] = {"timestamps": np.arange(2), "track_ids": np.arange(2), "coords": np.ones((2, 3, 2))}


def of_samples(kind: str, name: str, **options: Any) -> Callable[[World], Call]:
    return lambda world: (getattr(world.samples(kind), name), options)


def of_map(name: str, **options: Any) -> Callable[[World], Call]:
    return lambda world: (getattr(world.map_api(), name), options)


def of_boxes(world: World) -> dict[str, Any]:
    return {"render_context": world.rasterizer().render_context, "filter_agents_threshold": 0.5, "history_num_frames": 1}


def of_scene(world: World) -> dict[str, Any]:
    return {"state_index": 1, "frames": world.arrays[1], "agents": world.arrays[2], "tl_faces": world.arrays[3]}


def made_agents() -> Any:
    """Returns the agents of a new zarr group in the working folder."""
    return l5.ChunkedDataset(tempfile.mkdtemp(dir=".")).initialize(num_agents=2).agents


def calls_of_l5() -> dict[str, Callable[[World], Call]]:
    """Returns the good arguments of each public call of `tetrys.l5`."""
    method = l5.InterpolationMethod.INTER_ENSURE_LEN
    line = np.cumsum(np.ones((3, 3)), axis=0)
    made: dict[str, Callable[[World], Call]] = {
        "LazyRecords": lambda world: (l5.LazyRecords, {"dtype": l5.AGENT_DTYPE, "length": 1, "read": lambda start, stop, _: np.zeros(stop - start, l5.AGENT_DTYPE)}),
        "LazyRecords.__getitem__": lambda world: (l5.ChunkedDataset(str(world.table)).open().agents.__getitem__, {"key": [0]}),
        "ChunkedDataset": lambda world: (lambda path: l5.ChunkedDataset(path).open(), {"path": str(world.table)}),
        "ChunkedDataset.open": lambda world: (l5.ChunkedDataset(str(world.table)).open, {}),
        "ChunkedDataset.get_scene_dataset": lambda world: (world.dataset().get_scene_dataset, {"scene_index": 0}),
        "create_chopped_dataset": lambda world: (l5.create_chopped_dataset, {"zarr_path": str(world.table), "th_agent_prob": 0.5, "num_frames_to_copy": 2, "num_frames_gt": 2, "output": "chopped"}),
        "export_zarr_to_csv": lambda world: (l5.export_zarr_to_csv, {"zarr_dataset": world.dataset(), "csv_file_path": "o.csv", "future_num_frames": 1, "filter_agents_threshold": 0.5, "agents_mask": np.zeros(len(world.arrays[2]), bool)}),
        "export": lambda world: (l5.export, {"table": world.table, "path": "out.zarr"}),
        "get_combined_scenes": lambda world: (l5.get_combined_scenes, {"scenes": world.arrays[0]}),
        "scene_subset": lambda world: (l5.scene_subset, {"input_zarr": world.table, "output_zarr": "v", "scene_indices": [0]}),
        "zarr_concat": lambda world: (l5.zarr_concat, {"input_zarrs": [world.table], "output_zarr": "v"}),
        "zarr_scenes_chop": lambda world: (l5.zarr_scenes_chop, {"input_zarr": world.table, "output_zarr": "v", "num_frames_to_copy": 2}),
        "zarr_split": lambda world: (l5.zarr_split, {"input_zarr": world.table, "output_path": "p", "split_infos": [{"name": "a", "split_size_GB": -1}]}),
        "LocalDataManager": lambda world: (lambda local_data_folder: l5.LocalDataManager(local_data_folder).require("t"), {"local_data_folder": world.folder}),
        "LocalDataManager.require": lambda world: (l5.LocalDataManager(world.folder).require, {"key": "t"}),
        "TableDataManager": lambda world: (l5.TableDataManager, {"table": world.table}),
        "TableDataManager.require": lambda world: (l5.TableDataManager(world.table).require, {"key": "x"}),
        "attach": lambda world: (l5.attach, {"table": copied(world.table), "files": {"a": b"x"}}),
        "load_config_data": lambda world: (l5.load_config_data, {"path": world.folder / "config.yaml"}),
        "save_config_data": lambda world: (l5.save_config_data, {"data": {"a": 1}, "path": "c.yaml"}),
        "load_metadata": lambda world: (l5.load_metadata, {"metadata_path": world.folder / "meta.json"}),
        "EgoDataset": lambda world: (l5.EgoDataset, {"cfg": world.cfg(), "zarr_dataset": world.dataset(), "rasterizer": world.rasterizer()}),
        "AgentDataset": lambda world: (l5.AgentDataset, {"cfg": world.cfg(), "zarr_dataset": world.dataset(), "rasterizer": world.rasterizer(), "agents_mask": np.ones(len(world.arrays[2]), bool)}),
        "EgoDatasetVectorized": lambda world: (l5.EgoDatasetVectorized, {"cfg": world.vector_cfg(), "zarr_dataset": world.dataset(), "vectorizer": world.vectorizer()}),
        "EgoAgentDatasetVectorized": lambda world: (l5.EgoAgentDatasetVectorized, {"cfg": world.vector_cfg(), "zarr_dataset": world.dataset(), "vectorizer": world.vectorizer(), "agents_mask": np.ones(len(world.arrays[2]), bool)}),
        "build_rasterizer": lambda world: (l5.build_rasterizer, {"cfg": world.cfg("py_semantic"), "data_manager": world}),
        "build_vectorizer": lambda world: (l5.build_vectorizer, {"cfg": world.vector_cfg(), "data_manager": world}),
        "Vectorizer": lambda world: (l5.Vectorizer, {"cfg": world.vector_cfg(), "mapAPI": world.map_api()}),
        "Vectorizer.vectorize": vectors,
        "RenderContext": lambda world: (l5.RenderContext, {"raster_size_px": [8, 6], "pixel_size_m": [0.5, 0.5], "center_in_raster_ratio": [0.5, 0.5], "set_origin_to_bottom": True}),
        "Rasterizer": lambda world: (l5.Rasterizer, {"map_type": "box_debug", "context": world.rasterizer().render_context, "threshold": 0.5, "history": 1, "render_ego_history": True}),
        "RenderContext.raster_from_world": lambda world: (world.rasterizer().render_context.raster_from_world, {"position_m": [1.0, 2.0], "angle_rad": 0.5}),
        "StubRasterizer": lambda world: (l5.StubRasterizer, {"render_context": world.rasterizer().render_context}),
        "BoxRasterizer": lambda world: (l5.BoxRasterizer, {"render_context": world.rasterizer().render_context, "filter_agents_threshold": 0.5, "history_num_frames": 1}),
        "SemanticRasterizer": lambda world: (l5.SemanticRasterizer, {"render_context": world.rasterizer().render_context, "semantic_map_path": b"", "world_to_ecef": np.eye(4)}),
        "SatelliteRasterizer": lambda world: (l5.SatelliteRasterizer, {"render_context": world.rasterizer().render_context, "map_im": PIXELS, "world_to_aerial": np.eye(4)}),
        "SemBoxRasterizer": lambda world: (l5.SemBoxRasterizer, of_boxes(world) | {"semantic_map_path": b"", "world_to_ecef": np.eye(4)}),
        "SatBoxRasterizer": lambda world: (l5.SatBoxRasterizer, of_boxes(world) | {"map_im": PIXELS, "world_to_aerial": np.eye(4)}),
        "fit_ackerman_model_exact": lambda world: (l5.fit_ackerman_model_exact, {name: 0.0 for name in ("x0", "y0", "r0", "v0")} | {name: np.ones(2) for name in ("gx", "gy", "gr", "gv", "wgx", "wgy", "wgr", "wgv")}),
        "geometry.transform_points": lambda world: (geometry.transform_points, {"points": np.zeros((2, 2)), "transf_matrix": np.eye(3)}),
        "geometry.transform_point": lambda world: (geometry.transform_point, {"point": np.zeros(2), "transf_matrix": np.eye(3)}),
        "geometry.vertical_flip": lambda world: (geometry.vertical_flip, {"tm": np.eye(3), "y_dim_size": 4}),
        "geometry.rotation33_as_yaw": lambda world: (geometry.rotation33_as_yaw, {"rotation": np.eye(3)}),
        "geometry.yaw_as_rotation33": lambda world: (geometry.yaw_as_rotation33, {"yaw": 0.5}),
        "geometry.compute_agent_pose": lambda world: (geometry.compute_agent_pose, {"agent_centroid_m": np.zeros(2), "agent_yaw_rad": 0.5}),
        "geometry.angular_distance": lambda world: (geometry.angular_distance, {"angle_a": 0.5, "angle_b": 1.5}),
        "geometry.angle_between_vectors": lambda world: (geometry.angle_between_vectors, {"v1": [1, 0], "v2": [0, 1]}),
        "geometry.compute_yaw": lambda world: (geometry.compute_yaw_around_north_from_direction, {"direction_vector": [1, 0]}),
        "geometry.geodetic_to_ecef": lambda world: (geometry.geodetic_to_ecef, {"lla_point": [1, 2, 3]}),
        "geometry.ecef_to_geodetic": lambda world: (geometry.ecef_to_geodetic, {"point": [7e6, 0, 0]}),
        "sampling.get_history_slice": lambda world: (sampling.get_history_slice, {"frame_index": 3, "history_num_states": 2, "history_step_size": 1, "include_current_state": True}),
        "sampling.get_future_slice": lambda world: (sampling.get_future_slice, {"frame_index": 3, "future_num_states": 2, "future_step_size": 1}),
        "sampling.get_agent_context": lambda world: (sampling.get_agent_context, of_scene(world) | {"history_num_frames": 1, "future_num_frames": 2}),
        "sampling.compute_agent_velocity": lambda world: (sampling.compute_agent_velocity, {"history_positions_m": np.zeros((2, 2)), "future_positions_m": np.zeros((3, 2)), "step_time": 0.1}),
        "sampling.get_relative_poses": lambda world: (sampling.get_relative_poses, {"num_frames": 3, "frames": world.arrays[1][:2], "selected_track_id": 1, "agents": [world.arrays[2][:3]] * 2, "agent_from_world": np.eye(3), "current_agent_yaw": 0.5}),
        "sampling.generate_agent_sample": lambda world: (sampling.generate_agent_sample, of_scene(world) | {"selected_track_id": None, "render_context": world.rasterizer().render_context, "history_num_frames": 1, "future_num_frames": 2, "step_time": 0.1, "filter_agents_threshold": 0.5, "rasterizer": world.rasterizer()}),
        "sampling.generate_agent_sample_vectorized": lambda world: (sampling.generate_agent_sample_vectorized, of_scene(world) | {"selected_track_id": None, "history_num_frames_ego": 1, "history_num_frames_agents": 1, "future_num_frames": 2, "step_time": 0.1, "filter_agents_threshold": 0.5, "vectorizer": world.vectorizer()}),
        "visualization.draw_trajectory": lambda world: (visualization.draw_trajectory, {"on_image": PIXELS.copy(), "positions": np.ones((2, 2)), "rgb_color": (1, 2, 3), "radius": 1, "yaws": np.ones((2, 1))}),
        "visualization.draw_reference_trajectory": lambda world: (visualization.draw_reference_trajectory, {"on_image": PIXELS.copy(), "world_to_pixel": np.eye(3), "positions": np.ones((2, 2))}),
        "visualization.draw_sample": lambda world: (visualization.draw_sample, {"dataset": world.samples("ego"), "index": 0}),
        "visualization.draw_scene": lambda world: (lambda **given: list(visualization.draw_scene(**given)), {"dataset": world.samples("ego"), "scene_index": 0, "step": 9}),
        "visualization.write_gif": lambda world: (visualization.write_gif, {"output_filepath": "o.gif", "images": [PIXELS, PIXELS], "resolution": (4, 4)}),
        "get_valid_agents": lambda world: (l5.get_valid_agents, {"frames_range": [0, 2], "dataset": world.dataset(), "th_agent_filter_probability_threshold": 0.5, "th_yaw_degree": 30, "th_extent_ratio": 1.1, "th_distance_av": 50}),
        "get_other_agents_ids": lambda world: (l5.get_other_agents_ids, {"all_agents_ids": [1, 2], "priority_ids": [2], "selected_track_id": 1, "max_agents": 3}),
        "convert_str_to_fixed_length_tensor": lambda world: (l5.convert_str_to_fixed_length_tensor, {"string": "host", "max_length": 70}),
        "move_to_device": lambda world: (l5.move_to_device, {"data": {}, "device": "cpu"}),
        "move_to_numpy": lambda world: (l5.move_to_numpy, {"data": {"a": np.zeros(2)}}),
        "LazyRecords.memmap": lambda world: (l5.ChunkedDataset(str(world.table)).open().agents.memmap, {"folder": "maps"}),
        "ChunkedDataset.initialize": lambda world: (l5.ChunkedDataset(tempfile.mkdtemp(dir=".")).initialize, {"mode": "w", "num_scenes": 1, "num_frames": 2, "num_agents": 3, "num_tl_faces": 4}),
        "ZarrRecords.__setitem__": lambda world: (made_agents().__setitem__, {"key": [0], "value": world.arrays[2][:1]}),
        "ZarrRecords.append": lambda world: (made_agents().append, {"data": world.arrays[2][:1]}),
        "ZarrRecords.resize": lambda world: (made_agents().resize, {"length": 3}),
        "Rasterizer.rasterize": lambda world: (world.rasterizer().rasterize, {"history_frames": world.arrays[1][:1], "history_agents": [world.arrays[2][:0]], "history_tl_faces": [world.arrays[3][:0]]}),
        "Rasterizer.to_rgb": lambda world: (world.rasterizer().to_rgb, {"in_im": np.zeros((6, 8, world.rasterizer().num_channels()), np.float32)}),
        "write_gt_csv": lambda world: (l5.write_gt_csv, {"csv_path": "o.csv", **ROWS, "avails": np.ones((2, 3))}),
        "write_pred_csv": lambda world: (l5.write_pred_csv, {"csv_path": "o.csv", **ROWS}),
        "read_gt_csv": lambda world: (lambda csv_path: list(l5.read_gt_csv(csv_path)), {"csv_path": world.folder / "gt.csv"}),
        "read_pred_csv": lambda world: (lambda csv_path: list(l5.read_pred_csv(csv_path)), {"csv_path": world.folder / "pred.csv"}),
        "compute_metrics_csv": lambda world: (l5.compute_metrics_csv, {"ground_truth_path": world.folder / "gt.csv", "inference_output_path": world.folder / "pred.csv", "metrics": [l5.rmse]}),
        "detect_collision": lambda world: (l5.detect_collision, {"pred_centroid": np.zeros(2), "pred_yaw": 0.1, "pred_extent": [5, 2], "target_agents": world.arrays[2][:2]}),
        "distance_to_reference_trajectory": lambda world: (l5.distance_to_reference_trajectory, {"pred_centroid": np.zeros((1, 2)), "ref_traj": np.zeros((1, 3, 2))}),
        "filter_agents_by_distance": lambda world: (l5.filter_agents_by_distance, {"agents": world.arrays[2][:3], "centroid": [0, 0], "max_distance": 9}),
        "filter_agents_by_labels": lambda world: (l5.filter_agents_by_labels, {"agents": world.arrays[2][:3], "threshold": 0.5}),
        "filter_agents_by_track_id": lambda world: (l5.filter_agents_by_track_id, {"agents": world.arrays[2][:3], "track_id": 1}),
        "filter_agents_by_frames": lambda world: (l5.filter_agents_by_frames, {"frames": world.arrays[1][:2], "agents": world.arrays[2]}),
        "filter_tl_faces_by_frames": lambda world: (l5.filter_tl_faces_by_frames, {"frames": world.arrays[1][:2], "tl_faces": world.arrays[3]}),
        "filter_tl_faces_by_status": lambda world: (l5.filter_tl_faces_by_status, {"tl_faces": world.arrays[3][:2], "status": "ACTIVE"}),
        "get_frames_slice_from_scenes": lambda world: (l5.get_frames_slice_from_scenes, {"scene_a": world.arrays[0][0]}),
        "get_agents_slice_from_frames": lambda world: (l5.get_agents_slice_from_frames, {"frame_a": world.arrays[1][0]}),
        "get_tl_faces_slice_from_frames": lambda world: (l5.get_tl_faces_slice_from_frames, {"frame_a": world.arrays[1][0]}),
        "MapAPI": lambda world: (l5.MapAPI, {"protobuf_map_path": world.require("map.pb"), "world_to_ecef": l5_maps.world_to_ecef([0, 0, 0])}),
        "MapAPI.from_cfg": lambda world: (l5.MapAPI.from_cfg, {"data_manager": world, "cfg": world.cfg()}),
        "MapAPI.from_table": lambda world: (l5.MapAPI.from_table, {"table": tt.open_table(world.table)}),
        "MapAPI.id_as_str": lambda world: (l5.MapAPI.id_as_str, {"element_id": world.map_api()[0].id}),
        "MapAPI.is_lane": lambda world: (l5.MapAPI.is_lane, {"element": world.map_api()[0]}),
        "MapAPI.is_crosswalk": lambda world: (l5.MapAPI.is_crosswalk, {"element": world.map_api()[0]}),
        "MapAPI.interpolate": lambda world: (l5.MapAPI.interpolate, {"xyz": line, "step": 3, "method": method}),
        "MapAPI.unpack_deltas_cm": lambda world: (world.map_api().unpack_deltas_cm, {"dx": [1], "dy": [1], "dz": [1], "frame": object()}),
        "select_agents": lambda world: (l5.select_agents, {"dataset": world.dataset(), "th_agent_prob": 0.5}),
        "LambdaRandomGenerator": lambda world: (l5.LambdaRandomGenerator, {"sampling_function": lambda: np.zeros(3)}),
        "ReplayRandomGenerator": lambda world: (l5.ReplayRandomGenerator, {"values": [[0.5, 0, 0.1]]}),
        "GaussianRandomGenerator": lambda world: (lambda **given: l5.GaussianRandomGenerator(**given)(), {"mean": np.zeros(3), "std": np.ones(3), "random_seed": 0}),
        "UniformRandomGenerator": lambda world: (lambda **given: l5.UniformRandomGenerator(**given)(), {"low": np.zeros(3), "high": np.ones(3)}),
        "AckermanPerturbation": lambda world: (l5.AckermanPerturbation, {"random_offset_generator": lambda: [0, 0, 0], "perturb_prob": 1.0}),
        "AckermanPerturbation.perturb": lambda world: (l5.AckermanPerturbation(lambda: [0.1, 0, 0], 1.0).perturb, {"history_frames": world.arrays[1][:1].copy(), "future_frames": world.arrays[1][1:4].copy()}),
    }  # fmt: skip
    made |= {name: lambda world, name=name: (getattr(l5, name), METRIC) for name in METRICS}  # type: ignore[misc]
    made |= {f"MapAPI.{name}": of_map(name, element_id="lane") for name in ("get_lane_coords", "get_lane_traffic_control_ids", "is_traffic_light", "is_traffic_face")}
    made["MapAPI.get_crosswalk_coords"] = of_map("get_crosswalk_coords", element_id="walk")
    made["MapAPI.get_lane_as_interpolation"] = of_map("get_lane_as_interpolation", element_id="lane", step=3, method=method)
    made["MapAPI.is_traffic_face_color"] = of_map("is_traffic_face_color", element_id="face", color="red")
    made["MapAPI.get_color_for_face"] = of_map("get_color_for_face", face_id="face")
    made["MapAPI.get_tl_feature_for_lane"] = of_map("get_tl_feature_for_lane", lane_id="lane", active_tl_face_to_color={})
    made["MapAPI.__getitem__"] = of_map("__getitem__", item=0)
    for kind in ("ego", "agents", "vectors"):
        for name, options in {"__getitem__": {"index": 0}, "__getitems__": {"indices": [0]}, "batch": {"indices": [0]}, "get_frame": {"scene_index": 0, "state_index": 0}}.items():
            made[f"{kind}.{name}"] = of_samples(kind, name, **options)
        for name, argument in {"get_scene_indices": "scene_idx", "get_frame_indices": "frame_idx", "get_scene_dataset": "scene_index"}.items():
            made[f"{kind}.{name}"] = of_samples(kind, name, **{argument: 0})
    return made


def vectors(world: World) -> Call:
    sample = l5.EgoDatasetVectorized(world.vector_cfg(), world.dataset(), world.vectorizer(), threads=1)[1]
    frames, agents = world.arrays[1], [world.arrays[2][slice(*frame["agent_index_interval"])] for frame in world.arrays[1][:2]]
    names = {"centroid": "agent_centroid_m", "yaw": "agent_yaw_rad", "agent_from_world": "agent_from_world", "history_positions": "history_position_m"}
    names |= {"history_yaws": "history_yaws_rad", "history_availabilities": "history_availability"}
    given = {argument: sample[name] for name, argument in names.items()}
    given |= {"selected_track_id": None, "history_frames": frames[1::-1].copy(), "history_agents": agents[::-1], "history_tl_faces": [world.arrays[3][:0]] * 2}
    return world.vectorizer().vectorize, given | {"future_frames": frames[2:3].copy(), "future_agents": [agents[0][:0]]}


def copied(table: Path) -> str:
    """Returns a copy of a table, in the working folder."""
    shutil.rmtree("copy", ignore_errors=True)
    return str(shutil.copytree(table, "copy"))


def schema() -> unischema.Unischema:
    field = unischema.UnischemaField
    return unischema.Unischema("Scan", [field("id", np.int32, (), codecs.ScalarCodec()), field("points", np.float32, (None, 3), codecs.NdarrayCodec())])


def row(**changes: Any) -> dict[str, Any]:
    return {"id": np.int32(1), "points": np.zeros((2, 3), np.float32), **changes}


def read(world: World, **options: Any) -> int:
    """Returns the number of rows that a reader delivers."""
    with petastorm.make_reader(world.drives, **{"schema_fields": ["timestamp"], **options}) as reader:
        return sum(1 for _, _ in zip(reader, range(30), strict=False))


def written(world: World, **changes: Any) -> None:
    shutil.rmtree("new", ignore_errors=True)
    with dataset_metadata.materialize_dataset(None, "new", schema()) as writer:
        writer.write([row(**changes)])


def of_field(name: str, **changes: Any) -> unischema.Unischema:
    fields: dict[str, Any] = {"name": name, "numpy_dtype": np.float32, "shape": (None, 3), "codec": codecs.NdarrayCodec(), "nullable": False}
    return unischema.Unischema("S", [unischema.UnischemaField(**fields | changes)])


FIELD, POINTS = schema().fields["id"], schema().fields["points"]
CELL = codecs.NdarrayCodec().encode(POINTS, np.zeros((2, 3), np.float32))
OF_FIELD: dict[str, Any] = {"name": "v", "numpy_dtype": np.float32, "shape": (), "codec": None, "nullable": False}

CALLS_OF_PETASTORM: dict[str, Callable[[World], Call]] = {
    "make_reader": lambda world: (lambda **given: list(petastorm.make_reader(**given)), {"dataset_url": world.drives, "schema_fields": ["timestamp"]}),
    "make_batch_reader": lambda world: (lambda **given: list(petastorm.make_batch_reader(**given)), {"dataset_url_or_urls": world.drives, "schema_fields": ["timestamp"]}),
    "Reader.seek": lambda world: (petastorm.make_reader(world.drives, schema_fields=["timestamp"]).seek, {"position": 1}),
    "Reader.load_state_dict": lambda world: (petastorm.make_reader(world.drives, schema_fields=["timestamp"]).load_state_dict, {"state": {"format": 1}}),
    "filters": lambda world: (lambda field, op, value: read(world, filters=[(field, op, value)]), {"field": "timestamp", "op": ">", "value": 300}),
    "predicate": lambda world: (lambda result: read(world, predicate=predicates.in_lambda(["timestamp"], lambda _: result)), {"result": True}),
    "TransformSpec": lambda world: (lambda **given: transform.transform_schema(schema(), petastorm.TransformSpec(**given)), {"edit_fields": [("mean", np.float32, (), False)], "removed_fields": ["id"]}),
    "edit_field": lambda world: (lambda *entry: petastorm.TransformSpec(edit_fields=[transform.edit_field(*entry)]), {"name": "v", "numpy_dtype": np.float32, "shape": (), "nullable": False}),
    "transform_schema": lambda world: (transform.transform_schema, {"schema": schema(), "transform_spec": petastorm.TransformSpec()}),
    "ScalarCodec.encode": lambda world: (codecs.ScalarCodec().encode, {"unischema_field": FIELD, "value": 3}),
    "ScalarCodec.decode": lambda world: (codecs.ScalarCodec().decode, {"unischema_field": FIELD, "value": 3}),
    "NdarrayCodec.encode": lambda world: (codecs.NdarrayCodec().encode, {"unischema_field": POINTS, "value": np.zeros((2, 3), np.float32)}),
    "NdarrayCodec.decode": lambda world: (codecs.NdarrayCodec().decode, {"unischema_field": POINTS, "value": CELL}),
    "CompressedImageCodec": lambda world: (codecs.CompressedImageCodec, {"image_codec": "jpeg", "quality": 80}),
    "CompressedImageCodec.decode": lambda world: (codecs.CompressedImageCodec().decode, {"unischema_field": FIELD, "value": b"x"}),
    "StoredCodec": lambda world: (codecs.StoredCodec, {"name": "my.Codec"}),
    "StoredCodec.decode": lambda world: (codecs.StoredCodec("c").decode, {"unischema_field": FIELD, "value": b"x"}),
    "NGram": lambda world: (lambda **given: read(world, schema_fields=ngram.NGram(**given)), {"fields": {0: ["timestamp"]}, "delta_threshold": 100, "timestamp_field": "timestamp"}),
    "NGram.convert_fields": lambda world: (ngram.NGram({0: ["id"]}, 1, "id").convert_fields, {"unischema": schema(), "field_list": ["id"]}),
    "NGram.get_schema_at_timestep": lambda world: (ngram.NGram({0: [FIELD]}, 1, FIELD).get_schema_at_timestep, {"schema": schema(), "timestep": 0}),
    "in_set": lambda world: (lambda **given: read(world, predicate=predicates.in_set(**given)), {"inclusion_values": {300}, "predicate_field": "timestamp"}),
    "in_set.do_include": lambda world: (predicates.in_set({300}, "a").do_include, {"values": {"a": 1}}),
    "in_lambda": lambda world: (predicates.in_lambda, {"predicate_fields": ["timestamp"], "predicate_func": lambda value: True}),
    "in_lambda.do_include": lambda world: (predicates.in_lambda(["a"], lambda value: True).do_include, {"values": {"a": 1}}),
    "in_negate": lambda world: (predicates.in_negate, {"predicate": predicates.in_set({300}, "a")}),
    "in_reduce": lambda world: (predicates.in_reduce, {"predicate_list": [predicates.in_set({300}, "a")], "reduce_func": all}),
    "in_pseudorandom_split": lambda world: (predicates.in_pseudorandom_split, {"fraction_list": [1.0], "subset_index": 0, "predicate_field": "a"}),
    "in_pseudorandom_split.do_include": lambda world: (predicates.in_pseudorandom_split([1.0], 0, "a").do_include, {"values": {"a": 1}}),
    "SingleIndexSelector": lambda world: (lambda **given: read(world, rowgroup_selector=selectors.SingleIndexSelector(**given)), {"index_name": "log_id", "values_list": ["monday"]}),
    "UnionIndexSelector": lambda world: (selectors.UnionIndexSelector, {"single_index_selectors": [selectors.SingleIndexSelector("a", [1])]}),
    "UnischemaField": lambda world: (lambda **given: unischema.Unischema("S", [unischema.UnischemaField(**given)]).make_namedtuple(v=1), OF_FIELD),
    "Unischema": lambda world: (lambda **given: unischema.Unischema(**given).make_namedtuple(id=1), {"name": "S", "fields": [FIELD]}),
    "Unischema.create_schema_view": lambda world: (schema().create_schema_view, {"fields": ["id"]}),
    "match_unischema_fields": lambda world: (unischema.match_unischema_fields, {"schema": schema(), "field_regex": ["id"]}),
    "insert_explicit_nulls": lambda world: (unischema.insert_explicit_nulls, {"unischema": schema(), "row_dict": row()}),
    "encoded_row": lambda world: (unischema.encoded_row, {"unischema": schema(), "row_dict": row()}),
    "WeightedSamplingReader": lambda world: (weighted_sampling_reader.WeightedSamplingReader, {"readers": [petastorm.make_reader(world.drives)] * 2, "probabilities": [1, 1]}),
    "dataset_as_rdd": lambda world: (spark_utils.dataset_as_rdd, {"dataset_url": world.drives, "spark_session": None}),
    "materialize_dataset": lambda world: (lambda **given: dataset_metadata.materialize_dataset(**given).__enter__(), {"spark": None, "dataset_url": "new", "schema": schema()}),
    "DatasetWriter.write": lambda world: (lambda rows: dataset_metadata.DatasetWriter("none", schema(), {}).write(rows), {"rows": []}),
    "DatasetWriter.write, values": lambda world: (lambda **given: written(world, **given), row()),
    "SingleFieldIndexer": lambda world: (rowgroup_indexers.SingleFieldIndexer, {"index_name": "a", "index_field": "b"}),
    "build_rowgroup_index": lambda world: (rowgroup_indexing.build_rowgroup_index, {"dataset_url": world.drives, "spark_context": None, "indexers": [rowgroup_indexers.SingleFieldIndexer("a", "nothing")]}),
    "get_schema": lambda world: (dataset_metadata.get_schema, {"dataset": world.drives}),
    "get_schema_from_dataset_url": lambda world: (dataset_metadata.get_schema_from_dataset_url, {"dataset_url_or_urls": world.drives}),
    "copy_dataset": lambda world: (copy_dataset, {"spark": None, "source_url": world.drives, "target_url": "copy", "field_regex": ["timestamp"], "not_null_fields": ["timestamp"], "overwrite_output": True, "partitions_count": 1, "row_group_size_mb": 1}),
    "generate_petastorm_metadata": lambda world: (generate_petastorm_metadata, {"spark": None, "dataset_url": world.drives, "unischema_class": None}),
    "reader_throughput": lambda world: (lambda **given: throughput.reader_throughput(**given, spawn_new_process=False), {"dataset_url": world.drives, "field_regex": ["timestamp"], "warmup_cycles_count": 1, "measure_cycles_count": 2, "pool_type": throughput.WorkerPoolType.NONE, "loaders_count": 1, "read_method": throughput.ReadMethod.PYTHON, "reader_extra_args": {"shuffle_row_groups": False}}),
    "infer_or_load_unischema": lambda world: (dataset_metadata.infer_or_load_unischema, {"dataset": world.drives}),
    "Unischema.from_arrow_schema": lambda world: (unischema.Unischema.from_arrow_schema, {"parquet_dataset": pa.schema({"id": pa.int8()})}),
    "NGram.form_ngram": lambda world: (ngram.NGram({0: ["id"], 1: ["id"]}, 1, "id").form_ngram, {"data": [{"id": 1}, {"id": 2}], "schema": schema()}),
    "NGram.form_ngram, values": lambda world: (lambda first, other: ngram.NGram({0: ["id"], 1: ["id"]}, 1, "id").form_ngram([{"id": first}, {"id": other}], schema()), {"first": 1, "other": 2}),
    "NGram.make_namedtuple": lambda world: (ngram.NGram({0: [FIELD]}, 1, FIELD).make_namedtuple, {"schema": schema(), "ngram_as_dicts": {0: {"id": 1}}}),
    "decode_row": lambda world: (utils.decode_row, {"row": {"points": CELL}, "schema": schema()}),
    "decode_row, values": lambda world: (lambda **given: utils.decode_row(given, schema()), {"id": 1, "points": CELL}),
    "run_in_subprocess": lambda world: (lambda func: utils.run_in_subprocess(func) if not callable(func) else None, {"func": len}),
    "generate_datapoint": lambda world: (generator.generate_datapoint, {"schema": schema()}),
    "ReaderMock": lambda world: (reader_mock.ReaderMock, {"schema": schema(), "schema_data_generator": reader_mock.schema_data_generator_example}),
    "schema_data_generator_example": lambda world: (reader_mock.schema_data_generator_example, {"schema": schema()}),
    "FilesystemResolver": lambda world: (fs_utils.FilesystemResolver, {"dataset_url": "file:///data"}),
    "get_dataset_path": lambda world: (fs_utils.get_dataset_path, {"parsed_url": urlparse("file:///data")}),
    "get_filesystem_and_path_or_paths": lambda world: (fs_utils.get_filesystem_and_path_or_paths, {"url_or_urls": ["file:///data"]}),
    "normalize_dir_url": lambda world: (fs_utils.normalize_dir_url, {"dataset_url": "file:///data"}),
    "normalize_dataset_url_or_urls": lambda world: (fs_utils.normalize_dataset_url_or_urls, {"dataset_url_or_urls": ["file:///data"]}),
    "cluster.ReadSplit": lambda world: (lambda **given: list(cluster.read(cluster.ReadSplit(**given))), vars(cluster.plan_read(world.drives, columns=["timestamp"])[0])),
    "cluster.WriteTask": lambda world: (cluster.WriteTask, vars(cluster.plan_write("w", schema={"i": "i64"}, index="i", partitions=1).task(0))),
}  # fmt: skip
CALLS = {f"l5.{name}": make for name, make in calls_of_l5().items()} | {f"petastorm.{name}": make for name, make in CALLS_OF_PETASTORM.items()}


def variations(given: Mapping[str, Any], parameters: list[str]) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yields a name and the arguments of each variation: each argument, and each key of a configuration, is silly or is missing."""
    for name in parameters:
        for what, make in SILLY.items():
            yield f"{name}={what}", lambda name=name, make=make: {**given, name: make()}  # type: ignore[misc]
        if name != "cfg":
            continue
        for part, settings in given["cfg"].items():
            yield f"cfg without {part}", lambda part=part: {**given, "cfg": {key: one for key, one in given["cfg"].items() if key != part}}  # type: ignore[misc]
            for key in settings:
                rest = {other: value for other, value in settings.items() if other != key}
                yield f"cfg.{part} without {key}", lambda part=part, rest=rest: {**given, "cfg": {**given["cfg"], part: rest}}  # type: ignore[misc]
                for what in ("None", "-1", "nan", "x", "[]", "object", "array[2,2]", "10**5000", "NA"):
                    changed = {**settings, key: SILLY[what]()}
                    yield f"cfg.{part}.{key}={what}", lambda part=part, changed=changed: {**given, "cfg": {**given["cfg"], part: changed}}  # type: ignore[misc]


@pytest.mark.parametrize("name", CALLS)
def test_a_silly_argument_is_an_error_of_tetrys_or_has_a_meaning(world: World, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    call, given = CALLS[name](world)
    signature = inspect.signature(call).parameters.values()
    parameters = [one.name for one in signature if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    wrong = []
    for what, arguments in variations(given, [one for one in parameters or given if not one.startswith("_")]):
        call, _ = CALLS[name](world)
        options = arguments()
        positional = any(one.kind is one.VAR_POSITIONAL for one in signature)
        if message := wrong_answer(lambda: call(*options.values()) if positional else call(**options)):
            wrong.append(f"{what}: {message}")
    assert not wrong, "\n".join(wrong)


def test_each_public_name_of_level_5_is_tried() -> None:
    """A new call gets good arguments above."""
    tried = {name.split(".")[1] for name in CALLS if name.startswith("l5.")}
    # Constants, enumerations, base classes, and records that maps return.
    plain = {"BaseEgoDataset", "CollisionType", "DataManager", "InterpolationMethod", "MapElement", "MapLane", "Perturbation", "RandomGenerator", "TLFacesColors"}
    assert {name for name in l5.__all__ if callable(getattr(l5, name)) and not isinstance(getattr(l5, name), np.dtype)} - plain <= tried
    for module in (geometry, sampling, visualization):
        names = {name.split(".")[2] for name in CALLS if name.startswith(f"l5.{module.__name__.split('.')[-1]}.")}
        assert {name for name in module.__all__ if callable(getattr(module, name)) and name != "compute_yaw_around_north_from_direction"} <= names
