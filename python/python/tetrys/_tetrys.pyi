"""The native half: see the documentation of each name in `tetrys`."""

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, final

import numpy as np
import numpy.typing as npt

from ._options import Options

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
    def __new__(cls, url: str, *, allow: list[str] = ...) -> Table: ...
    @property
    def url(self) -> str: ...
    @property
    def allowed(self) -> list[str]: ...
    @property
    def version(self) -> int: ...
    @property
    def uuid(self) -> str: ...
    @property
    def tags(self) -> dict[str, int]: ...
    @property
    def lineage(self) -> dict[str, Any]: ...
    @property
    def preset(self) -> str: ...
    @property
    def is_view(self) -> bool: ...
    @property
    def index_columns(self) -> list[tuple[str, str]]: ...
    @property
    def sequence_by(self) -> list[str]: ...
    @property
    def order_by(self) -> list[str]: ...
    @property
    def groups(self) -> list[tuple[str, list[tuple[str, str]]]]: ...
    @property
    def properties(self) -> dict[str, Any]: ...
    @property
    def group_sizes(self) -> dict[str, tuple[int, int]]: ...
    def column_properties(self, column: str) -> dict[str, Any]: ...
    def attachment(self, name: str) -> bytes: ...
    def info(self) -> dict[str, Any]: ...
    def du(self) -> dict[str, Any]: ...
    def versions(self) -> list[dict[str, Any]]: ...
    def verify(
        self, *, all_versions: bool = ..., sources: bool = ..., progress: Callable[[int, int], object] | None = None
    ) -> dict[str, Any]: ...
    def diff(self, before: Table, on: list[str], *, exact: bool = ...) -> Diff: ...
    def sources(self) -> list[Table]: ...
    def rebind(self, urls: list[str], allow_unpinned: bool) -> Table: ...
    def allow(self, *urls: str) -> Table: ...
    def must_allow(self) -> list[str]: ...
    def _delete(self, rows: list[int], allow_unpinned: bool) -> Table: ...
    def edit(
        self,
        *,
        rename: dict[str, str],
        drop: list[str],
        properties: dict[str, Any],
        column_properties: dict[str, dict[str, Any]],
        tags: dict[str, int | None],
        untag: list[str],
        allow_unpinned: bool,
    ) -> Table: ...
    def compact(self, segment_rows: int, allow_unpinned: bool) -> Table: ...
    def materialize(self, *, progress: Callable[[int, int], object] | None = None) -> Table: ...
    def gc(self, *, keep: int = 0, age: timedelta | None = None, apply: bool = False) -> dict[str, Any]: ...
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
    def save(
        self, url: str, properties: dict[str, Any] | None, update: bool, allow: list[str], allow_unpinned: bool
    ) -> tuple[Table, list[tuple[str, str]]]: ...
    def view_size(self) -> dict[str, Any]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...

@final
class RowLoader:
    @staticmethod
    def of_index(index: Index, edge: str, keep: int, columns: list[str] | None) -> RowLoader: ...
    @staticmethod
    def of_table(table: Table, edge: str, keep: int, columns: list[str] | None) -> RowLoader: ...
    def column_names(self) -> list[str]: ...
    def matching(self, patterns: list[str]) -> list[str]: ...
    def get_row(self, position: int, columns: list[str] | None) -> dict[str, Any]: ...
    def get_rows(self, position: int, columns: list[str] | None, window: Any) -> Rows: ...
    def get_windows(self, positions: list[int], columns: list[str] | None, window: Any) -> tuple[Rows, list[Rows], int]: ...
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
    def __len__(self) -> int: ...

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
    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """Which rows are not null, bool [rows]."""
    def to_list(self) -> list[npt.NDArray[Any] | None]:
        """Each row as an array, None where it is null."""
    def __len__(self) -> int: ...
    def __getitem__(self, row: int) -> npt.NDArray[Any] | None: ...
    def __iter__(self) -> Iterator[npt.NDArray[Any] | None]: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class Column:
    @staticmethod
    def text(values: list[str | None]) -> Column: ...
    @staticmethod
    def bytes(values: list[builtins.bytes | None]) -> Column: ...
    @staticmethod
    def nulls(rows: int) -> Column: ...
    @staticmethod
    def fixed(
        rows: int,
        shape: list[int] | None,
        values: npt.NDArray[Any],
        bf16: bool,
        valid: npt.NDArray[np.bool_] | None,
        elements: npt.NDArray[np.bool_] | None,
    ) -> Column: ...
    @staticmethod
    def ragged(
        shapes: npt.NDArray[np.int32],
        values: npt.NDArray[Any],
        bf16: bool,
        valid: npt.NDArray[np.bool_] | None,
        elements: npt.NDArray[np.bool_] | None,
    ) -> Column: ...
    @staticmethod
    def times(ty: str, values: npt.NDArray[np.int64], valid: npt.NDArray[np.bool_] | None, in_utc: bool) -> Column: ...
    @staticmethod
    def lists(lengths: list[int], items: Column, valid: npt.NDArray[np.bool_] | None) -> Column: ...
    @staticmethod
    def arrow(values: Any) -> Column: ...
    @property
    def is_typed(self) -> bool: ...
    @property
    def type(self) -> str: ...
    def cast(self, ty: str) -> Column: ...
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
    def __new__(cls, url: str, schema: Schema, options: Options) -> TableWriter: ...
    @staticmethod
    def join(url: str, ticket: str) -> TableWriter: ...
    @staticmethod
    def append(table: Table, options: Options) -> TableWriter: ...
    @staticmethod
    def overwrite(table: Table, schema: Schema, options: Options) -> TableWriter: ...
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
    def replace(table: Table, name: str, options: Options) -> GroupReplacer: ...
    @staticmethod
    def add(table: Table, name: str, columns: list[tuple[str, str]], options: Options) -> GroupReplacer: ...
    def write(self, columns: Sequence[tuple[str, Column]], on: list[str] | None) -> None: ...
    def commit(self) -> Table: ...

def run(
    recipe: Any, dry_run: bool, allow: list[str], allow_unpinned: bool
) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]: ...
def patch(table: Table, on: list[str], columns: Sequence[tuple[str, Column]], options: Options) -> Table: ...
def concat(indexes: list[Index], fill: bool) -> Index: ...
def columns_of(frame: Any) -> list[list[tuple[str, Column]]]: ...
def ingest_l5(source: str, url: str, preset: str, workers: int, progress: Any | None) -> Table: ...
