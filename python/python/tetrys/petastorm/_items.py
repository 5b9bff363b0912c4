"""Items of readers: rows that were read become namedtuples, n-grams, or arrays of a batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._batches import Batch, Maker, Read
from .._errors import imported
from .._index import Index
from .._rows import RowLoader
from .._table import Table
from .._tetrys import Internal, Rows
from ._source import Positions, Source
from ._stored import Stored, Values
from .errors import NoColumn, WrongType, found
from .ngram import NGram
from .transform import TransformSpec
from .unischema import Unischema


class RowItems:
    """Makes namedtuples of rows.

    Args:
        stored: The fields that are read, in schema order.
        schema: The schema of the items.
        spec: The transform, or None.
        is_split: Whether worker processes call the function of the transform, between `raw` and `finished`.
    """

    def __init__(self, stored: Sequence[Stored], schema: Unischema, spec: TransformSpec | None, is_split: bool = False) -> None:
        self.stored = list(stored)
        self.is_split = is_split
        self._schema = schema
        self._function = None if spec is None else spec.func
        self._class = schema._get_namedtuple()

    def __call__(self, rows: Rows) -> list[Any]:
        if self._function is None:
            by_name = {one.field.name: one for one in self.stored}
            columns = [by_name[name].values(rows) for name in self._schema.fields]
            return [self._class._make(row) for row in zip(*columns, strict=True)] if columns else [self._class() for _ in range(len(rows))]
        return self.finished(_results(self._function, self.raw(rows)), len(rows))

    def raw(self, rows: Rows) -> list[dict[str, Any]]:
        """Returns rows as dicts, before the transform."""
        names = [one.field.name for one in self.stored]
        values = [one.values(rows) for one in self.stored]
        return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)] if values else [{} for _ in range(len(rows))]

    def complete(self, made: list[Any], count: int) -> list[dict[str, Any]]:
        """Checks what the function of the transform returned for each of `count` rows."""
        if len(made) != count:
            raise Internal(f"the function of the transform was called for {count} rows, and {len(made)} came back: report this")
        rows = [_complete(row, self._schema) for row in made]
        if self.is_split:
            # Arrays that came from a worker keep all rows of its batch in memory.
            rows = [{name: value.copy() if type(value) is np.ndarray else value for name, value in row.items()} for row in rows]
        return rows

    def finished(self, made: list[Any], count: int) -> list[Any]:
        """Returns the items of `count` rows that the function of the transform has returned."""
        return [self._class(*(row[name] for name in self._schema.fields)) for row in self.complete(made, count)]

    def dicts(self, rows: Rows) -> list[dict[str, Any]]:
        """Returns transformed rows as dicts."""
        made = self.raw(rows)
        return made if self._function is None else self.complete(_results(self._function, made), len(made))


def _results(function: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
    """Returns what the function of a transform returns for each argument."""
    # Not with `map`, and no StopIteration: either could end a loop early, without its last rows.
    try:
        return [function(argument) for argument in arguments]
    except StopIteration as error:
        raise RuntimeError("the function of the transform raised StopIteration") from error


def _complete(row: Any, schema: Unischema) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise WrongType(f"the function of the transform returns a dict, found {found(row)}")
    if missing := [name for name in schema.fields if name not in row]:
        raise NoColumn(f"the function of the transform returned no field `{missing[0]}`; it returned: {', '.join(map(str, row))}")
    return dict(row)


class BatchItems:
    """Makes one namedtuple of arrays of all rows of a batch; arguments as for `RowItems`."""

    def __init__(self, stored: Sequence[Stored], schema: Unischema, spec: TransformSpec | None, is_split: bool = False) -> None:
        self.stored = list(stored)
        self.is_split = is_split
        self._schema = schema
        self._function = None if spec is None else spec.func
        self._class = schema._get_namedtuple()

    def __call__(self, rows: Rows) -> list[Any]:
        if self._function is None:
            by_name = {one.field.name: one for one in self.stored}
            return [self._class(*(_array(by_name[name], rows) for name in self._schema.fields))]
        return self.finished(_results(self._function, [self.raw(rows)])[0])

    def raw(self, rows: Rows) -> Any:
        """Returns rows as a pandas frame, before the transform."""
        pandas = _pandas()
        return pandas.DataFrame({one.field.name: _array(one, rows) if one.field.shape == () else one.values(rows) for one in self.stored})

    def finished(self, frame: Any) -> list[Any]:
        """Returns the item of a frame that the function of the transform has returned."""
        if not isinstance(frame, _pandas().DataFrame):
            raise WrongType(f"the function of the transform returns a pandas frame, found {found(frame)}")
        if missing := [name for name in self._schema.fields if name not in frame.columns]:
            raise NoColumn(f"the function of the transform returned no column `{missing[0]}`; it returned: {', '.join(map(str, frame.columns))}")
        return [self._class(*(_of_series(frame[name], field.shape) for name, field in self._schema.fields.items()))]


def _pandas() -> Any:
    return imported("pandas", "the transform of a batch reader gets pandas frames: pip install pandas")


class Function:
    """Calls the function of a transform, in a worker process: with each row, or with the frame of a batch."""

    def __init__(self, function: Callable[[Any], Any], is_batched: bool) -> None:
        self._function = function
        self._is_batched = is_batched

    def __call__(self, batch: Batch) -> Batch:
        items = batch["items"]
        return {**batch, "items": _results(self._function, [items])[0] if self._is_batched else _results(self._function, items)}


def _array(stored: Stored, rows: Rows) -> npt.NDArray[Any]:
    """Returns the values of a field as one array. Null is NaN in numbers, NaT in times, and None in an array of objects elsewhere."""
    if stored.is_plain or (stored.field.shape == () and stored.type.startswith(("date", "timestamp", "duration"))):
        (column,) = stored.columns
        values, valid = np.array(rows[column]), rows.valid(column)
        if not valid.all():
            if values.dtype.kind == "b":
                values = values.astype(object)
            elif values.dtype.kind in "iu":
                values = values.astype(np.float64)
            values[~valid] = None if values.dtype.kind == "O" else "NaT" if values.dtype.kind in "mM" else np.nan
        # As pandas has dates of Parquet: datetime.date and None.
        return values.astype(object) if stored.type == "date" and not stored.is_declared else values
    return _stacked(stored.values(rows))


def _stacked(values: Values) -> npt.NDArray[Any]:
    """Returns values as one array; an array of objects where some are null, or arrays of different shapes."""
    known = [value for value in values if value is not None]
    if known and len(known) == len(values):
        if all(isinstance(value, str) for value in known):
            return np.array(values, np.str_)
        if isinstance(known[0], np.ndarray) and len({value.shape for value in known}) == 1:
            return np.stack(known)
    made = np.empty(len(values), object)
    # Not at once: numpy would make one array of arrays of the same shape.
    for number, value in enumerate(values):
        made[number] = value
    return made


def _of_series(series: Any, shape: tuple[int | None, ...]) -> npt.NDArray[Any]:
    values = series.tolist() if shape else series.to_numpy()
    if not shape:
        if len(values) and isinstance(values[0], str):
            return _stacked(list(values))
        return np.array(values)
    return _stacked([value if value is None else _shaped(np.asarray(value), shape) for value in values])


def _shaped(array: npt.NDArray[Any], shape: tuple[int | None, ...]) -> npt.NDArray[Any]:
    """Returns an array of a frame, which may be flat, with the shape of its field where that is known and fits."""
    extents = [extent for extent in shape if extent is not None]
    return array.reshape(extents) if len(extents) == len(shape) and array.size == math.prod(extents) else array


class NGramItems:
    """Computes n-grams from the rows of a source: item i has the rows of `places[i]`.

    It is the source of samples of a data loader, which decides order, epochs and read-ahead.

    Args:
        source: The rows.
        places: Positions of the rows of each n-gram, [n-grams, length]; -1 is a place without a row.
        ngram: The fields of each offset.
        rows: How rows become dicts. Its fields are those of all offsets.
        schema: The schema of transformed rows.
        transforms: Whether rows are transformed: then each row is read with all fields.
    """

    def __init__(self, source: Source, places: Positions, ngram: NGram, rows: RowItems, schema: Unischema, transforms: bool) -> None:
        self._source = source
        self._places = places
        self._offsets = list(ngram.offsets)
        self._rows = rows
        self._loader: RowLoader = source.loader()
        views = [ngram.get_schema_at_timestep(schema, offset) for offset in self._offsets]
        self._classes = [view._get_namedtuple() for view in views]
        self._names = [list(view.fields) for view in views]
        stored = {one.field.name: one for one in rows.stored}
        # Fields that the same offsets need are read together.
        together: dict[tuple[int, ...], list[Stored]] = {}
        if transforms:
            together[tuple(range(len(self._offsets)))] = rows.stored
        else:
            for name, one in stored.items():
                if used := tuple(place for place, names in enumerate(self._names) if name in names):
                    together.setdefault(used, []).append(one)
        self._together = together
        self._transforms = transforms

    def loader_source(self) -> Table | Index:
        """Returns a row for each n-gram."""
        return self._source.at(self._places.max(axis=1) if len(self._places) else np.zeros(0, np.int64), ())

    def batch(self, indices: Iterable[int]) -> dict[str, Any]:
        """Reads n-grams: {offset: namedtuple} for each. If worker processes transform rows, the rows and their places instead."""
        places = self._places[list(indices)]
        there = places >= 0
        values: dict[str, tuple[Values, dict[int, Positions]]] = {}
        for used, stored in self._together.items():
            # A place without a row is read at another row of its n-gram.
            wanted = np.where(places[:, used] < 0, places.max(axis=1, keepdims=True), places[:, used])
            positions, inverse = np.unique(wanted, return_inverse=True)
            rows = self._loader._native.take(positions.tolist(), [column for one in stored for column in one.columns])
            where = inverse.reshape(wanted.shape)
            if self._rows.is_split:
                return {"items": self._rows.raw(rows), "where": where, "there": there}
            if self._transforms:
                return {"items": self._of_dicts(self._rows.dicts(rows), where, there)}
            values |= {one.field.name: (one.values(rows), dict(zip(used, where.T, strict=True))) for one in stored}
        return {"items": self._assembled(values, there)}

    def finished(self, batch: Batch) -> list[Any]:
        """Returns the n-grams of rows that worker processes have transformed."""
        where = batch["where"]
        return self._of_dicts(self._rows.complete(batch["items"], int(where.max(initial=-1)) + 1), where, batch["there"])

    def _of_dicts(self, dicts: list[dict[str, Any]], where: Positions, there: npt.NDArray[np.bool_]) -> list[Any]:
        """`where` has the number of the dict at each place of each n-gram."""
        names = {name for names in self._names for name in names}
        by_place = dict(enumerate(where.T))
        return self._assembled({name: ([row[name] for row in dicts], by_place) for name in names}, there)

    def _assembled(self, values: Mapping[str, tuple[Values, dict[int, Positions]]], there: npt.NDArray[np.bool_]) -> list[Any]:
        """`values` has the values of each field, and the number of the value at each place; `there`, whether a place has a row."""
        by_offset = []
        for number, (make, names) in enumerate(zip(self._classes, self._names, strict=True)):
            columns = [[values[name][0][place] for place in values[name][1][number]] for name in names]
            made = [make._make(row) for row in zip(*columns, strict=True)] if columns else [make() for _ in range(len(there))]
            by_offset.append([row if is_there else None for row, is_there in zip(made, there[:, number].tolist(), strict=True)])
        return [dict(zip(self._offsets, rows, strict=True)) for rows in zip(*by_offset, strict=True)]


class SampledItems:
    """Computes rows or batches for a data loader, as a source of samples: for tables whose columns the loader itself cannot deliver,
    because a batch of the loader has an entry of the same name.

    Args:
        source: The rows.
        positions: The positions of those that are delivered; None for all.
        make: Converts rows into items.
    """

    def __init__(self, source: Source, positions: Positions | None, make: RowItems | BatchItems) -> None:
        self._source = source
        self._positions = positions
        self._make = make
        self._loader: RowLoader = source.loader()
        self._columns = [column for one in make.stored for column in one.columns]

    def loader_source(self) -> Table | Index:
        """Returns the rows."""
        return self._source.at(self._positions, ())

    def batch(self, indices: Iterable[int]) -> dict[str, Any]:
        """Reads rows."""
        numbers = list(indices)
        wanted = numbers if self._positions is None else self._positions[numbers].tolist()
        rows = self._loader._native.take(wanted, self._columns)
        return {"items": self._make.raw(rows) if self._make.is_split else self._make(rows)}


class ItemMaker(Maker):
    """Makes batches of items: `batch["items"]` is a list of them.

    Args:
        make: Converts rows into items; None if the source of samples computes them.
        finish: Returns the items of a batch that worker processes have transformed; None if they do not.
    """

    by_threads = 'reader_pool_type="thread"'

    def __init__(self, make: RowItems | BatchItems | None, finish: Callable[[Batch], list[Any]] | None) -> None:
        super().__init__("numpy", None, False, False)
        self._make = make
        self._finish = finish

    def arrays(self, arrays: dict[str, Any]) -> Batch:
        return arrays

    def batch(self, read: Read) -> Batch:
        positions, _, _, parts = read
        made: Batch = {"positions": positions}
        if self._make is not None:
            made["items"] = self._make.raw(parts[0][0]) if self._make.is_split else self._make(parts[0][0])
        return made

    def finished(self, batch: Batch) -> Batch:
        return batch if self._finish is None else {"positions": batch["positions"], "items": self._finish(batch)}
