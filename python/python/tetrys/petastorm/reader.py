"""Readers with the arguments of Petastorm, over tables and views.

The data loader of `tetrys` decides the order of the rows, reads ahead, and keeps the state. A reader chooses the rows before, and
makes namedtuples of them afterwards.
"""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any

import numpy as np

from .._arguments import choice, is_whole, limited, truth, whole
from .._batches import Batch
from .._loader import DataLoader
from .._processes import MOST
from .._tetrys import Internal, Invalid
from .._turns import Turns
from ._items import BatchItems, Function, ItemMaker, NGramItems, RowItems, SampledItems
from ._select import selected
from ._source import Positions, Source, cache_settings, opened, plain_array
from ._stored import Stored
from .errors import NoColumn, NoDataAvailableError, NoFieldsError, NotSupportedError, WrongStateError, WrongType, WrongValue, as_petastorm, found
from .ngram import NGram, form
from .transform import TransformSpec, transform_schema
from .unischema import Unischema, UnischemaField

__all__ = ["Reader", "make_batch_reader", "make_reader"]

_BATCH_BYTES = 32 << 20
Fields = Iterable[UnischemaField | str] | NGram | None


def make_reader(
    dataset_url: Any,
    schema_fields: Fields = None,
    reader_pool_type: str = "thread",
    workers_count: int = 10,
    pyarrow_serialize: bool = False,
    results_queue_size: int = 50,
    seed: int | None = None,
    shuffle_rows: bool = False,
    shuffle_row_groups: bool = True,
    shuffle_row_drop_partitions: int = 1,
    predicate: Any = None,
    rowgroup_selector: Any = None,
    num_epochs: int | None = 1,
    cur_shard: int | None = None,
    shard_count: int | None = None,
    shard_seed: int | None = None,
    cache_type: str | None = "null",
    cache_location: Any = None,
    cache_size_limit: int | str | None = None,
    cache_row_size_estimate: int | None = None,
    cache_extra_settings: Mapping[str, Any] | None = None,
    hdfs_driver: str = "libhdfs3",
    transform_spec: TransformSpec | None = None,
    filters: Any = None,
    storage_options: Mapping[str, Any] | None = None,
    zmq_copy_buffers: bool = True,
    filesystem: Any = None,
    convert_early_to_numpy: bool = False,
    *,
    prefetch: int | str = "256MiB",
    ingest_to: Any = None,
) -> Reader:
    """Reads the rows of a table as namedtuples, with the arguments of Petastorm.

    Args:
        dataset_url: URL or path of a table or a view, a list of them, a `Table`, or an `Index`.
        schema_fields: Fields, regular expressions that match whole names, or an `NGram`. Default: all fields.
        seed: Seed of the order; default: another order in each run. A shard has the same rows with any seed.
        shuffle_rows: All rows in random order.
        shuffle_row_groups: Blocks of neighbouring rows in random order, and the rows of 16 blocks mixed. A table has no row groups.
        shuffle_row_drop_partitions: Mixes as many times more blocks.
        predicate: A predicate of `tetrys.petastorm.predicates`, or an object with its two methods. Evaluated once, now.
        rowgroup_selector: A selector of `tetrys.petastorm.selectors`. Chooses rows, not row groups.
        num_epochs: Number of passes over the rows, each in another order; None: without end.
        cur_shard, shard_count: Delivers the selected rows (or n-grams) number cur_shard, cur_shard + shard_count, ..
        cache_type: `"local-disk"` keeps ranges that were read from a remote store in the folder `cache_location`, at most
            `cache_size_limit` bytes. The cache may be shared by processes and runs, and leaves other files of the folder alone.
        transform_spec: Applied to each row, on up to four threads ahead of the loop, or in worker processes
            (`reader_pool_type="process"`).
        filters: Conditions on fields as pyarrow takes them: `[(field, op, value), ..]`, or a list of such lists, any of which may hold.
        prefetch: Bound of the rows that are read ahead, in bytes, or as text.
        ingest_to: URL or path of a table. If there is none yet, the reader first imports the data set of Petastorm, or of Parquet files,
            at `dataset_url` into it, with the defaults of `tetrys.ingest_petastorm`; then it reads the table. A table that is there is
            taken as it is.
        reader_pool_type: `"process"` lets worker processes call the function of `transform_spec`: for functions in plain Python, which
            hold the interpreter's lock. The function is pickled; see `worker_kind` of `tetrys.DataLoader`. Threads of this process read
            and decode in any case, and with `"thread"` and `"dummy"` also call the function.
        workers_count: Number of worker processes, at most one for each core, so that the default of 10 uses all cores. Unused without
            processes.
        results_queue_size: Checked, and otherwise unused: `prefetch` bounds the read-ahead.
        pyarrow_serialize, shard_seed, cache_row_size_estimate, cache_extra_settings, hdfs_driver, zmq_copy_buffers,
            convert_early_to_numpy: Accepted, and unused.
        storage_options: Options of the store, by names of fsspec or object_store; see `tetrys.open_table`.
        filesystem: Not supported: the stores of tetrys read the tables.

    Example:
        >>> from tetrys.petastorm import make_reader
        >>> with make_reader("drives", schema_fields=["log_id", "camera_intrinsics"], shuffle_row_groups=False) as reader:
        ...     row = next(reader)
        >>> row.log_id, row.camera_intrinsics.shape, len(reader)
        (np.str_('monday'), (3, 3), 20)

    Raises:
        FileNotFoundError (a `NotFound`): there is no table, or a data set that was not ingested.
        RuntimeError (a `NotFound`): no field matches `schema_fields`.
        ValueError, TypeError (both an `Invalid`): an argument is impossible.
        NoDataAvailableError: there are fewer rows than shards.
        NotImplementedError (an `Unsupported`): n-grams of rows that are not sorted by time.
        RuntimeError (an `Unavailable`), from the loop: a worker process has ended before it returned its rows.
    """
    del pyarrow_serialize, cache_row_size_estimate, cache_extra_settings, hdfs_driver, zmq_copy_buffers, convert_early_to_numpy
    processes = _processes(reader_pool_type, workers_count, results_queue_size)
    cache = cache_settings(cache_type, cache_location, cache_size_limit)
    source = opened(dataset_url, storage_options=storage_options, filesystem=filesystem, cache=cache, ingest_to=ingest_to)
    return Reader(
        source,
        schema_fields=schema_fields,
        seed=seed,
        shuffle=_shuffle(shuffle_rows, shuffle_row_groups),
        mixes=whole("shuffle_row_drop_partitions", shuffle_row_drop_partitions, 1),
        predicate=predicate,
        rowgroup_selector=rowgroup_selector,
        num_epochs=num_epochs,
        shard=_shard(cur_shard, shard_count, shard_seed),
        transform_spec=transform_spec,
        filters=filters,
        prefetch=prefetch,
        batch_size=None,
        is_batched=False,
        processes=processes,
    )


def make_batch_reader(
    dataset_url_or_urls: Any,
    schema_fields: Fields = None,
    reader_pool_type: str = "thread",
    workers_count: int = 10,
    results_queue_size: int = 50,
    seed: int | None = None,
    shuffle_rows: bool = False,
    shuffle_row_groups: bool = True,
    shuffle_row_drop_partitions: int = 1,
    predicate: Any = None,
    rowgroup_selector: Any = None,
    num_epochs: int | None = 1,
    cur_shard: int | None = None,
    shard_count: int | None = None,
    shard_seed: int | None = None,
    cache_type: str | None = "null",
    cache_location: Any = None,
    cache_size_limit: int | str | None = None,
    cache_row_size_estimate: int | None = None,
    cache_extra_settings: Mapping[str, Any] | None = None,
    hdfs_driver: str = "libhdfs3",
    transform_spec: TransformSpec | None = None,
    filters: Any = None,
    storage_options: Mapping[str, Any] | None = None,
    zmq_copy_buffers: bool = True,
    filesystem: Any = None,
    convert_early_to_numpy: bool = False,
    *,
    batch_size: int | None = None,
    prefetch: int | str = "256MiB",
    ingest_to: Any = None,
) -> Reader:
    """Reads batches of rows as namedtuples of arrays, with the arguments of Petastorm.

    Args:
        schema_fields: Fields, or regular expressions. Default: all fields.
        predicate: Gets pandas objects of many rows if it is an `in_lambda` or a class of yours, and returns one boolean for each.
        transform_spec: Its function gets and returns pandas frames.
        batch_size: Rows of a batch; default: as many as take about 32 MiB, at most 10,000. A table has no row groups.

    The other arguments are those of `make_reader`. An array has one entry for each row; text is `<U..`. Null is NaN in numbers (integers
    become float64 then), NaT in times, and None in an array of objects elsewhere.

    Example:
        >>> from tetrys.petastorm import make_batch_reader
        >>> with make_batch_reader("drives", schema_fields=["timestamp", "camera_intrinsics"], batch_size=8) as reader:
        ...     [batch.camera_intrinsics.shape for batch in reader]
        [(8, 3, 3), (8, 3, 3), (4, 3, 3)]

    Raises:
        NotImplementedError (an `Unsupported`): `schema_fields` is an `NGram`.
        RuntimeError (an `Invalid`), from the loop: arrays of a batch have different shapes.
        NotFound, ValueError, TypeError, NoDataAvailableError: as `make_reader`.
    """
    del cache_row_size_estimate, cache_extra_settings, hdfs_driver, zmq_copy_buffers, convert_early_to_numpy
    processes = _processes(reader_pool_type, workers_count, results_queue_size)
    if isinstance(schema_fields, NGram):
        raise NotSupportedError("n-grams are samples, and a batch reader delivers batches of rows: use make_reader")
    cache = cache_settings(cache_type, cache_location, cache_size_limit)
    source = opened(dataset_url_or_urls, storage_options=storage_options, filesystem=filesystem, cache=cache, ingest_to=ingest_to)
    return Reader(
        source,
        schema_fields=schema_fields,
        seed=seed,
        shuffle=_shuffle(shuffle_rows, shuffle_row_groups),
        mixes=whole("shuffle_row_drop_partitions", shuffle_row_drop_partitions, 1),
        predicate=predicate,
        rowgroup_selector=rowgroup_selector,
        num_epochs=num_epochs,
        shard=_shard(cur_shard, shard_count, shard_seed),
        transform_spec=transform_spec,
        filters=filters,
        prefetch=prefetch,
        batch_size=None if batch_size is None else whole("batch_size", batch_size, 1),
        is_batched=True,
        processes=processes,
    )


class Reader(Iterator[Any]):
    """Iterates over the rows, n-grams or batches that `make_reader` or `make_batch_reader` selected.

    The loop ends after `num_epochs` passes. Each pass delivers exactly the selected rows; a reader that did not would raise
    `tetrys.Internal`.
    """

    def __init__(
        self,
        source: Source,
        *,
        schema_fields: Fields,
        seed: int | None,
        shuffle: str,
        mixes: int,
        predicate: Any,
        rowgroup_selector: Any,
        num_epochs: int | None,
        shard: tuple[int, int] | None,
        transform_spec: TransformSpec | None,
        filters: Any,
        prefetch: int | str,
        batch_size: int | None,
        is_batched: bool,
        processes: int | None = None,
    ) -> None:
        """Not for users: `make_reader` and `make_batch_reader` make readers."""
        if transform_spec is not None and not isinstance(transform_spec, TransformSpec):
            raise WrongType(f"transform_spec: expected a TransformSpec, found {found(transform_spec)}")
        with as_petastorm():
            self.num_epochs = None if num_epochs is None else whole("num_epochs", num_epochs, 1)
        self.ngram = schema_fields if isinstance(schema_fields, NGram) else None
        self.batched_output = self.is_batched_reader = is_batched
        stored_schema = source.schema
        if self.ngram is not None:
            self.ngram.resolve_regex_field_names(stored_schema)
            if not self.ngram.timestamp_overlap and mixes > 1:
                raise NotSupportedError("timestamp_overlap=False and shuffle_row_drop_partitions > 1 exclude each other, as in Petastorm: leave the latter out")
        view = _view(stored_schema, schema_fields if self.ngram is None else _of_ngram(stored_schema, self.ngram), source)
        self.schema: Unischema = view if transform_spec is None else transform_schema(view, transform_spec)
        stored = _read(source, view, self.schema, transform_spec)
        positions = selected(source, predicate=predicate, filters=filters, selector=rowgroup_selector, in_frames=is_batched)
        function = None if transform_spec is None else transform_spec.func
        is_split = processes is not None and function is not None
        make: RowItems | BatchItems | None = None
        finish: Callable[[Batch], list[Any]]
        rows: Any
        if self.ngram is not None:
            places = _places(source, self.ngram, positions, transform_spec)
            places = places if shard is None else _of_shard(places, shard)
            of_rows = RowItems(stored, self.schema, transform_spec, is_split)
            rows, self._count = NGramItems(source, places, self.ngram, of_rows, self.schema, function is not None), len(places)
            finish = rows.finished
        else:
            if shard is not None:
                positions = _of_shard(np.arange(len(source), dtype=np.int64) if positions is None else positions, shard)
            self._count = len(source) if positions is None else len(positions)
            if is_batched:
                make = frames = BatchItems(stored, self.schema, transform_spec, is_split)
                finish = lambda batch: frames.finished(batch["items"])  # noqa: E731
            else:
                make = items = RowItems(stored, self.schema, transform_spec, is_split)
                finish = lambda batch: items.finished(batch["items"], len(batch["positions"]))  # noqa: E731
            if "positions" in {column for one in stored for column in one.columns}:
                rows, make = SampledItems(source, positions, make), None
            else:
                rows = source.at(positions, stored)
        if not self._count:
            warnings.warn(f"no row of {source.tables[0].url} is selected: the reader delivers nothing", stacklevel=4)
        self._url = source.tables[0].url
        self._settings: dict[str, Any] = dict(
            batch_size=batch_size or _batch_rows(source, stored, self.ngram, is_batched, transform_spec),
            columns=None if make is None else [column for one in stored for column in one.columns],
            decode=None if make is None else {one.columns[0]: one.picture for one in stored if one.picture is not None},
            shuffle=shuffle, seed=secrets.randbits(63) if seed is None else whole("seed", seed, 0, 2**64 - 1),
            blocks=16 * mixes, last="short", rank=0, world_size=1, prefetch=prefetch,
            # What takes long in Python runs on threads ahead of the loop.
            transform=_same if transform_spec is not None or any(one.type == "binary" and one.decodes for one in stored) else None,
        )  # fmt: skip
        if is_split and function is not None:
            self._settings |= dict(transform=Function(function, is_batched), workers=processes, worker_kind="process")
        self._source, self._maker = rows, ItemMaker(make, finish if is_split else None)
        self.stopped = False
        self._turns = Turns()
        self._start()

    def _start(self) -> None:
        """Makes the data loader, at the start of the first epoch."""
        with warnings.catch_warnings():
            # The shards of a reader are those of its arguments, whatever torch.distributed says.
            warnings.filterwarnings("ignore", message="rank 0 of 1, but torch.distributed")
            self._loader = DataLoader(self._source, **self._settings)
        self._loader._maker = self._maker
        self._end = None if self.num_epochs is None else self.num_epochs
        self._rewind()

    def _rewind(self) -> None:
        """Forgets rows that were read ahead, after the loader went to another place."""
        self._batches: Iterator[dict[str, Any]] | None = None
        self._items: list[Any] = []
        self._next = 0
        # The state before the current items, and the number of their rows.
        self._before = self._loader.state_dict()
        self._rows = 0
        self._is_whole = True
        self.last_row_consumed = False

    def __iter__(self) -> Reader:
        return self

    def __next__(self) -> Any:
        with self._turns.lock:
            self._refuse_if_stopped()
            # Another thread may stop the reader at any time, which replaces the items.
            while self._next >= len(items := self._items):
                try:
                    self._fill()
                except Exception:
                    self._refuse_if_stopped()
                    raise
                self._refuse_if_stopped()
            item = items[self._next]
            # The reader does not keep rows that the loop has dropped.
            items[self._next] = None
            self._next += 1
        return item

    def _refuse_if_stopped(self) -> None:
        if self.stopped:
            # An epoch, and with it its workers, may have begun after `stop`.
            self.stop()
            raise WrongStateError("the reader was stopped: make another one, and read inside of its `with` block")

    def next(self) -> Any:
        """Returns the next item, as `next(reader)` does."""
        return self.__next__()

    def _fill(self) -> None:
        """Gets the next items. Begins the next epoch where one has ended."""
        batches = self._batches
        if batches is None:
            if not self._count or self._end is not None and self._loader.epoch >= self._end:
                self.last_row_consumed = True
                raise StopIteration
            batches = self._batches = iter(self._loader)
            self._left = self._count - int(self._loader.state_dict()["offset"])
        self._before = self._loader.state_dict()
        self._items, self._next = [], 0
        try:
            batch = next(batches, None)
        except Exception:
            # The rows of this batch are lost to the loop, which knows it.
            self._is_whole = False
            raise
        if batch is None:
            self._batches = None
            if self._is_whole and self._left:
                raise Internal(f"{self._url}: an epoch of {self._count} selected rows ended with {self._left} not delivered: report this")
            self._is_whole = True
            self._before = self._loader.state_dict()
            return
        self._rows = len(batch["positions"])
        self._left -= self._rows
        self._items = batch["items"]

    def __len__(self) -> int:
        """Returns the number of rows (or n-grams) of an epoch of this reader; of a batch reader, the rows of all its batches."""
        return self._count

    def seek(self, position: int) -> None:
        """Goes to a row (or n-gram) of the current epoch, by its number in the order of the epoch.

        Example:
            >>> from tetrys.petastorm import make_reader
            >>> reader = make_reader("drives", schema_fields=["timestamp"], shuffle_row_groups=False)
            >>> reader.seek(13)
            >>> int(next(reader).timestamp)
            1300

        Raises:
            Invalid: there is no such row in an epoch.
        """
        if not self._count:
            raise Invalid("seek: the reader has no rows")
        place = whole("position", position, 0, self._count - 1)
        self._load({**self.state_dict()["loader"], "offset": place})

    def reset(self) -> None:
        """Starts again: the reader delivers `num_epochs` further passes, in other orders."""
        if self.stopped:
            return
        # An epoch that was begun counts as over.
        epoch = self._loader.epoch
        begun = self._batches is not None or int(self._loader.state_dict()["offset"]) > 0
        first = epoch + 1 if begun else epoch
        self._loader.set_epoch(first)
        self._end = None if self.num_epochs is None else first + self.num_epochs
        self._rewind()

    def state_dict(self) -> dict[str, Any]:
        """Returns the state after the last item that the loop got, as a dict of JSON values.

        Example:
            >>> from tetrys.petastorm import make_reader
            >>> reader = make_reader("drives", schema_fields=["timestamp"], seed=7)
            >>> first, state = next(reader), reader.state_dict()
            >>> other = make_reader("drives", schema_fields=["timestamp"])
            >>> other.load_state_dict(state)
            >>> list(other) == list(reader)
            True
        """
        rows = self._next * self._rows if self.batched_output else self._next
        return {"format": 1, "end": self._end, "loader": {**self._before, "offset": int(self._before["offset"]) + rows}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues after a saved state: with its seed, its epoch and its number of epochs.

        Raises:
            Invalid: the state is none of a reader, or belongs to other tables, versions, rows, fields or another order.
        """
        known = isinstance(state, Mapping) and is_whole(state.get("format")) and state["format"] == 1 and isinstance(state.get("loader"), Mapping)
        if not known or "end" not in state:
            raise WrongType(f"a state is the dict that state_dict of a reader returned, found {found(state)}")
        end = None if state["end"] is None else whole("the state, its last epoch", state["end"])
        self._load(state["loader"])
        self._end = end

    def _load(self, state: Mapping[str, Any]) -> None:
        self._loader.load_state_dict(state)
        self._rewind()

    def _mix(self) -> None:
        """Lets a reader that keeps the order of the table mix its rows, for adapters with a shuffling queue."""
        if self._settings["shuffle"] == "none":
            self._settings["shuffle"] = "block"
            self._start()

    def stop(self) -> None:
        """Stops reading ahead, and ends the worker processes. The reader delivers nothing more."""
        self.stopped = True
        self._batches = None
        self._items = []
        self._loader._end_workers()

    def join(self) -> None:
        """Does nothing: `stop` has told worker processes to end, and nothing waits for them."""

    def cleanup_cache(self) -> None:
        """Does nothing: the cache bounds itself, and deletes only what it has written."""

    @property
    def diagnostics(self) -> dict[str, Any]:
        """What was read, and where time went; see `tetrys.DataLoader.stats`."""
        return {"output_queue_size": len(self._items) - self._next, **self._loader.stats()}

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        self.join()

    def __repr__(self) -> str:
        return f"Reader of {self._count} rows of {self._url}: {', '.join(self.schema.fields)}"


def _same(batch: dict[str, Any]) -> dict[str, Any]:
    return batch


def _processes(kind: Any, workers: Any, queue: Any) -> int | None:
    """Returns the number of worker processes; None for threads."""
    choice("reader_pool_type", kind, ("thread", "process", "dummy"))
    count = whole("workers_count", workers, 1)
    whole("results_queue_size", queue, 1)
    return min(count, os.cpu_count() or 1, MOST) if kind == "process" else None


def _shuffle(rows: object, groups: object) -> str:
    if truth("shuffle_rows", rows):
        truth("shuffle_row_groups", groups)
        return "global"
    return "block" if truth("shuffle_row_groups", groups) else "none"


def _shard(cur_shard: object, shard_count: object, shard_seed: object) -> tuple[int, int] | None:
    if shard_seed is not None:
        warnings.warn("shard_seed does nothing: a shard has the same rows with any seed", stacklevel=3)
    if cur_shard is None and shard_count is None:
        return None
    if cur_shard is None or shard_count is None:
        raise WrongValue("cur_shard and shard_count belong together: give both or none")
    with as_petastorm():
        count = whole("shard_count", shard_count, 1)
        return whole("cur_shard", cur_shard, 0, count - 1), count


def _of_shard(rows: Positions, shard: tuple[int, int]) -> Positions:
    number, count = shard
    if 0 < len(rows) < count:
        raise NoDataAvailableError(f"{count} shards of {len(rows)} selected rows: some would be empty, expected shard_count <= {len(rows)}")
    return rows[number::count]


def _view(schema: Unischema, fields: Any, source: Source) -> Unischema:
    """Returns the schema of the chosen fields; the columns of a plain table may be named too."""
    if fields is None:
        return schema
    if isinstance(fields, (str, bytes)) or not isinstance(fields, Iterable):
        raise WrongValue(f"schema_fields: expected a list of fields and regular expressions, or an NGram, found {found(fields)}")
    named = limited("schema_fields", fields, 2**16)
    chosen = schema.create_schema_view(named)
    if not chosen.fields:
        raise NoFieldsError(f"schema_fields: no field of {source.tables[0].url} matches {named}; there are: {', '.join(schema.fields)}")
    return chosen


def _of_ngram(schema: Unischema, ngram: NGram) -> list[UnischemaField]:
    """Returns the fields of all offsets, in schema order."""
    fields = ngram.get_field_names_at_all_timesteps()
    order = list(schema.fields)
    return sorted(fields, key=lambda field: order.index(field[0]) if field[0] in schema.fields else len(order))


def _read(source: Source, view: Unischema, schema: Unischema, spec: TransformSpec | None) -> list[Stored]:
    """Returns the fields to read: without a function, those that the transform leaves out are not read."""
    names: Iterable[str] = view.fields
    if spec is not None and spec.func is None:
        if missing := [name for name in schema.fields if name not in view.fields]:
            raise NoColumn(f"edit_fields: `{missing[0]}` is a new field, and the TransformSpec has no function that makes it")
        names = schema.fields
    if not (chosen := list(names)):
        raise NoFieldsError(f"transform_spec: it removes all fields: {', '.join(view.fields)}")
    return [source.fields[name] for name in chosen]


def _places(source: Source, ngram: NGram, positions: Positions | None, spec: TransformSpec | None) -> Positions:
    """Returns the positions of the rows of each n-gram."""
    stamp = ngram._timestamp_field.name
    if stamp not in {field.name for field in ngram.get_field_names_at_all_timesteps()}:
        raise NoColumn(f"n-grams: timestamp_field `{stamp}` must be among the fields of some offset")
    if spec is not None and any(edited[0] == stamp for edited in spec.edit_fields):
        raise NotSupportedError(f"the transform edits `{stamp}`, and n-grams are formed by the stored timestamps: store the edited ones in the table")
    chosen = np.arange(len(source), dtype=np.int64) if positions is None else positions
    loader = source.loader()
    times = plain_array(source, source.fields[stamp], chosen, loader)
    keys = ngram.group_by if ngram.group_by is not None else source.tables[0].sequence_by
    groups = np.zeros(len(chosen), np.int64)
    if keys:
        stored = [source.named(str(name), "n-grams, group_by") for name in keys]
        numbers: dict[Any, int] = {}
        codes = [numbers.setdefault(key, len(numbers)) for _, values in source.values(stored, chosen, loader) for key in _keys(values)]
        groups = np.array(codes, np.int64)
    try:
        rows = form(
            times, groups, offsets=ngram.offsets, threshold=ngram.delta_threshold, overlap=ngram.timestamp_overlap, stride=ngram.stride,
            padding=ngram.padding, name=stamp,
        )  # fmt: skip
    except TypeError as error:
        raise WrongType(f"n-grams: timestamps of `{stamp}` ({times.dtype}) and the threshold {ngram.delta_threshold!r}: {error}") from error
    return np.where(rows < 0, -1, chosen[np.maximum(rows, 0)]) if len(rows) else rows


def _keys(values: list[list[Any]]) -> Iterable[tuple[Any, ...]]:
    wrong = next((value for of_field in values for value in of_field if isinstance(value, np.ndarray)), None)
    if wrong is not None:
        raise WrongValue(f"n-grams, group_by: an array of shape {wrong.shape}, expected scalars")
    return zip(*values, strict=True)


def _batch_rows(source: Source, stored: list[Stored], ngram: NGram | None, is_batched: bool, spec: TransformSpec | None) -> int:
    """Returns how many rows are read together."""
    if is_batched:
        return source.rows_for(stored, _BATCH_BYTES, 10_000)
    most = 64 if spec is not None and spec.func is not None else 1024
    return max(1, source.rows_for(stored, 4 << 20, most) // (ngram.length if ngram is not None else 1))


