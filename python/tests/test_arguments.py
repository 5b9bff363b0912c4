"""Arguments of every kind: paths, spans of time, and invalid values, which raise errors of Tetrys in terms of Python."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import shutil
import signal
import uuid
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tetrys as tt
from conftest import points
from hypothesis import given, settings
from hypothesis import strategies as st
from silly import RUST, Mute
from tetrys import cluster, l5

NONSENSE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from(["", "x", "a@1", "1 parsec", "re:(", "\0", "SELECT", "-1..", "pad", "lidar.*", "timestamp", "\ud800", "a\udcffb"]),
    st.binary(max_size=3),
    st.lists(st.integers(-30, 30) | st.floats() | st.text(max_size=2) | st.none() | st.booleans(), max_size=3),
    st.dictionaries(st.text(max_size=2) | st.integers(), st.none() | st.integers() | st.lists(st.integers()), max_size=2),
    st.sampled_from([object(), {1, 2}, 1j, np.float32(1.5), np.array([]), np.array(5), np.array(True), pd.NA, pd.NaT, range(10**12), {"a": object()}, np.zeros((2, 2)), timedelta(days=-1), date(2024, 1, 1), len, int, Path("x")]),
    st.sampled_from([pl.Series([1.5]), pa.array(["a"]), pd.Series([None]), pl.col("nothing"), pl.DataFrame({"a": [1]}), np.datetime64("NaT"), np.timedelta64("NaT")]),
)


def called(name: str, folder: Path) -> Callable[..., Any]:
    """Returns a public callable: of the module, or of an object over the table in the folder."""
    if name == "DataLoader":
        return partial(tt.DataLoader, tt.open_table(folder / "t"))
    if "." not in name:
        function: Callable[..., Any] = getattr(tt, name)
        return function
    kind, member = name.split(".")
    table = tt.open_table(folder / "t")
    if kind in ("Writer", "Partition"):
        writer = tt.Writer(folder / uuid.uuid4().hex, schema={"i": "i64", "x": "f32"}, index="i")
        return getattr(writer if kind == "Writer" else writer.partition(), member)  # type: ignore[no-any-return]
    index = tt.read_index(table)
    rows = tt.row_loader(table).take([0, 1] if len(table) > 1 else [0] * len(table), ["lidar.*"])
    things = {
        "Table": lambda: table,
        "Index": lambda: index,
        "RowLoader": lambda: tt.row_loader(index),
        "Rows": lambda: rows,
        "Windows": lambda: tt.row_loader(table).get_windows([], offsets=[0]),
        "Ragged": lambda: rows["lidar.points"],
        "cluster": lambda: cluster,
    }
    return getattr(things[kind](), member)  # type: ignore[no-any-return]


# Callables that would do much work, or that accept any argument.
LEFT_OUT = {"Rows.to_torch", "Windows.to_torch", "Index.to_pandas", "Index.to_arrow", "Index.to_polars", "Windows.index", "Windows.count", "Table.verify", "Table.gc", "Table.materialize", "Table.untag"}


def names() -> list[str]:
    """Lists the public callables without a table."""
    natives = {"Table": tt.Table, "Index": tt.Index, "RowLoader": tt.RowLoader, "Rows": tt.Rows, "Windows": tt.Windows, "Ragged": tt.Ragged, "Writer": tt.Writer, "Partition": tt.Partition}
    members = [f"{name}.{member}" for name, kind in natives.items() for member in dir(kind) if (not member.startswith("_") or member == "__getitem__") and inspect.isroutine(getattr(kind, member))]
    functions = ["Receipt", "Table", "RowLoader", "Writer", "DataLoader", "concat", "decode", "image", "ingest_l5", "ingest_logs", "ingest_petastorm", "merge", "merge_tables", "mix", "open_table"]
    functions += ["read_index", "read_petastorm_metadata", "row_loader", "run", "scan_index", "split_table", "times", "view", "write_table"]
    clusters = [f"cluster.{name}" for name in cluster.__all__ if inspect.isfunction(getattr(cluster, name))]
    return [name for name in functions + members + clusters if name not in LEFT_OUT]


def parameters(call: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    try:
        signature = inspect.signature(call)
    except ValueError:
        return
    for parameter in signature.parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            yield parameter


SENSIBLE: dict[str, Any] = {"columns": ["labels.*"], "offsets": [0], "index": "i", "data": {"i": [0], "x": [1.5]}, "schema": {"i": "i64", "x": "f32"}, "on": ["log_id", "timestamp"], "position": 0, "positions": [0], "column": "timestamp", "deltas": ["0s"], "shares": {"a": 0.5}, "by": "timestamp", "left": "t", "right": "t", "batch_size": 1, "source": "t", "logs": "t", "recipe": {"clock": {"topic": "/t"}}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a table."""
    monkeypatch.chdir(tmp_path)
    columns = {"log_id": ["a", "a"], "timestamp": [0, 1], "lidar.points": [points(1), None], "labels.text": ["a", None]}
    tt.write_table("t", columns, index=["log_id", "timestamp"])
    return tmp_path


# There are many callables, so each gets a few cases.
@settings(max_examples=max(3, settings.default.max_examples // 5))
@pytest.mark.parametrize("name", names())
@given(data=st.data())
def test_nonsense_is_an_error_of_tetrys_and_nothing_else(folder: Path, name: str, data: st.DataObject) -> None:
    # Earlier cases may have dropped columns.
    try:
        call = called(name, folder)
    except tt.NotFound:
        return
    arguments: list[Any] = []
    options: dict[str, Any] = {}
    for parameter in parameters(call):
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is not parameter.empty and data.draw(st.booleans()):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            arguments += data.draw(st.lists(NONSENSE, max_size=2))
            continue
        sensible = SENSIBLE.get(parameter.name)
        value = data.draw(NONSENSE if sensible is None else st.just(sensible) | NONSENSE, label=parameter.name)
        if parameter.kind is parameter.KEYWORD_ONLY:
            options[parameter.name] = value
        else:
            arguments.append(value)
    try:
        found = call(*arguments, **options)
        if inspect.isgenerator(found) or type(found).__name__ in ("Scan", "Shared"):
            next(iter(found), None)
    except tt.Error as error:
        message = str(error)
        assert not isinstance(error, tt.Internal), message
        assert message and not RUST.search(message), message
        assert message.encode() and not re.search(r"\d{60}", message), message


# Values of which other libraries raise errors of their own, or which take for ever to walk through.
ODD = ["\ud800", "a\udcffb", np.array(5), np.array("x"), np.array([True, False]), pd.NA, pd.NaT, range(10**12), {"a": object()}, pd.array([1, None], dtype="Int64")]


@pytest.mark.parametrize("name", names())
def test_an_odd_value_of_any_argument_is_an_error_of_tetrys(folder: Path, name: str) -> None:
    for parameter in parameters(called(name, folder)):
        for odd in ODD:
            # An earlier call may have taken a value.
            try:
                call = called(name, folder)
            except tt.NotFound:
                return
            arguments: list[Any] = []
            options: dict[str, Any] = {}
            for one in parameters(call):
                value = odd if one.name == parameter.name else SENSIBLE.get(one.name, "x" if one.default is one.empty else one.default)
                if one.kind is one.VAR_POSITIONAL:
                    arguments += [odd] if one.name == parameter.name else []
                elif one.kind is one.KEYWORD_ONLY:
                    options[one.name] = value
                else:
                    arguments.append(value)
            try:
                found = call(*arguments, **options)
                if inspect.isgenerator(found) or type(found).__name__ in ("Scan", "Shared"):
                    next(iter(found), None)
            except tt.Error as error:
                assert not isinstance(error, tt.Internal) and not RUST.search(str(error)), (parameter.name, odd, error)
                assert str(error).encode(), "it can be printed"


def test_a_lone_surrogate_is_an_error_that_names_the_argument(folder: Path, index: tt.Index) -> None:
    bad = "lo\ud800g"
    table = tt.open_table(folder / "t")
    loader = tt.row_loader(table)
    writer = tt.Writer(folder / "w", schema={"i": "i64", "x": "f32"}, index="i")
    for call, what in [
        (lambda: tt.open_table(bad), "a URL"),
        (lambda: tt.open_table(Path(bad)), "a path"),
        (lambda: tt.open_table("t", allow=bad), "a URL"),
        (lambda: tt.read_index("t", bad), "columns"),
        (lambda: tt.read_index("t", where=bad), "where"),
        (lambda: loader.get_row(0, bad), "columns"),
        (lambda: loader.get_rows(0, offsets=bad), "offsets"),
        (lambda: loader.get_rows(0, offsets={bad: [0]}), "offsets, a pattern"),
        (lambda: cluster.plan_read(table, offsets=bad), "offsets"),
        (lambda: tt.times(bad, 0), "column"),
        (lambda: tt.times("timestamp", bad), "a delta"),
        (lambda: index.sort(bad), "by"),
        (lambda: index.sql(bad), "query"),
        (lambda: index.save(folder / "v", properties={bad: 1}), "properties, a key"),
        (lambda: index.save(folder / "v", properties={"a": [bad]}), "properties"),
        (lambda: tt.merge(index, index, bad), "on"),
        (lambda: table.tag(bad), "name"),
        (lambda: table.edit(properties={"a": bad}), "properties"),
        (lambda: table.append({"log_id": ["b"]}, locality=bad), "locality"),
        (lambda: table.append({bad: ["b"]}), "a column"),
        (lambda: writer.attach(bad, b""), "name"),
        (lambda: tt.write_table("u", {"i": [0]}, index="i", units={"i": bad}), "units, column `i`"),
        (lambda: tt.write_table("u", {"i": [bad]}, index="i"), "column `i`"),
        (lambda: tt.DataLoader(index, batch_size=1, trace=bad), "trace"),
        (lambda: tt.DataLoader(index, batch_size=1, columns=bad), "columns"),
        (lambda: tt.DataLoader(index, batch_size=1, max_step=bad), "max_step"),
        (lambda: tt.run({"from": bad}), "recipe"),
        (lambda: tt.Receipt(bad), "a receipt"),
    ]:
        with pytest.raises(ValueError, match=re.escape(what)) as caught:
            call()
        assert isinstance(caught.value, tt.Invalid) and "surrogate" in str(caught.value) and str(caught.value).encode()
    for missing in (lambda: index[bad], lambda: loader.take([0])[bad]):
        with pytest.raises(KeyError, match=re.escape("`lo\\ud800g`")):
            missing()


def test_columns_are_compared_with_values_of_columns_alone(index: tt.Index, capfd: pytest.CaptureFixture[str]) -> None:
    for value in ({"a": object()}, {"a": 1}, object(), pd.NA, pd.NaT, pd.Timedelta("NaT"), 1j, {1}, len, pd.Series([1])):
        with pytest.raises(TypeError, match="filter, column `pedestrians`: expected a value of a column, found") as caught:
            index.filter(pedestrians=value)
        assert isinstance(caught.value, tt.Invalid)
    for value in (pd.NaT, np.array(True), 5):
        with pytest.raises(TypeError, match="a mask of booleans, found"):
            index.filter(value)
    # polars panics at this expression.
    with pytest.raises(tt.Invalid, match="filter: polars fails at this expression"):
        index.filter(pl.col("pedestrians") == {"a": object()})
    for value, rows in ((3, 4), (np.int8(3), 4), (3.0, 4), (pl.col("pedestrians"), 20)):
        assert len(index.filter(pedestrians=value)) == rows


def test_iterables_are_not_walked_before_their_values_are_checked(index: tt.Index, folder: Path) -> None:
    data, endless = {"i": [0], "x": [1.5]}, range(10**12)
    table = tt.write_table(folder / "u", data, index="i", locality=np.int64(11))
    assert len(table.append(data, locality=(16, 1, 150))) == 2
    for locality, text in ((endless, "found more than 3 values, expected at most 3"), (np.array(5), "expected a list, found ndarray"), (1.5, "expected an integer"), (True, "expected an integer")):
        with pytest.raises(tt.Invalid, match=f"locality: {text}"):
            tt.write_table(folder / "v", data, index="i", locality=locality)  # type: ignore[arg-type]
    writer = tt.Writer(folder / "w", schema={"i": "i64", "x": "f32"}, index="i")
    plan = cluster.plan_write(folder / "p", schema={"i": "i64"}, index=["i"], partitions=1)
    for offsets in (endless, {"*": endless}):
        with pytest.raises(tt.Invalid, match="offsets: found more than 16777216 values"):
            cluster.plan_read(table, offsets=offsets)
    for call, what in [
        (lambda: writer.commit(endless), "receipts"),  # type: ignore[arg-type]
        (lambda: cluster.commit(plan, endless), "receipts"),  # type: ignore[arg-type]
        (lambda: cluster.plan_write(folder / "q", schema={"i": "i64"}, index=["i"], reference=endless), "reference"),
        (lambda: tt.mix(endless, weights=[1]), "loaders"),  # type: ignore[arg-type]
        (lambda: tt.mix(5, weights=[1]), "loaders"),  # type: ignore[arg-type]
        (lambda: tt.concat(endless), "indexes"),  # type: ignore[arg-type]
        (lambda: tt.read_index("t", endless), "columns"),  # type: ignore[arg-type]
    ]:
        with pytest.raises(TypeError, match=f"{what}: expected .*, found int [05]"):
            call()


def test_arguments_of_a_loader_are_checked_in_terms_of_python(index: tt.Index) -> None:
    for options, kind, text in [
        ({"trace": 5}, TypeError, "trace: expected a path, found int 5"),
        ({"trace": b"\xff"}, TypeError, "trace: expected a path, found bytes"),
        ({"columns": np.array("x")}, TypeError, "columns: expected a list, found ndarray"),
        ({"weights": np.array(1.0)}, TypeError, "weights: expected one number for each position"),
        ({"weights": np.ma.masked_array([1.0] * 20, [1] * 20)}, TypeError, "weights: found masked values"),
        ({"weights": pl.Series([1] * 20, dtype=pl.Int128)}, TypeError, "weights: Series does not become an array"),
        ({"balance_by": np.array(1)}, TypeError, "balance_by: expected the name of a column"),
        ({"offsets": np.array(1)}, TypeError, "offsets: expected a list"),
        ({"offsets": 3}, TypeError, "offsets: expected a list or a range, such as `range(-3, 1)`, found int 3"),
        ({"offsets": slice(-3, 1)}, TypeError, "offsets: expected a list or a range, such as `range(-3, 1)`, found slice"),
        ({"transform": dict, "transform_rows": np.array([True, False])}, TypeError, "transform_rows: expected True or False"),
        ({"transform": dict, "transform_rows": pd.NA}, TypeError, "transform_rows: expected True or False"),
        ({"replacement": pd.NA, "weights": "pedestrians"}, TypeError, "replacement: expected True or False"),
        ({"skip_incomplete": np.array([True])}, TypeError, "skip_incomplete: expected True or False"),
        ({"progress": pd.NA}, TypeError, "progress: expected True or False"),
    ]:
        with pytest.raises(kind, match=re.escape(text)) as caught:
            tt.DataLoader(index, batch_size=4, **options)
        assert isinstance(caught.value, tt.Invalid)
    makers: list[Callable[..., Any]] = [tt.row_loader, partial(tt.DataLoader, batch_size=4)]
    for make in makers:
        with pytest.raises(TypeError, match=re.escape("such as `tetrys.read_index(url)`, found str 'drives'")):
            make("drives")
    with pytest.raises(TypeError, match=re.escape("found str 'pedestrians > 3': for SQL write `index.sql(\"SELECT * FROM t WHERE ..\")`")):
        index.filter("pedestrians > 3")
    with pytest.raises(tt.Invalid, match="state: Object of type ndarray is not JSON serializable"):
        tt.DataLoader(index, batch_size=4).load_state_dict({"epoch": np.array(1)})
    for weights in ([1e-300, -1e300], [5e-324, -0.1]):
        with pytest.raises(tt.Invalid, match=re.escape(f"weight of sample 1: {weights[1]!r}".replace("e+", "e"))):
            tt.DataLoader(index[:2], batch_size=1, weights=weights)


def test_paths_are_taken_wherever_urls_are(tmp_path: Path) -> None:
    data = {"time": [0, 1], "a.x": [1.5, 2.5]}
    table = tt.write_table(tmp_path / "t", data, index="time")
    for opened in (tt.Table(tmp_path / "t"), tt.open_table(tmp_path / "t@1", allow=tmp_path), tt.open_table(tmp_path / "t", allow=[tmp_path])):
        assert opened.uuid == table.uuid
    view = tt.read_index(tmp_path / "t").save(tmp_path / "v")
    assert view.allow(tmp_path).rebind(tmp_path / "t").sources()[0].uuid == table.uuid
    again = tt.write_table(tmp_path / "again", data, index="time", reference=tmp_path / "t")
    assert again.info()["references"] == ["../t"]
    assert tt.write_table(tmp_path / "more", data, index="time", reference=[tmp_path / "t"]).append({"time": [2], "a.x": [1]}, reference=tmp_path / "again").version == 2
    writer = tt.Writer(tmp_path / "w", schema={"i": "i64", "x": "f32"}, index="i")
    assert pickle.loads(pickle.dumps(writer.task())).partition() is not None
    with pytest.raises(tt.Invalid, match="lacks a slash"):
        tt.open_table(Path("s3://bucket/table"))
    (tmp_path / "recipe.toml").write_text('from = "t"\n[sources]\nt = "t"\n[output]\nview = "made"\n')
    with pytest.raises(tt.NotFound, match="no recipe at"):
        tt.run(tmp_path / "nothing.toml")


def test_spans_of_time_are_text_numbers_and_timedeltas(index: tt.Index) -> None:
    loader = tt.row_loader(index)
    ways: list[tuple[list[Any], Any]] = [
        (["-200ms", "0ms"], "20ms"),
        ([timedelta(milliseconds=-200), timedelta()], timedelta(milliseconds=20)),
        ([np.timedelta64(-200, "ms"), np.timedelta64(0, "s")], np.timedelta64(20, "ms")),
        ([pd.Timedelta("-200ms"), pd.Timedelta(0)], pd.Timedelta("20ms")),
        ([-200, 0], 20),
    ]
    for deltas, tolerance in ways:
        window = tt.times("timestamp", deltas, tolerance=tolerance)
        for one in (window, pickle.loads(pickle.dumps(window))):
            assert loader.get_rows(14, offsets=one).table_rows.tolist() == [12, 14]
        merged = tt.merge(index, index[::2], ["log_id", "timestamp"], how="asof", tolerance=tolerance)
        assert len(merged) == 10
    assert repr(tt.times("timestamp", timedelta(seconds=-1), pick="before", tolerance=5)) == "times of `timestamp`: before to -1000000us within 5"


def test_signatures_name_every_option() -> None:
    for kind in (tt.Table, tt.Index, tt.RowLoader, tt.Writer, tt.Partition, tt.Windows):
        for name, member in inspect.getmembers(kind, inspect.isfunction):
            variable = [one for one in inspect.signature(member).parameters.values() if one.kind is one.VAR_KEYWORD]
            assert not variable or (kind, name) in ((tt.Table, "set_properties"), (tt.Index, "filter"), (tt.Index, "select")), f"{kind.__name__}.{name}"
    for function in (tt.write_table, tt.merge, tt.merge_tables, tt.concat, tt.open_table, tt.read_index, tt.row_loader, tt.run, tt.scan_index, tt.times, tt.ingest_l5):
        assert all(one.kind is not one.VAR_KEYWORD for one in inspect.signature(function).parameters.values())


def test_an_overwrite_keeps_what_the_table_says_of_itself(tmp_path: Path) -> None:
    data = {"log": ["a", "a", "b"], "time": [0, 1, 0], "x": [1.0, 2.0, 3.0], "y.z": [None, "b", "c"]}
    options: dict[str, Any] = {"index": ["log", "time"], "sequence_by": "log", "order_by": "time", "units": {"time": "ms"}, "groups": {"g": ["x", "y.z"]}, "required": "x"}
    table = tt.write_table(tmp_path / "t", data, **options)
    more = {**data, "y.z": [None] * 3, "new.w": [1, 2, 3]}
    again = table.overwrite(more)
    assert (again.index_columns, again.sequence_by, again.order_by) == (table.index_columns, ["log"], ["time"])
    assert again.groups == [*table.groups, ("new", [("new.w", "i64")])]
    assert again.column_properties("time") == {"unit": "ms"} and again.column_properties("x") == {"tetrys.nullable": False}
    other = again.overwrite(data, index=["time"], sequence_by=(), order_by=(), groups={}, units={"time": "s"}, required=())
    assert (other.index_columns, other.sequence_by, other.order_by) == ([("time", "i64")], [], [])
    assert other.column_properties("time") == {"unit": "s"} and other.column_properties("x") == {}
    assert [group for group, _ in other.groups] == ["log", "x", "y"]
    with pytest.raises(tt.Invalid, match="index columns that do not exist: time"):
        other.overwrite({"x": [1.0]})


def test_tables_open_and_rows_are_read_in_a_forked_child(drives: str, tmp_path: Path) -> None:
    # The parent uses frames and starts threads.
    busy = tt.read_index(drives).filter(pl.col("pedestrians") > 3)
    table = tt.open_table(drives)
    pickled = pickle.dumps(tt.row_loader(table, columns=["timestamp", "labels.*"]))
    assert tt.row_loader(busy).get_row(0)["labels.text"] == "row 4"

    def work() -> str:
        opened = tt.open_table(drives)
        output = [str(tt.row_loader(opened).take([5], ["labels.*"])["labels.text"].tolist())]
        output.append(str(tt.row_loader(table, columns=["timestamp"]).get_rows(11, offsets=[-2, -1, 0])["timestamp"].tolist()))
        output.append(str(pickle.loads(pickled).get_row(6)))
        try:
            tt.read_index(drives)
        except tt.Unsupported as error:
            output.append(str(error))
        written = tt.write_table(tmp_path / "child", {"i": [1], "x": [1.5]}, index="i")
        output.append(str(len(written)))
        return "; ".join(output)

    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            os.write(writing, work().encode())
        except BaseException as error:  # noqa: BLE001: the parent reports it
            os.write(writing, repr(error).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        output = pipe.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    assert output.startswith("['row 5']; [0, 1000, 1100]; {'timestamp': np.int64(600), 'labels.text': 'row 6'}; frames do not survive a fork"), output
    assert "make the row loader before" in output and output.endswith("; 1")


def test_index_columns_are_read_beside_the_others(index: tt.Index, tmp_path: Path) -> None:
    busy = index.filter(pl.col("pedestrians") > 3)
    loader = tt.row_loader(busy)
    assert loader.get_row(1, ["timestamp", "labels.*", "log_id"]) == {"log_id": "monday", "timestamp": 900, "labels.text": "row 9"}
    assert loader.take([3, 0], ["log*", "labels.text"])["log_id"].tolist() == ["tuesday", "monday"]
    # Rows of a window come from the table, and are null if they do not exist.
    window = loader.get_rows(2, ["timestamp", "labels.*"], offsets=range(-5, 1))
    assert pa.table(window)["timestamp"].to_pylist() == [None, 1000, 1100, 1200, 1300, 1400]
    # A loader with columns reads these by default; one without reads all columns of the groups.
    chosen = tt.row_loader(busy, columns=["timestamp", "labels.*"])
    assert (chosen.columns, list(chosen[0]), list(chosen.get_row(0, ["camera.jpeg"]))) == (["timestamp", "labels.text"], ["timestamp", "labels.text"], ["camera.jpeg"])
    assert "timestamp" not in loader[0] and "timestamp" not in loader.get_row(0, ["*"])
    assert [batch["timestamp"].tolist() for batch in chosen.scan(3)] == [[400, 900, 1400], [1900]]
    assert chosen.explain(0) == loader.explain(0, ["labels.*"])
    with pytest.raises(tt.NotFound, match="nearest"):
        loader.get_row(0, ["timestump"])
    # Merges, concatenations and views have index columns too.
    merged = tt.merge(index, busy, on=["log_id", "timestamp"], how="left")
    rows = pa.table(tt.row_loader(merged, columns=["pedestrians*"]).take(range(6)))
    assert rows["pedestrians"].to_pylist() == [0, 1, 2, 3, 4, 0] and rows["pedestrians_right"].to_pylist() == [None] * 4 + [4, None]
    both = tt.concat([index[18:], index[:2]])
    assert tt.row_loader(both, columns="timestamp").take(range(4))["timestamp"].tolist() == [1800, 1900, 0, 100]
    view = busy.save(tmp_path / "busy")
    for source in (view, tt.read_index(view), tt.open_table(tmp_path / "busy")):
        assert tt.row_loader(source).get_rows(1, ["timestamp"], offsets=[-1, 0])["timestamp"].tolist() == [800, 900]


def test_windows_stack_to_batch_and_time(index: tt.Index) -> None:
    loader = tt.row_loader(index)
    windows = loader.get_windows([0, 11], offsets=range(-2, 1), columns=["timestamp", "*.intrinsics", "labels.*", "lidar.*"])
    assert (len(windows), windows.shape, windows.keys()) == (2, (2, 3), ["timestamp", "lidar.points", "camera.intrinsics", "labels.text"])
    assert windows.mask.tolist() == [[False, False, True], [False, True, True]]
    assert windows.table_rows.tolist() == [[-1, -1, 0], [-1, 10, 11]]
    assert windows["camera.intrinsics"].shape == (2, 3, 3, 3)
    assert windows["labels.text"].tolist() == [[None, None, "row 0"], [None, "row 10", "row 11"]]
    assert windows.valid("labels.text").tolist() == windows.column_mask("labels.text").tolist() == windows.mask.tolist()
    for batch, window in enumerate(windows):
        np.testing.assert_array_equal(windows["camera.intrinsics"][batch], window["camera.intrinsics"])
        for time in range(3):
            np.testing.assert_array_equal(windows["lidar.points"][batch * 3 + time], window["lidar.points"][time])
    assert len(windows[0:1]) == 1 and windows[-1].table_rows.tolist() == [-1, 10, 11]
    empty = loader.get_windows([], offsets=range(-2, 1), columns=["camera.intrinsics"])
    assert (empty["camera.intrinsics"].shape, empty.mask.shape) == ((0, 3, 3, 3), (0, 3))
    skipping = tt.row_loader(index, edge="skip").get_windows([0, 11], offsets=range(-2, 1))
    assert [len(window) for window in skipping] == [1, 2]
    with pytest.raises(tt.Invalid, match="cannot be stacked"):
        skipping["camera.intrinsics"]
    assert pickle.loads(pickle.dumps(windows)).table_rows.tolist() == windows.table_rows.tolist()


def test_rows_and_ragged_columns_are_pickled_with_their_values(index: tt.Index) -> None:
    merged = tt.merge(index, index.filter(pl.col("pedestrians") > 3), on=["log_id", "timestamp"], how="left")
    rows = tt.row_loader(merged, columns=["timestamp", "*"]).get_rows(8, offsets=range(-2, 4))
    again = pickle.loads(pickle.dumps(rows))
    assert pa.table(again).equals(pa.table(rows)) and again.types == rows.types and repr(again) == repr(rows)
    assert again.mask.tolist() == rows.mask.tolist() and again.table_rows.tolist() == rows.table_rows.tolist()
    for name in rows:
        assert again.column_mask(name).tolist() == rows.column_mask(name).tolist()
    ragged = rows["lidar.points"]
    for one in (pickle.loads(pickle.dumps(ragged)), pickle.loads(pickle.dumps(again["lidar.points"]))):
        assert one.valid.tolist() == ragged.valid.tolist()
        np.testing.assert_array_equal(one.values, ragged.values, strict=True)
        np.testing.assert_array_equal(one.shapes, ragged.shapes, strict=True)
    assert pa.array(ragged).to_pylist() == pa.table(rows)["lidar.points"].to_pylist()


def test_rows_are_frames_of_other_libraries(index: tt.Index) -> None:
    import duckdb

    rows = tt.row_loader(index, columns=["timestamp", "labels.*"]).take([4, 2])
    assert rows.__arrow_c_stream__() is not None and index.__arrow_c_stream__() is not None
    assert pl.DataFrame(rows).rows() == [(400, "row 4"), (200, "row 2")]
    assert pa.table(rows).num_rows == 2 and pd.DataFrame.from_arrow(rows)["timestamp"].tolist() == [400, 200]
    assert duckdb.sql("SELECT sum(timestamp) FROM rows").fetchall() == [(600,)]


def test_errors_are_those_of_python_too(index: tt.Index) -> None:
    rows = tt.row_loader(index).take([0])
    for call, kind, message in [
        (lambda: rows["nothing"], KeyError, "no column `nothing`; there are: lidar.points"),
        (lambda: index["nothing"], KeyError, "no index column `nothing`; there are: log_id"),
        (lambda: rows[1], TypeError, "a column is selected by its name, found int 1"),
        (lambda: tt.row_loader(index)[99], IndexError, "99 is outside 0..20"),
        (lambda: tt.open_table(5), TypeError, "a URL is text or a path, found int 5"),  # type: ignore[arg-type]
        (lambda: tt.row_loader("x"), TypeError, "a loader reads the rows of an Index or a Table"),  # type: ignore[arg-type]
        (lambda: index.filter(pl.col("nothing") > 3), tt.NotFound, "nothing"),
        (lambda: index.filter([1] * 20), TypeError, "a mask of booleans"),
        (lambda: index.filter([True]), tt.Invalid, "a mask of 1 rows for an index of 20 rows"),
        (lambda: tt.merge(index, index, on="timestamp").merge(index, on="pedestrians"), tt.Invalid, "take the first of such rows"),
    ]:
        with pytest.raises(tt.Error, match=re.escape(message)) as caught:
            call()
        assert isinstance(caught.value, kind)
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), tt.Error)


def test_arguments_of_level_5_are_checked_in_terms_of_python(folder: Path) -> None:
    for call, what in [
        (lambda: l5.ChunkedDataset(5), "path"),  # type: ignore[arg-type]
        (lambda: l5.ChunkedDataset(b"x"), "path"),  # type: ignore[arg-type]
        (lambda: l5.MapAPI(5, np.eye(4)), "protobuf_map_path"),  # type: ignore[arg-type]
        (lambda: l5.export(folder / "t", b"x"), "path"),  # type: ignore[arg-type]
    ]:
        with pytest.raises(TypeError, match=f"{what}: expected a path, found (int 5|bytes b'x')") as caught:
            call()
        assert isinstance(caught.value, tt.Invalid)
    for scenes in (5, "x", np.array(5), np.array([True]), pd.NA):
        with pytest.raises(TypeError, match="scenes: expected (an array of scenes|a list), found"):
            l5.get_combined_scenes(scenes)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, [2**70], {"a": {"b": (1, 2**64)}}, {1: 1}, {None: 1}, {True: 1}, {"a": [{1.5: 1}]}, float("nan"), b"x", {1, 2}, np.int64(1)])
def test_a_property_is_stored_exactly_or_refused(folder: Path, value: Any) -> None:
    table = tt.open_table("t")
    exact = {"largest": 2**64 - 1, "smallest": -(2**63), "nested": [{"a": [1, 2.5, None, True, "x"]}]}
    assert table.set_properties(**exact).properties == exact
    writes: list[Callable[[], Any]] = [
        lambda: table.set_properties(x=value),
        lambda: table.edit(column_properties={"timestamp": {"x": value}}),
        lambda: tt.write_table("new", {"i": [0], "x": [1]}, index="i", properties={"x": value}),
        lambda: tt.read_index(table).save("view", properties={"x": value}),
        lambda: tt.run({"from": "t", "sources": {"t": "t"}, "output": {"view": "view", "properties": {"x": value}}}),
    ]
    for write in writes:
        with pytest.raises(tt.Invalid, match="expected JSON values"):
            write()
    assert sorted(path.name for path in folder.iterdir()) == ["t"]


def test_a_span_of_time_is_no_number_of_rows(folder: Path) -> None:
    index, span = tt.read_index("t"), np.timedelta64(1, "s")
    loader = tt.row_loader(index)
    calls: list[Callable[[], Any]] = [
        lambda: loader.get_row(span),  # type: ignore[arg-type]
        lambda: loader.take([span]),  # type: ignore[list-item]
        lambda: loader.scan(span),  # type: ignore[arg-type]
        lambda: loader.get_windows([0], offsets=[0])[span],  # type: ignore[call-overload]
        lambda: loader.get_rows(0, offsets=[span]),  # type: ignore[list-item]
        lambda: index.sample(span, seed=0),  # type: ignore[arg-type]
        lambda: index.split("timestamp", {"a": span}),  # type: ignore[dict-item]
        lambda: tt.open_table("t").gc(keep=span),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(TypeError, match="timedelta64"):
            call()


def test_shares_are_numbers_of_any_library(folder: Path) -> None:
    index = tt.read_index("t")
    share: Any
    for share in (1, 1.0, np.float32(1), np.float64(1), np.int8(1), np.array(1.0)[()]):
        assert [len(part) for part in index.split("timestamp", {"all": share}).values()] == [2]
    for wrong in (True, "1", None, [1], 10**5000, np.bool_(True), float("nan"), float("inf"), -1, 0):
        with pytest.raises(tt.Invalid, match="share"):
            index.split("timestamp", {"all": wrong})  # type: ignore[dict-item]


def test_a_value_without_text_is_named_by_its_type(folder: Path) -> None:
    index = tt.read_index("t")
    mute: Any = Mute()
    for call in (lambda: tt.write_table("new", {"i": [0]}, index="i", preset=mute), lambda: index.merge(index, "timestamp", how=mute), lambda: index.sort(mute)):
        with pytest.raises(tt.Invalid, match="Mute"):
            call()


def test_rows_are_not_chosen_by_a_frame(folder: Path) -> None:
    for frame in (pd.DataFrame({"x": [1]}), pl.DataFrame({"x": [1]}), pa.table({"x": [1]})):
        with pytest.raises(tt.Invalid, match="rows"):
            tt.open_table("t").delete(frame)
    with pytest.raises(tt.Invalid, match="a number of 16610 bits|is outside"):
        tt.times("timestamp", [10**5000])


def copied(loader: tt.DataLoader) -> dict[str, Any]:
    """The first batch of a copy of a loader."""
    batch: dict[str, Any] = next(iter(pickle.loads(pickle.dumps(loader))))
    return {name: len(values) for name, values in batch.items()} | {"positions": batch["positions"].tolist()}


NEW = {"log_id": ["a", "a"], "timestamp": [1, 0], "new.x": [1.5, 2.5]}
LISTS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "row_loader": (lambda given: tt.row_loader(tt.open_table("t"), columns=given).columns, ["labels.*", "timestamp"]),
    "get_row": (lambda given: list(tt.row_loader(tt.open_table("t")).get_row(0, given, decode=True)), ["labels.*"]),
    "take": (lambda given: list(tt.row_loader(tt.open_table("t")).take(given)["labels.text"]), [1, 0]),
    "get_rows": (lambda given: tt.row_loader(tt.open_table("t")).get_rows(1, offsets=given).mask.tolist(), [-1, 0, 1]),
    "times": (lambda given: len(tt.times("timestamp", given)), ["0s", "1s"]),
    "DataLoader.columns": (lambda given: copied(tt.DataLoader(tt.read_index("t"), batch_size=1, columns=given)), ["labels.*", "timestamp"]),
    "DataLoader.offsets": (lambda given: copied(tt.DataLoader(tt.read_index("t"), batch_size=1, columns="labels.*", offsets={"labels.*": given})), [-1, 0]),
    "DataLoader.weights": (lambda given: copied(tt.DataLoader(tt.read_index("t"), batch_size=1, columns="labels.*", weights=given)), [0.0, 1.0]),
    "DataLoader.balance_by": (lambda given: copied(tt.DataLoader(tt.read_index("t"), batch_size=1, columns="labels.*", balance_by=given)), [0, 1]),
    "read_index": (lambda given: tt.read_index("t", given).columns, ["time*"]),
    "sort": (lambda given: tt.read_index("t").sort(given, descending=True)["timestamp"].to_list(), ["log_id", "timestamp"]),
    "merge": (lambda given: tt.read_index("t").merge(tt.read_index("t"), given).columns, ["log_id", "timestamp"]),
    "split": (lambda given: len(tt.read_index("t").split(given, {"all": 1})["all"]), ["timestamp"]),
    "delete": (lambda given: len(tt.open_table("t").delete(given)), [1]),
    "edit": (lambda given: tt.open_table("t").edit(drop=given).groups, ["labels.text", "lidar.points"]),
    "add_group": (lambda given: tt.open_table("t").add_group("new", NEW, on=given).groups, ["log_id", "timestamp"]),
    "patch": (lambda given: tt.open_table("t").patch({"log_id": ["a"], "timestamp": [1], "labels.text": ["x"]}, given).groups, ["log_id", "timestamp"]),
    "diff": (lambda given: tt.open_table("t").diff(tt.open_table("t"), given).unchanged, ["timestamp"]),
    "write_table": (lambda given: tt.write_table("w", NEW, index=given, required=["new.x"]).index_columns, ["log_id", "timestamp"]),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_may_be_an_iterator(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    call, values = LISTS[name]
    results = []
    for given in (values, (value for value in values)):
        copy = folder / uuid.uuid4().hex
        shutil.copytree(folder / "t", copy / "t")
        monkeypatch.chdir(copy)
        results.append(call(given))
    assert results[0] == results[1]


@pytest.mark.parametrize("wrong", [b"01", bytearray(b"01"), memoryview(b"01")], ids=["bytes", "bytearray", "memoryview"])
def test_bytes_are_no_list_of_numbers(folder: Path, wrong: Any) -> None:
    loader = tt.row_loader(tt.open_table("t"))
    for call in (lambda: loader.take(wrong), lambda: loader.get_rows(0, offsets=wrong), lambda: tt.times("timestamp", wrong), lambda: tt.open_table("t").delete(wrong)):
        with pytest.raises(TypeError):
            call()


def test_receipts_and_partitions_are_checked(folder: Path) -> None:
    for wrong in (None, 5, b"{}", {}, ["{}"]):
        with pytest.raises(TypeError, match="a receipt: expected text"):
            tt.Receipt(wrong)  # type: ignore[arg-type]
    writer = tt.Writer("w", schema={"i": "i64", "x": "f32"}, index="i")
    with pytest.raises(tt.Invalid, match="partition: 1000000000000 is outside"):
        writer.abandon(10**12)
