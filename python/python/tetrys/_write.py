"""Writing tables from arrays, frames and record batches."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, cast

import polars as pl

from . import _tetrys
from ._arguments import Url, choice, several, text, url_of, whole
from ._columns import as_declared, column, refuse_objects
from ._errors import WrongType, found
from ._index import ArrowStream
from ._options import PRESETS, Layout, Locality, Options, described, types
from ._table import Table, called, tell
from ._tetrys import Invalid, Receipt, Unsupported

Data = Mapping[str, Any] | ArrowStream


class Writer:
    """The session that makes a table. Nothing is visible before `commit`; partitions are written by any thread, in any order."""

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
        preset: str = "balanced",
        presets: Mapping[str, str] | None = None,
        required: str | Sequence[str] = (),
        properties: Mapping[str, Any] | None = None,
        write_memory: int | None = None,
        reference: Url | Table | Iterable[Url | Table] = (),
        reuse: str = "any",
        locality: Locality = None,
        allow: Url | Iterable[Url] = (),
        allow_unpinned: bool = False,
    ) -> None:
        """`schema` has the type of each column (`"i64"`, `"utf8"`, `"f32[?,4]"`), `index` the columns held in memory, `groups` those
        stored and read together (by default the columns of one prefix: `lidar.points` and `lidar.times` in `lidar`). Any column may
        be null but those in `required`. `preset` is fast, balanced or compact, `presets` has columns with another one; `write_memory` bytes are what a partition holds before it spills to a file.

        Blocks that one of the tables `reference` has (URLs or tables) are neither encoded nor stored again, but referred to where
        they lie: all of them, those of the `same-preset`, or `none`, as `reuse` says. Partitions of other processes (`task`) look
        at no reference. `allow` is that of `open_table`, for references given as URLs.

        A reference is told that its chunks are needed. One that cannot be told, being read-only, is an error: a garbage collection
        there could delete the chunks. With `allow_unpinned` (or `TETRYS_ALLOW_UNPINNED=1`) it is a `UserWarning`.

        What is shared may lie apart. `locality` says what that may cost the windows that you read: the rows of the widest one, or
        these, the ranges it may take beyond those of a table that shares nothing, and the bytes it may read in percent of its own
        (`11`, `(16, 1, 150)`, which is the default, or `"none"`). What would cost more is stored again;
        `table.lineage["shared"]["stored_again_bytes"]` says how much.

            >>> writer = tt.Writer("lidars", schema={"time": "i64", "lidar.points": "f32[?,4]"}, index=["time"])
            >>> partition = writer.partition()
            >>> partition.write({"time": [0, 1], "lidar.points": [np.zeros((7, 4)), None]})
            >>> len(writer.commit([partition.finish()]))
            2

        Raises `Exists` where there is a table already, `Invalid` for a broken rule, `Unsupported` for an unknown type, `Denied` for
        a reference that cannot be told.
        """
        self.schema = types("schema", schema)
        layout = Layout(index, groups, sequence_by, order_by, units, presets, required)
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
        )
        self._url = url_of(url)
        self._native = _tetrys.TableWriter(self._url, described(self.schema, layout), options)
        tell(self._native.untold())

    def partition(self) -> Partition:
        """The next partition; partitions follow each other in the table in the order in which they were asked for."""
        return Partition(self._native.partition(), self.schema)

    def task(self) -> PartitionTask:
        """The next partition, for another process to write: a task can be pickled, and the receipt that it ends in as well.

            >>> writer = tt.Writer("lidars", schema={"time": "i64", "lidar.points": "f32[?,4]"}, index=["time"])
            >>> def work(task):                                  # in any process, on any machine that sees the URL
            ...     with task.partition() as partition:
            ...         partition.write({"time": [0], "lidar.points": [np.zeros((7, 4))]})
            ...     return partition.receipt
            >>> len(writer.commit([work(writer.task())]))
            1
        """
        ticket, number = self._native.reserve()
        return PartitionTask(self._url, ticket, number, self.schema)

    def attach(self, name: str, content: bytes) -> None:
        """Stores a small object beside the rows: a map, a calibration."""
        if not isinstance(content, (bytes, bytearray, memoryview)):
            raise WrongType(f"content: expected bytes, found {found(content)}")
        self._native.attach(text("name", name), bytes(content))

    def receipts(self) -> list[Receipt]:
        """The receipts that finished partitions of this session left in the store, where some were lost on their way."""
        return self._native.receipts()

    def abandon(self, partition: int) -> None:
        """Leaves the rows of a partition out: `commit` asks for no receipt of it any more."""
        self._native.abandon(whole("partition", partition))

    def commit(self, receipts: Iterable[Receipt]) -> Table:
        """Makes the table exist with the rows of these receipts, one for each partition that was not abandoned, in any order.

        Where receipts are missing, nothing has happened: take them from `receipts`, or `abandon` their partitions, and call it again.

        Raises `Conflict` where another writer was first, `OutcomeUnknown` where that cannot be told.
        """
        given = list(several("receipts", receipts))
        if wrong := [one for one in given if not isinstance(one, Receipt)]:
            raise WrongType(f"receipts: expected those that `Partition.finish` gave, found {found(wrong[0])}")
        return Table._of(self._native.commit(given))


class Partition:
    """Rows written independently of all others, by one thread."""

    def __init__(self, native: _tetrys.Partition, schema: Mapping[str, str]) -> None:
        """Made by `Writer.partition`."""
        self._native = native
        self._schema = schema
        self._receipt: Receipt | None = None

    def write(self, data: Data) -> None:
        """Appends rows: a mapping of columns, or a frame."""
        for batch in parts_of(data, self._schema):
            self._native.write(batch)

    def finish(self) -> Receipt:
        """Ends the partition; its receipt goes to `Writer.commit`, from another process too: it can be pickled."""
        self._receipt = self._native.finish()
        return self._receipt

    @property
    def receipt(self) -> Receipt:
        """The receipt, once the partition is finished: behind a `with` block that raised nothing, it is."""
        if self._receipt is None:
            raise Invalid("the partition is not finished")
        return self._receipt

    def __enter__(self) -> Partition:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None and self._receipt is None:
            self.finish()


class PartitionTask:
    """A partition for another process to write; small, and picklable. Made by `Writer.task`."""

    def __init__(self, url: str, ticket: str, number: int, schema: Mapping[str, str]) -> None:
        """Made by `Writer.task`."""
        self._url = url
        self._ticket = ticket
        self._number = number
        self._schema = dict(schema)

    def partition(self) -> Partition:
        """The partition, empty. Where a worker died its task can be done again; of two receipts of it the commit takes one, and
        refuses them where they differ.
        """
        native = _tetrys.TableWriter.join(self._url, self._ticket)
        return Partition(native.partition_at(self._number), self._schema)

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
    preset: str = "balanced",
    presets: Mapping[str, str] | None = None,
    required: str | Sequence[str] = (),
    properties: Mapping[str, Any] | None = None,
    write_memory: int | None = None,
    reference: Url | Table | Iterable[Url | Table] = (),
    reuse: str = "any",
    locality: Locality = None,
    allow: Url | Iterable[Url] = (),
    allow_unpinned: bool = False,
    progress: Callable[[int], object] | None = None,
) -> Table:
    """Writes a table at once: a mapping of columns, a frame, or an iterable of such batches.

    A column is a numpy array with one entry a row (`[rows, *shape]`), a list of numbers, text, bytes, dates, times, arrays (a tensor
    whose first extent differs from row to row) or lists, with None for null, or anything of Arrow. `schema` declares the types
    that should not be those of the first batch; a value is stored exactly or refused, but for floats, which are rounded to a
    narrower float type that is declared. The other options are those of `Writer`. `progress` is told the rows written so far.

        >>> columns = {"time": np.arange(2), "lidar.points": [np.zeros((7, 4), np.float32), np.zeros((9, 4), np.float32)]}
        >>> tt.write_table("sweeps", columns, index=["time"]).groups
        [('lidar', [('lidar.points', 'f32[?,4]')])]
    """
    called(progress)
    parts, rest, typed = first_of(data, types("schema", schema))
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
        properties=properties,
        write_memory=write_memory,
        reference=reference,
        reuse=reuse,
        locality=locality,
        allow=allow,
        allow_unpinned=allow_unpinned,
    )
    return written(writer._native, rest, typed, progress, parts)


Parts = list[list[tuple[str, _tetrys.Column]]]


def batches_of(data: Data | Iterable[Data]) -> Iterator[Data]:
    """One batch of rows, or several."""
    if isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__"):
        return iter([cast("Data", data)])
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise WrongType(f"rows are a dict of columns, a frame, or an iterable of these, found {found(data)}")
    return iter(data)


def first_of(
    data: Data | Iterable[Data], schema: Mapping[str, str], otherwise: Mapping[str, str] | None = None
) -> tuple[Parts, Iterator[Data], dict[str, str]]:
    """The first batch, those behind it, and the types of all columns: `otherwise` for those whose values say none."""
    batches = batches_of(data)
    first = next(batches, None)
    if first is None:
        raise Invalid("no batch of rows: their columns are not known")
    parts = list(parts_of(first, schema, otherwise))
    if not parts:
        raise Invalid("a frame without batches: its columns are not known")
    return parts, batches, {name: column.type for name, column in parts[0]} | dict(schema)


def written(
    native: _tetrys.TableWriter,
    data: Data | Iterable[Data],
    schema: Mapping[str, str],
    progress: Callable[[int], object] | None,
    before: Parts | None = None,
) -> Table:
    """Writes all batches as one partition, and commits."""
    partition, rows = native.partition(), 0
    for parts in itertools.chain([before or []], (parts_of(batch, schema) for batch in batches_of(data))):
        for part in parts:
            partition.write(part)
            rows += len(part[0][1]) if part else 0
            if progress is not None:
                progress(rows)
    return Table._of(native.commit([partition.finish()]))


def types_of(table: Table) -> dict[str, str]:
    """The type of each column."""
    return dict(table.index_columns) | {name: ty for _, columns in table.groups for name, ty in columns}


def ingest_l5(
    source: Url, url: Url, *, preset: str = "balanced", workers: int = 0, progress: Callable[[int], object] | None = None
) -> Table:
    """Takes a Level 5 data set (a zarr folder) in as a new table, one row a frame, one sequence a scene. `progress` is told the
    frames done, from another thread; `workers=0` takes as many as the machine has threads.
    """
    choice("preset", preset, PRESETS)
    made = _tetrys.ingest_l5(url_of(source), url_of(url), preset, whole("workers", workers), called(progress))
    return Table._of(made)


def parts_of(
    data: Data, schema: Mapping[str, str], otherwise: Mapping[str, str] | None = None
) -> Iterable[list[tuple[str, _tetrys.Column]]]:
    """The columns of a batch, of the types that `schema` declares; `otherwise` has those of columns whose values say none."""
    other = (otherwise or {}).get
    if isinstance(data, Mapping):
        named = {text("a column", name): values for name, values in data.items()}
        return [[(name, column(name, values, schema.get(name), other(name))) for name, values in named.items()]]
    if isinstance(data, pl.DataFrame):
        for name, dtype in data.schema.items():
            refuse_objects(name, dtype)
    if not hasattr(data, "__arrow_c_stream__"):
        raise WrongType(f"rows are a dict of columns, a frame, or an iterable of these, found {found(data)}")
    try:
        parts = _tetrys.columns_of(data)
    except ImportError as error:
        raise Unsupported(f"{type(data).__name__} speaks Arrow by pyarrow, which is not installed") from error
    except (TypeError, ValueError) as error:
        raise Invalid(f"a frame that Arrow does not take: {error}") from error
    return [[(name, as_declared(name, made, schema.get(name), other(name))) for name, made in part] for part in parts]
