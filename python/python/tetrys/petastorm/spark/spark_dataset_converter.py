"""Materializes a Spark DataFrame as a table, and reads it into TensorFlow or PyTorch."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from ..._arguments import whole
from ..._errors import imported, short
from ..._table import Table
from ..._tetrys import NotFound
from .._source import table_url
from ..errors import WrongType, WrongValue, found
from ..reader import make_batch_reader

__all__ = ["SparkDatasetConverter", "make_spark_converter", "register_delete_dir_handler"]

_lock = threading.Lock()
_made: list[tuple[Any, str, str | None, SparkDatasetConverter]] = []
"""DataFrames that were materialized, with the parent folder and the dtype."""


class SparkDatasetConverter:
    """A materialized DataFrame; `make_spark_converter` makes it. It can be pickled, and read in other processes."""

    PARENT_CACHE_DIR_URL_CONF = "petastorm.spark.converter.parentCacheDirUrl"

    def __init__(self, cache_dir_url: str, file_urls: list[str], dataset_size: int) -> None:
        """Not for users."""
        self.cache_dir_url = cache_dir_url
        self.file_urls = file_urls
        self.dataset_size = dataset_size

    def __len__(self) -> int:
        """Returns the number of rows."""
        return self.dataset_size

    @contextmanager
    def make_tf_dataset(
        self,
        batch_size: int | None = None,
        prefetch: int | None = None,
        num_epochs: int | None = None,
        workers_count: int | None = None,
        shuffling_queue_capacity: int | None = None,
        **petastorm_reader_kwargs: Any,
    ) -> Iterator[Any]:
        """Opens a reader, and returns its batches as a `tf.data.Dataset` for a `with` block.

        Args:
            batch_size: Rows of a batch; default 32.
            prefetch: Batches that tf.data prefetches; default: as many as it chooses.
            num_epochs: Number of epochs; default: without end, as in Petastorm.
            workers_count: Number of worker processes with `reader_pool_type="process"`, default 4; see
                `tetrys.petastorm.make_batch_reader`.
            shuffling_queue_capacity: Above 0: rows are mixed even with `shuffle_row_groups=False`.
            petastorm_reader_kwargs: Other arguments of `tetrys.petastorm.make_batch_reader`.
        """
        from ..tf_utils import make_petastorm_dataset

        tf = imported("tensorflow", "TensorFlow is not installed: pip install tensorflow")
        with self._reader(num_epochs, workers_count, petastorm_reader_kwargs, batch_size=32 if batch_size is None else batch_size) as reader:
            if shuffling_queue_capacity is not None and whole("shuffling_queue_capacity", shuffling_queue_capacity):
                reader._mix()
            yield make_petastorm_dataset(reader).prefetch(tf.data.AUTOTUNE if prefetch is None else whole("prefetch", prefetch))

    @contextmanager
    def make_torch_dataloader(
        self,
        batch_size: int = 32,
        num_epochs: int | None = None,
        workers_count: int | None = None,
        shuffling_queue_capacity: int = 0,
        data_loader_fn: Callable[..., Any] | None = None,
        **petastorm_reader_kwargs: Any,
    ) -> Iterator[Any]:
        """Opens a reader, and returns a loader of PyTorch tensors for a `with` block.

        Args:
            batch_size: Rows of a batch.
            num_epochs: Number of epochs; default: without end, as in Petastorm.
            workers_count: Number of worker processes with `reader_pool_type="process"`, default 4; see
                `tetrys.petastorm.make_batch_reader`.
            shuffling_queue_capacity: Above 0: rows are mixed even with `shuffle_row_groups=False`.
            data_loader_fn: Makes the loader; default: `tetrys.petastorm.pytorch.DataLoader`.
            petastorm_reader_kwargs: Other arguments of `tetrys.petastorm.make_batch_reader`.
        """
        from ..pytorch import DataLoader

        if data_loader_fn is not None and not callable(data_loader_fn):
            raise WrongType(f"data_loader_fn: expected a function, found {found(data_loader_fn)}")
        with self._reader(num_epochs, workers_count, petastorm_reader_kwargs) as reader:
            make = DataLoader if data_loader_fn is None else data_loader_fn
            yield make(reader=reader, batch_size=batch_size, shuffling_queue_capacity=shuffling_queue_capacity)

    def _reader(self, num_epochs: int | None, workers: int | None, options: dict[str, Any], **more: Any) -> Any:
        _check_horovod(options)
        more["workers_count"] = 4 if workers is None else workers
        return make_batch_reader(self.cache_dir_url, num_epochs=num_epochs, **options, **more)

    def delete(self) -> None:
        """Deletes the materialized table. Tables that the converter did not write are left alone."""
        with _lock:
            kept = [entry for entry in _made if entry[3].cache_dir_url != self.cache_dir_url]
            is_ours = len(kept) < len(_made)
            _made[:] = kept
        if is_ours:
            _delete(self.cache_dir_url)


def make_spark_converter(
    df: Any, parquet_row_group_size_bytes: int = 32 << 20, compression_codec: str | None = None, dtype: str | None = "float32"
) -> SparkDatasetConverter:
    """Materializes a DataFrame as a table below the folder that the Spark setting `petastorm.spark.converter.parentCacheDirUrl` names.

    The same DataFrame is materialized once. The table is deleted when the process ends, or by `SparkDatasetConverter.delete`.

    Args:
        df: A DataFrame; the URL or path of a table, which is read in place; or the URL of a Parquet folder, which Spark reads.
        parquet_row_group_size_bytes, compression_codec: Unused: a table has no row groups, and compresses by its preset.
        dtype: Floats become `"float32"` or `"float64"`; None keeps them. Vectors of Spark ML become arrays.

    Raises:
        ValueError (an `Invalid`): the setting is missing, or `dtype` is unknown.
        NotFound: there is neither a table nor a Parquet folder at a URL.
        Unsupported: pyspark is not installed.
    """
    del parquet_row_group_size_bytes, compression_codec
    if dtype is not None and (not isinstance(dtype, str) or dtype not in ("float32", "float64")):
        raise WrongValue(f"dtype: expected float32, float64 or None, found {found(dtype)}")
    # A `Column` of Spark answers every attribute name, so `hasattr` says nothing.
    is_frame = isinstance(getattr(df, "isStreaming", None), bool) and hasattr(df, "mapInArrow")
    if isinstance(df, type) or not isinstance(df, (str, os.PathLike)) and not is_frame:
        raise WrongType(f"df: expected a DataFrame or a URL, found {found(df)}")
    spark = imported("pyspark.sql", "a converter needs pyspark: pip install 'pyspark>=4.0' pyarrow").SparkSession.builder.getOrCreate()
    if isinstance(df, (str, os.PathLike)):
        try:
            table = Table(table_url(df))
            return SparkDatasetConverter(table.url, [table.url], len(table))
        except NotFound:
            df = _of_parquet(spark, os.fspath(df))
    parent = spark.conf.get(SparkDatasetConverter.PARENT_CACHE_DIR_URL_CONF, None)
    if not parent:
        name = SparkDatasetConverter.PARENT_CACHE_DIR_URL_CONF
        raise WrongValue(f"the Spark setting {name} is missing: spark.conf.set({name!r}, 'file:///..'), a folder that all executors can write")
    # Without the slashes at its end: one folder has one cache.
    parent = table_url(parent)
    with _lock:
        for known, folder, precision, converter in _made:
            # `sameSemantics` ignores the names of columns.
            if (folder, precision) == (parent, dtype) and known.schema == df.schema and known.sameSemantics(df):
                return converter
    converter = _materialized(df, parent, dtype)
    with _lock:
        _made.append((df, parent, dtype, converter))
    atexit.register(converter.delete)
    return converter


def _of_parquet(spark: Any, url: str) -> Any:
    refused = imported("pyspark.errors", "a converter needs pyspark: pip install 'pyspark>=4.0' pyarrow").PySparkException
    try:
        return spark.read.parquet(url)
    except (refused, imported("py4j.protocol", "a converter needs py4j, which comes with pyspark").Py4JJavaError) as error:
        # A file without a footer of Parquet makes Spark raise the error of its JVM.
        raise NotFound(f"df: {url} has no table, and Spark reads no Parquet files there: {short(error)}") from error


def _materialized(df: Any, parent: str, dtype: str | None) -> SparkDatasetConverter:
    from ...spark import write
    from ...spark._types import types_of_frame

    frame = _converted(df, dtype)
    types_of_frame(frame.schema, None)
    scalars = [name for name, kind in frame.dtypes if not kind.startswith(("array", "struct", "map", "binary", "float", "double"))]
    if not scalars:
        functions = imported("pyspark.sql.functions", "a converter needs pyspark: pip install 'pyspark>=4.0' pyarrow")
        # Spark would replace a column of that name, in any case.
        taken = {name.lower() for name in frame.columns}
        free = next(name for name in ("petastorm_row" + "_" * more for more in itertools.count()) if name not in taken)
        frame, scalars = frame.withColumn(free, functions.monotonically_increasing_id()), [free]
    url = f"{parent}/petastorm-{uuid.uuid4()}"
    others = [name for name in frame.columns if name != scalars[0]]
    table = write(frame, url, index=scalars[:1], groups={"columns": others} if others else None)
    return SparkDatasetConverter(table.url, [table.url], len(table))


def _converted(df: Any, dtype: str | None) -> Any:
    """Returns the frame with vectors as arrays, and with floats of the dtype. Finds columns by number: names may have dots, and may
    differ in case alone.
    """
    plain = df.toDF(*(f"c{number}" for number in range(len(df.columns))))
    return plain.select(*(_column(plain[f"c{number}"], field.dataType, dtype).alias(field.name) for number, field in enumerate(df.schema)))


def _column(column: Any, kind: Any, dtype: str | None) -> Any:
    """Returns a column of a Spark type as the converter stores it."""
    if type(kind).__name__ == "VectorUDT":
        convert = imported("pyspark.ml.functions", "vectors of Spark ML need pyspark with numpy").vector_to_array
        functions = imported("pyspark.sql.functions", "a converter needs pyspark: pip install 'pyspark>=4.0' pyarrow")
        # Spark's function fails at a null.
        return functions.when(column.isNotNull(), convert(column, dtype or "float64"))
    old, new = ("double", "float") if dtype == "float32" else ("float", "double")
    casts = {} if dtype is None else {old: new, f"array<{old}>": f"array<{new}>"}
    type_name = kind.simpleString()
    return column.cast(casts[type_name]) if type_name in casts else column


def _delete_folder(url: str) -> None:
    """Deletes the folder of a table on a local disk."""
    parsed = urlparse(url)
    if parsed.scheme not in ("", "file"):
        warnings.warn(f"{url} is not deleted: delete it with the tools of the store, or register_delete_dir_handler", stacklevel=3)
        return
    folder = Path(unquote(parsed.path))
    if folder.name.startswith("petastorm-"):
        shutil.rmtree(folder, ignore_errors=True)


_delete: Callable[[str], object] = _delete_folder


def register_delete_dir_handler(handler: Callable[[str], object] | None) -> None:
    """Sets the function that deletes the folder of a table by its URL; None: local folders are deleted, others are not."""
    global _delete
    if handler is not None and not callable(handler):
        raise WrongType(f"handler: expected a function of a URL, found {found(handler)}")
    _delete = _delete_folder if handler is None else handler


def _check_horovod(options: dict[str, Any]) -> None:
    """Warns if the shard is not the one of the process by the environment of Horovod."""
    for rank, size in (("HOROVOD_RANK", "HOROVOD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE")):
        there = os.environ.get(rank), os.environ.get(size)
        if None not in there:
            if (str(options.get("cur_shard")), str(options.get("shard_count"))) != there:
                warnings.warn(
                    f"cur_shard {options.get('cur_shard')} of {options.get('shard_count')}, but {rank} says {there[0]} of {there[1]}: each process "
                    "reads other rows with cur_shard=hvd.rank(), shard_count=hvd.size()",
                    stacklevel=4,
                )
            return
