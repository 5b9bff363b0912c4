"""N-grams: rows that follow each other in time, as one sample."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import choice, is_whole, limited, texts, whole
from .._errors import short
from .._tetrys import Error
from .errors import NoColumn, NotSupportedError, WrongType, WrongValue, found
from .unischema import Unischema, UnischemaField, checked_row, checked_schema, match_unischema_fields

__all__ = ["NGram"]

Rows = npt.NDArray[np.int64]
_MOST_OFFSETS = 1 << 16


class NGram:
    """Samples of consecutive rows: `make_reader(url, schema_fields=NGram(..))` delivers dicts {offset: namedtuple}.

    A reader lines up the rows that survive its predicate, by position, inside each value of `group_by`. An n-gram is a run of
    `max(fields) - min(fields) + 1` such rows, each of which follows the one before within `delta_threshold`.

    Args:
        fields: {offset: fields or regular expressions}. An offset that is left out takes a row too; its namedtuple is empty.
        delta_threshold: Largest step of the timestamp from one row to the next, inclusive.
        timestamp_field: The field with the timestamps, or a regular expression that matches one field. It must be among the fields
            of some offset.
        timestamp_overlap: False: an n-gram starts behind the last timestamp of the one before.
        group_by: Names of index columns: n-grams stay inside rows with equal values. `"petastorm.row_group"` gives the n-grams of
            Petastorm, which cannot leave a row group. Default: the columns that define the sequences of the table, if it has any;
            else all rows are one group.
        stride: N-grams start at every `stride`-th row of a group.
        padding: Fills n-grams at the ends of a group and beside a larger step: `"repeat"` with the nearest row, `"null"` with None.
            Each row is then the row of offset 0 of one n-gram (of the offset nearest to 0, if there is no 0).

    Example:
        >>> from tetrys.petastorm import make_reader
        >>> from tetrys.petastorm.ngram import NGram
        >>> pairs = NGram({0: ["timestamp", "pedestrians"], 1: ["timestamp"]}, delta_threshold=100, timestamp_field="timestamp")
        >>> with make_reader("drives", schema_fields=pairs, shuffle_row_groups=False) as reader:
        ...     first, length = next(reader), len(reader)
        >>> int(first[0].timestamp), int(first[1].timestamp), length
        (0, 100, 18)

    Raises:
        ValueError (an `Invalid`): an argument has another type, or excludes another one.
    """

    def __init__(
        self,
        fields: dict[int, Sequence[UnischemaField | str]],
        delta_threshold: Any,
        timestamp_field: UnischemaField | str,
        timestamp_overlap: bool = True,
        *,
        group_by: str | Sequence[str] | None = None,
        stride: int = 1,
        padding: str | None = None,
    ) -> None:
        if not isinstance(fields, dict) or not fields:
            raise WrongValue("fields: expected a dict {offset: list of fields}")
        for offset, names in fields.items():
            if not is_whole(offset):
                raise WrongValue(f"fields: an offset is an integer, found {found(offset)}")
            if not isinstance(names, list) or not all(isinstance(name, str) or hasattr(name, "numpy_dtype") for name in names):
                raise WrongValue(f"fields, offset {offset}: expected a list of UnischemaField objects and regular expressions, found {found(names)}")
        if max(fields) - min(fields) >= _MOST_OFFSETS:
            raise WrongValue(f"fields: offsets from {short(min(fields))} to {short(max(fields))}: expected at most {_MOST_OFFSETS} of them, the left-out ones included")
        is_time = isinstance(delta_threshold, np.timedelta64) and not np.isnat(delta_threshold)
        is_number = isinstance(delta_threshold, numbers.Number) and not isinstance(delta_threshold, bool)
        if not is_time and (not is_number or delta_threshold != delta_threshold):
            raise WrongValue(f"delta_threshold: expected a number, found {found(delta_threshold)}")
        if not isinstance(timestamp_field, str) and not hasattr(timestamp_field, "numpy_dtype"):
            raise WrongValue(f"timestamp_field: expected a UnischemaField or a regular expression, found {found(timestamp_field)}")
        if not isinstance(timestamp_overlap, bool):
            raise WrongValue(f"timestamp_overlap: expected True or False, found {found(timestamp_overlap)}")
        if padding is not None:
            choice("padding", padding, ("repeat", "null"))
        if padding is not None and not timestamp_overlap:
            raise WrongValue("padding and timestamp_overlap=False exclude each other")
        self._fields: dict[int, list[Any]] = {int(offset): list(names) for offset, names in fields.items()}
        self._delta_threshold = delta_threshold
        self._timestamp_field: Any = timestamp_field
        self.timestamp_overlap = timestamp_overlap
        self.group_by = None if group_by is None else texts("group_by", group_by)
        self.stride = whole("stride", stride, 1)
        self.padding = padding

    @property
    def length(self) -> int:
        """Number of rows of an n-gram, those of left-out offsets included."""
        return max(self._fields) - min(self._fields) + 1

    @property
    def offsets(self) -> range:
        """The offsets, those that are left out included."""
        return range(min(self._fields), max(self._fields) + 1)

    @property
    def fields(self) -> dict[int, list[Any]]:
        """The fields of each offset."""
        return self._fields

    @property
    def delta_threshold(self) -> Any:
        """Largest step of the timestamp from one row to the next."""
        return self._delta_threshold

    def resolve_regex_field_names(self, schema: Unischema) -> None:
        """Replaces regular expressions by the fields of a schema that they match.

        Raises:
            ValueError (an `Invalid`): `timestamp_field` matches no field, or several.
        """
        self._fields = {offset: self.convert_fields(schema, names) for offset, names in self._fields.items()}
        stamps = self.convert_fields(schema, [self._timestamp_field])
        if len(stamps) != 1:
            raise WrongValue(f"timestamp_field `{self._timestamp_field}` matches {len(stamps)} fields of schema {schema._name}, expected one")
        self._timestamp_field = stamps[0]

    def convert_fields(self, unischema: Unischema, field_list: Sequence[UnischemaField | str]) -> list[UnischemaField]:
        """Returns the fields of a list of fields and regular expressions."""
        listed = limited("field_list", field_list, _MOST_OFFSETS)
        given = [field for field in listed if not isinstance(field, str)]
        if wrong := [field for field in given if not hasattr(field, "numpy_dtype")]:
            raise WrongValue(f"field_list: expected UnischemaField objects and regular expressions, found {found(wrong[0])}")
        return [*given, *match_unischema_fields(unischema, [field for field in listed if isinstance(field, str)])]

    def get_field_names_at_timestep(self, timestep: int) -> list[str]:
        """Returns the names of the fields of an offset."""
        if not is_whole(timestep):
            raise WrongType(f"timestep: expected an integer, found {found(timestep)}")
        return [field[0] for field in self._fields.get(int(timestep), ())]

    def get_field_names_at_all_timesteps(self) -> list[UnischemaField]:
        """Returns the fields of all offsets, each once."""
        return list(dict.fromkeys(field for fields in self._fields.values() for field in fields))

    def get_schema_at_timestep(self, schema: Unischema, timestep: int) -> Unischema:
        """Returns the schema of the rows of an offset: its fields, in the order of `schema`."""
        checked_schema(schema)
        names = set(self.get_field_names_at_timestep(timestep))
        return schema.create_schema_view([field for name, field in schema.fields.items() if name in names])

    def form_ngram(self, data: Sequence[Mapping[str, Any]], schema: Unischema) -> list[dict[int, dict[str, Any]]]:
        """Returns the n-grams of rows that are in memory: {offset: {field: value}} for each, in the order of the rows.

        All rows are one group: `group_by` is for readers. A place without a row, as `padding="null"` leaves it, is None.

        Args:
            data: The rows by field name, sorted by the timestamp field.
            schema: The schema of the rows.

        Example:
            >>> from tetrys.petastorm.ngram import NGram
            >>> from tetrys.petastorm.unischema import Unischema, UnischemaField
            >>> schema = Unischema("Scan", [UnischemaField("time", np.int64, ())])
            >>> NGram({0: ["time"], 1: ["time"]}, 5, "time").form_ngram([{"time": time} for time in (0, 4, 20)], schema)
            [{0: {'time': 0}, 1: {'time': 4}}]

        Raises:
            NotImplementedError (an `Unsupported`): the timestamps are not sorted.
            KeyError (a `NotFound`): a row has no timestamp.
        """
        self.resolve_regex_field_names(checked_schema(schema))
        rows = [checked_row(row) for row in limited("data", data, 1 << 24)]
        stamp = self._timestamp_field.name
        if missing := [number for number, row in enumerate(rows) if stamp not in row]:
            raise NoColumn(f"data, row {missing[0]}: no field `{stamp}`, the timestamp of the n-gram")
        try:
            times = np.array([row[stamp] for row in rows])
            places = form(
                times, np.zeros(len(rows), np.int64), offsets=self.offsets, threshold=self._delta_threshold, overlap=self.timestamp_overlap,
                stride=self.stride, padding=self.padding, name=stamp,
            )  # fmt: skip
        except Exception as error:
            if isinstance(error, Error):
                raise
            # Timestamps of other libraries raise exceptions of their own.
            raise WrongType(f"n-grams: timestamps of `{stamp}`, such as {found(rows[0][stamp])}, are no times whose steps a threshold of {self._delta_threshold!r} limits") from error
        names = {offset: set(self.get_field_names_at_timestep(offset)) for offset in self.offsets}
        made: list[dict[int, Any]] = [
            {offset: None if place < 0 else {name: value for name, value in rows[place].items() if name in names[offset]} for offset, place in zip(self.offsets, of_one, strict=True)}
            for of_one in places.tolist()
        ]
        return made

    def make_namedtuple(self, schema: Unischema, ngram_as_dicts: Mapping[int, Mapping[str, Any]]) -> dict[int, Any]:
        """Returns an n-gram of `form_ngram` as a reader delivers it: {offset: namedtuple}."""
        if not isinstance(ngram_as_dicts, Mapping):
            raise WrongType(f"ngram_as_dicts: expected a dict {{offset: row}}, found {found(ngram_as_dicts)}")
        views = {offset: self.get_schema_at_timestep(schema, offset) for offset in ngram_as_dicts}
        return {offset: None if row is None else views[offset].make_namedtuple(**checked_row(row)) for offset, row in ngram_as_dicts.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NGram) and {at: set(of) for at, of in self.fields.items()} == {at: set(of) for at, of in other.fields.items()}

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"NGram({self._fields}, {self._delta_threshold}, {self._timestamp_field!r}, {self.timestamp_overlap})"


def form(
    times: npt.NDArray[Any],
    groups: Rows,
    *,
    offsets: range,
    threshold: Any,
    overlap: bool = True,
    stride: int = 1,
    padding: str | None = None,
    name: str = "timestamp",
) -> Rows:
    """Returns the rows of each n-gram, i64 [n-grams, length], in the order of the rows; -1 is a place without a row.

    Args:
        times: Timestamp of each row.
        groups: Number of the group of each row. Rows of a group need not be neighbours.
        offsets: Offsets of an n-gram, the left-out ones included.
        threshold: Largest step, inclusive.
        overlap, stride, padding: As for `NGram`.
        name: Name of the timestamp field, for messages.

    Raises:
        NotImplementedError (an `Unsupported`): the timestamps inside a group are not sorted.
    """
    length, count = len(offsets), len(times)
    line = np.argsort(groups, kind="stable")
    times, groups = times[line], groups[line]
    starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1])) if count else np.zeros(0, np.int64)
    sizes = np.diff(np.append(starts, count))
    # A step belongs to the row behind it; the first row of a group has none.
    is_first = np.zeros(count, np.bool_)
    is_first[starts] = True
    is_near = np.zeros(count, np.bool_)
    if count > 1:
        is_near[1:] = _steps(times, threshold)
        # NaN is neither before nor behind another time.
        backwards = ~np.asarray(times[:-1] <= times[1:], np.bool_) & ~is_first[1:]
        if length > 1 and (wrong := backwards & (np.repeat(sizes, sizes)[1:] >= (1 if padding else length))).any():
            row = int(wrong.argmax())
            raise NotSupportedError(
                f"n-grams need rows in the order of `{name}`: row {line[row + 1]} of the selected rows has {times[row + 1]}, the one before it in its "
                f"group {times[row]}: sort the rows, or name a column with group_by"
            )
    is_near &= ~is_first
    runs = np.cumsum(~is_near, dtype=np.int64)
    within = np.arange(count) - np.repeat(starts, sizes)
    if padding is not None:
        anchor = min(max(0, offsets.start), offsets.stop - 1) - offsets.start
        chosen = np.flatnonzero(within % stride == 0)
        return _padded(chosen, runs, length, anchor, padding, line)
    chosen = np.flatnonzero((within % stride == 0) & (within + length <= np.repeat(sizes, sizes)))
    chosen = chosen[runs[chosen] == runs[chosen + length - 1]] if len(chosen) else chosen
    if not overlap:
        chosen = _apart(chosen, times, groups, length)
    return _in_row_order(line[chosen[:, None] + np.arange(length)])


def _steps(times: npt.NDArray[Any], threshold: Any) -> npt.NDArray[np.bool_]:
    """Returns whether each timestamp follows the one before within the threshold."""
    if times.dtype.kind == "u" and times.dtype.itemsize == 8:
        # Differences of u64 do not fit i64.
        return np.array([int(b) - int(a) <= threshold for a, b in zip(times[:-1], times[1:], strict=True)], np.bool_)
    if times.dtype.kind in "iu":
        if np.abs(times.astype(np.float64)).max() < 2**61:
            return np.asarray(np.diff(times.astype(np.int64)) <= threshold)
        return np.array([int(b) - int(a) <= threshold for a, b in zip(times[:-1], times[1:], strict=True)], np.bool_)
    if times.dtype.kind == "M" and not isinstance(threshold, np.timedelta64):
        return np.asarray(np.diff(times).astype(np.int64) <= threshold)
    # Decimals are exact as objects.
    return np.asarray(times[1:] - times[:-1] <= threshold, np.bool_)


def _apart(chosen: Rows, times: npt.NDArray[Any], groups: Rows, length: int) -> Rows:
    """Keeps n-grams that start behind the last timestamp of the one that was kept before, in their group."""
    kept, group, end = [], None, None
    for first in chosen.tolist():
        if groups[first] != group or end is None or times[first] > end:
            kept.append(first)
            group, end = groups[first], times[first + length - 1]
    return np.array(kept, np.int64)


def _padded(chosen: Rows, runs: Rows, length: int, anchor: int, padding: str, line: Rows) -> Rows:
    """Returns the n-grams around each row, inside its run of near rows."""
    firsts = np.searchsorted(runs, runs[chosen], "left")
    lasts = np.searchsorted(runs, runs[chosen], "right") - 1
    wanted = chosen[:, None] + np.arange(length) - anchor
    clipped = np.clip(wanted, firsts[:, None], lasts[:, None])
    rows = line[clipped] if len(line) else clipped
    if padding == "null":
        rows = np.where(wanted == clipped, rows, -1)
    ordered: Rows = rows[np.argsort(line[chosen], kind="stable")]
    return ordered


def _in_row_order(rows: Rows) -> Rows:
    ordered: Rows = rows[np.argsort(rows[:, 0], kind="stable")]
    return ordered
