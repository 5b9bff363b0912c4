"""Stands for the package `petastorm` while its own tests run: each public module is the one of `tetrys.petastorm`.

It comes before the real package on the path, also in processes that Spark starts. The tests are those of the real package, which is
otherwise hidden. Tests write data sets with Spark, as users of Petastorm do; the first reader of a data set ingests it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import inspect
import json
import os
import pickle
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

REAL = Path(str(importlib.metadata.distribution("petastorm").locate_file("petastorm")))
"""The folder of the real package."""
TESTS = ("petastorm.tests", "petastorm.test_util.shuffling_analysis")
"""Modules that are those of the real package."""
PRIVATE = (
    "petastorm.arrow_reader_worker", "petastorm.cache", "petastorm.hdfs", "petastorm.local_disk_cache", "petastorm.pyarrow_helpers",
    "petastorm.reader_impl", "petastorm.tools.spark_session_cli", "petastorm.workers_pool",
)  # fmt: skip
"""Modules that have no counterpart. The chapter on Petastorm lists them."""
TABLES = Path(tempfile.gettempdir()) / f"tables-of-{os.getuid()}"
__path__ = [str(REAL)]

# Names that the tests use, and that current releases of Python, numpy and pyarrow do not have.
inspect.getargspec = inspect.getfullargspec
np.unicode_ = np.str_
np.string_ = np.bytes_
np.float = float
sys.modules.setdefault("pyarrow.hdfs", types.ModuleType("pyarrow.hdfs"))
# PyTorch does without. After an import of TensorFlow, an import of it ends the process with a segmentation fault.
sys.modules["triton"] = None  # type: ignore[assignment]


class _Private:
    """Stands for a private name of Petastorm, so that the other tests of its file run."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"private: {self._name}")

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError(f"private: {self._name}.{name}")

    __iter__ = __getitem__ = __len__ = __call__


class _Module(types.ModuleType):
    """A module of Petastorm whose names are those of ours."""

    ours: types.ModuleType

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or hasattr(self.ours, name):
            return getattr(self.ours, name)
        if name.startswith("_"):
            return _Private(f"{self.__name__}.{name}")
        raise AttributeError(f"module {self.ours.__name__} has no attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Replaces a name of ours, as `unittest.mock.patch` does."""
        if name == "ours" or name.startswith("__") or isinstance(value, types.ModuleType) or name in self.__dict__ or not hasattr(self.ours, name):
            super().__setattr__(name, value)
            return
        self.__dict__.setdefault("_before", {}).setdefault(name, getattr(self.ours, name))
        setattr(self.ours, name, value)

    def __delattr__(self, name: str) -> None:
        """Puts back what was replaced."""
        before = self.__dict__.get("_before", {})
        if name in before:
            setattr(self.ours, name, before.pop(name))
        else:
            super().__delattr__(name)


class _Nothing(types.ModuleType):
    """A module that has no counterpart, so that the other tests of the files that import it run."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Private(f"{self.__name__}.{name}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith("petastorm.") or name.startswith(TESTS):
            return None
        if not _has_ours(name) and not name.startswith(PRIVATE):
            raise ModuleNotFoundError(f"tetrys.petastorm has no module {name}", name=name)
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
        spec.submodule_search_locations = [str(REAL.joinpath(*name.split(".")[1:]))]
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        if not _has_ours(spec.name):
            return _Nothing(spec.name)
        module = _Module(spec.name)
        module.ours = importlib.import_module(f"tetrys.{spec.name}")
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        if isinstance(module, _Nothing):
            return
        for name, make in _REPLACED.get(module.__name__, {}).items():
            module.__dict__[name] = make(getattr(module.ours, name))


def _has_ours(name: str) -> bool:
    try:
        return importlib.util.find_spec(f"tetrys.{name}") is not None
    except ModuleNotFoundError:
        return False


def _folder(url: Any) -> Path | None:
    """Returns the folder or the file of a data set on the disk; None if the URL is none of one."""
    if not isinstance(url, str) or "://" in url and not url.startswith("file://"):
        return None
    path = Path(url.removeprefix("file://"))
    # A table has this folder.
    return path if path.exists() and not (path / "manifests").exists() else None


def table_of(url: Any) -> Any:
    """Returns the URL of the table of a data set. Ingests it unless that was done since it changed."""
    if isinstance(url, list) and url:
        return [table_of(one) for one in url]
    if (folder := _folder(url)) is None:
        return url
    files = [folder] if folder.is_file() else sorted(path for path in folder.rglob("*") if path.is_file())
    state = [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files]
    table = TABLES / hashlib.sha256(repr(state).encode()).hexdigest()[:32]
    if not table.exists():
        import tetrys

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tetrys.ingest_petastorm(folder, str(table))
    return str(table)


def _ingests(function: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a function that takes the URL of a table first take that of a data set."""

    @functools.wraps(function)
    def called(url: Any = None, *arguments: Any, **named: Any) -> Any:
        for name in ("dataset_url", "dataset_url_or_urls"):
            url = named.pop(name, url)
        return function(table_of(url), *arguments, **named)

    return called


def _materializes(_: Callable[..., Any]) -> Callable[..., Any]:
    @contextmanager
    def materialize_dataset(spark: Any, dataset_url: str, schema: Any, row_group_size_mb: int | None = None, use_summary_metadata: bool = False,
                            filesystem_factory: Any = None) -> Iterator[None]:  # fmt: skip
        """Adds the metadata of Petastorm to the Parquet files that the block writes, as the real function does."""
        yield
        _write_metadata(Path(dataset_url.removeprefix("file://")), schema)

    return materialize_dataset


def _write_metadata(folder: Path, schema: Any) -> None:
    import pyarrow.parquet as pq

    files = sorted(folder.rglob("*.parquet"))
    groups = {str(file.relative_to(folder)): pq.read_metadata(file).num_row_groups for file in files}
    entries = {b"dataset-toolkit.unischema.v1": pickled(schema), b"dataset-toolkit.num_row_groups_per_file.v1": json.dumps(groups).encode()}
    # Spark takes the schema of a folder from this file.
    pq.write_metadata(pq.read_schema(files[0]).with_metadata(entries), folder / "_common_metadata")


def pickled(schema: Any) -> bytes:
    """Pickles a schema with the names that Petastorm's classes have."""
    ours = [importlib.import_module(f"tetrys.petastorm.{name}") for name in ("unischema", "codecs")]
    classes = [kind for module in ours for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]
    try:
        for kind in classes:
            kind.__module__ = kind.__module__.removeprefix("tetrys.")
        return pickle.dumps(schema, protocol=2)
    finally:
        for kind in classes:
            kind.__module__ = f"tetrys.{kind.__module__}"


_REPLACED: dict[str, dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    "petastorm.reader": {"make_reader": _ingests, "make_batch_reader": _ingests},
    "petastorm.spark_utils": {"dataset_as_rdd": _ingests},
    "petastorm.etl.rowgroup_indexing": {"build_rowgroup_index": _ingests},
    "petastorm.etl.dataset_metadata": {"materialize_dataset": _materializes},
}
sys.meta_path.insert(0, _Finder())

from petastorm.errors import NoDataAvailableError  # noqa: E402
from petastorm.reader import make_batch_reader, make_reader  # noqa: E402
from petastorm.transform import TransformSpec  # noqa: E402

__all__ = ["NoDataAvailableError", "TransformSpec", "make_batch_reader", "make_reader"]
