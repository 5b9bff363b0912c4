"""Configuration of L5Kit: YAML files, the metadata of a data set, and the folder that keys are relative to."""

from __future__ import annotations

import json
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import Url, path_of, text
from .._errors import NoKey, WrongType, WrongValue, found, imported, short
from .._index import open_table
from .._options import Options
from .._table import Table
from .._tetrys import NotFound, TableWriter
from ._checks import floats, key_of, with_method
from ._files import read_file, written_whole

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
        ValueError: it has something else than a dict.
        Unsupported: PyYAML is not installed (`pip install pyyaml`).
    """
    yaml = imported("yaml", _WITHOUT_YAML)
    name = path_of("path", path)
    # PyYAML decodes bytes, and its errors then name the file.
    with open(name, "rb") as file:
        config = yaml.load(file, Loader=yaml.FullLoader)
    if not isinstance(config, dict):
        raise WrongValue(f"{name}: expected a configuration, a dict in YAML, found {found(config)}")
    return config


def save_config_data(data: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Writes a configuration to a YAML file, which `load_config_data` reads. Replaces an existing file.

    Raises:
        ValueError: YAML has no such value, for example an array of numpy.
        Unsupported: PyYAML is not installed (`pip install pyyaml`).
    """
    yaml = imported("yaml", _WITHOUT_YAML)
    if not isinstance(data, Mapping):
        raise WrongType(f"data: expected a dict, found {found(data)}")
    try:
        written = yaml.dump(data)
        yaml.load(written, Loader=yaml.FullLoader)
    except Exception as error:
        # Values of other libraries make PyYAML raise exceptions of many types.
        raise WrongValue(f"data: YAML does not keep it: {short(error)}; expected text, numbers, booleans, lists and dicts") from error
    with written_whole(Path(path_of("path", path))) as file:
        file.write(written.encode())


def load_metadata(metadata_path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads the metadata of a data set, `meta.json`: a dict with the matrices `world_to_ecef` and `ecef_to_aerial`, as lists.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no JSON, or has something else than a dict.
    """
    return _metadata(read_file("metadata_path", metadata_path), os.fspath(metadata_path))


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
            raise WrongValue(f"no data folder: pass one, or set the environment variable {L5KIT_DATA_FOLDER_ENV_KEY}")
        self.root_folder = Path(path_of("local_data_folder", folder))

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
        path = self.root_folder / path_of("key", key)
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
            return self.table.attachment(key_of(key))
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
        contents[text("files, a name", name)] = file if isinstance(file, bytes) else read_file(f"files, `{short(name)}`", file)
    writer = TableWriter.append(opened._native, Options.of(opened, preset=None))
    for name, content in contents.items():
        writer.attach(name, content)
    return Table._of(writer.commit([]))


def read_key(data_manager: DataManager, key: str) -> bytes:
    """Reads the file of a key. Any object with a method `require` is a data manager."""
    if isinstance(data_manager, TableDataManager):
        return data_manager.read(key)
    return read_file(f"the file of the key `{short(key)}`", _manager(data_manager).require(key_of(key)))


def place_of_key(data_manager: DataManager, key: str) -> str | bytes:
    """Returns the path of the file of a key, or its content if a table has it."""
    return data_manager.read(key) if isinstance(data_manager, TableDataManager) else _manager(data_manager).require(key_of(key))


def _manager(data_manager: object) -> DataManager:
    manager: DataManager = with_method("data_manager", data_manager, "require", "a data manager")
    return manager


def metadata_of(data_manager: DataManager, key: str) -> dict[str, Any]:
    """Reads the metadata of a key, as `load_metadata` does."""
    return _metadata(read_key(data_manager, key), key)


def _metadata(content: bytes, name: str) -> dict[str, Any]:
    try:
        metadata = json.loads(content)
    except ValueError as error:
        raise WrongValue(f"{name}: the metadata are no JSON: {short(error)}") from error
    if not isinstance(metadata, dict):
        raise WrongValue(f"{name}: expected metadata, a JSON object with matrices, found {found(metadata)}")
    return metadata


def matrix_of(metadata: Mapping[str, Any], name: str, file: str) -> npt.NDArray[np.float64]:
    """Returns a matrix [4, 4] of the metadata in a file."""
    if name not in metadata:
        raise NoKey(f"{file}: the key `{name}` is missing; there are: {short(', '.join(map(str, metadata)))}")
    return floats(f"{file}, {name}", metadata[name], (4, 4))
