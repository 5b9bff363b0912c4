"""Merges of every kind, splits, views and recipes, compared with plain lists of rows."""

from __future__ import annotations

import pickle
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import tetrys as tt
from hypothesis import given
from hypothesis import strategies as st

Row = tuple[str, int]
"""A key: log and time."""


def table_of(url: str, name: str, rows: list[Row], unit: str = "ms") -> tt.Table:
    return tt.write_table(
        url,
        {
            "log": [log for log, _ in rows],
            "time": np.array([time for _, time in rows], np.int64),
            f"{name}_id": np.arange(len(rows)),
            f"{name}.value": np.arange(len(rows)) * 10,
        },
        index=["log", "time", f"{name}_id"],
        units={"time": unit},
    )


def ids(index: tt.Index, name: str) -> list[Any]:
    """Returns the payload in the order of the frame."""
    rows = tt.row_loader(index).take(range(len(index)), [f"{name}.value"])
    return [int(value) // 10 if there else None for value, there in zip(rows[f"{name}.value"], rows.column_mask(f"{name}.value"), strict=True)]


def partner(row: Row, right: list[Row], how: str, direction: str, tolerance: int | None, last: bool) -> int | None:
    """Returns the number of the right row, by brute force."""
    log, time = row
    if how != "asof":
        same = [number for number, other in enumerate(right) if other == row]
        return same[-1 if last else 0] if same else None
    found = [(abs(at - time), at, number) for number, (other, at) in enumerate(right) if other == log]
    found = [one for one in found if direction == "nearest" or (one[1] <= time if direction == "backward" else one[1] >= time)]
    found = [one for one in found if tolerance is None or one[0] <= tolerance]
    # Of equally near rows, the earlier one; of rows at the same time, the requested one, in every direction.
    found.sort(key=lambda one: (one[0], one[1], -one[2] if last else one[2]))
    return found[0][2] if found else None


rows_of = st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 12)), min_size=1, max_size=12)


@given(left=rows_of, right=rows_of, how=st.sampled_from(["inner", "left", "asof"]), keep=st.booleans(), data=st.data())
def test_merges_equal_brute_force(
    tmp_path_factory: pytest.TempPathFactory, left: list[Row], right: list[Row], how: str, keep: bool, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    direction = data.draw(st.sampled_from(["backward", "forward", "nearest"]))
    tolerance = data.draw(st.none() | st.integers(0, 4)) if how == "asof" else None
    a, b = (tt.read_index(table_of(str(folder / name), name, rows)) for name, rows in (("a", left), ("b", right)))
    last, shift = data.draw(st.booleans()), data.draw(st.integers(-2, 2))
    options: dict[str, Any] = {"direction": direction, "keep_left": keep} if how == "asof" else {}
    options["tolerance"] = None if tolerance is None else f"{tolerance}ms"
    # Keys come from the frame, also after changes.
    a = a.with_frame(a.to_polars().with_columns(pl.col("time") + shift))
    left = [(log, time + shift) for log, time in left]
    if len(set(right)) < len(right):
        with pytest.raises(tt.Invalid, match="(has|have) the same"):
            tt.merge(a, b, ["log", "time"], how=how, **options)
    options["last" if last else "first"] = True
    merged = tt.merge(a, b, ["log", "time"], how=how, **options)
    wanted = [(number, partner(row, right, how, direction, tolerance, last)) for number, row in enumerate(left)]
    if how == "inner" or (how == "asof" and not keep):
        wanted = [one for one in wanted if one[1] is not None]
    assert list(zip(ids(merged, "a"), ids(merged, "b"), strict=True)) == wanted
    # A saved and reopened merge is the same.
    merged.save(str(folder / "view"))
    view = tt.read_index(str(folder / "view"))
    assert view.to_polars().select(merged.columns).equals(merged.to_polars().select(merged.columns))
    assert list(zip(ids(view, "a"), ids(view, "b"), strict=True)) == wanted
    again = pickle.loads(pickle.dumps(merged))
    assert list(zip(ids(again, "a"), ids(again, "b"), strict=True)) == wanted


def test_rows_of_one_key_are_an_error_the_first_or_a_list(tmp_path: Path) -> None:
    a = tt.read_index(table_of(str(tmp_path / "a"), "a", [("x", 1), ("y", 1)]))
    b = tt.read_index(table_of(str(tmp_path / "b"), "b", [("x", 1), ("x", 1), ("x", 2)]))
    with pytest.raises(tt.Invalid, match="same log, time"):
        a.merge(b, ["log", "time"])
    assert ids(a.merge(b, ["log", "time"], first=True), "b") == [0]
    lists = a.merge(b, ["log", "time"], how="left", group_to_list=True)
    assert [row["b.value"] if row["b.value"] is None else list(row["b.value"]) for row in map(tt.row_loader(lists).get_row, range(2))] == [[0, 10], None]
    assert lists["b_id"].to_list() == [[0, 1], None]
    saved = lists.save(str(tmp_path / "saved"))
    made = tt.merge_tables(str(tmp_path / "a"), str(tmp_path / "b"), ["log", "time"], str(tmp_path / "made"), how="left", group_to_list=True)
    for name, view in {"first": saved, "second": tt.open_table(made["view"])}.items():
        index = tt.read_index(view)
        assert index.to_polars()[lists.columns].equals(lists.to_polars()[lists.columns])
        assert len(index.filter(pl.col("b_id").list.len() == 2)) == 1
        filtered = index.filter(pl.col("b_id").list.contains(1)).save(str(tmp_path / name))
        assert tt.read_index(filtered)["b_id"].to_list() == [[0, 1]]
    renamed = a.merge(a, ["log", "time"], suffix="_again")
    assert renamed.columns == ["log", "time", "a_id", "a_id_again"]
    for wrong, message in [
        ({"how": "asof", "direction": "before"}, "expected backward, forward or nearest"),
        ({"tolerance": "1s"}, "a tolerance goes with"),
        ({"how": "asof", "tolerance": "1 parsec"}, "parsec"),
        ({"right_on": ["log"]}, "2 keys on the left, 1 on the right"),
        ({"first": True, "last": True}, "choose one"),
    ]:
        with pytest.raises(tt.Invalid, match=message):
            a.merge(b, ["log", "time"], **wrong)


@pytest.mark.parametrize("memory", [None, 0])
def test_merged_tables_are_merged_indexes(tmp_path: Path, memory: int | None) -> None:
    a, b = (
        table_of(str(tmp_path / name), name, [(log, time) for log in "xyz" for time in range(0, 60, step)])
        for name, step in (("a", 2), ("b", 5))
    )
    ways: list[tuple[list[str], dict[str, Any]]] = [
        (["log", "time"], {}),
        (["log", "time"], {"how": "left", "suffix": "_b"}),
        (["log", "a_id"], {"right_on": ["log", "b_id"]}),
        (["log", "time"], {"how": "asof", "direction": "nearest", "tolerance": "1ms", "keep_left": True}),
        (["log"], {"how": "left", "last": True}),
    ]
    for number, (on, options) in enumerate(ways):
        made = tt.merge_tables(a.url, b.url, on, tmp_path / f"view {number}", memory_limit=memory, temporary_folder=tmp_path, **options)
        expected, view = tt.merge(tt.read_index(a), tt.read_index(b), on, **options), tt.read_index(tmp_path / f"view {number}")
        assert (made["rows"], made["written"], made["payload_bytes"]) == (len(expected), True, 0)
        assert view.to_polars().select(view.columns).equals(expected.to_polars().select(expected.columns))
        assert (ids(view, "a"), ids(view, "b")) == (ids(expected, "a"), ids(expected, "b"))


@pytest.mark.parametrize("memory", [None, 0])
def test_arguments_of_a_merge_of_tables_that_are_no_such_thing_are_refused(tmp_path: Path, memory: int | None) -> None:
    a, b = table_of(str(tmp_path / "a"), "a", [("x", 1), ("y", 1)]), table_of(str(tmp_path / "b"), "b", [("x", 1), ("x", 1)])
    good: dict[str, Any] = {"left": a.url, "right": b.url, "on": ["log", "time"], "view": tmp_path / "view", "memory_limit": memory, "first": True}
    for wrong, kind, message in [
        ({"on": []}, tt.Invalid, "`on` is empty"),
        ({"on": [], "how": "asof"}, tt.Invalid, "`on` is empty"),
        ({"on": None}, TypeError, "on: expected a list, found None"),
        ({"on": 5}, TypeError, "on: expected a list, found int 5"),
        ({"on": ["log", 5]}, TypeError, "on: expected text, found int 5"),
        ({"on": ["log", None]}, TypeError, "on: expected text, found None"),
        ({"on": "nothing"}, tt.NotFound, "no column `nothing` on the left; there are: log, time, a_id"),
        ({"on": "a_id"}, tt.NotFound, "no column `a_id` on the right; there are: log, time, b_id"),
        ({"on": "log", "right_on": "time"}, tt.Invalid, "cast one of them"),
        ({"right_on": ["log"]}, tt.Invalid, "2 keys on the left, 1 on the right"),
        ({"right_on": 5}, TypeError, "right_on: expected a list, found int 5"),
        ({"on": "log=time"}, tt.Invalid, "`log=time` has an equals sign"),
        ({"how": "outer"}, tt.Invalid, "how `outer`: expected inner, left or asof"),
        ({"how": None}, tt.Invalid, "how `None`"),
        ({"how": "asof", "direction": "before"}, tt.Invalid, "expected backward, forward or nearest"),
        ({"how": "asof", "tolerance": "1 parsec"}, tt.Invalid, "parsec"),
        ({"how": "asof", "tolerance": 1.5}, TypeError, "tolerance: expected text with a unit"),
        ({"tolerance": "1s"}, tt.Invalid, "a tolerance goes with"),
        ({"keep_left": 1}, TypeError, "keep_left: expected True or False"),
        ({"group_to_list": "yes"}, TypeError, "group_to_list: expected True or False"),
        ({"last": True}, tt.Invalid, "choose one"),
        ({"first": None}, TypeError, "first: expected True or False"),
        ({"first": False}, tt.Invalid, "same log, time"),
        ({"suffix": None}, TypeError, "suffix: expected text, found None"),
        ({"update": 1}, TypeError, "update: expected True or False"),
        ({"update": True}, tt.NotFound, "view"),
        ({"memory_limit": 1.5}, TypeError, "memory_limit: expected an integer, found float 1.5"),
        ({"memory_limit": True}, TypeError, "memory_limit: expected an integer"),
        ({"memory_limit": "8GiB"}, TypeError, "memory_limit: expected an integer"),
        ({"memory_limit": -1}, tt.Invalid, "memory_limit: -1 is outside: expected 0 or more"),
        ({"memory_limit": 2**70}, tt.Invalid, "memory_limit: a number of 71 bits is outside: expected less than 2..63"),
        ({"temporary_folder": 5}, TypeError, "temporary_folder: expected a path, found int 5"),
        ({"temporary_folder": b"x"}, TypeError, "temporary_folder: expected a path"),
        ({"left": None}, TypeError, "a URL is text or a path, found None"),
        ({"right": a}, TypeError, "a URL is text or a path, found Table"),
        ({"view": 5}, TypeError, "a URL is text or a path, found int 5"),
        ({"left": tmp_path / "nothing"}, tt.NotFound, "source `left`"),
        ({"view": a.url}, tt.Exists, "a"),
        ({"allow": 5}, TypeError, "allow: expected a list"),
        ({"allow_unpinned": None}, TypeError, "allow_unpinned: expected True or False"),
    ]:
        with pytest.raises(tt.Error, match=message) as caught:
            tt.merge_tables(**(good | wrong))
        assert isinstance(caught.value, kind), wrong
        assert not (tmp_path / "view").exists(), wrong
    for number, limit in enumerate((2**63 - 1, np.int64(5))):
        assert tt.merge_tables(**(good | {"view": tmp_path / f"view {number}", "memory_limit": limit}))["rows"] == 1


def test_keys_with_an_equals_sign_are_merged_or_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        tt.write_table(tmp_path / name, {"key": [1, 2, 3], "key=x": [3, 2, 9], f"{name}.value": [10, 20, 30]}, index=["key", "key=x"])
    made = tt.merge_tables(tmp_path / "a", tmp_path / "b", "key", tmp_path / "view", right_on="key=x")
    assert made["rows"] == len(tt.read_index(tmp_path / "view")) == 2
    for right_on in (None, "key", "key=x"):
        with pytest.raises(tt.Invalid, match="`key=x` has an equals sign: rename the column in `left`, or use `tetrys.merge`"):
            tt.merge_tables(tmp_path / "a", tmp_path / "b", "key=x", tmp_path / "other", right_on=right_on)
    assert len(tt.merge(tt.read_index(tmp_path / "a"), tt.read_index(tmp_path / "b"), "key=x")) == 3


def test_a_merge_by_a_changed_key_is_pickled_and_needs_the_keys_of_all_rows(tmp_path: Path) -> None:
    a = tt.read_index(table_of(str(tmp_path / "a"), "a", [("x", time) for time in range(6)]))
    b = tt.read_index(table_of(str(tmp_path / "b"), "b", [("x", time) for time in range(6)]))
    shifted = a.with_frame(a.to_polars().with_columns(bucket=pl.col("time") - 1)).filter(pl.col("time") > 2)
    merged = tt.merge(shifted, b, ["bucket"], right_on=["time"])
    for one in (merged, pickle.loads(pickle.dumps(merged)), pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(merged))))):
        assert ids(one, "b") == [2, 3, 4]
        window = tt.row_loader(one).get_rows(0, ["b.value"], offsets=range(-1, 1))
        assert list(window["b.value"]) == [10, 20]
    late = a.filter(pl.col("time") > 2)
    late = late.with_frame(late.to_polars().with_columns(bucket=pl.col("time") - 1))
    with pytest.raises(tt.Invalid, match="3 of 6 rows"):
        tt.merge(late, b, ["bucket"], right_on=["time"])


def test_time_zones_go_into_frames_and_views_and_come_back(tmp_path: Path) -> None:
    zone = "Europe/Berlin"
    times = pl.Series("at", [datetime(2024, 3, 31, hour) for hour in range(4)]).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    data = pl.DataFrame({"at": times.dt.cast_time_unit("us"), "v.value": [0, 1, 2, 3]})
    table = tt.write_table(str(tmp_path / "t"), data, index=["at"])
    index = tt.read_index(table)
    assert index["at"].dtype == pl.Datetime("us", zone) and index["at"].to_list() == times.to_list()
    assert len(index.filter(pl.col("at") >= times[2])) == 2
    view = index.filter(pl.col("at") >= times[1]).save(str(tmp_path / "view"))
    assert view.index_columns == [("at", f"timestamp[us,{zone}]")]
    assert tt.read_index(view)["at"].to_list() == times.to_list()[1:]
    assert len(tt.merge(index, tt.read_index(view), "at")) == 3
    patched = table.patch(pl.DataFrame({"at": times.dt.cast_time_unit("us")[2:3].dt.convert_time_zone("UTC"), "v.value": [7]}), on="at")
    assert tt.row_loader(tt.read_index(patched)).take(range(4))["v.value"].tolist() == [0, 1, 7, 3]


def test_sql_only_asks(index: tt.Index) -> None:
    for query in ("DROP TABLE t", "DELETE FROM t", "SELECT 1; SELECT 2"):
        with pytest.raises(tt.Invalid, match="expected one read-only query"):
            index.sql(query)


def test_a_view_is_a_table_of_its_own(index: tt.Index, drives: str, tmp_path: Path) -> None:
    busy = index.filter(pl.col("pedestrians") > 3).with_frame(
        index.to_polars().filter(pl.col("pedestrians") > 3).with_columns(twice=pl.col("pedestrians") * 2)
    )
    size = busy.view_size()
    assert (size["rows"], size["payload_bytes"], size["columns"]) == (4, 0, busy.columns)
    view = busy.save(str(tmp_path / "busy"), properties={"who": "me", "of": [1, 2]})
    assert (len(view), view.is_view, view.properties) == (4, True, {"who": "me", "of": [1, 2]})
    (source,) = view.sources()
    assert (source.url, source.version, source.sources()) == (f"file://{drives}", 1, [])
    assert not (tmp_path / "busy" / "chunks").exists()
    opened = tt.read_index(str(tmp_path / "busy"))
    assert opened["twice"].to_list() == [8] * 4
    # Windows contain rows that the view does not have. Merges find them too.
    window = tt.row_loader(view).get_rows(1, ["labels.text"], offsets=range(-2, 1))
    assert window["labels.text"].tolist() == ["row 7", "row 8", "row 9"]
    for left in (opened, pickle.loads(pickle.dumps(opened.with_sources()))):
        merged = pickle.loads(pickle.dumps(left.merge(index, on=["log_id", "timestamp"])))
        assert tt.row_loader(merged).get_row(0, ["labels.*"]) == {"labels.text": "row 4", "labels.text_right": "row 4"}
    # `save` does not overwrite a view, but publishes versions of it.
    with pytest.raises(tt.Exists, match="next version"):
        busy.save(str(tmp_path / "busy"))
    assert busy[:2].save(str(tmp_path / "busy"), update=True).version == 2
    assert (len(tt.open_table(str(tmp_path / "busy"))), len(tt.open_table(f"{tmp_path}/busy@1"))) == (2, 4)
    with pytest.raises(tt.Unsupported, match="is a view"):
        view.append({"log_id": ["x"]})


def test_a_table_that_moved_is_bound_again_and_another_one_refused(tmp_path: Path) -> None:
    table_of(str(tmp_path / "a"), "a", [("x", 1), ("x", 2)])
    other = table_of(str(tmp_path / "b"), "b", [("x", 1)])
    tt.read_index(str(tmp_path / "a")).save(str(tmp_path / "view"))
    shutil.move(tmp_path / "a", tmp_path / "moved")
    with pytest.raises(tt.NotFound, match="rebind"):
        tt.read_index(str(tmp_path / "view"))
    view = tt.open_table(str(tmp_path / "view"))
    with pytest.raises(tt.Error, match="expected"):
        view.rebind(other.url)
    assert view.rebind(str(tmp_path / "moved")).version == 2
    assert ids(tt.read_index(str(tmp_path / "view")), "a") == [0, 1]


def test_an_absolute_reference_is_followed_where_it_is_allowed(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    far = tmp_path_factory.mktemp("far") / "a"
    table_of(str(far), "a", [("x", 1), ("x", 2)])
    tt.read_index(str(far)).save(str(tmp_path / "view"))
    shutil.move(far, tmp_path / "elsewhere")
    tt.open_table(str(tmp_path / "view")).rebind(str(tmp_path / "elsewhere"))
    allowed = tt.open_table(str(tmp_path / "view"), allow=[f"file://{tmp_path}"])
    assert tt.open_table(str(tmp_path / "view")).must_allow() == []
    assert ids(tt.read_index(str(tmp_path / "view"), allow=[str(tmp_path)]), "a") == [0, 1]
    with pytest.raises(tt.Invalid, match="allowed URL"):
        tt.open_table(str(tmp_path / "view"), allow=["s3://"])
    again = pickle.loads(pickle.dumps(allowed))
    assert ids(tt.read_index(again), "a") == ids(tt.read_index(allowed), "a") == [0, 1]


def test_parts_go_by_a_key_and_stay_when_rows_are_appended(tmp_path: Path) -> None:
    logs = [f"log {number}" for number in range(60)]
    table = table_of(str(tmp_path / "t"), "a", [(log, time) for log in logs[:40] for time in range(2)])
    shares = {"train": 0.7, "val": 0.2, "test": 0.1}
    before = tt.read_index(table).split("log", shares)
    assert [len(part) for part in before.values()] == [len(set(part["log"])) * 2 for part in before.values()]
    assert sum(map(len, before.values())) == len(table)
    longer = table.append({"log": [log for log in logs[40:]], "time": [0] * 20, "a_id": [0] * 20, "a.value": [0] * 20})
    after = tt.read_index(longer).split(["log"], shares)
    for name in shares:
        assert set(before[name]["log"]) == set(after[name]["log"]) & set(logs[:40])
    assert set(tt.read_index(longer).split("log", shares, salt="2")["val"]["log"]) != set(after["val"]["log"])
    for wrong, error in [({"train": 1.2}, tt.Invalid), ({}, tt.Invalid), ({"train": -1.0}, tt.Invalid)]:
        with pytest.raises(error, match="shares"):
            tt.read_index(table).split("log", wrong)
    with pytest.raises(tt.NotFound, match="no column `logs`"):
        tt.read_index(table).split("logs", shares)


def test_a_recipe_makes_what_the_calls_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    a = tt.read_index(table_of("a", "a", [("x", time) for time in range(0, 40, 2)]))
    b = tt.read_index(table_of("b", "b", [("x", time) for time in range(0, 40, 5)]))
    Path("merge.toml").write_text(
        """
        from = "a"
        filter = "a_id > 2"
        sources = { a = "a", b = "b" }
        columns = { twice = "a_id * 2" }
        output = { view = "view" }

        [[join]]
        with = "b"
        on = ["log", "time"]
        how = "asof"
        pick = "nearest"
        tolerance = "1ms"
        """
    )
    (planned,) = tt.run("merge.toml", dry_run=True)
    assert (planned["written"], planned["payload_bytes"], (tmp_path / "view").exists()) == (False, 0, False)
    (made,) = tt.run(Path("merge.toml"))
    assert (made["written"], made["version"], made["rows"]) == (True, 1, planned["rows"])
    calls = tt.merge(a, b, ["log", "time"], how="asof", direction="nearest", tolerance="1ms").filter(pl.col("a_id") > 2)
    view = tt.read_index("view")
    assert (ids(view, "a"), ids(view, "b")) == (ids(calls, "a"), ids(calls, "b"))
    assert view["twice"].to_list() == [2 * row for row in ids(view, "a")]
    assert tt.open_table("view").lineage["recipe"]["join"][0]["with"] == "b"
    # The same recipe as a dict, with a split.
    recipe = {"concat": ["a", "b"], "fill": True, "sources": {"a": "a", "b": "b"}, "output": {"view": "parts"}}
    parts = tt.run(recipe | {"split": {"by": "time", "shares": {"test": 0.5, "train": 0.5}}})
    assert [part["part"] for part in parts] == ["train", "test"]
    assert sum(len(tt.open_table(part["view"])) for part in parts) == len(a) + len(b)
    with pytest.raises(tt.Invalid, match="no word `fillter`.*nearest: `filter`"):
        tt.run(recipe | {"fillter": "time > 3"})
    for source, message in [(3, r"\[sources.b\] is 3, expected a URL"), ({"filter": "time > 3"}, r"\[sources.b\] has no `table`")]:
        with pytest.raises(tt.Invalid, match=message):
            tt.run(recipe | {"sources": {"a": "a", "b": source}})
    assert tt.run(recipe | {"sources": {"a": "a", "b": {"table": "b"}}}, dry_run=True)[0]["rows"] == len(a) + len(b)
    with pytest.raises(tt.NotFound, match="source `b`"):
        tt.run(recipe | {"sources": {"a": "a", "b": "nowhere"}})


@given(rows=rows_of, shares=st.lists(st.integers(1, 5), min_size=1, max_size=3), limit=st.sampled_from([0, None]), salt=st.text(max_size=3))
def test_a_table_is_split_into_views_that_equal_the_parts_of_its_index(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], shares: list[int], limit: int | None, salt: str
) -> None:
    folder = tmp_path_factory.mktemp("split")
    table = table_of(str(folder / "t"), "a", rows)
    parts = {f"part-{number}": share / sum(shares) for number, share in enumerate(shares)}
    made = tt.split_table(str(folder / "t"), ["log"], parts, str(folder / "views"), salt=salt, memory_limit=limit, temporary_folder=folder)
    expected = tt.read_index(table).split("log", parts, salt=salt)
    assert list(made) == list(expected) == list(parts)
    for name, part in expected.items():
        view = tt.read_index(str(folder / "views" / name))
        assert view.to_polars().select(part.columns).equals(part.to_polars().select(part.columns))
        assert made[name]["rows"] == len(part)
    later = tt.split_table(str(folder / "t"), "log", {"all": 1}, str(folder / "late"), where="time > 3", keep=["log", "time"], memory_limit=limit)
    assert tt.read_index(str(folder / "late/all")).columns == ["log", "time"]
    assert later["all"]["rows"] == sum(time > 3 for _, time in rows)


def test_a_comparison_does_not_depend_on_the_memory(tmp_path: Path) -> None:
    one, two = (table_of(str(tmp_path / name), "a", rows) for name, rows in (("a", [("x", 1), ("x", 2)]), ("b", [("x", 2), ("y", 1)])))
    for exact in (False, True):
        found = two.diff(one, ["log", "time"], exact=exact, memory_limit=0, temporary_folder=tmp_path)
        assert found.to_dict() == two.diff(one, ["log", "time"], exact=exact).to_dict()
        assert (found.added.tolist(), found.removed.tolist()) == ([1], [0])
    with pytest.raises(tt.NotFound, match="diff: a temporary file in"):
        two.diff(one, memory_limit=0, temporary_folder=tmp_path / "nowhere")


@pytest.mark.parametrize("memory_limit", [None, 0])
def test_a_split_saves_all_parts_or_none(drives: str, tmp_path: Path, memory_limit: int | None) -> None:
    shares = {"train": 0.5, "val": 0.5}
    tt.read_index(drives).save(tmp_path / "parts/val")
    with pytest.raises(tt.Exists, match="parts/val: a table is there already"):
        tt.split_table(drives, "timestamp", shares, tmp_path / "parts", memory_limit=memory_limit)
    assert not (tmp_path / "parts/train").exists()
    with pytest.raises(tt.NotFound, match="parts/train"):
        tt.split_table(drives, "timestamp", shares, tmp_path / "parts", update=True, memory_limit=memory_limit)
    assert tt.open_table(tmp_path / "parts/val").version == 1
    made = tt.split_table(drives, "timestamp", shares, tmp_path / "other", memory_limit=memory_limit)
    again = tt.split_table(drives, "timestamp", shares, tmp_path / "other", update=True, memory_limit=memory_limit)
    assert [part["rows"] for part in made.values()] == [part["rows"] for part in again.values()]
    assert [part["version"] for part in again.values()] == [2, 2]


def test_no_name_is_no_place_at_the_root_of_the_file_system(drives: str) -> None:
    split = {"by": "timestamp", "shares": {"train": 1}}
    recipe = {"from": "drives", "sources": {"drives": drives}, "split": split, "output": {"view": ""}}
    for call in (lambda: tt.run(recipe, dry_run=True), lambda: tt.open_table("file://"), lambda: tt.open_table("file:"), lambda: tt.open_table("")):
        with pytest.raises(tt.Invalid, match="empty|expected a path"):
            call()
