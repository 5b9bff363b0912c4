"""Configuration of L5Kit: YAML files, the metadata of a data set, and the folder that keys are relative to."""

from __future__ import annotations

import json
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._arguments import Url
from .._errors import WrongType, WrongValue, found, imported
from .._index import open_table
from .._options import Options
from .._table import Table
from .._tetrys import NotFound, TableWriter

L5KIT_DATA_FOLDER_ENV_KEY = "L5KIT_DATA_FOLDER"
"""Environment variable with the folder of the data."""
_WITHOUT_YAML = "a configuration is YAML, which needs PyYAML: pip install pyyaml"


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
        Unsupported: PyYAML is not installed (`pip install pyyaml`).
    """
    yaml = imported("yaml", _WITHOUT_YAML)
    with open(path, encoding="utf-8") as file:
        config: dict[str, Any] = yaml.load(file, Loader=yaml.FullLoader)
    return config


def save_config_data(data: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Writes a configuration to a YAML file, which `load_config_data` reads. Replaces an existing file.

    Raises:
        Unsupported: PyYAML is not installed (`pip install pyyaml`).
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


class TableDataManager(DataManager):
    """Finds the maps and the metadata of a data set among the attachments of its table, so that a table in an object store is complete.

    Args:
        table: The table, or its path or URL. The keys of a configuration are the names of attachments; `attach` adds them.

    Example:
        >>> from tetrys.l5 import TableDataManager, attach, build_rasterizer
        >>> table = attach("sample", {"semantic_map.pb": "maps/semantic_map.pb", "meta.json": "meta.json"})
        >>> rasterizer = build_rasterizer(cfg, TableDataManager(table))
    """

    def __init__(self, table: Url | Table) -> None:
        self.table = table if isinstance(table, Table) else open_table(table)
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def read(self, key: str) -> bytes:
        """Reads an attachment.

        Raises:
            FileNotFoundError: the table has no such attachment.
        """
        try:
            return self.table.attachment(key)
        except NotFound as error:
            raise FileNotFoundError(f"{self.table.url}: {error}") from error

    def require(self, key: str) -> str:
        """Returns the path of a temporary copy of an attachment, which lasts as long as this object.

        Raises:
            FileNotFoundError: the table has no such attachment.
        """
        content = self.read(key)
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="tetrys-l5-")
        path = Path(self._folder.name) / str(len(os.listdir(self._folder.name))) / Path(key).name
        path.parent.mkdir()
        path.write_bytes(content)
        return str(path)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_folder": None}


def attach(table: Url | Table, files: Mapping[str, bytes | str | os.PathLike[str]]) -> Table:
    """Adds maps, metadata or other small files to a table, as attachments of a new version.

    Args:
        table: The table, or its path or URL.
        files: The content of each attachment by its name, or the path of a file. An attachment with the same name is replaced.

    Returns the new version. Its rows are those of the version before.

    Example:
        >>> from tetrys.l5 import MapAPI, attach
        >>> table = attach("sample", {"semantic_map.pb": "maps/semantic_map.pb", "meta.json": "meta.json"})
        >>> map_api = MapAPI.from_table(table)

    Raises:
        FileNotFoundError: there is no such file.
        tetrys.Unsupported: the table is a view.
    """
    opened = table if isinstance(table, Table) else open_table(table)
    if not isinstance(files, Mapping) or not files:
        raise WrongValue(f"files: expected at least one name and its content or path, found {found(files)}")
    contents = {}
    for name, file in files.items():
        if not isinstance(name, str) or not isinstance(file, (bytes, str, os.PathLike)):
            raise WrongType(f"files: expected names and bytes or paths, found {found(name)} and {found(file)}")
        contents[name] = file if isinstance(file, bytes) else Path(file).read_bytes()
    writer = TableWriter.append(opened._native, Options.of(opened, preset=None))
    for name, content in contents.items():
        writer.attach(name, content)
    return Table._of(writer.commit([]))


def read_key(data_manager: DataManager, key: str) -> bytes:
    """Reads the file of a key. Any object with a method `require` is a data manager."""
    return data_manager.read(key) if isinstance(data_manager, TableDataManager) else Path(data_manager.require(key)).read_bytes()


def metadata_of(data_manager: DataManager, key: str) -> dict[str, Any]:
    """Reads the metadata of a key, as `load_metadata` does."""
    metadata: dict[str, Any] = json.loads(read_key(data_manager, key))
    return metadata
