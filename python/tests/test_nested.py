"""Lists of lists, of tensors and of text, with nulls at every level: import from pyarrow, export to pyarrow and numpy, and import
again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tetrys as tt

F, I = pa.float32(), pa.int64()

CASES: dict[str, tuple[pa.DataType, str, list[Any]]] = {
    "lists of numbers are tensors of one dimension": (pa.list_(I), "i64[?]", [[1, 2], [], None, [3]]),
    "lists of lists": (pa.list_(pa.list_(I)), "list<i64[?]>", [[[1], [2, 3]], [], None, [[], [4], None]]),
    "lists of lists of lists": (pa.list_(pa.list_(pa.list_(I))), "list<list<i64[?]>>", [[[[1], []], []], None, [None, [[2, 3], None]], []]),
    "large lists in small ones": (pa.list_(pa.large_list(F)), "list<f32[?]>", [[[1.5]], None, [[2.5, 3.5], []], []]),
    "lists of points are a tensor": (pa.list_(pa.list_(F, 3)), "f32[?,3]", [[[1, 2, 3]], [], None, [[4, 5, 6], [7, 8, 9]]]),
    "lists of tensors": (pa.list_(pa.list_(pa.list_(F, 4))), "list<f32[?,4]>", [[[[1, 2, 3, 4]], []], None, [], [[], [[5, 6, 7, 8]] * 2]]),
    "lists of matrices": (pa.list_(pa.list_(pa.list_(F, 2), 2)), "f32[?,2,2]", [[[[1, 2], [3, 4]]] * 2, [], None, [[[5, 6], [7, 8]]]]),
    "lists of one length of lists": (pa.list_(pa.list_(I), 2), "list<i64[?]>", [[[1], [2, 3]], None, [[], [4]], [[5], []]]),
    "text": (pa.list_(pa.string()), "list<utf8>", [["a", None, ""], [], None, ["ö"]]),
    "lists of texts": (pa.list_(pa.list_(pa.string())), "list<list<utf8>>", [[["a"], []], None, [["b", None], None], []]),
    "views of text": (pa.list_(pa.list_(pa.string_view())), "list<list<utf8>>", [[["a"], []], None, [["b", None]], []]),
    "bytes": (pa.list_(pa.binary()), "list<binary>", [[b"a", b""], None, [None], []]),
    "categories": (pa.list_(pa.dictionary(pa.int32(), pa.string())), "list<categorical>", [["a", "b", "a"], [], None, ["b"]]),
    "truths": (pa.list_(pa.list_(pa.bool_())), "list<bool[?]>", [[[True], [False, True]], [], None, [[]]]),
    "times": (pa.list_(pa.timestamp("us")), "list<timestamp[us]>", [[np.datetime64(5, "us").item(), None], None, [], [np.datetime64(7, "us").item()]]),
}


def plain(value: Any) -> Any:
    """Returns values as nested lists. Tensors of variable shape are exported as data and shape."""
    if isinstance(value, dict):
        shaped = np.empty(len(value["data"]), object)
        shaped[:] = value["data"]
        return shaped.reshape(value["shape"]).tolist()
    return [plain(item) for item in value] if isinstance(value, (list, np.ndarray)) else value


@pytest.mark.parametrize("name", CASES)
def test_nested_columns_go_in_and_come_out(tmp_path: Path, name: str) -> None:
    ty, wanted, values = CASES[name]
    column = pa.chunked_array([pa.array(values[:2], ty), pa.array(values[2:], ty)])
    table = tt.write_table(str(tmp_path / "t"), pa.table({"i": range(4), "a.x": column}), index=["i"])
    assert dict(table.groups)["a"] == [("a.x", wanted)]
    rows = tt.row_loader(table).take(range(4))
    out = pa.table(rows)["a.x"]
    assert [plain(value) for value in out.to_pylist()] == column.to_pylist()
    # In numpy, each row is a value, and null is None.
    found = [rows.row(row)["a.x"] for row in range(4)]
    assert [value is None for value in found] == [value is None for value in values]
    # The exported values can be imported again, without a change.
    again = tt.write_table(str(tmp_path / "again"), pa.table({"i": range(4), "a.x": out}), index=["i"], schema={"a.x": wanted})
    assert pa.table(tt.row_loader(again).take(range(4)))["a.x"].equals(out)
    # A slice of an array, which starts inside its buffers, imports only its own rows.
    part = tt.write_table(str(tmp_path / "part"), pa.table({"i": range(2), "a.x": pa.array(values, ty)[1:3]}), index=["i"])
    assert [plain(value) for value in pa.table(tt.row_loader(part).take([0, 1]))["a.x"].to_pylist()] == values[1:3]


def test_lists_of_what_no_column_holds_are_refused_by_name(tmp_path: Path) -> None:
    for ty in (pa.list_(pa.struct({"a": I, "b": F})), pa.map_(pa.string(), I), pa.list_(pa.decimal128(5, 2))):
        with pytest.raises(tt.Invalid, match=r"column `a\.x`.*no column type for Arrow's"):
            tt.write_table(str(tmp_path / "t"), pa.table({"i": [0], "a.x": pa.array([None], ty)}), index=["i"])
