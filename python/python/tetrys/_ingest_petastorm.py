"""Imports Petastorm data sets and folders of Parquet files, and shows what the metadata of a data set say."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import _tetrys
from ._arguments import Preset, Reuse, Url, called, choice, members, text, texts, truth, url_of, whole
from ._options import Locality, Options
from ._places import StorageOptions, place_of, places_of
from ._table import Table, opened

Mode = Literal["new", "append", "overwrite"]
"""What an import makes of the rows; see `ingest_petastorm`."""


@dataclass(frozen=True)
class Settings:
    """Settings of an import. The native module reads the fields."""

    decode: bool
    index: list[str] | None
    groups: list[tuple[str, list[str]]]
    drop: list[str]
    sequence_by: list[str]
    order_by: list[str]
    partition_rows: int
    workers: int
    mode: str
    references: list[_tetrys.Table]


def ingest_petastorm(
    source: Url,
    url: Url,
    *,
    decode: bool = False,
    index: str | Sequence[str] | None = None,
    groups: Mapping[str, str | Sequence[str]] | None = None,
    drop: str | Sequence[str] = (),
    sequence_by: str | Sequence[str] = (),
    order_by: str | Sequence[str] = (),
    mode: Mode = "new",
    preset: Preset | None = None,
    partition_rows: int = 0,
    workers: int = 0,
    reference: Url | Table | Iterable[Url | Table] = (),
    reuse: Reuse = "auto",
    locality: Locality = None,
    allow: Url | Iterable[Url] = (),
    allow_unpinned: bool = False,
    progress: Callable[[int], object] | None = None,
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> Table:
    """Imports a Petastorm data set into a table, with one row for each row and one column for each field.

    The pickles of the data set are read as data: nothing in them is imported or called. Arrays and decimals are decoded; each value
    is checked against the type and shape that its field declares. Rows keep Petastorm's order: files sorted by path, then row
    groups. `tetrys.petastorm.make_reader` returns the same rows from the table. A folder of Parquet files without a Petastorm schema
    is imported, too.

    Args:
        source: Path or URL (`file://`, `s3://`, `gs://`, `az://`, `abfss://`) of the data set: a folder of Parquet files, or one file.
        url: URL or path of the table.
        decode: Store pictures (png, jpeg) as arrays of pixels. By default their files are stored as they are.
        index: Index columns, as patterns. Default: every small scalar that no group takes.
        groups: Column groups, {group: patterns}: columns that are stored and read together. Default: one group for each other field.
        drop: Fields to leave out, as patterns.
        sequence_by: Columns that define sequences: consecutive rows with equal values. Windows stay within a sequence.
        order_by: Columns that order the rows within a sequence.
        mode: `"new"` writes a new table, `"append"` adds the rows to an existing table, `"overwrite"` replaces its rows.
        preset: Codec preset: `"fast"`, `"balanced"` or `"compact"`. Default: that of the existing table, or `"balanced"`.
        partition_rows: Minimum rows that one worker writes at a time; 0: 8,192 rows or 256 MiB of Parquet.
        workers: Number of threads; 0: `TETRYS_THREADS`, or the number of cores.
        reference: Tables (or URLs) to share blocks with; see `tetrys.write_table`, also for `reuse`, `locality`, `allow` and
            `allow_unpinned`.
        progress: Called with the number of rows written so far, from another thread.
        storage_options: Options of the store of the table, as for `tetrys.open_table`, and of `source` in the same service. If the table
            is in a folder, they are those of `source`.
        store_options: Another name of `storage_options`.

    Returns:
        The table. The index column `petastorm.row_group` has the ordinal of the Parquet row group of each row. The table property
        `petastorm.schema` has the order of the fields, and the properties of each column its declared type, shape and codec.

    A `UserWarning` names each field that is kept as bytes because its codec is unknown.

    Example:
        tt.ingest_petastorm("file:///data/hello_world", "hello")

    Raises:
        NotFound: there is no data set at `source`, or a pattern matches no column.
        Exists: there is a table at `url`.
        Invalid: a value does not fit its declared type or shape (the message names file, row group, row and column), or the
            arguments break a rule of schemas.
        Conflict: the data set changed during the import.
        Corrupt: a file of the data set is damaged.
        Unsupported: a pickle describes something else than a Petastorm schema, or an array has Python objects.
    """
    read, place = places_of(url_of(source), url_of(url), storage_options, store_options, allow)
    base = None
    if choice("mode", mode, Mode) != "new":
        base = opened(place)
    options = Options.of(
        base,
        preset=preset if preset is not None or base is not None else "balanced",
        reuse=reuse,
        locality=locality,
        allow_unpinned=allow_unpinned,
        reference=reference,
        allow=allow,
        place=place,
    )
    settings = Settings(
        decode=truth("decode", decode),
        index=None if index is None else texts("index", index),
        groups=[(text("groups", name), texts(f"groups[{name!r}]", names)) for name, names in members("groups", groups).items()],
        drop=texts("drop", drop),
        sequence_by=texts("sequence_by", sequence_by),
        order_by=texts("order_by", order_by),
        partition_rows=whole("partition_rows", partition_rows),
        workers=whole("workers", workers, 0, 4096),
        mode=mode,
        references=options.references,
    )
    made, warnings_made = _tetrys.ingest_petastorm(read, place, settings, options, called(progress))
    for sentence in warnings_made:
        warnings.warn(sentence, stacklevel=2)
    return Table._of(made, place[1])


def read_petastorm_metadata(source: Url, *, storage_options: StorageOptions = None, store_options: StorageOptions = None) -> dict[str, Any]:
    """Returns the schema, the row groups and the row-group indexes of a Petastorm data set, without loading its pickles in Python.

    Args:
        source: Path or URL of the data set.
        storage_options: Options of its store; see `tetrys.open_table`.
        store_options: Another name of `storage_options`.

    Returns:
        `{"schema": {"name": .., "fields": [{"name", "dtype", "shape", "codec", "nullable"}]}, "row_groups": [[path, number]],
        "indexes": {name: {"class", "column", "values": [[value, type, [row groups]]]}}}`. The schema of a plain Parquet store is
        None.

    Example:
        schema = tt.read_petastorm_metadata("file:///data/hello_world")["schema"]

    Raises:
        NotFound: there is no data set at `source`.
        Corrupt: a footer or a pickle is damaged.
        Unsupported: a pickle describes something else than Petastorm writes.
    """
    found: dict[str, Any] = json.loads(_tetrys.petastorm_metadata(place_of(url_of(source), storage_options, (), store_options)))
    return found
