"""The native module: see the documentation of each name in `tetrys`."""

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, final

import numpy as np
import numpy.typing as npt

from ._arguments import Preset
from ._options import Described, Options

__version__: str

class Error(Exception):
    """Base class of all errors. The subclass says what to do next."""
class NotFound(Error):
    """The object, table, version, column or row does not exist."""
class Exists(Error):
    """The object to be created already exists; choose another name."""
class Conflict(Error):
    """Another writer committed first; reload and retry."""
class Unavailable(Error):
    """The store does not respond, is full or unreachable; retry later."""
class Denied(Error):
    """The store refuses access; change the access rights and retry."""
class Corrupt(Error):
    """Stored bytes differ from what was written; restore them from a copy."""
class Unsupported(Error):
    """The request or the bytes are valid, but this build cannot handle them."""
class Invalid(Error):
    """The request or the input breaks a rule; change it."""
class OutcomeUnknown(Error):
    """A commit may or may not have happened; reload the table before a retry."""
class Internal(Error):
    """A defect of this library; please report it."""

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
    def preset(self) -> Preset: ...
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
    def versions(self, limit: int | None = ...) -> list[dict[str, Any]]: ...
    def verify(
        self, *, all_versions: bool = ..., sources: bool = ..., progress: Callable[[int, int], object] | None = None
    ) -> dict[str, Any]: ...
    def diff(
        self,
        before: Table,
        on: list[str],
        *,
        exact: bool = ...,
        memory_limit: int | None = ...,
        temporary_folder: str | None = ...,
    ) -> Diff: ...
    def sources(self) -> list[Table]: ...
    def rebind(self, urls: list[str], storage: dict[str, str] | None, allow_unpinned: bool) -> Table: ...
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
    def restore(self, version: int, allow_unpinned: bool) -> Table: ...
    def compact(self, segment_rows: int, runs: str | None, allow_unpinned: bool) -> Table: ...
    def materialize(self, *, progress: Callable[[int, int], object] | None = None) -> Table: ...
    def gc(self, *, keep: int = 0, age: timedelta | None = None, apply: bool = False) -> dict[str, Any]: ...
    def give_up(self, version: int) -> None: ...
    @staticmethod
    def collect_abandoned(place: Place, *, age: timedelta | None = None, apply: bool = False) -> dict[str, Any]: ...
    @staticmethod
    def resolve(place: Place, version: int, commit: str, rules_out: bool) -> str: ...
    def __len__(self) -> int: ...

@final
class Viewer:
    def __new__(cls, shown: list[Table | Index], port: int, l5_map: str | None, l5_meta: str | None) -> Viewer: ...
    @property
    def url(self) -> str: ...
    @property
    def is_open(self) -> bool: ...
    def close(self) -> None: ...

@final
class Diff:
    """Differences between two tables, as `new.diff(old)` returns them.

    Example:
        >>> old = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
        >>> found = old.append({"time": [2], "lidar.count": [8]}).diff(old, on=["time"])
        >>> found.added.tolist(), found.unchanged, found.groups["lidar"][0]
        ([2], 2, 0)
    """
    @property
    def keys(self) -> list[str]:
        """Columns that matched the rows; empty if row numbers did."""
    @property
    def rows(self) -> tuple[int, int]:
        """Number of rows of the old and of the new table."""
    @property
    def added(self) -> npt.NDArray[np.uint64]:
        """Row numbers in the new table whose key the old table does not have, u64 [n]."""
    @property
    def removed(self) -> npt.NDArray[np.uint64]:
        """Row numbers in the old table whose key the new table does not have, u64 [n]."""
    @property
    def changed(self) -> npt.NDArray[np.uint64]:
        """Row numbers in the new table whose key is in both tables and whose index or payload differs, u64 [n].
        If `is_exact` is False, some of them may be equal.
        """
    @property
    def unchanged(self) -> int:
        """Number of rows that are equal in both tables. If `is_exact` is False, there may be more."""
    @property
    def index(self) -> dict[str, int]:
        """Number of rows with equal keys in which each index column differs, {column: rows}."""
    @property
    def groups(self) -> dict[str, tuple[int | None, bool]]:
        """Number of rows with equal keys in which each column group differs, {group: (rows, exact)}.

        If `exact` is False, the number is an upper bound: all rows of a block that differs count. `rows` is None if the group has
        other columns in the two tables.
        """
    @property
    def columns_added(self) -> dict[str, str]:
        """Columns that only the new table has, {column: type}."""
    @property
    def columns_removed(self) -> dict[str, str]:
        """Columns that only the old table has, {column: type}."""
    @property
    def bytes_read(self) -> int:
        """Bytes of index, layout and hash objects that were read."""
    @property
    def not_compared(self) -> list[str]:
        """Columns of both tables that were not compared, because their column groups differ in name or columns."""
    @property
    def is_exact(self) -> bool:
        """Whether every row in `changed` is known to differ. Rows that share a block with a changed row count as changed, unless
        `Table.diff` has `exact=True`. Columns in `not_compared` make the result inexact too.
        """
    @property
    def is_empty(self) -> bool:
        """Whether the tables have no differences."""
    def summary(self) -> str:
        """Returns a line about the rows, and one for each column and group that differs, as text."""
    def to_dict(self) -> dict[str, Any]:
        """Returns all differences as a dict of JSON values.

        Example:
            >>> table = tt.Table("drives")
            >>> found = table.delete([3, 4]).diff(table).to_dict()
            >>> found["rows"], found["removed"]
            ([20, 18], [3, 4])
        """

@final
class Index:
    @staticmethod
    def of_table(
        table: Table,
        columns: list[str] | None = None,
        categorical: bool = False,
        condition: str | None = None,
        predicate: str | None = None,
        mask: tuple[list[str], Callable[[object], Any]] | None = None,
    ) -> Index: ...
    @staticmethod
    def of_frame(table: Table, frame: Any) -> Index: ...
    @staticmethod
    def chosen(table: Table, columns: list[str]) -> list[str]: ...
    @staticmethod
    def explain(
        table: Table, columns: list[str] | None = None, condition: str | None = None, predicate: str | None = None
    ) -> dict[str, int]: ...
    def memory(self) -> dict[str, Any]: ...
    def tables(self) -> list[Table]: ...
    def column_names(self) -> list[str]: ...
    def no_column(self, name: str) -> str: ...
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
        self, place: Place, properties: dict[str, Any] | None, update: bool, allow_unpinned: bool
    ) -> tuple[Table, list[tuple[str, str]]]: ...
    def view_size(self) -> dict[str, Any]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...

@final
class IndexScan:
    def __new__(
        cls, table: Table, categorical: bool, columns: list[str] | None = None, predicate: str | None = None
    ) -> IndexScan: ...
    def empty(self) -> object: ...
    def next(self) -> IndexPart | None: ...

@final
class IndexPart:
    def frame(self, columns: list[str], locators: bool) -> object: ...
    def __len__(self) -> int: ...

@final
class RowLoader:
    @staticmethod
    def of_index(index: Index, edge: str, cache_bytes: int, columns: list[str] | None) -> RowLoader: ...
    @staticmethod
    def of_table(table: Table, edge: str, cache_bytes: int, columns: list[str] | None) -> RowLoader: ...
    @staticmethod
    def of_split(table: Table, columns: list[str] | None = None) -> RowLoader: ...
    def column_names(self) -> list[str]: ...
    def matching(self, patterns: list[str]) -> list[str]: ...
    def selected(self, pattern: str, columns: list[str] | None) -> list[str]: ...
    def get_row(self, position: int, columns: list[str] | None) -> dict[str, Any]: ...
    def get_rows(self, position: int, columns: list[str] | None, window: Any) -> Rows: ...
    def get_windows(self, positions: list[int], columns: list[str] | None, window: Any) -> tuple[Rows, list[Rows], int]: ...
    def get_parts(
        self, positions: list[int], columns: list[str] | None, parts: list[tuple[str, Any]]
    ) -> list[tuple[Rows, list[Rows], int]]: ...
    def explain_parts(self, positions: list[int], columns: list[str] | None, parts: list[tuple[str, Any]], places: bool) -> dict[str, Any]: ...
    def take(self, positions: list[int], columns: list[str] | None) -> Rows: ...
    def scan(self, batch_rows: int, columns: list[str] | None) -> Scan: ...
    def explain(self, positions: list[int], columns: list[str] | None, window: Any | None, places: bool) -> dict[str, Any]: ...
    def __len__(self) -> int: ...

@final
class DataLoader:
    def __new__(
        cls,
        rows: RowLoader,
        *,
        batch_size: int,
        windows: list[tuple[str, Any]],
        decoders: list[tuple[str, Image]],
        shuffle: tuple[str, int, int],
        seed: int,
        rank: tuple[int, int],
        last: str,
        prefetch: int,
        skip: int | None,
        skip_incomplete: bool,
        max_step: str | None,
        weights: tuple[list[float], bool] | None,
        classes: list[int] | None,
        samples: int | None,
        trace: str | None,
    ) -> DataLoader: ...
    @staticmethod
    def mix(loaders: list[DataLoader], weights: list[float], longest: bool, samples: int | None) -> DataLoader: ...
    def fork(self) -> DataLoader: ...
    def traced(self, name: str, seconds: float) -> None: ...
    def next(
        self,
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_], npt.NDArray[np.uint32], list[tuple[Rows, int | None]]] | None: ...
    def sizes(self) -> tuple[int, int, int, int]: ...
    def set_epoch(self, epoch: int) -> None: ...
    def state(self) -> str: ...
    def load_state(self, state: str) -> None: ...
    def stats(self) -> dict[str, Any]: ...
    def quality(self) -> dict[str, float]: ...

Bounds = tuple[float, float]
Augment = tuple[tuple[Bounds, Bounds] | None, float, Bounds | None, Bounds | None, Bounds | None, int]

@final
class Image:
    """How pictures are decoded; `tetrys.image` makes it."""
    def __new__(
        cls,
        *,
        size: tuple[int, int] | None,
        crop: tuple[int, int, int, int] | None,
        chw: bool,
        normalised: tuple[tuple[float, ...], tuple[float, ...]] | None,
        fast: bool,
        augment: Augment,
    ) -> Image: ...
    @property
    def type(self) -> str: ...
    def decode(self, file: builtins.bytes, random: int = 0) -> tuple[list[int], npt.NDArray[Any]]: ...

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
    """Rows that were read: a mapping of column names to arrays with one entry for each row.

    Numbers and tensors of fixed shape are numpy arrays `[rows, *shape]`: read-only views of the buffers that were read. Bytes,
    lists of numbers and tensors of variable shape are `Ragged`. Text and other lists are object arrays. Null numbers read as 0;
    `valid(name)` tells null from 0. An array with a null element inside a tensor or a list of numbers is a masked array of numpy.
    `len(rows)` is the number of rows, missing ones included.
    """
    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Whether each row exists, bool [rows]. A place of a window is False if its sequence has no such row."""
    @property
    def table_rows(self) -> npt.NDArray[np.int64]:
        """Row number in the table at each place, i64 [rows]; -1 for a missing row. Of merged tables, that of the left table."""
    def column_mask(self, name: str) -> npt.NDArray[np.bool_]:
        """Returns whether each row of a column exists in the table of the column, bool [rows]: `mask` without rows that have no
        partner in a merge.
        """
    def valid(self, name: str) -> npt.NDArray[np.bool_]:
        """Returns whether each value of a column is not null, bool [rows]."""
    @property
    def types(self) -> dict[str, str]:
        """Type of each column as in a schema, {name: "f32[?,4]"}."""
    def images(self, name: str) -> list[npt.NDArray[Any] | None]:
        """Decodes a column of pictures: a list with the pixels of each row, u8 [height, width, 3] or another shape that
        `tetrys.decode` returns; None for a null value.

        Example:
            >>> rows = tt.row_loader(tt.read_index("drives")).take([3, 4])
            >>> [image.shape for image in rows.images("camera.jpeg")]
            [(6, 8, 3), (6, 8, 3)]
        """
    def to_torch(self) -> dict[str, Any]:
        """Returns the columns as PyTorch tensors, {name: tensor}.

        Numbers, times (as i64 ticks) and tensors of fixed shape become one tensor [rows, *shape]. Tensors of variable shape,
        lists of numbers and bytes become a list of tensors, None for null. Text and other lists become Python lists.

        The tensors share memory with the arrays of this object, which are read-only: call `clone()` before you write to one.
        Booleans are copies.

        Raises:
            Unsupported: PyTorch is not installed, or an element inside a tensor or a list of numbers is null.
        """
    def to_arrow(self) -> Any:
        """Returns the columns as a pyarrow table of plain types, for libraries that do not know the tensors of Arrow, such as Hugging
        Face's `datasets`. `pyarrow.table(rows)` has the tensors.

        A tensor is a list of lists, with a fixed size where the type has a fixed extent: `f32[?,4]` is
        `large_list<fixed_size_list<float>[4]>`. Its numbers are not copied. Bytes, text and lists are as in `pyarrow.table(rows)`.
        Null values and missing rows are null.

        Example:
            >>> rows = tt.row_loader(tt.read_index("drives")).take([4, 5], ["lidar.*", "camera.intrinsics"])
            >>> str(rows.to_arrow()["camera.intrinsics"].type)
            'fixed_size_list<item: fixed_size_list<item: double>[3]>[3]'
            >>> len(rows.to_arrow()["lidar.points"][1].as_py()), rows["lidar.points"][1].shape
            (1, (1, 4))

        Raises:
            Unsupported: pyarrow is not installed.
        """
    def _repr_html_(self) -> str: ...
    def _ipython_key_completions_(self) -> list[str]: ...
    def row(self, row: int) -> dict[str, Any]:
        """Returns one row as a dict, as `RowLoader.get_row` does. Negative numbers count from the end."""
    def keys(self) -> list[str]:
        """Returns the names of the columns."""
    def values(self) -> list[Any]:
        """Returns the arrays of the columns."""
    def items(self) -> list[tuple[str, Any]]:
        """Returns pairs of column name and array."""
    def __getitem__(self, name: str) -> Any: ...
    def __contains__(self, name: str) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Ragged:
    """Rows of different lengths in one array: row i is `values[offsets[i]:offsets[i + 1]]`.

    `ragged[i]` is row i as an array of its own shape (a view), or None if it is null. If dimensions other than the first differ
    between rows, `values` is flat and `shapes` has the shape of each row. Arrays with null elements are masked arrays of numpy.
    """
    @property
    def values(self) -> npt.NDArray[Any]:
        """Values of all rows in order."""
    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Start of each row in `values`, and the end of the last row, i64 [rows + 1]."""
    @property
    def shapes(self) -> npt.NDArray[np.int64]:
        """Shape of each row, i64 [rows, rank]."""
    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """Whether each row is not null, bool [rows]."""
    def to_list(self) -> list[npt.NDArray[Any] | None]:
        """Returns each row as an array; None for a null row."""
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
    @staticmethod
    def concat(columns: list[Column]) -> Column: ...
    @property
    def is_typed(self) -> bool: ...
    @property
    def type(self) -> str: ...
    def cast(self, ty: str) -> Column: ...
    def __len__(self) -> int: ...

@final
class Receipt:
    """Receipt of a finished partition, for `Writer.commit`. It is small and can be pickled."""
    def __new__(cls, json: str) -> Receipt: ...
    @property
    def rows(self) -> int:
        """Number of rows of the partition."""
    @property
    def partition(self) -> int:
        """Number of the partition."""
    @property
    def attempt(self) -> str:
        """Identifies this writing of the partition: each call that writes a partition makes another attempt."""
    @property
    def label(self) -> str | None:
        """Name of what the partition was made from, or None."""
    @property
    def new_bytes(self) -> int:
        """Stored bytes of the blocks of the partition that were stored for it."""
    @property
    def shared_bytes(self) -> int:
        """Stored bytes of the blocks that the partition shares with blocks that were stored before."""
    def to_json(self) -> str:
        """Returns the receipt as one line of JSON. `Receipt(text)` parses it."""
    def __hash__(self) -> int: ...

@final
class TableWriter:
    def __new__(cls, url: str, schema: Described, options: Options) -> TableWriter: ...
    @staticmethod
    def append(table: Table, options: Options) -> TableWriter: ...
    @staticmethod
    def overwrite(table: Table, schema: Described, options: Options, inherit: bool) -> TableWriter: ...
    def unpinned(self) -> list[tuple[str, str]]: ...
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
class RowsWriter:
    def __new__(cls, writer: TableWriter, most: int | None) -> RowsWriter: ...
    def write(self, writer: TableWriter, columns: Sequence[tuple[str, Column]]) -> None: ...
    def finish(self) -> list[Receipt]: ...

Place = tuple[str, dict[str, str] | None, list[str]]
Planned = tuple[str, str, str, int | None, list[str], list[tuple[str, str]], list[str], list[str]]

@final
class SplitBatches:
    def __new__(
        cls, loader: RowLoader, rows: list[tuple[int, int]], batch_bytes: int, windows: Sequence[tuple[str, Any]]
    ) -> SplitBatches: ...
    def __iter__(self) -> Iterator[list[tuple[Rows, int | None]]]: ...
    def __next__(self) -> list[tuple[Rows, int | None]]: ...

@final
class IndexRows:
    def __new__(cls, loader: RowLoader, rows: list[tuple[int, int]]) -> IndexRows: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class GroupReplacer:
    @staticmethod
    def replace(table: Table, name: str, options: Options) -> GroupReplacer: ...
    @staticmethod
    def add(table: Table, name: str, columns: list[tuple[str, str]], options: Options) -> GroupReplacer: ...
    def write(self, columns: Sequence[tuple[str, Column]], on: list[str] | None) -> None: ...
    def commit(self) -> Table: ...

@final
class Level5:
    @staticmethod
    def open(table: Table, cache_bytes: int) -> Level5: ...
    @staticmethod
    def of_zarr(zarr: L5Zarr, cache_bytes: int) -> Level5: ...
    @staticmethod
    def of_arrays(
        scenes: dict[str, Any], frames: dict[str, Any], agents: dict[str, Any], faces: dict[str, Any]
    ) -> Level5: ...
    def counts(self) -> tuple[int, int, int, int]: ...
    def scenes(self) -> dict[str, Any]: ...
    def frames(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64], npt.NDArray[np.uint64]]: ...
    def has_faces(self) -> bool: ...
    def select_agents(
        self, threshold: float, yaw: float, extent: float, distance: float, workers: int, progress: Callable[[int], Any] | None
    ) -> tuple[npt.NDArray[np.uint32], dict[str, int]]: ...
    def agents_mask(
        self, threshold: float, yaw: float, extent: float, distance: float, least: tuple[int, int], store: Callable[[bytes], Any] | None
    ) -> npt.NDArray[np.bool_]: ...

@final
class L5Zarr:
    def __new__(cls, path: str) -> L5Zarr: ...
    @staticmethod
    def exists(path: str) -> bool: ...
    def properties(self) -> str: ...
    def arrays(self) -> list[str]: ...
    def meta(self, name: str) -> tuple[int, int, list[tuple[str, str, list[int]]]]: ...
    def records(self, name: str, start: int, stop: int) -> bytes: ...

@final
class L5Rasterizer:
    def __new__(
        cls,
        map_type: str,
        *,
        raster_size: list[int],
        pixel_size: list[float],
        center: list[float],
        set_origin_to_bottom: bool,
        threshold: float,
        history: int,
        render_ego_history: bool,
        map: L5Map | None = None,
        aerial: tuple[npt.NDArray[np.uint8], list[list[float]], list[list[float]]] | None = None,
    ) -> L5Rasterizer: ...
    def num_channels(self) -> int: ...
    def shape(self) -> list[int]: ...
    def raster_from_local(self) -> list[list[float]]: ...
    def to_rgb(self, image: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]: ...

@final
class L5Sampler:
    def __new__(
        cls,
        rasterizer: L5Rasterizer,
        *,
        history: int,
        future: int,
        step_time: float,
        threshold: float,
        agents: bool,
        faces: bool,
        threads: int,
    ) -> L5Sampler: ...
    def batch(self, data: Level5, places: list[int]) -> dict[str, npt.NDArray[Any]]: ...
    def picture(self, data: Level5, place: int) -> npt.NDArray[np.uint8]: ...

@final
class L5Map:
    def __new__(cls, file: bytes, world_to_ecef: list[list[float]]) -> L5Map: ...
    def ids(self) -> list[str]: ...
    def element(self, number: int) -> tuple[str, bytes]: ...
    def lane(self, number: int) -> dict[str, Any] | None: ...
    def lane_coords(self, number: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def lane_points(
        self, number: int, step: float, ensure_len: bool
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def crosswalk_coords(self, number: int) -> npt.NDArray[np.float64]: ...
    def unpack_deltas(
        self, x: list[int], y: list[int], z: list[int], latitude: float, longitude: float
    ) -> npt.NDArray[np.float64]: ...
    def color(self, number: int) -> str | None: ...
    def bounds(self) -> tuple[tuple[list[str], npt.NDArray[np.float64]], tuple[list[str], npt.NDArray[np.float64]]]: ...
    @staticmethod
    def interpolate(chain: npt.NDArray[np.float64], step: float, ensure_len: bool) -> npt.NDArray[np.float64]: ...

@final
class L5Vectorizer:
    def __new__(
        cls,
        map: L5Map,
        *,
        history_ego: int,
        history_agents: int,
        future: int,
        step_time: float,
        threshold: float,
        other_agents: int,
        max_agents_distance: float,
        max_lanes: int,
        lane_points: int,
        crosswalk_points: int,
        max_map_distance: float,
        max_crosswalks: int,
        order: str,
        ego_as_agent: bool,
        faces: bool,
        threads: int,
    ) -> L5Vectorizer: ...
    def batch(self, data: Level5, places: list[tuple[int, int | None, list[int], Any]]) -> dict[str, npt.NDArray[Any]]: ...

@final
class L5CsvRows:
    def __new__(cls, file: Any, predictions: bool) -> L5CsvRows: ...
    def __iter__(self) -> L5CsvRows: ...
    def __next__(self) -> tuple[str, str, npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...

def l5_metric(
    name: str,
    truth: npt.NDArray[np.float64],
    predicted: npt.NDArray[np.float64],
    confidences: npt.NDArray[np.float64],
    availabilities: npt.NDArray[np.float64],
    coords: int,
) -> list[float]: ...
def l5_compute_metrics_csv(ground_truth: Any, predictions: Any, names: list[str]) -> list[tuple[str, list[float]]]: ...
def l5_write_gt_csv(
    file: Any,
    timestamps: npt.NDArray[Any],
    track_ids: npt.NDArray[Any],
    coords: npt.NDArray[np.float64],
    avails: npt.NDArray[Any],
    steps: int,
) -> None: ...
def l5_write_pred_csv(
    file: Any,
    timestamps: npt.NDArray[Any],
    track_ids: npt.NDArray[Any],
    coords: npt.NDArray[np.float64],
    confidences: npt.NDArray[Any] | None,
    steps: int,
) -> None: ...
def l5_fit_ackerman_model_exact(
    start: tuple[float, float, float, float],
    goals: tuple[npt.NDArray[np.float64], ...],
    weights: tuple[npt.NDArray[np.float64], ...],
    efforts: tuple[float, float],
    steer: tuple[float, float],
    acceleration: tuple[float, float],
) -> tuple[
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
]: ...
def l5_detect_collision(
    centroid: list[float], yaw: float, extent: list[float], others: list[tuple[list[float], float, list[float]]]
) -> tuple[int, int] | None: ...
def record_spans(level: int) -> None: ...
def spans(patience: float) -> list[tuple[int, str, str]]: ...
def shared_prefetch() -> int: ...
def sample_random(seed: int, epoch: int, sample: int) -> int: ...
def run(
    recipe: Any,
    dry_run: bool,
    place: Place,
    allow_unpinned: bool,
    memory_limit: int | None,
    temporary_folder: str | None,
) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]: ...
def patch(table: Table, on: list[str], columns: Sequence[tuple[str, Column]], options: Options) -> Table: ...
def concat(indexes: list[Index], fill: bool) -> Index: ...
def columns_of(frame: Any) -> list[list[tuple[str, Column]]]: ...
def cluster_open(place: Place) -> Table: ...
def cluster_create(place: Place, schema: Described, options: Options) -> TableWriter: ...
def cluster_append(table: Table, schema: Described, options: Options) -> TableWriter: ...
def cluster_plan(writer: TableWriter, partitions: int | None, labels: list[str]) -> Planned: ...
def cluster_join(place: Place, ticket: str) -> TableWriter: ...
def cluster_partition(writer: TableWriter, number: int, label: str | None) -> Partition: ...
def cluster_open_sessions(place: Place) -> list[Planned]: ...
def cluster_to_resume(place: Place, labels: list[str]) -> Planned | None: ...
def cluster_missing(plan: str, receipts: list[Receipt]) -> list[int]: ...
def cluster_partitions(bytes: int | None, cores: int) -> int: ...
def cluster_found(place: Place, plan: str) -> list[Receipt]: ...
def cluster_commit(place: Place, plan: str, receipts: list[Receipt] | None) -> Table: ...
def cluster_abort(place: Place, plan: str) -> None: ...
def cluster_rows(index: Index, table: Table | None = None) -> tuple[Table, list[tuple[int, int]]]: ...
def cluster_splits(
    loader: RowLoader, rows: list[tuple[int, int]] | None = None, count: int | None = None, bytes: int | None = None
) -> list[tuple[list[tuple[int, int]], int, int]]: ...
def cluster_tasks(bytes: int, cores: int, least: int) -> int: ...
def window_length(window: Any) -> int: ...
def root_of(url: str) -> str: ...
def l5_export(table: Table, target: str, progress: Any | None) -> None: ...
def ingest_petastorm(source: Place, place: Place, settings: Any, options: Options, progress: Any | None) -> tuple[Table, list[str]]: ...
def petastorm_metadata(source: Place) -> str: ...
def ingest_logs(
    logs: list[str], source: Place, place: Place, settings: Any, options: Options, progress: Any | None
) -> tuple[Table, str, list[tuple[str, str]], list[str]]: ...
def logs_parts(place: Place, settings: Any, options: Options) -> list[tuple[str, str, bool]]: ...
def logs_begin(
    logs: list[str], source: Place, place: Place, settings: Any, options: Options
) -> tuple[tuple[str, str] | None, list[Receipt], list[tuple[int, str, list[str]]], list[tuple[str, list[str]]]]: ...
def logs_write(
    logs: list[str], source: Place, place: Place, settings: Any, options: Options, ticket: str, number: int
) -> Receipt: ...
def logs_finish(
    logs: list[str],
    source: Place,
    place: Place,
    settings: Any,
    options: Options,
    plan: str | None,
    receipts: list[Receipt],
    failed: list[tuple[str, str]],
) -> tuple[Table, str, list[tuple[str, str]], list[str]]: ...
def logs_view(place: Place, settings: Any, options: Options, tables: list[Table], report: str) -> Table: ...
def logs_info(logs: list[str], source: Place, strict: bool, msgs: list[str]) -> str: ...
def logs_plan(logs: list[str], source: Place, msgs: list[str]) -> str: ...
def ingest_l5(source: Place, place: Place, preset: str, workers: int, progress: Any | None) -> Table: ...
