"""Items of readers: rows that were read become namedtuples, n-grams, or arrays of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._batches import Batch, Maker, Read
from .._errors import imported
from .._index import Index
from .._rows import RowLoader
from .._table import Table
from .._tetrys import Rows
from ._source import Positions, Source
from ._stored import Stored, Values
from .errors import NoColumn, UnequalShapesError, WrongType, found
from .ngram import NGram
from .transform import TransformSpec
from .unischema import Unischema


class RowItems:
    """Makes namedtuples of rows.

    Args:
        stored: The fields that are read, in schema order.
        schema: The schema of the items.
        spec: The transform, or None.
    """

    def __init__(self, stored: Sequence[Stored], schema: Unischema, spec: TransformSpec | None) -> None:
        self.stored = list(stored)
        self._schema = schema
        self._spec = spec
        self._class = schema._get_namedtuple()

    def __call__(self, rows: Rows) -> list[Any]:
        if self._spec is None or self._spec.func is None:
            by_name = {one.field.name: one for one in self.stored}
            columns = [by_name[name].values(rows) for name in self._schema.fields]
            return list(map(self._class._make, zip(*columns, strict=True))) if columns else [self._class() for _ in range(len(rows))]
        return [self._class(*(row[name] for name in self._schema.fields)) for row in self.dicts(rows)]

    def dicts(self, rows: Rows) -> list[dict[str, Any]]:
        """Returns transformed rows as dicts."""
        names = [one.field.name for one in self.stored]
        values = [one.values(rows) for one in self.stored]
        made = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)] if values else [{} for _ in range(len(rows))]
        if self._spec is None or self._spec.func is None:
            return made
        return [_complete(self._spec.func(row), self._schema) for row in made]


def _complete(row: Any, schema: Unischema) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise WrongType(f"the function of the transform returns a dict, found {found(row)}")
    if missing := [name for name in schema.fields if name not in row]:
        raise NoColumn(f"the function of the transform returned no field `{missing[0]}`; it returned: {', '.join(map(str, row))}")
    return dict(row)


class BatchItems:
    """Makes one namedtuple of arrays of all rows of a batch; arguments as for `RowItems`."""

    def __init__(self, stored: Sequence[Stored], schema: Unischema, spec: TransformSpec | None) -> None:
        self.stored = list(stored)
        self._schema = schema
        self._spec = spec
        self._class = schema._get_namedtuple()

    def __call__(self, rows: Rows) -> list[Any]:
        if self._spec is None or self._spec.func is None:
            by_name = {one.field.name: one for one in self.stored}
            return [self._class(*(_array(by_name[name], rows) for name in self._schema.fields))]
        pandas = imported("pandas", "the transform of a batch reader gets pandas frames: pip install pandas")
        columns = {one.field.name: _array(one, rows) if one.field.shape == () else one.values(rows) for one in self.stored}
        frame = self._spec.func(pandas.DataFrame(columns))
        if not isinstance(frame, pandas.DataFrame):
            raise WrongType(f"the function of the transform returns a pandas frame, found {found(frame)}")
        if missing := [name for name in self._schema.fields if name not in frame.columns]:
            raise NoColumn(f"the function of the transform returned no column `{missing[0]}`; it returned: {', '.join(map(str, frame.columns))}")
        return [self._class(*(_of_series(name, frame[name], field.shape, field.numpy_dtype) for name, field in self._schema.fields.items()))]


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
        return values
    return _stacked(stored.field.name, stored.values(rows))


def _stacked(name: str, values: Values) -> npt.NDArray[Any]:
    known = [value for value in values if value is not None]
    if known and len(known) == len(values) and all(isinstance(value, str) for value in known):
        return np.array(values, np.str_)
    if known and isinstance(known[0], np.ndarray):
        shapes = {value.shape for value in known}
        if len(shapes) > 1 or len(known) < len(values):
            what = "null and arrays" if len(known) < len(values) else f"arrays of the shapes {', '.join(map(str, sorted(shapes)[:3]))}"
            raise UnequalShapesError(
                f"field `{name}` has {what} in one batch, expected arrays of one shape: make them equal in a TransformSpec, leave the field out, "
                "or read rows with make_reader"
            )
        return np.stack(known)
    made = np.empty(len(values), object)
    made[:] = values
    return made


def _of_series(name: str, series: Any, shape: tuple[int | None, ...], dtype: Any) -> npt.NDArray[Any]:
    values = series.tolist() if shape else series.to_numpy()
    if not shape:
        if len(values) and isinstance(values[0], str):
            return _stacked(name, list(values))
        return np.array(values)
    arrays = _stacked(name, [value if value is None else np.asarray(value) for value in values])
    if None not in shape and arrays.shape[1:] != shape and arrays[:1].size == int(np.prod([extent or 0 for extent in shape])):
        arrays = arrays.reshape(len(arrays), *(extent or 0 for extent in shape))
    return arrays if arrays.dtype.kind == "O" or dtype is None else arrays


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
        """Reads n-grams: {offset: namedtuple} for each."""
        places = self._places[list(indices)]
        values: dict[str, tuple[Values, dict[int, npt.NDArray[np.int64]]]] = {}
        for used, stored in self._together.items():
            # A place without a row is read at another row of its n-gram.
            wanted = np.where(places[:, used] < 0, places.max(axis=1, keepdims=True), places[:, used])
            positions, inverse = np.unique(wanted, return_inverse=True)
            rows = self._loader._native.take(positions.tolist(), [column for one in stored for column in one.columns])
            where = dict(zip(used, inverse.reshape(wanted.shape).T, strict=True))
            if self._transforms:
                dicts = self._rows.dicts(rows)
                values |= {name: ([row[name] for row in dicts], where) for name in {name for names in self._names for name in names}}
            else:
                values |= {one.field.name: (one.values(rows), where) for one in stored}
        by_offset = []
        for number, (make, names) in enumerate(zip(self._classes, self._names, strict=True)):
            columns = [[values[name][0][place] for place in values[name][1][number]] for name in names]
            made = list(map(make._make, zip(*columns, strict=True))) if columns else [make() for _ in range(len(places))]
            by_offset.append([row if there else None for row, there in zip(made, (places[:, number] >= 0).tolist(), strict=True)])
        return {"items": [dict(zip(self._offsets, rows, strict=True)) for rows in zip(*by_offset, strict=True)]}


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
        return {"items": self._make(self._loader._native.take(wanted, self._columns))}


class ItemMaker(Maker):
    """Makes batches of items: `batch["items"]` is a list of them.

    Args:
        make: Converts rows into items; None if the source of samples computes them.
    """

    def __init__(self, make: RowItems | BatchItems | None) -> None:
        super().__init__("numpy", None, False, False)
        self._make = make

    def arrays(self, arrays: dict[str, Any]) -> Batch:
        return arrays

    def batch(self, read: Read) -> Batch:
        positions, _, _, parts = read
        made: Batch = {"positions": positions}
        if self._make is not None:
            made["items"] = self._make(parts[0][0])
        return made
