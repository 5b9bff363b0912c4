"""The native half: see the documentation of each name in `tetrys`."""

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, final

import numpy as np
import numpy.typing as npt

__version__: str

class Error(Exception):
    """What went wrong; its subclasses say what can be done about it."""
class NotFound(Error):
    """The object, table, version, column or row asked for is not there."""
class Exists(Error):
    """The thing to be made is already there; choose another name."""
class Conflict(Error):
    """Somebody else committed first; reload and retry."""
class Unavailable(Error):
    """The store does not answer, is full or out of reach; retry later."""
class Denied(Error):
    """The store refuses; change the rights and retry."""
class Corrupt(Error):
    """Stored bytes are not what was written; restore them from elsewhere."""
class Unsupported(Error):
    """The bytes are well-formed, and this build cannot read or write them."""
class Invalid(Error):
    """The request or the input breaks a rule; change it."""
class OutcomeUnknown(Error):
    """A commit may or may not have happened; read the table again before retrying."""
class Internal(Error):
    """A defect of this library."""

@final
class Table:
    """One version of a table; immutable."""
    def __new__(cls, url: str, *, allow: list[str] = ...) -> Table: ...
    @property
    def url(self) -> str:
        """Where the table lies."""
    @property
    def version(self) -> int:
        """The number of this version."""
    @property
    def uuid(self) -> str:
        """The table, the same in all versions."""
    @property
    def tags(self) -> dict[str, int]:
        """The tags, as this version says: {name: version}."""
    @property
    def lineage(self) -> dict[str, Any]:
        """What made this version: writer, operation, and what the operation says."""
    @property
    def preset(self) -> str:
        """The preset that it was written with: `fast`, `balanced` or `compact`."""
    @property
    def is_view(self) -> bool:
        """Whether the table is a view: a saved merge, filter or split, with rows of other tables."""
    @property
    def index_columns(self) -> list[tuple[str, str]]:
        """The index columns and their types."""
    @property
    def groups(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """The column groups, each with its columns and their types."""
    @property
    def properties(self) -> dict[str, Any]:
        """What the table says of itself."""
    @property
    def group_sizes(self) -> dict[str, tuple[int, int]]:
        """Stored bytes, and bytes of the values, of each column group: {group: (stored, decoded)}."""
    def column_properties(self, column: str) -> dict[str, Any]:
        """What is said of a column: its unit, and what else was set.

            >>> tt.Table("drives").column_properties("timestamp")
            {'unit': 'ms'}

        Raises `NotFound` for a column that is not there.
        """
    def attachment(self, name: str) -> bytes:
        """The content of an attachment."""
    def info(self) -> dict[str, Any]:
        """What the table is, in numbers: what `tetrys info --json` prints, as a dict. Loads the layouts.

        >>> info = tt.Table("drives").info()
        >>> info["rows"], info["sequences"], info["preset"]
        (20, 2, 'balanced')
        """
    def du(self) -> dict[str, Any]:
        """What each version takes, and shares with others: what `tetrys du --json` prints, as a dict. Bytes; versions newest first.

        >>> usage = tt.Table("drives").du()
        >>> [(one["version"], one["rows"], one["referenced_bytes"]) for one in usage["versions"]]
        [(1, 20, 0)]
        """
    def versions(self) -> list[dict[str, Any]]:
        """The versions that are there, newest first, each a dict: `version`, `parent`, `written_ms` (milliseconds since 1970 in UTC, by
        the store's clock), `operation`, `tags`, `rows`, `sequences`, `bytes_added`, `preset`, `writer`, `manifest_blake3`.

            >>> table = tt.Table("drives").tag("gold")
            >>> [(one["version"], one["operation"], one["tags"]) for one in table.versions()]
            [(2, 'edit', []), (1, 'create', ['gold'])]
        """
    def verify(
        self, *, all_versions: bool = False, sources: bool = False, progress: Callable[[int, int], object] | None = None
    ) -> dict[str, Any]:
        """Reads every byte of this version and checks it: a dict with `objects`, `chunks`, `blocks`, `bytes`, and `damage`, a list of
        dicts with `object` and `problem`, empty for a sound table. With `all_versions` every version is checked, with `sources` the
        tables behind a view too; `not_checked` lists what was left. `progress` is told bytes done and bytes in all.

            >>> tt.Table("drives").verify()["damage"]
            []

        Raises `Unavailable`, `Denied` where the store does not answer: damage is listed, not raised.
        """
    def diff(self, before: Table, on: list[str] = ..., *, exact: bool = False) -> Diff:
        """What differs between this table and one that was before it, told by index columns and hashes; no payload is read. Rows are
        matched by the index columns `on`, else by those of sequence and order, else by their numbers. Rows that share a block with
        others are known to differ together only (`Diff.is_exact`); with `exact` they are read and compared.

            >>> old = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> print(old.append({"time": [2], "lidar.count": [8]}).diff(old, on=["time"]))
            2 rows -> 3: 1 added, 0 removed, 0 changed, 2 unchanged

        Raises `NotFound` for a key that is no index column of both, `Invalid` for one of different types.
        """
    def sources(self) -> list[Table]:
        """Of a view, the table versions whose rows it has, in the order in which they were put together; else none.

        Raises `NotFound` where one is not there any more, or there in another state; `Denied` where it may not be followed.
        """
    def rebind(self, *urls: str) -> Table:
        """Of a view, or of a table with references: a version that looks for other tables at these URLs first. A table that moved is
        known by its UUID and the hash of the version; another one is refused.

        Raises `NotFound` where none of the URLs has a table that is needed.
        """
    def allow(self, *urls: str) -> Table:
        """The same version, which may also follow references to absolute URLs at or below these."""
    def must_allow(self) -> list[str]:
        """The URLs in other stores that a reader of this table has to allow: those by which it refers to tables that are no
        neighbours of it. Of a view the tables behind it are opened, as far as they can be.

            >>> tt.Table("drives").must_allow()
            []
        """
    def append(
        self,
        data: Any,
        *,
        reference: str | Table | Iterable[str | Table] = (),
        reuse: str = "any",
        locality: int | Sequence[int] | str | None = None,
        preset: str | None = None,
        write_memory: int | None = None,
        properties: Mapping[str, Any] | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> Table:
        """A version with more rows, cut as this table's are; blocks that an earlier version or one of the tables `reference` has are
        not stored again. `data` is what `tt.write_table` takes; options are `reference`, `reuse`, `locality`, `preset`,
        `write_memory`, `properties` and `progress`, as there.

            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.append({"time": [2], "lidar.count": [8]})
            >>> table.version, tt.row_loader(table).take([1, 2])["lidar.count"].tolist()
            (2, [9, 8])

        Raises `Invalid` for other columns or a sequence that comes back, `Conflict` where another writer changed the same.
        """
    def overwrite(
        self,
        data: Any,
        *,
        index: Sequence[str],
        schema: Mapping[str, str] | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        sequence_by: Sequence[str] = (),
        order_by: Sequence[str] = (),
        units: Mapping[str, str] | None = None,
        presets: Mapping[str, str] | None = None,
        required: Sequence[str] = (),
        reference: str | Table | Iterable[str | Table] = (),
        reuse: str = "any",
        locality: int | Sequence[int] | str | None = None,
        preset: str | None = None,
        write_memory: int | None = None,
        properties: Mapping[str, Any] | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> Table:
        """A version with other rows; what was before stays in the versions before, and blocks that are the same are not stored again.
        `data` and options are those of `tt.write_table`.

            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.overwrite({"time": [0, 1, 2], "lidar.count": [7, 9, 9]}, index=["time"])
            >>> table.version, len(table), len(tt.open_table("sweeps@1"))
            (2, 3, 2)

        Raises `Conflict` where another writer committed rows in the meantime.
        """
    def replace_group(
        self,
        name: str,
        data: Any,
        *,
        on: str | Sequence[str] | None = None,
        reuse: str = "any",
        locality: int | Sequence[int] | str | None = None,
        preset: str | None = None,
        write_memory: int | None = None,
    ) -> Table:
        """A version with other values in the columns of one group; nothing else is written. `data` has one row for each row of the
        table, in its order, or batches of them; or with `on`, index columns that tell which row is which, and rows that are not
        there become null.

            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.replace_group("lidar", {"time": [1, 0], "lidar.count": [5, 6]}, on=["time"])
            >>> tt.row_loader(table).take([0, 1])["lidar.count"].tolist()
            [6, 5]

        Raises `NotFound` for no such group, `Invalid` for missing rows or columns and keys that are not there or there twice,
        `Conflict` where another writer changed the group or the rows.
        """
    def add_group(
        self,
        name: str,
        data: Any,
        *,
        on: str | Sequence[str] | None = None,
        schema: Mapping[str, str] | None = None,
        reuse: str = "any",
        locality: int | Sequence[int] | str | None = None,
        preset: str | None = None,
        write_memory: int | None = None,
    ) -> Table:
        """A version with one more column group; rows are given as to `replace_group`, types by `schema` where they should not be
        guessed.

            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.add_group("labels", {"labels.text": ["car", None]})
            >>> tt.row_loader(table)[0]
            {'lidar.count': np.int64(7), 'labels.text': 'car'}

        Raises `Invalid` for names that are there already; as `replace_group`.
        """
    def patch(
        self,
        data: Any,
        on: str | Sequence[str],
        *,
        reuse: str = "any",
        locality: int | Sequence[int] | str | None = None,
        preset: str | None = None,
        write_memory: int | None = None,
    ) -> Table:
        """A version with other values in some rows, in columns of one group: `data` has these columns and the index columns `on` that
        find the rows. Blocks without such rows stay.

            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.patch({"time": [1], "lidar.count": [10]}, on=["time"])
            >>> tt.row_loader(table).take([0, 1])["lidar.count"].tolist()
            [7, 10]

        Raises `Invalid` for keys that are not there or there twice, and columns of several groups; `Conflict` where another writer
        changed the group.
        """
    def delete(self, rows: Any) -> Table:
        """A version without some rows: row numbers, those of an index of this table, or those for which a polars expression is true.
        Wide rows vanish without a byte of payload written.

            >>> table = tt.Table("drives").delete(pl.col("pedestrians") == 0)
            >>> table.version, len(table)
            (2, 16)

        Raises `Invalid` for a row outside the table, `Conflict` where another writer changed these rows.
        """
    def _delete(self, rows: list[int]) -> Table: ...
    def edit(
        self,
        *,
        rename: Mapping[str, str] | None = None,
        drop: Sequence[str] = ...,
        properties: Mapping[str, Any] | None = None,
        column_properties: Mapping[str, Mapping[str, Any]] | None = None,
        tags: Mapping[str, int | None] | None = None,
        untag: Sequence[str] = ...,
    ) -> Table:
        """A version of which other things are said, all changes at once: columns under other names (`rename={"old": "new"}`), without
        columns (`drop`), with properties of the table (`properties`, None takes one back) or of columns (`column_properties`,
        {column: {key: value}}), with names of versions (`tags`, {name: version or None for this one}), without some (`untag`). No
        payload is written.

            >>> table = tt.Table("drives").edit(rename={"labels.text": "labels.note"}, properties={"license": "CC0"}, tags={"gold": 1})
            >>> table.version, table.properties, tt.open_table("drives@gold").version
            (2, {'license': 'CC0'}, 1)

        Raises `NotFound` for what is not there, `Invalid` for names that are taken and columns that others need, `Conflict` where
        another writer changed the same.
        """
    def drop_columns(self, *columns: str) -> Table:
        """A version without these columns; a column group goes with its last one. As `edit(drop=columns)`.

        >>> [name for name, _ in tt.Table("drives").drop_columns("labels.text").groups]
        ['lidar', 'camera']
        """
    def rename_column(self, column: str, name: str) -> Table:
        """A version in which a column has another name. As `edit(rename={column: name})`.

        >>> table = tt.Table("drives").rename_column("labels.text", "labels.note")
        >>> tt.row_loader(table).get_row(0, ["labels.*"])
        {'labels.note': 'row 0'}
        """
    def set_properties(self, **properties: Any) -> Table:
        """A version that says these things of the table; None takes one back. As `edit(properties={...})`.

        >>> tt.Table("drives").set_properties(license="CC0", rig=3).properties
        {'license': 'CC0', 'rig': 3}
        """
    def tag(self, name: str, version: int | None = None) -> Table:
        """A version in which this version, or another one, has a name: `url@NAME` opens it. A name that is there moves.

        >>> tt.Table("drives").tag("gold").tags
        {'gold': 1}
        """
    def untag(self, *names: str) -> Table:
        """A version in which these names of versions are taken back."""
    def compact(self, *, segment_rows: int = ...) -> Table:
        """A version whose index segments have up to `segment_rows` rows: neighbours are put together, payload stays where it is. The
        same version where nothing can be put together.
        """
    def materialize(self, *, progress: Callable[[int, int], object] | None = None) -> Table:
        """A version that needs no other table: the chunks that it uses of others are copied, compared with their names, and the ties
        are cut. `progress` is told chunks done and chunks in all.

        Raises `Corrupt` where a chunk is missing or damaged, naming it and its owner.
        """
    def gc(self, *, keep: int = 0, age: timedelta | None = None, apply: bool = False) -> dict[str, Any]:
        """Collects garbage: what no kept version names is condemned by a version, and what was condemned `age` ago (a timedelta; a
        week) is deleted. Kept are the `keep` newest versions (0: all), those with a tag and those that other tables use. Without
        `apply` nothing is done, and the plan says what would be: a dict with `expired`, `pinned`, `condemn`, `delete`, `sweep`
        ({name: bytes}), `waiting` and `done`.

            >>> plan = tt.Table("drives").gc(keep=3)
            >>> plan["done"], plan["condemn"], plan["delete"]
            (False, {}, {})

        Raises `Conflict` where another writer committed in the meantime, `Corrupt` where what a kept version names cannot be read.
        """
    def _repr_html_(self) -> str: ...
    def _index(self, columns: list[str] | None = None) -> Index: ...
    def __len__(self) -> int: ...

@final
class Diff:
    """What differs between two tables, by `Table.diff`.

    >>> old = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
    >>> found = old.append({"time": [2], "lidar.count": [8]}).diff(old, on=["time"])
    >>> found.added.tolist(), found.unchanged, found.groups["lidar"][0]
    ([2], 2, 0)
    """
    @property
    def keys(self) -> list[str]:
        """The columns by which rows are told apart; none where they are by their numbers."""
    @property
    def rows(self) -> tuple[int, int]:
        """Rows of the table before, and of the one now."""
    @property
    def added(self) -> npt.NDArray[np.uint64]:
        """Rows of the table now whose key the one before does not have, u64 [n]."""
    @property
    def removed(self) -> npt.NDArray[np.uint64]:
        """Rows of the table before whose key the one now does not have, u64 [n]."""
    @property
    def changed(self) -> npt.NDArray[np.uint64]:
        """Rows of the table now that differ in the index or in some group, u64 [n]."""
    @property
    def unchanged(self) -> int:
        """How many rows are the same in both."""
    @property
    def index(self) -> dict[str, int]:
        """In how many of the rows with equal keys each index column differs: {column: rows}."""
    @property
    def groups(self) -> dict[str, tuple[int | None, bool]]:
        """In how many of the rows with equal keys each column group differs, and whether that is exact or an upper bound (rows that
        share a block are known to differ together only): {group: (rows, exact)}; rows are None where the group has other columns.
        """
    @property
    def columns_added(self) -> dict[str, str]:
        """Columns of the table now alone, and their types."""
    @property
    def columns_removed(self) -> dict[str, str]:
        """Columns of the table before alone, and their types."""
    @property
    def bytes_read(self) -> int:
        """Bytes of index, layout and hashes that were looked at."""
    @property
    def not_compared(self) -> list[str]:
        """Columns of both that were not compared, their column groups being others."""
    @property
    def is_exact(self) -> bool:
        """Whether the changed rows are known to differ, and the others to be the same: `Table.diff(.., exact=True)` is."""
    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
    def summary(self) -> str:
        """A line on rows, and one for each column and group that differs."""
    def to_dict(self) -> dict[str, Any]:
        """All of it as a dict of numbers, text and lists, that JSON can hold.

        >>> table = tt.Table("drives")
        >>> found = table.delete([3, 4]).diff(table).to_dict()
        >>> found["rows"], found["removed"]
        ([20, 18], [3, 4])
        """

@final
class Index:
    def tables(self) -> list[Table]: ...
    def column_names(self) -> list[str]: ...
    def locators(self) -> list[str]: ...
    def with_frame(self, frame: Any) -> Index: ...
    def query(self, query: str) -> object: ...
    def sql(self, query: str) -> Index: ...
    def sort(self, by: list[str], descending: bool) -> Index: ...
    def sample(self, rows: int, seed: int) -> Index: ...
    def mask(self, mask: npt.NDArray[np.bool_]) -> Index: ...
    def merge(
        self,
        right: Index,
        on: list[tuple[str, str]],
        times: tuple[str, str] | None,
        direction: str,
        tolerance: str | None,
        keep_left: bool,
        first: bool,
        last: bool,
        group_to_list: bool,
        suffix: str,
    ) -> Index: ...
    def with_sources(self) -> Index: ...
    def split(self, keys: list[str], shares: list[tuple[str, float]], salt: str) -> list[tuple[str, Index]]: ...
    def rows_of(self, table: Table) -> list[int]: ...
    def save(self, url: str, properties: dict[str, Any] | None, update: bool) -> tuple[Table, list[tuple[str, str]]]: ...
    def view_size(self) -> dict[str, Any]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...

@final
class RowLoader:
    def __new__(cls, index: Index, edge: str, keep: int) -> RowLoader: ...
    def column_names(self) -> list[str]: ...
    def matching(self, patterns: list[str]) -> list[str]: ...
    def get_row(self, position: int, columns: list[str] | None) -> dict[str, Any]: ...
    def get_rows(self, position: int, columns: list[str] | None, window: Any) -> Rows: ...
    def get_windows(self, positions: list[int], columns: list[str] | None, window: Any) -> list[Rows]: ...
    def take(self, positions: list[int], columns: list[str] | None) -> Rows: ...
    def scan(self, batch_rows: int, columns: list[str] | None) -> Scan: ...
    def explain(self, positions: list[int], columns: list[str] | None, window: Any | None) -> dict[str, Any]: ...
    def __len__(self) -> int: ...

@final
class Scan:
    def __iter__(self) -> Iterator[Rows]: ...
    def __next__(self) -> Rows: ...

@final
class Times:
    def __new__(cls, column: str, deltas: list[str], pick: str = "nearest", tolerance: str | None = None) -> Times: ...

@final
class Rows:
    """Some rows: a mapping of column names to arrays with one entry a row, and a mask of the rows that exist.

    Columns of fixed shape are numpy arrays `[rows, *shape]`, views of the memory that was read; bytes, lists of numbers and
    tensors of variable shape are `Ragged`; text and other lists are object arrays. Null slots of numbers are 0: `valid(name)`
    says which are null.
    """
    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Which of the rows exist, bool [rows]."""
    @property
    def table_rows(self) -> npt.NDArray[np.int64]:
        """The row of the table at each place (of merged tables that of the first), -1 for none; i64 [rows]."""
    def column_mask(self, name: str) -> npt.NDArray[np.bool_]:
        """Which rows of a column have a table behind them, bool [rows]: as `mask`, less those without a partner in a merge."""
    def valid(self, name: str) -> npt.NDArray[np.bool_]:
        """Which rows of a column are not null, bool [rows]."""
    @property
    def types(self) -> dict[str, str]:
        """The type of each column, as schemas write it: {name: "f32[?,4]"}."""
    def images(self, name: str) -> list[npt.NDArray[Any] | None]:
        """The pixels of each row of a column of pictures, None where it is null: u8 [height, width, 3] and what else
        `tetrys.decode` gives.

            >>> rows = tt.row_loader(tt.read_index("drives")).take([3, 4])
            >>> [image.shape for image in rows.images("camera.jpeg")]
            [(6, 8, 3), (6, 8, 3)]
        """
    def to_torch(self) -> dict[str, Any]:
        """The columns as tensors of PyTorch: numbers, times (as i64 ticks) and tensors of fixed shape as one tensor [rows, *shape],
        tensors of variable shape, lists of numbers and bytes as a list of tensors (None for null), text as a list of str.

        The tensors share the memory that numpy's arrays do (booleans are copied, by numpy already): clone one before writing into
        it. Raises `Unsupported` where PyTorch is not installed.
        """
    def _repr_html_(self) -> str: ...
    def row(self, row: int) -> dict[str, Any]:
        """One row, as `RowLoader.get_row` gives it."""
    def keys(self) -> list[str]:
        """The names of the columns."""
    def values(self) -> list[Any]:
        """The arrays of the columns."""
    def items(self) -> list[tuple[str, Any]]:
        """Pairs of name and array."""
    def __getitem__(self, name: str) -> Any: ...
    def __contains__(self, name: str) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Ragged:
    """Rows of different length: `values` one behind the other, row i in `values[offsets[i]:offsets[i + 1]]`.

    `ragged[i]` is row i as an array of its own shape, a view, or None where it is null. Where dimensions other than the first
    differ from row to row, `values` is flat and `shapes` says the shape of each row.
    """
    @property
    def values(self) -> npt.NDArray[Any]:
        """All rows, one behind the other."""
    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each row starts in `values`, and behind them its length; i64."""
    @property
    def shapes(self) -> npt.NDArray[np.int64]:
        """The shape of each row, [rows, rank] of i64."""
    def to_list(self) -> list[npt.NDArray[Any] | None]:
        """Each row as an array, None where it is null."""
    def __len__(self) -> int: ...
    def __getitem__(self, row: int) -> npt.NDArray[Any] | None: ...
    def __iter__(self) -> Iterator[npt.NDArray[Any] | None]: ...

@final
class Column:
    @staticmethod
    def text(values: list[str | None]) -> Column: ...
    @staticmethod
    def bytes(values: list[builtins.bytes | None]) -> Column: ...
    @staticmethod
    def fixed(ty: str, rows: int, values: npt.NDArray[Any], valid: list[bool] | None) -> Column: ...
    @staticmethod
    def ragged(ty: str, shapes: list[list[int]], values: npt.NDArray[Any], valid: list[bool] | None) -> Column: ...
    @staticmethod
    def lists(lengths: list[int], items: Column, valid: list[bool] | None) -> Column: ...
    @staticmethod
    def arrow(values: Any) -> Column: ...
    @property
    def type(self) -> str: ...
    def __len__(self) -> int: ...

@final
class Receipt:
    """What a finished partition hands to the commit; small, and picklable."""
    def __new__(cls, json: str) -> Receipt: ...
    @property
    def rows(self) -> int:
        """How many rows the partition has."""
    @property
    def partition(self) -> int:
        """The number of the partition."""

Schema = tuple[Any, ...]

@final
class TableWriter:
    def __new__(
        cls,
        url: str,
        schema: Schema,
        preset: str,
        properties: str,
        write_memory: int | None,
        session: str | None,
        references: list[Table] = ...,
        reuse: str = "any",
        locality: str | None = None,
    ) -> TableWriter: ...
    @staticmethod
    def append(
        table: Table,
        preset: str,
        properties: str,
        write_memory: int | None,
        references: list[Table],
        reuse: str,
        locality: str | None,
    ) -> TableWriter: ...
    @staticmethod
    def overwrite(
        table: Table,
        schema: Schema,
        preset: str,
        properties: str,
        write_memory: int | None,
        references: list[Table],
        reuse: str,
        locality: str | None,
    ) -> TableWriter: ...
    def untold(self) -> list[tuple[str, str]]: ...
    def partition(self) -> Partition: ...
    def reserve(self) -> tuple[str, int]: ...
    def partition_at(self, number: int) -> Partition: ...
    def attach(self, name: str, content: bytes) -> None: ...
    def receipts(self) -> list[Receipt]: ...
    def abandon(self, partition: int) -> None: ...
    def commit(self, receipts: list[Receipt]) -> Table: ...

@final
class Partition:
    def write(self, columns: Sequence[tuple[str, Column]]) -> None: ...
    def finish(self) -> Receipt: ...

@final
class GroupReplacer:
    @staticmethod
    def replace(
        table: Table, name: str, preset: str, write_memory: int | None, reuse: str, locality: str | None
    ) -> GroupReplacer: ...
    @staticmethod
    def add(
        table: Table,
        name: str,
        columns: list[tuple[str, str]],
        preset: str,
        write_memory: int | None,
        reuse: str,
        locality: str | None,
    ) -> GroupReplacer: ...
    def write(self, columns: Sequence[tuple[str, Column]], on: list[str] | None) -> None: ...
    def commit(self) -> Table: ...

def run(recipe: Any, dry_run: bool, allow: list[str]) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]: ...
def patch(
    table: Table,
    on: list[str],
    columns: Sequence[tuple[str, Column]],
    preset: str,
    write_memory: int | None,
    reuse: str,
    locality: str | None,
) -> Table: ...
def concat(indexes: list[Index], fill: bool) -> Index: ...
def columns_of(frame: Any) -> list[list[tuple[str, Column]]]: ...
def ingest_l5(source: str, url: str, preset: str, workers: int, progress: Any | None) -> Table: ...
