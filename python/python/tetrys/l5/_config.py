"""Configuration of L5Kit: YAML files, the metadata of a data set, and the folder that keys are relative to."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from .._errors import imported

L5KIT_DATA_FOLDER_ENV_KEY = "L5KIT_DATA_FOLDER"
"""Environment variable with the folder of the data."""
_WITHOUT_YAML = "a configuration is YAML, which needs PyYAML: pip install tetrys[l5]"


def load_config_data(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads a configuration from a YAML file.

    Example:
        >>> from tetrys.l5 import load_config_data
        >>> import pathlib; _ = pathlib.Path("config.yaml").write_text("raster_params: {raster_size: [224, 224]}")
        >>> load_config_data("config.yaml")["raster_params"]["raster_size"]
        [224, 224]

    Raises:
        FileNotFoundError: there is no such file.
        yaml.YAMLError: the file is not YAML.
        Unsupported: PyYAML is not installed (`pip install tetrys[l5]`).
    """
    yaml = imported("yaml", _WITHOUT_YAML)
    with open(path, encoding="utf-8") as file:
        config: dict[str, Any] = yaml.load(file, Loader=yaml.FullLoader)
    return config


def save_config_data(data: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Writes a configuration to a YAML file, which `load_config_data` reads. Replaces an existing file.

    Raises:
        Unsupported: PyYAML is not installed (`pip install tetrys[l5]`).
    """
    yaml = imported("yaml", _WITHOUT_YAML)
    with open(path, "w", encoding="utf-8") as file:
        yaml.dump(data, file)


def load_metadata(metadata_path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads the metadata of a data set, `meta.json`: a dict with the matrices `world_to_ecef` and `ecef_to_aerial`, as lists.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not JSON.
    """
    with open(metadata_path, encoding="utf-8") as file:
        metadata: dict[str, Any] = json.load(file)
    return metadata


class DataManager(ABC):
    """Finds the files of a data set by their keys."""

    @abstractmethod
    def require(self, key: str) -> str:
        """Returns the path of an existing file or folder."""


class LocalDataManager(DataManager):
    """Finds files below a local folder.

    Args:
        local_data_folder: The folder; default: the environment variable `L5KIT_DATA_FOLDER`.

    Raises:
        ValueError: there is neither an argument nor the environment variable.
    """

    def __init__(self, local_data_folder: str | os.PathLike[str] | None = None) -> None:
        folder = os.environ.get(L5KIT_DATA_FOLDER_ENV_KEY) if local_data_folder is None else local_data_folder
        if folder is None:
            raise ValueError(f"no data folder: pass one, or set the environment variable {L5KIT_DATA_FOLDER_ENV_KEY}")
        self.root_folder = Path(folder)

    def require(self, key: str) -> str:
        """Returns the path of a file or folder below the data folder.

        Example:
            >>> from tetrys.l5 import LocalDataManager
            >>> import pathlib; pathlib.Path("scenes").mkdir()
            >>> LocalDataManager(".").require("scenes")
            'scenes'

        Raises:
            FileNotFoundError: it does not exist.
        """
        path = self.root_folder / key
        if not path.exists():
            raise FileNotFoundError(f"the data folder {self.root_folder} has no {key}")
        return str(path)
