"""Splits of a read: rows that tasks read independently. `tetrys.cluster` has its public names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from . import _tetrys
from ._arguments import Url, is_whole, members, size, text, texts, url_of, urls_of, whole
from ._batches import _of_arrow
from ._errors import WrongType, WrongValue, imported
from ._errors import found as described_value
from ._index import Index
from ._index import read_index as index_of_table
from ._places import Place, StorageOptions, place_of
from ._rows import Columns, Window, _window
from ._table import Table, opened
from ._tetrys import Invalid
from ._turns import Shared

BATCH_BYTES = 64 << 20

Ranges = list[tuple[int, int]]


@dataclass(frozen=True)
class ReadSplit:
    """Rows for one task to read by `read`. Small, and can be pickled. `plan_read` makes it.

    Attributes:
        url: URL of the table.
        version: Version of the table.
        ranges: Ranges of rows of that version, [(start, end), ...], in ascending order.
        bytes: Stored bytes to read, approximately.
        columns: Column patterns, or None for all columns.
        offsets: Window offsets, as for `tetrys.RowLoader.get_rows`, or None.
    """

    url: str
    version: int
    ranges: list[tuple[int, int]]
    bytes: int
    columns: list[str] | None
    offsets: Any = field(repr=False)
    _place: Place = field(repr=False)
    _memory_bytes: int = field(default=0, repr=False)
    """Bytes of the rows in memory, approximately."""

    def __post_init__(self) -> None:
        text("url", self.url)
        whole("version", self.version)
        if not isinstance(self.ranges, list):
            raise WrongType(f"ranges: expected a list of (start, end), found {described_value(self.ranges)}")
        if self.columns is not None:
            texts("columns", self.columns)
        _offsets(self.offsets)

    def _checked_ranges(self) -> Ranges:
        """Checks the ranges of a split that `plan_read` may not have made, and returns them as tuples: JSON has lists."""
        for one in self.ranges:
            if not isinstance(one, (tuple, list)) or len(one) != 2 or not all(map(is_whole, one)) or not 0 <= one[0] <= one[1] < 2**63:
                raise WrongValue(f"ranges: expected (start, end) with 0 <= start <= end, found {described_value(one)}")
        return [(int(start), int(end)) for start, end in self.ranges]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(end - start for start, end in self._checked_ranges())

    def schema(self) -> Any:
        """Returns the pyarrow schema of the batches that `read` yields. Reads the manifest of the table, and no rows.

        Raises:
            NotFound: the version no longer exists, or a pattern matches no column.
        """
        loader = self._loader()
        parts = self._parts()
        if not parts:
            return _batch([(loader.take([], None), None)]).schema
        empty = loader.get_parts([], None, parts)
        return _batch((rows, _length(window)) for (rows, _, _), (_, window) in zip(empty, parts, strict=True)).schema

    def _table(self) -> Table:
        return opened((f"{self.url}@{self.version}", *self._place[1:]))

    def _loader(self) -> _tetrys.RowLoader:
        return _tetrys.RowLoader.of_split(self._table()._native, None if self.columns is None else texts("columns", self.columns))

    def _parts(self) -> list[tuple[str, Window]]:
        """Returns the windows and the patterns of the columns that are read in each."""
        if self.offsets is None:
            return []
        return list(self.offsets.items()) if isinstance(self.offsets, Mapping) else [("*", self.offsets)]


def plan_read(
    source: Url | Table | Index,
    *,
    columns: Columns = None,
    offsets: Window | Mapping[str, Window] | None = None,
    where: Any = None,
    splits: int | None = None,
    split_bytes: int | str | None = None,
    view: Url | None = None,
    allow: Url | Iterable[Url] = (),
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> list[ReadSplit]:
    """Cuts the rows of a table or an index into splits of about equal bytes, for tasks to read. Reads the layouts of the table, and no
    payload.

    A split begins where a chunk of the largest column group begins, so that no two tasks read that chunk; chunks of other groups
    may be shared. If there are fewer chunks than splits, splits begin at blocks. A split of consecutive rows pickles to less than
    1 KiB if its URL and patterns are short.

    Args:
        source: URL, path, `Table` or `Index`.
        columns: Column patterns, as for `tetrys.row_loader`; default: all columns, with those of the index.
        offsets: Offsets of the windows around each row, as for `tetrys.RowLoader.get_rows`; default: the rows alone.
        where: Predicate over the index: a polars expression, or a boolean mask. Rows are chosen before payload is read.
        splits: Largest number of splits.
        split_bytes: Stored bytes of a split, such as `"128MiB"` (the default; `"32MiB"` of index columns alone), if `splits` is None.
        view: URL at which to save a filtered or reordered index as a view. Its splits then are row ranges of the view, and stay small.
            Without it, the splits have the chosen rows of the table as ranges; an index with rows of several tables, or with
            rows in another order, needs a view.
        allow: URLs of other stores that references may be followed to; see `tetrys.open_table`.
        storage_options: Options of the store, as for `tetrys.open_table`; default: those that `source` was opened with, or of the
            environment. They travel in the splits. A view is saved with the same options.
        store_options: Another name of `storage_options`.

    Example:
        >>> splits = cluster.plan_read("drives", columns=["timestamp", "labels.*"], where=pl.col("pedestrians") > 3)
        >>> [split.rows for split in splits], splits[0].schema().names
        ([4], ['timestamp', 'labels.text'])
        >>> [batch.to_pydict() for batch in cluster.read(splits[0])][0]["labels.text"][:2]
        ['row 4', 'row 9']

    Raises:
        NotFound: the table does not exist, or a pattern or the predicate names no column.
        Invalid: `splits` or `split_bytes` is 0, or the index needs a view.
        Exists: there is a table at `view`.
    """
    count = None if splits is None else whole("splits", splits, 1)
    bytes_each = None if split_bytes is None else size("split_bytes", split_bytes)
    if bytes_each == 0:
        raise Invalid("split_bytes: 0: expected 1 or more")
    patterns = None if columns is None else texts("columns", columns)
    offsets = _offsets(offsets)
    allowed = urls_of("allow", allow)
    index: Index | None
    if isinstance(source, Index):
        index, table = source, None
        place = place_of(source.tables[0].url if source.tables else "", storage_options, allowed, store_options)
    else:
        if isinstance(source, Table):
            table = source.allow(*allowed) if allowed else source
        else:
            table = opened(place_of(url_of(source), storage_options, allowed, store_options))
        place = place_of(table.url, storage_options, table._native.allowed, store_options)
        place = (place[0], table._storage if place[1] is None else place[1], place[2])
        index = None if where is None else index_of_table(table)
    rows: Ranges | None = None
    if index is not None:
        index = index if where is None else index.filter(where)
        if view is not None:
            table = index.save(view, allow=allowed, storage_options=place[1])
        else:
            native, rows = _tetrys.cluster_rows(index._native, None if table is None else table._native)
            table = Table._of(native) if table is None else table
        place = (table.url, place[1], sorted({*allowed, *table._native.allowed}))
    assert table is not None
    made = ReadSplit(table.url, table.version, [], 0, patterns, offsets, (table.url, *place[1:]))
    cuts = _tetrys.cluster_splits(_tetrys.RowLoader.of_split(table._native, patterns), rows, count, bytes_each)
    # An empty split tells a reader the schema.
    return [replace(made, ranges=ranges, bytes=stored, _memory_bytes=memory) for ranges, stored, memory in cuts] or [made]


def read(split: ReadSplit, batch_bytes: int | str = BATCH_BYTES) -> Iterator[Any]:
    """Reads the rows of a split as pyarrow record batches, in order. Prefetches the next batch.

    Columns have the Arrow types of the table: tensors are lists with their shape in the metadata of the field (see `split.schema()`).
    With `offsets`, a column is a list of one value for each offset, and `NAME.mask` says which rows exist.

    Args:
        batch_bytes: Largest size of a batch, in bytes of Arrow data, such as `"64MiB"`. A row that alone has more is a batch of its
            own. About three times as much is in memory.

    Example:
        >>> [split] = cluster.plan_read("drives", columns=["camera.intrinsics"])
        >>> all(batch.nbytes <= 1000 for batch in cluster.read(split, batch_bytes=1000))
        True

    Raises:
        Conflict: a garbage collection deleted the version.
        Corrupt: stored bytes fail a check.
        Unsupported: pyarrow is not installed.
    """
    if not isinstance(split, ReadSplit):
        raise WrongType(f"split: expected a split of `plan_read`, found {described_value(split)}")
    ranges = split._checked_ranges()
    most = whole("batch_bytes", size("batch_bytes", batch_bytes), 1)
    return Shared(_read(split, ranges, most), "an iterator over the batches of a split", "pickle the split, and call `read` in the other process")


def _read(split: ReadSplit, ranges: Ranges, most: int) -> Iterator[Any]:
    for parts in _tetrys.SplitBatches(split._loader(), ranges, most, split._parts()):
        yield _batch(parts)


def read_index(split: ReadSplit) -> Any:
    """Reads the index columns of a split's rows as a pyarrow table: those that `split.columns` matches, or all. Reads no payload, and
    of the index only the segments with these rows.

    Example:
        >>> [split] = cluster.plan_read("drives", where=pl.col("pedestrians") > 3)
        >>> cluster.read_index(split)["timestamp"].to_pylist()
        [400, 900, 1400, 1900]

    Raises:
        Conflict: a garbage collection deleted the version.
        Corrupt: stored bytes fail a check.
        Unsupported: pyarrow is not installed.
    """
    if not isinstance(split, ReadSplit):
        raise WrongType(f"split: expected a split of `plan_read`, found {described_value(split)}")
    ranges = split._checked_ranges()
    arrow = imported("pyarrow", "pyarrow is not installed: pip install pyarrow")
    return arrow.table(_tetrys.IndexRows(split._loader(), ranges))


def _offsets(offsets: Any) -> Any:
    """Checks windows, and makes them small to pickle."""
    if offsets is None:
        return None
    if isinstance(offsets, Mapping):
        return {pattern: _offsets(window) for pattern, window in members("offsets", offsets).items()}
    window = _window(offsets)
    _length(window)
    return offsets if isinstance(offsets, range) else window


def _length(window: Window) -> int:
    """Returns the number of rows of a window."""
    return _tetrys.window_length(window)


def _batch(parts: Iterable[tuple[_tetrys.Rows, int | None]]) -> Any:
    """Returns what was read as a record batch: the rows of each part, with the length of its windows."""
    arrow = imported("pyarrow", "pyarrow is not installed: pip install pyarrow")
    columns: dict[str, Any] = {}
    for rows, time in parts:
        if time is None:
            (batch,) = arrow.table(rows).to_batches() or [None]
            if batch is not None:
                return batch
            schema = arrow.table(rows).schema
            return arrow.RecordBatch.from_arrays([arrow.array([], one.type) for one in schema], schema=schema)
        columns.update(_of_arrow(rows, time))
        for name in rows.keys():
            there = arrow.array(rows.column_mask(name))
            columns[f"{name}.mask"] = arrow.FixedSizeListArray.from_arrays(there, time)
    return arrow.RecordBatch.from_pydict(columns)
