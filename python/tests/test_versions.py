"""Versions of a table, and tables that refer to others, compared with a plain dict of rows."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import tetrys as tt
from hypothesis import given
from hypothesis import strategies as st

Rows = dict[int, dict[str, Any]]
"""The values of each time."""


def image(seed: int) -> bytes:
    return np.random.default_rng(seed).bytes(2000)


def columns(rows: Rows) -> dict[str, Any]:
    names = {name: None for row in rows.values() for name in row}
    return {"time": np.array(list(rows), np.int64)} | {name: [row[name] for row in rows.values()] for name in names}


def row(seed: int) -> dict[str, Any]:
    return {"camera.jpeg": image(seed), "labels.count": seed % 7, "labels.text": None if seed % 5 == 0 else f"label {seed}"}


def read(table: tt.Table) -> Rows:
    rows = tt.row_loader(table).take(range(len(table)))
    times = tt.read_index(table)["time"].to_list()

    def value(name: str, number: int) -> Any:
        if not rows.valid(name)[number]:
            return None
        found = rows[name][number]
        return bytes(found) if name == "camera.jpeg" else found if isinstance(found, str) else int(found)

    return {time: {name: value(name, number) for name in rows} for number, time in enumerate(times)}


SCHEMA = {"camera.jpeg": "binary", "labels.count": "i64", "labels.text": "utf8"}


def made(url: Path, rows: Rows, **options: Any) -> tt.Table:
    return tt.write_table(str(url), columns(rows), index=["time"], schema=SCHEMA, **options)


def stored(url: Path) -> int:
    return sum(file.stat().st_size for file in (url / "chunks").rglob("*") if file.is_file())


@given(st.data())
def test_a_history_of_changes_reads_as_a_dict_does(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("history")
    model = {time: row(time) for time in range(data.draw(st.integers(1, 12)))}
    table = made(folder / "t", model)
    history = [(table, model)]
    for step in range(1, data.draw(st.integers(1, 5)) + 1):
        model = {time: dict(values) for time, values in model.items()}
        times = list(model)
        match data.draw(st.sampled_from(["append", "delete", "patch", "replace", "keyed", "overwrite"])):
            case "append":
                more = {100 * step + time: row(time + step) for time in range(data.draw(st.integers(1, 4)))}
                model |= more
                table = table.append(columns(more))
            case "delete":
                if len(times) < 2:
                    continue
                gone = data.draw(st.sets(st.sampled_from(times), min_size=1, max_size=len(times) - 1))
                table = table.delete(pl.col("time").is_in(list(gone)))
                model = {time: values for time, values in model.items() if time not in gone}
            case "patch":
                some = data.draw(st.lists(st.sampled_from(times), min_size=1, unique=True))
                patch = {time: {"labels.count": 1000 + step + time} for time in some}
                for time, values in patch.items():
                    model[time] |= values
                table = table.patch(columns(patch), on=["time"])
            case "replace":
                for number, values in enumerate(model.values()):
                    values |= {"labels.count": number * step, "labels.text": None if number % 2 else "new"}
                labels = {name: column for name, column in columns(model).items() if name.startswith("labels.")}
                table = table.replace_group("labels", labels)
            case "keyed":
                some = data.draw(st.lists(st.sampled_from(times), min_size=1, unique=True))
                for time in times:
                    new = (step, f"key {time}") if time in some else (None, None)
                    model[time] |= dict(zip(("labels.count", "labels.text"), new, strict=True))
                table = table.replace_group(
                    "labels", columns({time: {"labels.count": step, "labels.text": f"key {time}"} for time in some}), on="time"
                )
            case "overwrite":
                model = {time: row(time + step) for time in times[::-1]}
                table = table.overwrite(columns(model), index=["time"], schema=SCHEMA)
        history.append((table, model))
    assert read(table) == model
    for then, rows in history:
        assert read(tt.open_table(f"{then.url}@{then.version}")) == rows
    assert [version["version"] for version in table.versions()] == [then.version for then, _ in reversed(history)]
    assert table.verify()["damage"] == []


def test_rows_that_a_reference_has_are_not_stored_again(tmp_path: Path) -> None:
    rows = {time: row(time) for time in range(40)}
    first = made(tmp_path / "first", rows)
    again = made(tmp_path / "again", rows, reference=[str(tmp_path / "first")])
    assert (stored(tmp_path / "again"), read(again)) == (0, rows)
    info = again.info()
    assert (info["references"], info["own_chunk_bytes"]) == (["../first"], 0)
    assert info["referenced_bytes"] > 0 and first.du()["pins"] == 1
    # References given as tables; `reuse="none"` shares nothing.
    assert made(tmp_path / "other", rows, reference=first, reuse="same-preset").info()["own_bytes"] < stored(tmp_path / "first")
    made(tmp_path / "none", rows, reference=first, reuse="none")
    assert stored(tmp_path / "none") == stored(tmp_path / "first")
    with pytest.raises(tt.Invalid, match="expected auto, any, same-preset or none"):
        made(tmp_path / "wrong", rows, reference=first, reuse="some")
    # Pinned versions are kept. A materialized table needs no other table.
    seen: list[tuple[int, int]] = []
    loose = again.materialize(progress=lambda done, all: seen.append((done, all)))
    assert (loose.info()["references"], read(loose), seen[-1][0] == seen[-1][1]) == ([], rows, True)
    with pytest.raises(tt.NotFound):
        made(tmp_path / "nothing", rows, reference=str(tmp_path / "gone"))


@pytest.mark.parametrize("locality", [None, 4, (4, 0), "4,0,100", "none"])
def test_the_bound_of_windows_is_given_with_the_rows(tmp_path: Path, locality: Any) -> None:
    rows = {time: row(time) for time in range(20)}
    first = made(tmp_path / "first", rows)
    again = made(tmp_path / "again", rows, reference=first, locality=locality)
    assert again.lineage["shared"]["stored_again_bytes"] == 0 and read(again) == rows
    assert read(again.append(columns({20: row(20)}), locality=locality))[20] == row(20)
    with pytest.raises(tt.Invalid, match="expected ROWS"):
        made(tmp_path / "wrong", rows, locality="far")


def test_other_things_are_said_of_the_same_rows(tmp_path: Path) -> None:
    table = made(tmp_path / "t", {time: row(time) for time in range(10)})
    before = stored(tmp_path / "t")
    table = table.rename_column("labels.text", "labels.note").set_properties(license="CC0", rig={"cameras": 6})
    table = table.edit(column_properties={"time": {"unit": "ms"}}, tags={"gold": 1, "now": None})
    assert (table.version, stored(tmp_path / "t")) == (4, before)
    assert (table.properties, table.column_properties("time")) == ({"license": "CC0", "rig": {"cameras": 6}}, {"unit": "ms"})
    assert (table.tags, tt.open_table(f"{table.url}@gold").version) == ({"gold": 1, "now": 3}, 1)
    table = table.untag("now").drop_columns("labels.count", "labels.note").set_properties(rig=None)
    assert (dict(table.groups).keys(), table.properties) == ({"camera"}, {"license": "CC0"})
    table = table.add_group("labels", {"time": [3], "labels.text": ["three"]}, on=["time"])
    assert read(table)[3]["labels.text"] == "three" and read(table)[4]["labels.text"] is None
    assert [version["operation"] for version in table.versions()] == ["add_group", "edit", "edit", "edit", "edit", "edit", "edit", "create"]
    assert [version["tags"] for version in table.versions()][-1] == ["gold"]
    assert table.versions(limit=2) == table.versions()[:2]
    with pytest.raises(tt.Invalid, match="limit: 0 is outside: expected 1 or more"):
        table.versions(limit=0)
    for change, error, message in [
        (lambda: table.rename_column("gone", "x"), tt.NotFound, "gone"),
        (lambda: table.untag("silver"), tt.NotFound, "no tag `silver`"),
        (lambda: table.edit(), tt.Invalid, "nothing to change"),
        (lambda: table.patch({"time": [77], "labels.text": ["x"]}, on="time"), tt.Invalid, "not in the table"),
        (lambda: table.replace_group("lidar", {}), tt.NotFound, "no column group `lidar`"),
        (lambda: table.replace_group("labels", {"labels.text": ["x"]}), tt.Invalid, "found 1 row written, the table has 10"),
        (lambda: table.append({"time": [9]}), tt.Invalid, "camera.jpeg"),
        (lambda: table.delete([99]), tt.Invalid, "row 99"),
        (lambda: tt.open_table(f"{table.url}@99"), tt.NotFound, "99"),
        (lambda: tt.open_table(f"{table.url}@silver"), tt.NotFound, "it has gold"),
    ]:
        with pytest.raises(error, match=message):
            change()


def test_two_versions_differ_in_what_was_changed(tmp_path: Path) -> None:
    old = made(tmp_path / "t", {time: row(time) for time in range(30)})
    new = old.delete([4, 5]).append(columns({100: row(1)})).patch({"time": [7], "camera.jpeg": [b"new"]}, on="time")
    found = new.diff(old, on=["time"])
    times = tt.read_index(new)["time"].to_list()
    assert ([times[int(at)] for at in found.added], found.removed.tolist()) == ([100], [4, 5])
    assert times.index(7) in found.changed and found.rows == (30, 29)
    assert len(found.changed) + found.unchanged == 28
    assert not found.is_empty and old.diff(old).is_empty
    assert found.summary() == str(found) and repr(found).startswith("Diff: 30 rows -> 29: 1 added, 2 removed")
    versions = found.to_dict()
    assert (versions["keys"], versions["removed"], versions["bytes_read"] > 0) == (["time"], [4, 5], True)
    # An exact diff reads the rows that share a block with the patched row.
    exact = new.diff(old, on=["time"], exact=True)
    assert exact.is_exact and [times[int(at)] for at in exact.changed] == [7] and exact.not_compared == []
    assert set(exact.changed) <= set(found.changed)
    found = new.rename_column("labels.count", "labels.n").diff(new)
    assert (found.columns_added, found.columns_removed) == ({"labels.n": "i64"}, {"labels.count": "i64"})
    with pytest.raises(tt.NotFound, match="no index column `times`"):
        new.diff(old, on=["times"])


def test_segments_are_put_together_and_garbage_is_collected(tmp_path: Path) -> None:
    table = made(tmp_path / "t", {0: row(0)})
    for time in range(1, 4):
        table = table.append(columns({time: row(time)}))
    rows = read(table)
    compact = table.compact()
    assert (compact.version, compact.compact().version, read(compact)) == (5, 5, rows)
    old = compact.overwrite(columns({9: row(9)}), index=["time"], schema=SCHEMA).tag("kept", 1)
    plan = old.gc(keep=1, age=timedelta(0))
    assert (plan["done"], plan["expired"]) == (False, [6, 5, 4, 3, 2]) and plan["condemn"]
    assert len(old.versions()) == 7
    done = old.gc(keep=1, age=timedelta(0), apply=True)
    assert done["done"] and done["condemn"].keys() == plan["condemn"].keys()
    tt.open_table(old.url).gc(keep=1, age=timedelta(0), apply=True)
    assert not any((tmp_path / "t" / name).exists() for name in plan["condemn"])
    assert read(tt.open_table(f"{old.url}@kept")) == {0: row(0)} and read(tt.open_table(old.url)) == {9: row(9)}


def test_scattered_blocks_are_copied_side_by_side(tmp_path: Path) -> None:
    # Each append writes a chunk of its own, so a window of four rows takes four ranges of a group.
    table = made(tmp_path / "t", {0: row(0)})
    for time in range(1, 12):
        table = table.append(columns({time: row(time)}))
    rows, window = read(table), range(-3, 1)
    extra = lambda table: tt.row_loader(table, columns=["labels.*"]).explain([8], offsets=window)["requests"]  # noqa: E731
    assert extra(table.compact()) == 4
    gathered = table.compact().compact(runs=(8, 0, 150))
    assert (extra(gathered), read(gathered)) == (1, rows)
    assert gathered.compact(runs=True).version == gathered.version
    for wrong in (0, "12,", (1, 2, 3, 4), -1, "none,1"):
        with pytest.raises(tt.Invalid, match="runs|locality|window"):
            table.compact(runs=wrong)


def test_an_earlier_version_is_restored(tmp_path: Path) -> None:
    first = made(tmp_path / "t", {0: row(0), 1: row(1)})
    fewer = first.delete([0])
    restored = fewer.restore(1)
    assert (restored.version, read(restored), len(fewer)) == (3, read(first), 1)
    assert restored.restore(1).version == 3
    with pytest.raises(tt.NotFound, match="no version 9: the newest is 3"):
        restored.restore(9)
    with pytest.raises(tt.Conflict, match="version 3 was committed by another writer"):
        fewer.restore(1)
    with pytest.raises(tt.Invalid, match="version"):
        restored.restore(0)


def test_changes_of_nothing_return_this_version(tmp_path: Path) -> None:
    table = made(tmp_path / "t", {0: row(0)}).tag("gold", 1)
    assert [table.delete([]).version, table.compact().version, table.tag("gold", 1).version] == [2, 2, 2]
    assert len(table.versions()) == 2


def test_what_was_never_committed_is_deleted_only_on_request(tmp_path: Path) -> None:
    table = made(tmp_path / "t", {0: row(0)})
    with pytest.raises(tt.Exists, match="a table is there, at version 1"):
        tt.Table.collect_abandoned(table.url, apply=True)
    (tmp_path / "t" / "manifests").rename(tmp_path / "away")
    with pytest.raises(tt.NotFound, match="nothing is deleted.*abandoned"):
        table.gc(age=timedelta(0), apply=True)
    plan = tt.Table.collect_abandoned(table.url, age=timedelta(0))
    assert plan["sweep"] and not plan["done"] and all((tmp_path / "t" / name).exists() for name in plan["sweep"])
    assert tt.Table.collect_abandoned(table.url, age=timedelta(0), apply=True)["done"]
    assert not any((tmp_path / "t" / name).exists() for name in plan["sweep"])


def test_what_became_of_a_commit_is_told_by_its_version_and_id(tmp_path: Path) -> None:
    url = made(tmp_path / "t", {0: row(0)}).url
    other = "6c0e2c61-7b5b-4f0c-9a0e-2f6a4f4d0a3b"
    assert [tt.Table.resolve(url, version, other) for version in (1, 2)] == ["not_committed", "open"]
    assert tt.Table.resolve(url, 2, other, rule_out=True) == "not_committed"
    assert [(one["version"], one["operation"]) for one in tt.Table(url).versions()] == [(2, "empty"), (1, "create")]
    with pytest.raises(tt.Invalid, match="the version before it does not exist"):
        tt.Table.resolve(url, 9, other, rule_out=True)
    with pytest.raises(tt.Invalid, match="commit: expected the id of a commit"):
        tt.Table.resolve(url, 1, "nonsense")
    with pytest.raises(tt.NotFound, match="no table there"):
        tt.Table.resolve(str(tmp_path / "nowhere"), 2, other)


def test_damage_is_listed_with_its_place(tmp_path: Path) -> None:
    table = made(tmp_path / "t", {time: row(time) for time in range(5)})
    seen: list[tuple[int, int]] = []
    assert table.verify(progress=lambda done, all: seen.append((done, all)))["damage"] == [] and seen
    (chunk, *_) = sorted((tmp_path / "t" / "chunks").rglob("*/*"))
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.write_bytes(content)
    (damage,) = tt.open_table(table.url).verify()["damage"]
    assert chunk.name in damage["object"] and "blake3" in damage["problem"]


def test_verification_says_what_it_left_out(tmp_path: Path) -> None:
    table = made(tmp_path / "t", {time: row(time) for time in range(5)}).tag("kept")
    assert table.verify()["not_checked"] == ["versions: 1"]
    assert table.verify(all_versions=True)["not_checked"] == []
    view = tt.read_index(table).save(str(tmp_path / "view"))
    assert "rows of " in view.verify()["not_checked"][0] and view.verify(sources=True)["not_checked"] == []


def test_a_group_is_not_replaced_in_order_by_a_frame_with_keys(tmp_path: Path) -> None:
    table = made(tmp_path / "t", {time: row(time) for time in range(5)})
    labels = {name: column for name, column in columns({time: row(time + 1) for time in range(5)}).items() if name.startswith("labels.")}
    times = {"time": np.arange(5)[::-1]}
    with pytest.raises(tt.Invalid, match="index columns `time` beside those of column group `labels`"):
        table.replace_group("labels", labels | times)
    with pytest.raises(tt.Invalid, match="columns `other` are neither"):
        table.replace_group("labels", labels | times | {"other": np.arange(5)}, on="time")
    keyed = read(table.replace_group("labels", labels | times, on="time"))
    other = made(tmp_path / "other", {time: row(time) for time in range(5)})
    assert keyed != read(other.replace_group("labels", labels))


def test_two_writers_of_one_thing_are_a_conflict_and_of_two_are_not(tmp_path: Path) -> None:
    table = made(tmp_path / "t", {0: row(0), 1: row(1)})
    table.patch({"time": [0], "labels.count": [5]}, on="time")
    with pytest.raises(tt.Conflict):
        table.patch({"time": [1], "labels.count": [6]}, on="time")
    assert read(table.append(columns({2: row(2)})))[0]["labels.count"] == 5
