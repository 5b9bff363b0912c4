"""Writes tables from arrays, frames and record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn

from . import _tetrys
from ._arguments import Preset, Reuse, Url, called, choice, each, text, url_of, urls_of, whole
from ._data import Data, batches_of, first_of, parts_of, written
from ._errors import WrongType, found, unpicklable
from ._options import Layout, Locality, Options, described, types, warn_not_pinned
from ._places import StorageOptions, partition_of, place_of, places_of
from ._table import Table
from ._tetrys import Invalid, Receipt


class Writer:
    """Session that writes a new table in partitions, by any number of threads and processes, in any order.

    Nothing is visible before `commit`. To add rows to an existing table, use `Table.append`.
    """

    def __init__(
        self,
        url: Url,
        *,
        schema: Mapping[str, str],
        index: str | Sequence[str],
        groups: Mapping[str, Sequence[str]] | None = None,
        sequence_by: str | Sequence[str] = (),
        order_by: str | Sequence[str] = (),
        units: Mapping[str, str] | None = None,
        preset: Preset = "balanced",
        presets: Mapping[str, Preset] | None = None,
        required: str | Sequence[str] = (),
        bloom_filters: str | Sequence[str] = (),
        properties: Mapping[str, Any] | None = None,
        write_memory: int | None = None,
        reference: Url | Table | Iterable[Url | Table] = (),
        reuse: Reuse = "auto",
        locality: Locality = None,
        allow: Url | Iterable[Url] = (),
        allow_unpinned: bool = False,
        storage_options: StorageOptions = None,
        store_options: StorageOptions = None,
    ) -> None:
        """Starts a table at `url`.

        Args:
            schema: Type of each column, {column: type}, such as `"i64"`, `"utf8"` or `"f32[?,4]"` (a tensor with 4 columns and
                any number of rows).
            index: Columns that are kept in the index, which readers load into memory.

        The other arguments are those of `tetrys.write_table`. Partitions that other processes write (see `task`) share blocks
        with the tables of `reference` too.

        Example:
            >>> writer = tt.Writer("lidars", schema={"time": "i64", "lidar.points": "f32[?,4]"}, index=["time"])
            >>> partition = writer.partition()
            >>> partition.write({"time": [0, 1], "lidar.points": [np.zeros((7, 4)), None]})
            >>> len(writer.commit([partition.finish()]))
            2

        Raises:
            Exists: there is a table at `url`.
            Invalid: the schema or an option breaks a rule.
            Unsupported: a column type is unknown.
            Denied: a referenced table cannot be pinned.
        """
        self.schema = types("schema", schema)
        place = place_of(url_of(url), storage_options, allow, store_options)
        layout = Layout(index, groups, sequence_by, order_by, units, presets, required, bloom_filters)
        options = Options.of(
            None,
            preset=preset,
            reuse=reuse,
            locality=locality,
            write_memory=write_memory,
            allow_unpinned=allow_unpinned,
            reference=reference,
            allow=allow,
            properties=properties,
            place=place,
        )
        self._url, self._storage = place[:2]
        # Other processes follow references to these URLs alone.
        self._allowed = list(dict.fromkeys([*urls_of("allow", allow), *(one.url for one in options.references)]))
        if self._storage is None:
            self._native = _tetrys.TableWriter(self._url, described(self.schema, layout), options)
        else:
            self._native = _tetrys.cluster_create(place, described(self.schema, layout), options)
        warn_not_pinned(self._native.unpinned())

    def partition(self) -> Partition:
        """Returns the next partition. The table has the partitions in the order in which they were requested."""
        return Partition(self._native.partition(), self.schema)

    def task(self) -> PartitionTask:
        """Returns the next partition as a task for another process. The task and the receipt that it ends in can be pickled.

        Example:
            >>> writer = tt.Writer("lidars", schema={"time": "i64", "lidar.points": "f32[?,4]"}, index=["time"])
            >>> def work(task):                                  # in any process, on any machine that sees the URL
            ...     with task.partition() as partition:
            ...         partition.write({"time": [0], "lidar.points": [np.zeros((7, 4))]})
            ...     return partition.receipt
            >>> len(writer.commit([work(writer.task())]))
            1
        """
        ticket, number = self._native.reserve()
        return PartitionTask(self._url, ticket, number, self.schema, self._allowed, self._storage)

    def attach(self, name: str, content: bytes) -> None:
        """Stores a small object beside the rows, such as a map or a calibration. `Table.attachment` reads it."""
        if not isinstance(content, (bytes, bytearray, memoryview)):
            raise WrongType(f"content: expected bytes, found {found(content)}")
        self._native.attach(text("name", name), bytes(content))

    def receipts(self) -> list[Receipt]:
        """Lists the receipts of the partitions of this session that are finished, to replace receipts that were lost."""
        return self._native.receipts()

    def abandon(self, partition: int) -> None:
        """Leaves out the rows of a partition: `commit` no longer expects its receipt."""
        self._native.abandon(whole("partition", partition, 0, 2**32 - 1))

    def __reduce__(self) -> NoReturn:
        unpicklable("a writer", "pickle what `task` returns: it writes a partition in another process")

    def commit(self, receipts: Iterable[Receipt]) -> Table:
        """Publishes the table with the rows of these receipts.

        Args:
            receipts: One receipt for each partition that was not abandoned, in any order.

        If a receipt is missing, nothing happens: get it from `receipts`, or `abandon` its partition, and call `commit` again.

        Raises:
            Invalid: a receipt is missing, two receipts of a partition differ, or a sequence is broken.
            Conflict: another writer published a table here first.
            OutcomeUnknown: the store did not confirm the commit; open the table before a retry.
        """
        return Table._of(self._native.commit(each("receipts", receipts, Receipt, "receipts of `Partition.finish`")), self._storage)


class Partition:
    """Rows of one partition, written by one thread. Its blocks and chunks hold no rows of other partitions."""

    def __init__(self, native: _tetrys.Partition, schema: Mapping[str, str]) -> None:
        """Not for users: `Writer.partition` and `PartitionTask.partition` make partitions."""
        self._native = native
        self._schema = schema
        self._receipt: Receipt | None = None

    def write(self, data: Data | Iterable[Data]) -> None:
        """Appends rows: a dict of columns, a frame, record batches, or row dicts, as for `tetrys.write_table`.

        Raises:
            Invalid: a column is missing, unknown, of another length, or has a value that its type cannot store exactly.
        """
        for batch in batches_of(data, self._schema):
            for part in parts_of(batch, self._schema):
                self._native.write(part)

    def finish(self) -> Receipt:
        """Ends the partition and returns its receipt for `Writer.commit`. The receipt can be pickled."""
        self._receipt = self._native.finish()
        return self._receipt

    @property
    def receipt(self) -> Receipt:
        """Receipt of the finished partition. A `with` block that ends without an exception finishes the partition.

        Raises:
            Invalid: the partition is not finished.
        """
        if self._receipt is None:
            raise Invalid("the partition is not finished: call `finish`, or leave its `with` block")
        return self._receipt

    def __reduce__(self) -> NoReturn:
        unpicklable("a partition", "pickle what `Writer.task` returns: it opens a partition in another process")

    def __enter__(self) -> Partition:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None and self._receipt is None:
            self.finish()


class PartitionTask:
    """A partition for another process to write; small, and can be pickled. `Writer.task` makes it."""

    def __init__(self, url: str, ticket: str, number: int, schema: Mapping[str, str], allowed: Sequence[str] = (), storage: dict[str, str] | None = None) -> None:
        """Not for users: `Writer.task` makes tasks."""
        self._url = url
        self._allowed = list(allowed)
        self._storage = storage
        self._ticket = ticket
        self._number = number
        self._schema = dict(schema)

    def partition(self) -> Partition:
        """Opens the partition, without rows.

        If a worker dies, another one can run the task again. If both left a receipt, `Writer.commit` uses one of them; it
        raises `Invalid` if they describe different rows.

        Raises:
            Denied, NotFound: a table of `reference` cannot be read here.
        """
        place = (self._url, self._storage, self._allowed)
        return Partition(partition_of(place, self._ticket, lambda writer: writer.partition_at(self._number)), self._schema)

    def __repr__(self) -> str:
        return f"PartitionTask: partition {self._number} of {self._url}"


def write_table(
    url: Url,
    data: Data | Iterable[Data],
    *,
    index: str | Sequence[str],
    schema: Mapping[str, str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    sequence_by: str | Sequence[str] = (),
    order_by: str | Sequence[str] = (),
    units: Mapping[str, str] | None = None,
    preset: Preset = "balanced",
    presets: Mapping[str, Preset] | None = None,
    required: str | Sequence[str] = (),
    bloom_filters: str | Sequence[str] = (),
    properties: Mapping[str, Any] | None = None,
    write_memory: int | None = None,
    reference: Url | Table | Iterable[Url | Table] = (),
    reuse: Reuse = "auto",
    locality: Locality = None,
    allow: Url | Iterable[Url] = (),
    allow_unpinned: bool = False,
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
    progress: Callable[[int], object] | None = None,
) -> Table:
    """Writes a new table in one call.

    A column is a numpy array with one entry for each row (`[rows, *shape]`), a list, or an Arrow array. Lists hold numbers,
    text, bytes, dates, times, arrays (tensors whose first extent may differ between rows) or lists; None is null. Values are
    stored exactly or rejected; only floats are rounded, and only to a narrower float type that `schema` declares.

    Args:
        url: URL or path of the table.
        data: A dict of columns, a frame, or an iterable of such batches. Row labels of pandas that have a name are a column. Or an
            iterable of row dicts, `[{"time": 3, "lidar.points": array}, ..]`. The first dict decides: it is a row if one of its
            values is no list and no array. The columns are those of the first row and of `schema`; a value that a row lacks is null,
            and a column that only a later row has is an error. A list of rows is one batch; of an iterator, 4 MiB are. There may be
            any number of rows: after at most 4,194,304 of them another partition begins, at the end of a sequence where it can.
        index: Columns that are kept in the index, which readers load into memory.
        schema: Types of columns, {column: type}, such as `"f32[?,4]"`; default: the types of the first batch.
        groups: Column groups, {group: columns}: columns that are stored and read together. Default: one group for each prefix,
            so `lidar.points` and `lidar.times` are in the group `lidar`.
        sequence_by: Index columns that define sequences: consecutive rows with equal values. Windows stay within a sequence.
        order_by: Index columns that order the rows within a sequence.
        units: Units of numeric time columns, {column: unit}, such as `{"timestamp": "ms"}`.
        preset: Codec preset: `"fast"`, `"balanced"` or `"compact"`.
        presets: Presets of single columns, {column: preset}.
        required: Columns that must not have nulls.
        bloom_filters: Index columns that get bloom filters, about a byte for each distinct value: `read_index(where="id = 17")`
            then skips the parts of the index without that value. Useful for keys that the rows are not sorted by. Segments of
            fewer than 16,384 rows have none.
        properties: Table properties, {key: JSON value}.
        write_memory: Bytes of encoded data that a partition buffers before it spills to a temporary file; default 512 MiB.
        reference: Tables (or URLs) to share blocks with: a block that one of them stores is referred to and not stored again. A
            pin, a small object in that table, keeps its garbage collection from deleting the chunks.
        reuse: Blocks that may be shared: `"any"`, those of the `"same-preset"`, or `"none"`. `"auto"` is `"any"`, but where rows are
            appended it looks only at the last segment of the table itself, if its hashes take at most 1 MiB.
        locality: Bound on the cost of shared blocks for reads of windows: the rows of the widest window, the additional byte
            ranges that it may need, and the bytes that it may read in percent of its own: `11`, `(16, 1, 150)` (the default) or
            `"none"`. Blocks that would exceed it are stored again; `table.lineage["shared"]["stored_again_bytes"]` reports how
            much.
        allow: URLs of other stores that references in the tables of `reference` may be followed to; see `tetrys.open_table`.
        allow_unpinned: Continue if a referenced table cannot be pinned, for example in a read-only store. Without it (or
            `TETRYS_ALLOW_UNPINNED=1`), that is an error; with it, a `UserWarning`.
        storage_options: Options of the store, and of tables of `reference` there; see `tetrys.open_table`.
        store_options: Another name of `storage_options`.
        progress: Called with the number of rows written so far.

    Example:
        >>> columns = {"time": np.arange(2), "lidar.points": [np.zeros((7, 4), np.float32), np.zeros((9, 4), np.float32)]}
        >>> tt.write_table("sweeps", columns, index=["time"]).groups
        [('lidar', [('lidar.points', 'f32[?,4]')])]
        >>> rows = [{"time": 0, "note.text": "first", "note.score": 0.5}, {"time": 1, "note.text": "second"}]
        >>> tt.row_loader(tt.write_table("notes", rows, index=["time"]))[1]
        {'note.text': 'second', 'note.score': None}

    Raises:
        Exists: there is a table at `url`.
        Invalid: a value, the schema or an option breaks a rule; the message names the column.
        Unsupported: a column type is unknown, or a frame needs pyarrow, which is not installed.
        Denied: a referenced table cannot be pinned.
        Conflict: another writer published a table here first.
        OutcomeUnknown: the store did not confirm the commit; open the table before a retry.
    """
    called(progress)
    declared = types("schema", schema)
    parts, rest, typed = first_of(data, declared, known=declared)
    writer = Writer(
        url,
        schema=typed,
        index=index,
        groups=groups,
        sequence_by=sequence_by,
        order_by=order_by,
        units=units,
        preset=preset,
        presets=presets,
        required=required,
        bloom_filters=bloom_filters,
        properties=properties,
        write_memory=write_memory,
        reference=reference,
        reuse=reuse,
        locality=locality,
        allow=allow,
        allow_unpinned=allow_unpinned,
        storage_options=storage_options,
        store_options=store_options,
    )
    return Table._of(written(writer._native, rest, typed, progress, parts), writer._storage)


def ingest_l5(
    source: Url,
    url: Url,
    *,
    preset: Preset = "balanced",
    workers: int = 0,
    progress: Callable[[int], object] | None = None,
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> Table:
    """Imports a Level 5 data set (a zarr group) into a new table, with one row for each frame and one sequence for each scene.

    Args:
        source: Path or URL of the zarr group: a folder, or a `.zip` file.
        url: URL or path of the new table.
        preset: Codec preset: `"fast"`, `"balanced"` or `"compact"`.
        workers: Number of threads; 0: `TETRYS_THREADS`, or the number of cores.
        progress: Called with the number of frames done, from another thread.
        storage_options: Options of the store of the table, as for `tetrys.open_table`, and of `source` in the same service. If the table
            is in a folder, they are those of `source`.
        store_options: Another name of `storage_options`.

    Warns about arrays that are left out, and about masks that lack chunks.

    Raises:
        NotFound: there is no data set at `source`.
        Exists: there is a table at `url`.
        Corrupt: the data set is damaged, or scenes, frames, agents or faces lack a chunk.
    """
    choice("preset", preset, Preset)
    read, place = places_of(url_of(source), url_of(url), storage_options, store_options)
    made = _tetrys.ingest_l5(read, place, preset, whole("workers", workers), called(progress))
    return Table._of(made, place[1])
