"""Configurations, metadata and data folders are read as L5Kit reads them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import tetrys as tt
from tetrys.l5._config import LocalDataManager, load_config_data, load_metadata, save_config_data

YAML = """
format_version: 4
model_params:
  history_num_frames: 10
  step_time: 0.1
  render_ego_history: True
raster_params:
  raster_size:
    - 224
    - 224
  map_type: "py_semantic"
  satellite_map_key: null
"""
CONFIG = {
    "format_version": 4,
    "model_params": {"history_num_frames": 10, "step_time": 0.1, "render_ego_history": True},
    "raster_params": {"raster_size": [224, 224], "map_type": "py_semantic", "satellite_map_key": None},
}


def test_a_configuration_is_a_dict(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "config.yaml").write_text(YAML)
    assert load_config_data(tmp_path / "config.yaml") == load_config_data(str(tmp_path / "config.yaml")) == CONFIG


def test_a_saved_configuration_reads_back(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    file = str(tmp_path / "saved.yaml")
    config = {**CONFIG, "pair": (1, 2.5), "name": "Zürich"}
    for _ in range(2):
        save_config_data(config, file)
    assert load_config_data(file) == config


def test_a_file_that_is_no_yaml_is_an_error_of_yaml(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    (tmp_path / "config.yaml").write_text("a: [1, 2")
    with pytest.raises(yaml.YAMLError):
        load_config_data(tmp_path / "config.yaml")
    with pytest.raises(FileNotFoundError):
        load_config_data(tmp_path / "other.yaml")


def test_without_pyyaml_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(tt.Unsupported, match=r"pip install pyyaml"):
        load_config_data(tmp_path / "config.yaml")
    with pytest.raises(tt.Unsupported, match=r"pip install pyyaml"):
        save_config_data({}, tmp_path / "config.yaml")


def test_metadata_is_the_json_of_its_file(tmp_path: Path) -> None:
    metadata = {"world_to_ecef": [[0.5, 0.0], [0.0, 1.0]]}
    (tmp_path / "meta.json").write_text(json.dumps(metadata))
    assert load_metadata(tmp_path / "meta.json") == metadata
    (tmp_path / "meta.json").write_text("{")
    with pytest.raises(ValueError):
        load_metadata(str(tmp_path / "meta.json"))
    with pytest.raises(FileNotFoundError):
        load_metadata(tmp_path / "none.json")


def test_a_data_folder_has_files_and_folders_by_key(tmp_path: Path) -> None:
    (tmp_path / "scenes" / "sample.zarr").mkdir(parents=True)
    manager = LocalDataManager(str(tmp_path))
    assert manager.root_folder == tmp_path
    assert manager.require("scenes/sample.zarr") == str(tmp_path / "scenes" / "sample.zarr")
    with pytest.raises(FileNotFoundError, match=r"scenes/train\.zarr"):
        manager.require("scenes/train.zarr")


def test_the_data_folder_comes_from_the_argument_or_else_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("L5KIT_DATA_FOLDER", str(tmp_path))
    assert LocalDataManager().root_folder == LocalDataManager(None).root_folder == tmp_path
    assert LocalDataManager(tmp_path / "other").root_folder == tmp_path / "other"
    monkeypatch.delenv("L5KIT_DATA_FOLDER")
    with pytest.raises(ValueError, match="L5KIT_DATA_FOLDER"):
        LocalDataManager()
