"""Writing data sets: a table with the rows of a Unischema, from Python alone or from Spark."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from ..._arguments import texts
from ..._data import Rows, parts_of
from ..._errors import imported, short
from ..._tetrys import Invalid, NotFound
from ..._table import Table
from ..._write import Writer
from ..._ingest_petastorm import read_petastorm_metadata
from .._source import opened, shown, table_url
from .._stored import SCHEMA, codec_property, dtype_name, field_of
from ..codecs import CompressedNdarrayCodec, NdarrayCodec, ScalarCodec, checked
from ..errors import NoDataSet, NotSupportedError, WrongType, WrongValue, found
from ..unischema import Unischema, UnischemaField, insert_explicit_nulls

__all__ = ["DatasetWriter", "PetastormMetadataError", "get_schema", "get_schema_from_dataset_url", "infer_or_load_unischema", "materialize_dataset"]

_TYPES: dict[Any, str] = {
    np.bool_: "bool", np.int8: "i8", np.int16: "i16", np.int32: "i32", np.int64: "i64", np.uint8: "u8", np.uint16: "u16", np.uint32: "u32",
    np.uint64: "u64", np.float16: "f16", np.float32: "f32", np.float64: "f64", bool: "bool", int: "i64", float: "f64",
}  # fmt: skip
_SCALARS: dict[Any, str] = {
    **_TYPES, np.str_: "utf8", str: "utf8", Decimal: "utf8", np.bytes_: "binary", bytes: "binary", np.datetime64: "timestamp[us]",
}  # fmt: skip
_ROWS = 256
"""Rows that are checked and handed to the writer together."""


class PetastormMetadataError(Invalid):
    """There is no table where one is expected, or it does not have the fields of a schema."""


def get_schema(dataset: Any, *, storage_options: Mapping[str, Any] | None = None) -> Unischema:
    """Returns the schema of a table, or of a data set of Petastorm, whose pickles are read as data.

    Args:
        dataset: A `Table`, or the URL or path of a table or of a data set. Petastorm takes a `ParquetDataset` of an old pyarrow.
        storage_options: Options of the store; see `tetrys.open_table`.

    Example:
        >>> from tetrys.petastorm.etl.dataset_metadata import get_schema
        >>> get_schema("drives").timestamp.numpy_dtype
        <class 'numpy.int64'>

    Raises:
        NotFound: there is neither.
        PetastormMetadataError: there are Parquet files without a schema of Petastorm.
    """
    try:
        return opened(dataset, storage_options=storage_options).schema
    except NoDataSet:
        stored = read_petastorm_metadata(table_url(dataset), storage_options=storage_options)["schema"]
    if stored is None:
        raise PetastormMetadataError(f"{table_url(dataset)}: Parquet files without a schema of Petastorm: infer_or_load_unischema infers one")
    return Unischema(str(stored["name"]), [field_of(field) for field in stored["fields"]])


def get_schema_from_dataset_url(
    dataset_url_or_urls: Any, hdfs_driver: str = "libhdfs3", storage_options: Mapping[str, Any] | None = None, filesystem: Any = None
) -> Unischema:
    """Returns the schema at a URL, as `get_schema` does; of a list of URLs, the schema at the first.

    Args:
        hdfs_driver: Unused.
        filesystem: Not supported: the stores of tetrys read the tables.
    """
    del hdfs_driver
    if filesystem is not None:
        raise NotSupportedError("filesystem: tables are read by the stores of tetrys: pass the URL alone")
    urls = dataset_url_or_urls if isinstance(dataset_url_or_urls, (list, tuple)) else [dataset_url_or_urls]
    if not urls:
        raise WrongValue("dataset_url_or_urls: an empty list, expected one URL or more")
    return get_schema(urls[0], storage_options=storage_options)


def infer_or_load_unischema(dataset: Any, *, storage_options: Mapping[str, Any] | None = None) -> Unischema:
    """Returns the schema as `get_schema` does, or that of the columns of Parquet files; see `Unischema.from_arrow_schema`.

    Args:
        dataset: As for `get_schema`. The Parquet files are in a folder of a disk, or anywhere that pyarrow reads.
        storage_options: As for `get_schema`.

    Raises:
        NotFound: there is neither.
        NotImplementedError (an `Unsupported`): Parquet files without a schema in an object store, with `storage_options`: pyarrow takes
            its options from the environment.
    """
    try:
        return get_schema(dataset, storage_options=storage_options)
    except PetastormMetadataError:
        data = imported("pyarrow.dataset", "the schema of Parquet files needs pyarrow: pip install pyarrow")
        url = table_url(dataset).removeprefix("file://")
        if storage_options and "://" in url:
            raise NotSupportedError(
                f"{shown(url)}: pyarrow infers the schema of Parquet files, and does not know storage_options: give them in the environment, or make a table with "
                "tetrys.ingest_petastorm"
            ) from None
        found_there = data.dataset(url, format="parquet", partitioning="hive")
        return Unischema.from_arrow_schema(found_there)


class _Cell:
    """How the values of a field become the cells of its columns."""

    def __init__(self, field: UnischemaField) -> None:
        self.field = field
        dtype, codec = field.numpy_dtype, field.codec
        is_array = isinstance(codec, (NdarrayCodec, CompressedNdarrayCodec))
        self.is_text = is_array and dtype in (np.str_, np.bytes_) and len(field.shape) > 0
        self.is_indexed = False
        name = field.name
        if self.is_text:
            item = "list<utf8>" if dtype is np.str_ else "list<binary>"
            self.types = {name: item, f"{name}.shape": f"i32[{len(field.shape)}]", f"{name}.width": "i32"}
        elif is_array and dtype in _TYPES or codec is None and field.shape and dtype in _TYPES:
            extents = ",".join("?" if not extent else str(extent) for extent in field.shape)
            self.types = {name: f"{_TYPES[dtype]}[{extents}]" if field.shape else _TYPES[dtype]}
        elif codec is None and len(field.shape) == 1 and dtype in (np.str_, str):
            self.types = {name: "list<utf8>"}
        elif (codec is None or isinstance(codec, ScalarCodec)) and field.shape == ():
            if dtype not in _SCALARS:
                raise WrongValue(f"field `{name}`: no column stores scalars of {dtype}: give the field a codec")
            self.types = {name: _SCALARS[dtype]}
            self.is_indexed = _SCALARS[dtype] not in ("binary", "f16")
        elif codec is None:
            raise WrongValue(f"field `{name}`: no column stores arrays of {dtype} and the shape {field.shape}: give the field a codec, such as NdarrayCodec()")
        else:
            self.types = {name: "binary"}

    def cells(self, value: Any) -> dict[str, Any]:
        """Returns the cells of a value.

        Raises:
            ValueError (an `Invalid`): the value does not fit the field.
        """
        field = self.field
        name = field.name
        if value is None:
            if not field.nullable:
                raise WrongValue(f"field `{name}` is None, and it is not nullable")
            return dict.fromkeys(self.types)
        kind = self.types[name]
        if self.is_text:
            array = checked(field, value)
            unit = 4 if array.dtype.kind == "U" else 1
            return {name: array.reshape(-1).tolist(), f"{name}.shape": np.array(array.shape, np.int32), f"{name}.width": array.dtype.itemsize // unit}
        if kind == "binary" and field.codec is not None and not isinstance(field.codec, ScalarCodec):
            return {name: bytes(field.codec.encode(field, value))}
        if "[" in kind and not kind.startswith("timestamp") or isinstance(field.codec, (NdarrayCodec, CompressedNdarrayCodec)):
            array = checked(field, value)
            return {name: array if field.shape else array[()]}
        return {name: value if field.shape else _scalar(field, value)}


def _scalar(field: UnischemaField, value: Any) -> Any:
    """Returns a scalar as its column stores it, and checks that the dtype of the field holds it."""
    value = value[()] if isinstance(value, np.ndarray) and value.shape == () else value
    dtype = field.numpy_dtype
    if dtype is Decimal:
        try:
            exact = value if isinstance(value, Decimal) else Decimal(value if isinstance(value, (int, str)) else repr(value))
            scale = getattr(getattr(field.codec, "_spark_type", None), "scale", None)
            if scale is None:
                return str(exact)
            rounded = exact.quantize(Decimal(1).scaleb(-scale))
        except (InvalidOperation, TypeError) as error:
            raise WrongValue(f"field `{field.name}`: {found(value)} is no decimal that fits the field") from error
        if rounded != exact:
            raise WrongValue(f"field `{field.name}`: {exact} has more than {scale} digits after the point")
        return f"{rounded:f}"
    expects_text = dtype in (np.str_, str, np.bytes_, bytes)
    if isinstance(value, (str, bytes)) != expects_text or hasattr(value, "__len__") and not expects_text:
        raise WrongValue(f"field `{field.name}`: expected a scalar of {getattr(dtype, '__name__', dtype)}, found {found(value)}")
    if expects_text or dtype is np.datetime64:
        return value
    try:
        stored = np.dtype(dtype).type(value)
        is_exact = stored.dtype.kind not in "iub" or bool(stored.item() == value)
    except OverflowError as error:
        raise WrongValue(f"field `{field.name}`: {found(value)} does not fit {getattr(dtype, '__name__', dtype)}") from error
    except Exception as error:
        # Values of other libraries raise exceptions of many types.
        raise WrongValue(f"field `{field.name}`: {found(value)} is no {getattr(dtype, '__name__', dtype)}: {short(error)}") from error
    if not is_exact:
        raise WrongValue(f"field `{field.name}`: {found(value)} does not fit {stored.dtype}")
    return stored


class DatasetWriter:
    """Writes the rows of a data set; `materialize_dataset` makes it."""

    def __init__(self, url: str, schema: Unischema, options: Mapping[str, Any]) -> None:
        """Not for users."""
        self.url = url
        self._schema = schema
        self._cells = [_Cell(field) for field in schema.fields.values()]
        self._options = dict(options)
        self._writer: Writer | None = None
        self._rows: Rows | None = None
        self._is_written = False

    def write(self, rows: Any) -> None:
        """Writes rows: a dict, an iterable of dicts, or a Spark DataFrame of rows that `dict_to_spark_row` made.

        A DataFrame is written by Spark's executors and published at once, so there can be only one.

        Raises:
            ValueError, TypeError (both an `Invalid`): a value does not fit its field.
            Exists: there is a table at the URL.
        """
        # A `Column` of Spark answers every attribute name, so `hasattr` says nothing.
        if isinstance(getattr(rows, "isStreaming", None), bool):
            self._write_frame(rows)
            return
        if isinstance(rows, Mapping):
            rows = [rows]
        is_one = isinstance(rows, (str, bytes, io.IOBase)) or isinstance(shape := getattr(rows, "shape", None), tuple) and not shape
        try:
            rest = None if is_one else iter(rows)
        except TypeError:
            rest = None
        if rest is None:
            raise WrongType(f"rows: expected dicts, or a Spark DataFrame, found {found(rows)}")
        if self._is_written and self._rows is None:
            raise WrongValue("the DataFrame was published already: write all rows as one DataFrame, or all rows as dicts")
        while part := list(itertools.islice(rest, _ROWS)):
            batch = [self._row(number, row) for number, row in enumerate(part)]
            names = list(self._types())
            writer, rows_of_session = self._open()
            for columns in parts_of({name: [row[name] for row in batch] for name in names}, writer.schema):
                rows_of_session.write(columns)

    def _row(self, number: int, row: Any) -> dict[str, Any]:
        if not isinstance(row, Mapping):
            raise WrongType(f"rows: expected dicts, found {found(row)}")
        whole = dict(row)
        insert_explicit_nulls(self._schema, whole)
        if unknown := [name for name in whole if name not in self._schema.fields]:
            raise WrongValue(f"the row has a field `{unknown[0]}`, which schema {self._schema._name} does not; there are: {', '.join(self._schema.fields)}")
        return {name: value for cell in self._cells for name, value in cell.cells(whole[cell.field.name]).items()}

    def _types(self) -> dict[str, str]:
        return {name: kind for cell in self._cells for name, kind in cell.types.items()}

    def _layout(self, columns: Iterable[str]) -> dict[str, Any]:
        """Returns the arguments of a writer: small scalars into the index, each other field into a group."""
        there = set(columns)
        index = [cell.field.name for cell in self._cells if cell.is_indexed]
        options = {"index": index, **self._options}
        options["index"] = texts("index", options["index"])
        if not options["index"]:
            raise WrongValue(f"schema {self._schema._name} has no scalar that the index could hold: name a field as index=..")
        chosen = set(options["index"])
        groups = {cell.field.name: [name for name in cell.types if name in there] for cell in self._cells if cell.field.name not in chosen}
        return {"groups": groups, **options}

    def _open(self) -> tuple[Writer, Rows]:
        if self._writer is None or self._rows is None:
            types = self._types()
            self._writer = Writer(self.url, schema=types, properties=self._property(), **self._layout(types))
            self._rows = Rows(self._writer._native)
            self._is_written = True
        return self._writer, self._rows

    def _property(self) -> dict[str, Any]:
        return {SCHEMA: {"name": self._schema._name, "fields": list(self._schema.fields)}}

    def _write_frame(self, frame: Any) -> None:
        if self._is_written:
            raise WrongValue("rows were written before: write all rows as one DataFrame, or all rows as dicts")
        from ...spark import write

        if missing := [name for name in self._schema.fields if name not in frame.columns]:
            raise WrongValue(f"the DataFrame has no column `{missing[0]}`, which schema {self._schema._name} has; there are: {', '.join(frame.columns)}")
        self._is_written = True
        decimals = {name for name, field in self._schema.fields.items() if field.numpy_dtype is Decimal}
        if decimals:
            # A table stores decimals as text with all digits. Spark finds no columns whose names differ in case alone, but by number.
            names = frame.columns
            plain = frame.toDF(*(f"c{number}" for number in range(len(names))))
            columns = zip(names, (plain[f"c{number}"] for number in range(len(names))), strict=True)
            frame = plain.select(*((column.cast("string") if name in decimals else column).alias(name) for name, column in columns))
        write(frame, self.url, **self._layout(self._schema.fields))

    def _finish(self) -> Table:
        """Publishes the rows, and records the schema."""
        if self._writer is not None and self._rows is not None:
            table = self._writer.commit(self._rows.finish())
        else:
            try:
                table = Table(self.url)
            except NotFound as error:
                raise PetastormMetadataError(
                    f"{self.url}: no table was written: write rows or a DataFrame with the writer that `with .. as writer` gives, or with tetrys.spark.write"
                ) from error
        types = dict(table.index_columns) | {name: kind for _, columns in table.groups for name, kind in columns}
        if missing := [name for name in self._schema.fields if name not in types]:
            raise PetastormMetadataError(f"{self.url}: the table has no column `{missing[0]}`; there are: {', '.join(types)}")
        return table.edit(properties=self._property(), column_properties={name: properties_of(field) for name, field in self._schema.fields.items()})


def properties_of(field: UnischemaField) -> dict[str, Any]:
    """Returns the column properties of a field."""
    attributes = {
        "petastorm.dtype": dtype_name(field.numpy_dtype),
        "petastorm.shape": list(field.shape),
        "petastorm.nullable": bool(field.nullable),
        "petastorm.codec": codec_property(field.codec),
    }
    kind: Any = getattr(field.codec, "_spark_type", None)
    if field.numpy_dtype is Decimal and hasattr(kind, "precision"):
        attributes |= {"precision": kind.precision, "scale": kind.scale, "arrow": "decimal128"}
    return attributes


@contextmanager
def materialize_dataset(
    spark: Any,
    dataset_url: Any,
    schema: Unischema,
    row_group_size_mb: int | None = None,
    use_summary_metadata: bool = False,
    filesystem_factory: Any = None,
    **options: Any,
) -> Iterator[DatasetWriter]:
    """Writes a table with the rows of a schema: publishes it at the end of the `with` block, unless the block raises.

    Without Spark, `writer.write` takes rows as dicts, and no JVM is needed. With Spark, it takes a DataFrame of rows that
    `dict_to_spark_row` made; or the block writes the table with `tetrys.spark.write`.

    Args:
        spark: A Spark session, or None.
        dataset_url: URL or path of the new table.
        schema: The schema.
        row_group_size_mb, use_summary_metadata, filesystem_factory: Unused: a table has no row groups.
        options: Arguments of `tetrys.write_table`, such as `index`, `sequence_by`, `order_by` and `preset`. Default of `index`: the
            scalars. Each other field is a column group.

    Example:
        >>> from tetrys.petastorm import make_reader
        >>> from tetrys.petastorm.codecs import NdarrayCodec, ScalarCodec
        >>> from tetrys.petastorm.etl.dataset_metadata import materialize_dataset
        >>> from tetrys.petastorm.unischema import Unischema, UnischemaField
        >>> fields = [UnischemaField("id", np.int32, (), ScalarCodec()), UnischemaField("points", np.float32, (None, 3), NdarrayCodec())]
        >>> with materialize_dataset(None, "scans", Unischema("Scan", fields)) as writer:
        ...     writer.write({"id": np.int32(row), "points": np.zeros((row, 3), np.float32)} for row in range(4))
        >>> with make_reader("scans", shuffle_row_groups=False) as reader:
        ...     [row.points.shape for row in reader]
        [(0, 3), (1, 3), (2, 3), (3, 3)]

    Raises:
        Exists: there is a table at the URL.
        ValueError, TypeError (both an `Invalid`): a value does not fit its field, or no column stores a field.
        PetastormMetadataError: the block wrote no table, or one without the fields.
    """
    del spark, row_group_size_mb, use_summary_metadata, filesystem_factory
    if not isinstance(schema, Unischema):
        raise WrongType(f"schema: expected a Unischema, found {found(schema)}")
    writer = DatasetWriter(table_url(dataset_url), schema, options)
    yield writer
    writer._finish()
