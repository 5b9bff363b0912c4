"""Conversions on write are exact, or raise an error that names the column."""

from __future__ import annotations

import uuid
import zoneinfo
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tetrys as tt
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


def stored(folder: Path, column: Any, declared: str | None = None) -> tuple[str, list[Any]]:
    """Returns the type of a column, and its values as Arrow reads them."""
    rows = len(column)
    schema = {} if declared is None else {"a.x": declared}
    table = tt.write_table(folder / uuid.uuid4().hex, {"i": np.arange(rows), "a.x": column}, index="i", schema=schema, preset="fast")
    ((_, columns),) = table.groups
    return columns[0][1], pa.table(tt.row_loader(table).take(range(rows)))["a.x"].to_pylist()


def array(values: list[Any], ty: pa.DataType | None = None) -> pa.Array:
    return pa.array(values, ty)


def tensor(values: Any) -> dict[str, Any]:
    return {"data": list(np.ravel(values)), "shape": list(np.shape(values))}


EXACT: list[tuple[Any, str | None, str, list[Any] | None]] = [
    # Arrays of pyarrow, but not its scalars.
    (array(["ab", None, "c"]), None, "utf8", None),
    (array(["ab", None], pa.large_string()), None, "utf8", None),
    (array(["a" * 40, None], pa.string_view()), None, "utf8", None),
    (array([b"ab", None], pa.binary_view()), None, "binary", None),
    (array([b"ab", None], pa.binary(2)), None, "binary", None),
    (array(["a", "b", None, "a"]).dictionary_encode(), None, "categorical", None),
    (array([7, 5, None, 7]).dictionary_encode(), None, "i64", None),
    (array([["a", None], None, []], pa.list_(pa.string())), None, "list<utf8>", None),
    (array([["a"], ["b"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))), None, "list<categorical>", None),
    (array([["a"], None, []], pa.large_list(pa.string_view())), None, "list<utf8>", None),
    (array([["a"], ["b"]], pa.list_(pa.string(), 1)), None, "list<utf8>", None),
    (array([[1, 2], None], pa.list_(pa.int16(), 2)), None, "i16[2]", None),
    (array([["a"], None, ["b", "c"]], pa.list_view(pa.string())), None, "list<utf8>", None),
    (array([1, None], pa.date32()), "date", "date", [date(1970, 1, 2), None]),
    (array([date(2024, 2, 29)], pa.date64()), None, "date", None),
    (array([True, None]), None, "bool", None),
    (pa.chunked_array([["a"], [], [None]]), None, "utf8", None),
    (pa.RunEndEncodedArray.from_arrays([2, 3], ["a", None]), None, "utf8", ["a", "a", None]),
    (pa.nulls(2), "f32[?,4]", "f32[?,4]", [None, None]),
    (pa.nulls(2), "list<utf8>", "list<utf8>", [None, None]),
    (array([[[1, 2]], None], pa.list_(pa.list_(pa.int8(), 2))), None, "i8[?,2]", [tensor([[1, 2]]), None]),
    (pa.ExtensionArray.from_storage(pa.bool8(), array([0, 1, None], pa.int8())), None, "bool", [False, True, None]),
    # None is null in every type.
    *(([None, None], ty, ty, [None, None]) for ty in ("i64", "bool", "timestamp[us,UTC]", "date", "duration[ms]", "f16", "bf16", "utf8", "binary", "f32[2]", "f32[?,2]", "list<date>")),
    # Masked values and NaT are null.
    (np.ma.masked_array([1, 2, 3], [False, True, False]), None, "i64", [1, None, 3]),
    (np.ma.masked_array(["a", "b"], [True, False]), None, "utf8", [None, "b"]),
    (np.ma.masked_array([[1.0, 2.0]], [[False, True]]), None, "f64[2]", [[1.0, None]]),
    ([np.ma.masked_array([1, 2], [True, False]), None], None, "i64[?]", [tensor([None, 2]), None]),
    ([np.ma.masked, 1], None, "i64", [None, 1]),
    (np.array(["2024-01-01", "NaT"], "M8[ms]"), None, "timestamp[ms]", [datetime(2024, 1, 1), None]),
    (np.array([5, "NaT"], "m8[s]"), None, "duration[s]", [timedelta(seconds=5), None]),
    ([np.datetime64("NaT"), np.datetime64("2024-01-01T00:00:01")], None, "timestamp[s]", [None, datetime(2024, 1, 1, 0, 0, 1)]),
    (np.ma.masked_array(np.array([1, 2], "M8[s]"), [True, False]), None, "timestamp[s]", [None, datetime(1970, 1, 1, 0, 0, 2)]),
    ([pd.NaT, pd.Timestamp(5)], None, "timestamp[ns]", None),
    ([pd.NA, 1], None, "i64", [None, 1]),
    # Numbers of several types become one type that holds each of them.
    ([np.array([0.1], "f4"), np.array([0.1])], None, "f64[?]", [tensor([float(np.float32(0.1))]), tensor([0.1])]),
    ([2**53 + 1, 2**63], None, "u64", [2**53 + 1, 2**63]),
    ([np.uint64(2**64 - 1), np.int8(3)], None, "u64", [2**64 - 1, 3]),
    ([np.uint64(3), np.int8(-3)], None, "i64", [3, -3]),
    ([1, 2.5], None, "f64", [1.0, 2.5]),
    ([np.float16(1.5), ml_dtypes.bfloat16(3)], None, "f32", [1.5, 3.0]),
    ([[1, None], [], None], None, "i64[?]", [tensor([1, None]), tensor([]), None]),
    ([np.array([1], "u8"), np.array([-1], "i1")], None, "i64[?]", [tensor([1]), tensor([-1])]),
    (np.array([1, 2], ">i4"), None, "i32", [1, 2]),
    (np.array([1, 2], object), None, "i64", [1, 2]),
    # A declared type holds the values exactly, or is an error.
    ([1, 2], "u8", "u8", [1, 2]),
    ([1.0, None, -3.0], "i16", "i16", [1, None, -3]),
    (array([1, 2], pa.int64()), "u8", "u8", [1, 2]),
    (array([0.1]), "f32", "f32", [float(np.float32(0.1))]),
    (np.array([0, 86400], "M8[s]"), "date", "date", [date(1970, 1, 1), date(1970, 1, 2)]),
    (np.array([1], "M8[D]"), "timestamp[ms]", "timestamp[ms]", [datetime(1970, 1, 2)]),
    (np.array([1500], "M8[ms]"), "timestamp[us,UTC]", "timestamp[us,UTC]", [datetime(1970, 1, 1, 0, 0, 1, 500_000, timezone.utc)]),
    ([7, None], "timestamp[s]", "timestamp[s]", [datetime(1970, 1, 1, 0, 0, 7), None]),
    ([[1, 2], []], "list<u8>", "list<u8>", [[1, 2], []]),
    ([[[1, 2]], [], None], "f32[?,2]", "f32[?,2]", [tensor([[1.0, 2.0]]), {"data": [], "shape": [0, 2]}, None]),
    ([[1, 2], None], "i8[2]", "i8[2]", [[1, 2], None]),
    ([np.array([7, 8], "u1"), None], "binary", "binary", [b"\x07\x08", None]),
    (array([["a"], []]), "list<categorical>", "list<categorical>", [["a"], []]),
    # Dates, times and spans of Python, pandas and numpy.
    ([date(2024, 2, 29), None], None, "date", [date(2024, 2, 29), None]),
    ([datetime(1969, 12, 31, 23, 59, 59, 999_999), None], None, "timestamp[us]", None),
    ([datetime(2024, 7, 1, 12, tzinfo=BERLIN)], None, "timestamp[us,Europe/Berlin]", None),
    ([datetime(2024, 7, 1, 12, tzinfo=timezone.utc)], None, "timestamp[us,UTC]", None),
    ([datetime(2024, 7, 1, 12, tzinfo=timezone(timedelta(hours=-2, minutes=-30)))], None, "timestamp[us,-02:30]", None),
    ([datetime(2024, 7, 1, 12, tzinfo=BERLIN), datetime(2024, 7, 1, tzinfo=timezone.utc)], "timestamp[us,UTC]", "timestamp[us,UTC]", None),
    ([timedelta(days=-1, microseconds=1), None], None, "duration[us]", None),
    ([pd.Timestamp(2**62), pd.Timestamp("2024-01-01")], None, "timestamp[ns]", None),
    ([pd.Timestamp("2024-01-01", tz="Europe/Berlin")], None, "timestamp[us,Europe/Berlin]", None),
    ([[date(2024, 1, 1)], [], None], None, "list<date>", [[date(2024, 1, 1)], [], None]),
    (np.array([[1, 2]], "M8[s]"), None, "list<timestamp[s]>", [[datetime(1970, 1, 1, 0, 0, 1), datetime(1970, 1, 1, 0, 0, 2)]]),
    (np.array([1, 2], "M8[h]"), None, "timestamp[s]", [datetime(1970, 1, 1, 1), datetime(1970, 1, 1, 2)]),
    (np.array(["2024-02"], "M8[M]"), None, "date", [date(2024, 2, 1)]),
    # Frames of pandas.
    (pd.Series([1, None], dtype="Int64"), None, "i64", [1, None]),
    (pd.Series(["a", None]), None, "utf8", ["a", None]),
    (pd.Series(["a", "b"], dtype="category"), None, "categorical", ["a", "b"]),
    # Arrays and indexes of pandas hold what its series hold.
    (pd.array([2**60 + 1, None, 3], dtype="Int64"), None, "i64", [2**60 + 1, None, 3]),
    (pd.array([2**64 - 1, None], dtype="UInt64"), None, "u64", [2**64 - 1, None]),
    (pd.array([1, None], dtype="Int8"), None, "i8", [1, None]),
    (pd.array([1.5, None], dtype="Float32"), None, "f32", [1.5, None]),
    (pd.array([True, None], dtype="boolean"), None, "bool", [True, None]),
    (pd.array(["a", None], dtype="string"), None, "utf8", ["a", None]),
    (pd.array(["a", None]), None, "utf8", ["a", None]),
    (pd.Categorical(["a", None]), None, "categorical", ["a", None]),
    (pd.Categorical([2**60 + 1, None]), None, "i64", [2**60 + 1, None]),
    (pd.array(["2024-01-01", None], dtype="datetime64[s]"), None, "timestamp[s]", [datetime(2024, 1, 1), None]),
    (pd.array(["2024-01-01", None], dtype="datetime64[us, UTC]"), None, "timestamp[us,UTC]", [datetime(2024, 1, 1, tzinfo=timezone.utc), None]),
    (pd.array([2**60 + 1, None], dtype="int64[pyarrow]"), None, "i64", [2**60 + 1, None]),
    (pd.array([["a"], None], dtype=pd.ArrowDtype(pa.list_(pa.string()))), None, "list<utf8>", [["a"], None]),
    (pd.arrays.SparseArray([0, 7]), None, "i64", [0, 7]),
    (pd.Index(["a", None]), None, "utf8", ["a", None]),
    (pd.Index([2**60 + 1, None], dtype="Int64"), None, "i64", [2**60 + 1, None]),
    (pd.DatetimeIndex(["2024-01-01", None]).as_unit("s"), "timestamp[s,UTC]", "timestamp[s,UTC]", [datetime(2024, 1, 1, tzinfo=timezone.utc), None]),
    (pd.RangeIndex(2), None, "i64", [0, 1]),
    # So do those that are rows of a column.
    ([pd.array([2**60 + 1, None], dtype="Int64"), None], None, "i64[?]", [tensor([2**60 + 1, None]), None]),
    ([pd.Series([1, None], dtype="UInt8"), pd.Series([2], dtype="UInt8")], None, "u8[?]", [tensor([1, None]), tensor([2])]),
    ([pd.array([0.5, None], dtype="Float32")], None, "f32[?]", [tensor([0.5, None])]),
    ([pd.array([True, None], dtype="boolean")], None, "bool[?]", [tensor([True, None])]),
    ([pd.Categorical(["a", None]), pd.Series(["b"])], None, "list<utf8>", [["a", None], ["b"]]),
    ([pd.Categorical([2**60 + 1, None])], None, "i64[?]", [tensor([2**60 + 1, None])]),
    ([pd.Index(["2024-01-01", None], dtype="datetime64[s]")], None, "list<timestamp[s]>", [[datetime(2024, 1, 1), None]]),
    ([pd.array(["a", None], dtype="string")], "list<utf8>", "list<utf8>", [["a", None]]),
    # A type that only the schema tells, and names that look like types.
    (pl.Series([None, None]), "f32[?,2]", "f32[?,2]", [None, None]),
    (pl.Series([None, None], dtype=pl.Array(pl.Null, 1)), "list<utf8>", "list<utf8>", [None, None]),
    (pl.Series(["Null", "Object"], dtype=pl.Enum(["Object", "Null"])), None, "categorical", ["Null", "Object"]),
]


def known(value: Any) -> Any:
    return value.to_pylist() if isinstance(value, (pa.Array, pa.ChunkedArray)) else value


@pytest.mark.parametrize(("column", "declared", "ty", "values"), EXACT, ids=[f"{n}" for n in range(len(EXACT))])
def test_a_column_is_stored_as_it_was_given(tmp_path: Path, column: Any, declared: str | None, ty: str, values: list[Any] | None) -> None:
    found = stored(tmp_path, column, declared)
    if values is None and ty.startswith("timestamp[ns"):
        assert found[0] == ty and [None if one is None else pd.Timestamp(one).value for one in found[1]] == [None if one is pd.NaT else one.value for one in column]
    else:
        assert found == (ty, known(column) if values is None else values)


class Exported:
    """Values of another library, which exports them to Arrow."""

    def __init__(self, values: pl.Series) -> None:
        self.__arrow_c_stream__ = values.__arrow_c_stream__


REFUSED: list[tuple[Any, str | None, str]] = [
    (array([Decimal("1.5")]), None, "Arrow's decimal: cast it to"),
    (array([time(1)]), None, "Arrow's time of day: cast it to"),
    (array([{"a": 1}]), None, "make each field a column"),
    (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), None, "no column type for Arrow's map"),
    (pa.nulls(2), None, "declare it in `schema`"),
    (pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "t", "v"), array([1])), None, "extension type `arrow.opaque`"),
    (array([2**53 + 1]), "f64", "does not fit f64"),
    (array([300]), "u8", "300 does not fit u8"),
    (array(["a"]), "i64", "utf8 does not fit i64"),
    (array([1]), "utf8", "i64 does not fit utf8"),
    (array([b"a"]), "utf8", "binary does not fit utf8"),
    (array([datetime(2024, 1, 1)]), "timestamp[us,UTC]", "the times have no zone"),
    (array([datetime(2024, 1, 1, tzinfo=timezone.utc)]), "timestamp[us]", "the column has no zone"),
    (pl.Series([object()], dtype=pl.Object), None, "^column `a.x`: polars' type Object"),
    (pl.Series("s", [1], dtype=pl.Int128), None, "^column `a.x`: polars' type Int128: expected integers of up to 64 bits"),
    (pl.Series([[1]], dtype=pl.List(pl.Int128)), None, "^column `a.x`: polars' type List.Int128.: expected integers"),
    (np.array([1e300]), "i64", "value 0: 1e300 does not fit i64"),
    (np.array([5e-324]), "i64", "value 0: 5e-324 does not fit i64"),
    (np.array([0.1 + 0.2]), "i64", "value 0: 0.30000000000000004 does not fit i64"),
    (Exported(pl.Series([1], dtype=pl.Int128)), None, "^column `a.x`: no column type for values that Arrow's C interface calls `_pli128`"),
    (pd.array([pd.Period("2024-01")]), None, "extension type"),
    (pd.Index(["a"]), "i64", "utf8 does not fit i64"),
    ([[], []], "i64", "list of null does not fit i64"),
    (array([[{"a": 1}]]), "i64", "list of struct does not fit i64"),
    (pd.Series([1j]), None, "complex|numpy type"),
    ([2**64], None, "fit no column"),
    ([-1, 2**63], None, "fit no column"),
    ([2**53 + 1, 0.5], None, "integers and floats in one column"),
    ([np.uint64(2**63), np.int8(-1)], None, "fit no column"),
    ([True, 2], None, "booleans and numbers in one column"),
    ([[True, 2]], None, "booleans and numbers in one column"),
    (["a", 1], None, "numbers and text in one column"),
    ([1.5, None], "i64", "1.5 does not fit i64"),
    ([float("nan")], "i64", "NaN does not fit i64"),
    ([1e300], "f32", "does not fit f32"),
    ([True], "i64", "bool does not fit i64"),
    ([1], "bool", "i64 does not fit bool"),
    ([Decimal(1)], None, "values of Decimal"),
    ([time(1)], None, "values of time"),
    ([1j], None, "values of complex"),
    ([{"a": 1}], None, "values of dict"),
    ([datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=timezone.utc)], None, "with and without a time zone"),
    ([datetime(2024, 7, 1, tzinfo=BERLIN), datetime(2024, 7, 1, tzinfo=timezone.utc)], None, "several zones"),
    ([datetime(2024, 1, 1)], "timestamp[us,UTC]", "the times have no zone"),
    ([datetime(2024, 1, 1), date(2024, 1, 1)], None, "days and times in one column"),
    ([np.datetime64(2**62, "s"), np.datetime64(1, "ns")], None, "does not fit"),
    (np.array([2**40], "M8[D]"), None, "does not fit date"),
    (np.array([2**62], "M8[s]"), "timestamp[ns]", "does not fit timestamp"),
    (np.array([1], "M8[ms]"), "timestamp[s]", "does not fit timestamp"),
    (np.array([1], "M8[ms]"), "date", "does not fit date"),
    (np.array([2**60], "M8[h]"), None, "64 bits"),
    (np.array([1], "M8[ps]"), None, "expected units of"),
    (np.zeros((1, 2, 3)), "f64[3,2]", "expected f64"),
    (np.zeros((1, 2)), "f64", "does not fit f64"),
    ([[[1], [2, 3]]], "i64[?,?]", "different lengths"),
    ([np.zeros(3)], "f64[2]", "expected f64"),
    (np.zeros(1, "c8"), None, "complex64"),
    (np.zeros(1, "V4"), None, "no column type"),
    (np.array(1.5), None, "for each row"),
    ("text", None, "for each row"),
    (7, None, "for each row"),
    ({"a": 1}, None, "for each row"),
    ([[], None], None, "declare it in `schema`"),
    (["\ud800"], None, "column `a.x`"),
    (pd.Series([pd.Period("2024-01")]), None, "`pandas.period`; as i64 they can be stored"),
    (pd.Series([pd.Interval(0, 1)]), None, "`pandas.interval`$"),
]


@pytest.mark.parametrize(("column", "declared", "message"), REFUSED, ids=[f"{n}" for n in range(len(REFUSED))])
def test_what_would_be_another_value_is_refused(tmp_path: Path, column: Any, declared: str | None, message: str) -> None:
    schema = {} if declared is None else {"a.x": declared}
    with pytest.raises(tt.Error, match=message) as caught:
        tt.write_table(tmp_path / "t", {"i": [0], "a.x": column}, index="i", schema=schema)
    assert "a.x" in str(caught.value)
    with pytest.raises(tt.NotFound):
        tt.open_table(tmp_path / "t")


def test_a_null_among_the_parts_of_a_tensor_is_no_null_element(tmp_path: Path) -> None:
    parts = array([[[1, 2], None]], pa.list_(pa.list_(pa.int8(), 2), 2))
    with pytest.raises(tt.Error, match="a null among the parts"):
        stored(tmp_path, parts)
    whole = array([[[1, 2], [3, None]], None], pa.list_(pa.list_(pa.int8(), 2), 2))
    assert stored(tmp_path, whole) == ("i8[2,2]", [[1, 2, 3, None], None])


def test_a_frame_with_a_type_that_no_column_has_is_refused_by_name(tmp_path: Path) -> None:
    for dtype in (pl.Int128, pl.List(pl.Int128), pl.Array(pl.Int128, 1)):
        frame = pl.DataFrame({"i": [0], "a.x": pl.Series([1 if dtype == pl.Int128 else [1]], dtype=dtype)})
        with pytest.raises(tt.Invalid, match="^column `a.x`: polars' type .*Int128.*: expected integers of up to 64 bits"):
            tt.write_table(tmp_path / "t", frame, index="i")


def test_row_labels_of_pandas_are_no_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"i": [0, 1, 2], "a.x": [1.5, 2.5, 3.5]})
    table = tt.write_table(tmp_path / "t", frame[frame["i"] > 0], index="i")
    assert table.groups == [("a", [("a.x", "f64")])] and len(table) == 2


def test_rows_that_were_read_are_written_as_they_were(tmp_path: Path) -> None:
    data = {
        "i": [0, 1],
        "a.ragged": [np.ma.masked_array([[1, 2]], [[True, False]]), None],
        "a.bytes": [b"ab", None],
        "a.when": [datetime(2024, 1, 1, tzinfo=BERLIN), None],
        "a.bf16": np.array([1.5, 2.5], ml_dtypes.bfloat16),
    }
    first = tt.write_table(tmp_path / "a", data, index="i")
    rows = tt.row_loader(first, columns=["i", "a.*"]).take([0, 1])
    types = {name: ty for _, columns in first.groups for name, ty in columns}
    columns = {name: rows[name] for name in rows}
    again = tt.write_table(tmp_path / "b", columns, index="i", schema=types)
    assert pa.table(tt.row_loader(again, columns=["i", "a.*"]).take([0, 1])).equals(pa.table(rows))
    assert again.diff(first).is_empty


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64),
    st.floats(),
    st.floats(width=32).map(np.float32),
    st.integers(-128, 127).map(np.int8),
    st.integers(0, 2**64 - 1).map(np.uint64),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.sampled_from([timezone.utc, BERLIN])),
    st.timedeltas(),
    hnp.datetime64_dtypes().flatmap(lambda dtype: hnp.from_dtype(dtype.newbyteorder("="))),
    hnp.timedelta64_dtypes().flatmap(lambda dtype: hnp.from_dtype(dtype.newbyteorder("="))),
)
KINDS = st.sampled_from([st.integers(-5, 2**64), st.integers() | st.floats(), SCALARS, st.lists(SCALARS, max_size=3), st.lists(st.integers(0, 9) | st.none(), max_size=3), st.dates() | st.none(), st.datetimes() | st.none()])


def equal(found: Any, given: Any) -> bool:
    """Whether the values read are the values written."""
    if given is None or isinstance(given, (np.datetime64, np.timedelta64)) and np.isnat(given):
        return found is None or found is np.ma.masked or (isinstance(found, (np.datetime64, np.timedelta64)) and bool(np.isnat(found)))
    if isinstance(given, list):
        return found is not None and len(found) == len(given) and all(equal(one, other) for one, other in zip(found, given, strict=True))
    if isinstance(given, bytes):
        return bytes(found) == given
    if isinstance(given, datetime):
        at = (given if given.tzinfo else given.replace(tzinfo=timezone.utc)) - datetime(1970, 1, 1, tzinfo=timezone.utc)
        return bool(found == np.datetime64(at // timedelta(microseconds=1), "us"))
    if isinstance(given, float) and given != given:
        return bool(found != found)
    if isinstance(given, (bool, np.bool_)):
        return isinstance(found, (bool, np.bool_)) and found == given
    if isinstance(given, (int, np.integer)):
        return not isinstance(found, (bool, np.bool_)) and int(found) == int(given)
    return bool(found == given)


@given(KINDS.flatmap(lambda kind: st.lists(kind, min_size=1, max_size=4)))
def test_any_list_comes_back_as_it_was_or_is_refused(tmp_path: Path, values: list[Any]) -> None:
    try:
        table = tt.write_table(tmp_path / uuid.uuid4().hex, {"i": np.arange(len(values)), "x": values}, index="i")
    except tt.Error as error:
        assert "column `x`" in str(error)
        return
    loader = tt.row_loader(table)
    for row, value in enumerate(values):
        assert equal(loader.get_row(row)["x"], value), (value, loader.get_row(row)["x"], table.groups)


TYPES = ["bool", "i8", "u8", "i64", "u64", "f16", "bf16", "f32", "f64", "date", "timestamp[s]", "timestamp[ns,UTC]", "duration[ms]", "utf8", "categorical", "binary", "list<i64>", "list<utf8>", "f32[?]", "i64[2]", "u8[?,2]"]
FLOATS = ("f16", "bf16", "f32", "f32[?]")


@given(st.sampled_from(TYPES), KINDS.flatmap(lambda kind: st.lists(kind, min_size=1, max_size=4)))
def test_any_list_fits_its_declared_type_exactly_or_is_refused(tmp_path: Path, declared: str, values: list[Any]) -> None:
    try:
        table = tt.write_table(tmp_path / uuid.uuid4().hex, {"i": np.arange(len(values)), "x": values}, index="i", schema={"x": declared})
    except tt.Error as error:
        assert "column `x`" in str(error)
        return
    assert table.groups == [("x", [("x", declared)])]
    loader = tt.row_loader(table)
    for row, value in enumerate(values):
        found = loader.get_row(row)["x"]
        if declared in FLOATS or declared.startswith(("timestamp", "duration", "date")):
            # Floats are rounded, integers are ticks.
            assert (found is None) == (value is None or (isinstance(value, (np.datetime64, np.timedelta64)) and bool(np.isnat(value))))
        else:
            assert equal(found, value), (declared, value, found)


def is_list(kind: pa.DataType) -> bool:
    return pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind) or pa.types.is_list(kind)


def ticks(column: pa.Array) -> list:
    """Returns the times of a column as integers: datetimes of Python hold only the years 1 to 9999."""
    if is_list(column.type):
        flat = ticks(column.flatten())
        size = len(flat) // len(column)
        return [flat[start : start + size] for start in range(0, len(flat), size)]
    return column.view(pa.int32() if pa.types.is_date32(column.type) else pa.int64()).to_pylist()


def in_units_of(kind: pa.DataType, values: np.ndarray) -> np.ndarray:
    """Returns times in the unit of an Arrow column."""
    if is_list(kind):
        return in_units_of(kind.value_type, values)
    return values.astype(f"{values.dtype.kind}8[{'D' if pa.types.is_date32(kind) else kind.unit}]")


@given(hnp.arrays(hnp.scalar_dtypes() | hnp.datetime64_dtypes() | hnp.timedelta64_dtypes(), hnp.array_shapes(min_dims=1, max_dims=2, max_side=3)), st.booleans())
def test_any_array_comes_back_as_it_was_or_is_refused(tmp_path: Path, values: np.ndarray, masked: bool) -> None:
    hidden = np.zeros(values.shape, bool)
    if masked:
        hidden.reshape(-1)[::2] = True
        values = np.ma.masked_array(values, hidden)
    try:
        table = tt.write_table(tmp_path / uuid.uuid4().hex, {"i": np.arange(len(values)), "x": values}, index="i")
    except tt.Error as error:
        assert "column `x`" in str(error)
        return
    kind = values.dtype.kind
    column = pa.table(tt.row_loader(table).take(range(len(values))))["x"].combine_chunks()
    if kind in "mM":
        values = in_units_of(column.type, values)
    found = ticks(column) if kind in "mM" else column.to_pylist()
    for row in range(len(values)):
        there = found[row] if values.ndim > 1 else [found[row]]
        given, gone = np.atleast_1d(np.ma.getdata(values)[row]), np.atleast_1d(hidden[row])
        for one, other, is_hidden in zip(there, given, gone, strict=True):
            if is_hidden or (kind in "mM" and np.isnat(other)):
                assert one is None
            elif kind in "biumM":
                assert one is not None and one == int(other.astype(np.int64) if kind in "mM" else other)
            elif kind == "f":
                assert one == other or (one != one and other != other)
            else:
                assert one is not None


EMPTY: list[Any] = [
    [[], []],
    [[], None],
    [None, []],
    np.zeros((2, 0)),
    [np.zeros(0), np.zeros(0, np.float32)],
    [np.zeros(0), None],
    pa.array([[], None], pa.list_(pa.null())),
    pa.array([[], []], pa.large_list(pa.float32())),
    pl.Series([[], None], dtype=pl.List(pl.Null)),
    pl.Series([[], []], dtype=pl.List(pl.Int64)),
]
TYPES = ["f32[?,4]", "f32[?]", "f64[?,?]", "bool[?,2]", "i8[?,3]", "bf16[?,2,2]", "list<utf8>", "list<f32[?,4]>", "list<timestamp[ms]>"]


@pytest.mark.parametrize("ty", TYPES)
@pytest.mark.parametrize("case", range(len(EMPTY)))
def test_rows_without_any_item_are_values_of_every_list_and_tensor(tmp_path: Path, case: int, ty: str) -> None:
    values = EMPTY[case]
    given = list(values) if isinstance(values, np.ndarray) else values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    rows = {"id": [0, 1], "a.x": values}
    table = tt.write_table(str(tmp_path / "t"), rows, index=["id"], schema={"a.x": ty})
    table = table.append({**rows, "id": [2, 3]})
    table = table.patch({**rows, "id": [2, 3]}, on="id")
    table = table.add_group("b", {"id": [0, 1, 2, 3], "b.x": _twice(values)}, on="id", schema={"b.x": ty})
    table = table.replace_group("a", {"a.x": _twice(values)})
    out = pa.table(tt.row_loader(table, columns=["a.x", "b.x"]).take(range(4)))
    for name in ["a.x", "b.x"]:
        found = [value if value is None else len(value["data"] if isinstance(value, dict) else value) for value in out[name].to_pylist()]
        assert found == [None if value is None else 0 for value in given] * 2


def _twice(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return np.concatenate([values, values])
    if isinstance(values, list):
        return values + values
    return pa.concat_arrays([values, values]) if isinstance(values, pa.Array) else pl.concat([values, values])


def test_empty_lists_are_empty_bytes_and_other_arrays_are_not(tmp_path: Path) -> None:
    table = tt.write_table(str(tmp_path / "t"), {"id": [0, 1], "b": [[], None]}, index=["id"], schema={"b": "binary"})
    assert pa.table(tt.row_loader(table).take([0, 1]))["b"].to_pylist() == [b"", None]
    with pytest.raises(tt.Invalid, match="does not fit binary"):
        tt.write_table(str(tmp_path / "u"), {"id": [0], "b": [np.zeros(0)]}, index=["id"], schema={"b": "binary"})
    with pytest.raises(tt.Invalid):
        tt.write_table(str(tmp_path / "u"), {"id": [0], "b": [[]]}, index=["id"], schema={"b": "f32[3]"})


def test_a_batch_without_boxes_does_not_end_a_write(tmp_path: Path) -> None:
    boxes = np.arange(8, dtype=np.float32).reshape(2, 4)
    batches = [{"id": [0], "a.x": [boxes]}, {"id": [1, 2], "a.x": [[], []]}, {"id": [3], "a.x": [np.zeros(0)]}, {"id": [4, 5], "a.x": [np.zeros(0), boxes]}]
    table = tt.write_table(str(tmp_path / "t"), batches, index=["id"], schema={"a.x": "f32[?,4]"})
    found = [tt.row_loader(table).take([row]).row(0)["a.x"].shape for row in range(6)]
    assert found == [(2, 4), (0, 4), (0, 4), (0, 4), (0, 4), (2, 4)]
