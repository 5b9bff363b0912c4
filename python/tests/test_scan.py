"""The index as a lazy frame: its results equal those of the eager index, only what a query needs is decoded, and rows can be read."""

from __future__ import annotations

import datetime as dt
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import tetrys as tt
from polars.testing import assert_frame_equal

QUERIES = {
    "all": lambda f: f,
    "filter": lambda f: f.filter(pl.col("pedestrians") > 3),
    "filter by text": lambda f: f.filter(log_id="tuesday"),
    "filter by the locator": lambda f: f.filter(pl.last() % 3 == 0),
    "no row": lambda f: f.filter(pl.col("timestamp") < 0),
    "a constant": lambda f: f.filter(pl.lit(True)),
    "project": lambda f: f.select("pedestrians", "log_id"),
    "compute": lambda f: f.with_columns(twice=pl.col("pedestrians") * 2).filter(pl.col("twice") > 4).select("twice", "timestamp"),
    "group": lambda f: f.group_by("log_id").agg(pl.col("pedestrians").sum(), pl.len()).sort("log_id"),
    "sort": lambda f: f.sort(["pedestrians", "timestamp"], descending=True),
    "count": lambda f: f.select(pl.len()),
    "head": lambda f: f.head(7),
    "head of a filter": lambda f: f.filter(pl.col("pedestrians") == 2).head(3),
    "filter of a head": lambda f: f.head(12).filter(pl.col("pedestrians") == 2),
    "tail": lambda f: f.tail(4),
    "slice": lambda f: f.slice(5, 9),
    "join": lambda f: f.join(f.filter(pl.col("pedestrians") == 4).select("timestamp", found=True), on="timestamp"),
    "unique": lambda f: f.unique("log_id", keep="first", maintain_order=True),
    "window": lambda f: f.with_columns(most=pl.col("timestamp").max().over("log_id")).filter(pl.col("timestamp") == pl.col("most")),
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns the URL of a table whose index has several segments, nulls, times and texts of any length."""
    url, rng = str(tmp_path_factory.mktemp("scan") / "parts"), random.Random(7)
    kept = None
    for part in range(5):
        rows = rng.randrange(1, 40)
        frame = pl.DataFrame(
            {
                "log_id": [rng.choice(["monday", "tuesday"]) for _ in range(rows)],
                "timestamp": [rng.randrange(10_000) for _ in range(rows)],
                "pedestrians": [rng.choice([None, 0, 1, 2, 3, 4]) for _ in range(rows)],
                "when": pl.Series([rng.choice([None, 1_700_000_000_000 + part]) for _ in range(rows)]).cast(pl.Datetime("ms", "UTC")),
                "note": [rng.choice([None, "", "short", "a text of more than twelve bytes", "ö" * rng.randrange(20)]) for _ in range(rows)],
                "lidar.points": np.arange(rows, dtype=np.float32),
            }
        )
        if kept is None:
            kept = tt.write_table(url, frame, index=["log_id", "timestamp", "pedestrians", "when", "note"])
        else:
            kept = kept.append(frame)
    return url


@pytest.mark.parametrize("engine", ["streaming", "in-memory"])
@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("query", QUERIES)
def test_a_query_of_the_lazy_index_gives_what_it_gives_of_the_eager_one(parts: str, query: str, categorical: bool, engine: str) -> None:
    run = QUERIES[query]
    eager = run(tt.read_index(parts, categorical=categorical).to_polars().lazy()).collect()
    lazy = run(tt.scan_index(parts, categorical=categorical)).collect(engine=engine)
    assert_frame_equal(lazy, eager, check_row_order=query not in ("join", "unique"))


def test_a_lazy_index_is_a_lazy_frame_whose_rows_can_be_read(drives: str) -> None:
    scan = tt.scan_index(drives)
    assert isinstance(scan, pl.LazyFrame) and isinstance(scan, tt.LazyIndex)
    busy = scan.filter(pl.col("pedestrians") > 3).sort("timestamp", descending=True).collect_index()
    assert isinstance(busy, tt.Index) and busy.columns == ["log_id", "timestamp", "pedestrians"]
    assert list(tt.row_loader(busy).take(range(4)).table_rows) == [19, 14, 9, 4]
    window = tt.row_loader(busy).get_rows(3, ["labels.text"], offsets=[-1, 0])
    assert window["labels.text"].tolist() == [None, "row 4"]
    sql = scan.sql("SELECT * FROM self WHERE pedestrians = 4 AND log_id = 'monday'").collect_index()
    assert sql["timestamp"].to_list() == [400, 900]
    eager = tt.read_index(drives)
    assert_frame_equal(scan.collect_index().to_polars(), eager.to_polars())
    for still in (scan.head(3), scan.join(pl.LazyFrame({"log_id": ["monday"], "car": [7]}), on="log_id"), scan.unique("log_id")):
        assert isinstance(still.collect_index(), tt.Index)  # type: ignore[attr-defined]


def test_an_index_of_found_rows_travels_merges_and_is_saved(drives: str, tmp_path: Path) -> None:
    busy = tt.scan_index(drives).filter(pl.col("pedestrians") > 3).collect_index()
    again = pickle.loads(pickle.dumps(busy))
    assert_frame_equal(again.to_polars(), busy.to_polars())
    assert list(tt.row_loader(again).take(range(4)).table_rows) == [4, 9, 14, 19]
    assert len(busy.save(tmp_path / "busy")) == 4
    for left in (busy, busy.with_sources()):
        merged = tt.merge(left, tt.read_index(drives), on=["log_id", "timestamp"])
        window = tt.row_loader(merged).get_rows(0, ["labels.*"], offsets=range(-1, 1))
        assert (len(merged), window["labels.text"].tolist()) == (4, window["labels.text_right"].tolist())


def test_only_the_columns_of_a_query_are_decoded(parts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[tuple[list[str], bool]] = []
    native = tt._tetrys.IndexScan

    class Part:
        def __init__(self, part: object) -> None:
            self.part = part

        def frame(self, columns: list[str], locators: bool) -> object:
            decoded.append((columns, locators))
            return self.part.frame(columns, locators)  # type: ignore[attr-defined]

        def __len__(self) -> int:
            return len(self.part)  # type: ignore[arg-type]

    class Scan:
        def __init__(self, table: object, categorical: bool, columns: list[str] | None = None, predicate: str | None = None) -> None:
            self.scan = native(table, categorical, columns, predicate)  # type: ignore[arg-type]

        def empty(self) -> object:
            return self.scan.empty()

        def next(self) -> Part | None:
            part = self.scan.next()
            return None if part is None else Part(part)

    monkeypatch.setattr(tt._tetrys, "IndexScan", Scan)
    scan = tt.scan_index(parts)
    scan.select(pl.col("timestamp").max()).collect(engine="streaming")
    assert decoded and all(columns == ["timestamp"] and not locators for columns, locators in decoded)
    decoded.clear()
    scan.filter(pl.col("timestamp") * 2 < 0).collect(engine="streaming")
    assert decoded and all(columns == ["timestamp"] for columns, _ in decoded), "no row is kept, so no other column is decoded"
    decoded.clear()
    assert scan.head(1).collect(engine="streaming").height == 1
    assert len(decoded) == 1, "one part has the first row"


CONDITIONS = [
    lambda rng: pl.col("time") == rng.randrange(70),
    lambda rng: pl.col("time") > rng.randrange(70),
    lambda rng: pl.lit(rng.randrange(70)) >= pl.col("time"),
    lambda rng: pl.col("time").is_between(rng.randrange(30), rng.randrange(70), closed=rng.choice(["both", "left", "none"])),
    lambda rng: pl.col("log") == rng.choice("abcdefgh"),
    lambda rng: pl.col("log") < rng.choice("abcdefgh"),
    lambda rng: pl.col("log") != rng.choice("abcdefgh"),
    lambda rng: pl.col("when") >= pl.lit(1_000 + rng.randrange(70)).cast(pl.Datetime("us")),
    lambda rng: pl.col("day") <= dt.date(1970, 1, 1) + dt.timedelta(days=rng.randrange(70)),
    lambda rng: pl.col("speed") > rng.randrange(70),
    lambda rng: pl.col("small").is_null(),
    lambda rng: pl.col("small") >= rng.randrange(8),
    lambda rng: pl.col("small").is_in([rng.randrange(8), rng.randrange(8)]),
]


def test_segments_are_skipped_by_their_bounds_and_no_row_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, table = random.Random(11), None
    for part in range(7):
        start = part * 10
        data = pl.DataFrame(
            {
                "log": ["abcdefgh"[part]] * 10,
                "time": range(start, start + 10),
                "when": pl.Series(range(1_000 + start, 1_010 + start)).cast(pl.Datetime("us")),
                "day": pl.Series(range(start, start + 10), dtype=pl.Int32).cast(pl.Date),
                "speed": [float("nan") if row % 4 == 0 else float(row) for row in range(start, start + 10)],
                "small": pl.Series([None if row % 3 == 0 else part for row in range(10)], dtype=pl.UInt8),
                "x.x": np.zeros(10),
            }
        )
        names = [name for name in data.columns if name != "x.x"]
        table = tt.write_table(str(tmp_path / "t"), data, index=names) if table is None else table.append(data)
    assert table is not None
    native, read = tt._tetrys.IndexScan, []

    class Scan:
        def __init__(self, *arguments: object) -> None:
            self.scan = native(*arguments)  # type: ignore[arg-type]

        def empty(self) -> object:
            return self.scan.empty()

        def next(self) -> object:
            part = self.scan.next()
            read.append(0 if part is None else len(part))
            return part

    monkeypatch.setattr(tt._tetrys, "IndexScan", Scan)
    scan, eager = tt.scan_index(table), tt.read_index(table).to_polars()
    for _ in range(150):
        condition = rng.choice(CONDITIONS)(rng)
        for _ in range(rng.randrange(3)):
            other = rng.choice(CONDITIONS)(rng)
            condition = condition & other if rng.random() < 0.6 else condition | other
        assert_frame_equal(scan.filter(condition).collect(engine="streaming"), eager.filter(condition))
        assert_frame_equal(tt.read_index(table, where=condition).to_polars(), eager.filter(condition))
    read.clear()
    assert scan.filter(pl.col("time").is_between(25, 34)).collect(engine="streaming").height == 10
    assert scan.filter((pl.col("log") == "b") | (pl.col("time") > 65)).collect(engine="streaming").height == 14
    assert read == [10, 10, 0, 10, 10, 0], "each query reads two of seven segments"
    read.clear()
    assert scan.filter(pl.col("time").is_in([3, 68])).collect(engine="streaming").height == 2
    assert read == [10, 10, 0]
    assert len(scan.filter(log="no such log").collect_index()) == 0


def test_a_view_is_scanned_too(drives: str, tmp_path: Path) -> None:
    view = tt.read_index(drives).filter(pl.col("pedestrians") > 2).save(tmp_path / "view")
    for table in (view, tmp_path / "view"):
        found = tt.scan_index(table).filter(log_id="monday").collect_index()
        assert list(tt.row_loader(found).take(range(len(found))).table_rows) == [3, 4, 8, 9]
        assert found["timestamp"].to_list() == [300, 400, 800, 900]


def test_wrong_queries_and_damage_are_errors_of_tetrys(drives: str, tmp_path: Path) -> None:
    scan = tt.scan_index(drives)
    with pytest.raises(tt.NotFound, match="no_such"):
        scan.filter(pl.col("no_such") > 1).collect_index()  # type: ignore[attr-defined]
    with pytest.raises(tt.Invalid, match="locator column"):
        scan.select("timestamp").collect_index()  # type: ignore[attr-defined]
    with pytest.raises(tt.NotFound):
        tt.scan_index(tmp_path / "none")
    with pytest.raises(TypeError, match="categorical"):
        tt.scan_index(drives, categorical="yes")  # type: ignore[arg-type]
    table = tt.write_table(str(tmp_path / "t"), {"i": np.arange(12), "x": np.arange(12)}, index=["i"])
    (index,) = (tmp_path / "t/index").rglob("*.parquet")
    index.chmod(0o644)
    damaged = bytearray(index.read_bytes())
    damaged[20] ^= 1
    index.write_bytes(damaged)
    lazy = tt.scan_index(table)
    with pytest.raises(tt.Corrupt, match="blake3"):
        lazy.collect_index()


MEMORY = """
import resource, sys
import polars as pl, tetrys as tt
tt.scan_index(sys.argv[1]).head(10).collect(engine="streaming")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
scan = tt.scan_index(sys.argv[1])
found = scan.filter(pl.col("c0") < 0.001).collect_index()
means = scan.select(pl.all().mean()).collect(engine="streaming")
print(len(found), means.width, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def test_a_scan_takes_less_memory_than_the_index(tmp_path: Path) -> None:
    rows, rng, table = 1 << 17, np.random.default_rng(5), None
    for part in range(7):
        data = {f"c{number}": rng.random(rows) for number in range(8)} | {"x": np.full(rows, part, np.uint8)}
        names = [name for name in data if name != "x"]
        table = tt.write_table(str(tmp_path / "t"), data, index=names) if table is None else table.append(data)
    assert table is not None and len(table) == 7 * rows
    ended = subprocess.run([sys.executable, "-c", MEMORY, str(tmp_path / "t")], capture_output=True, text=True, env=os.environ)
    assert ended.returncode == 0, ended.stderr
    found, width, taken = map(int, ended.stdout.split())
    assert found > 0 and width == 9
    frame = 7 * rows * 9 * 8
    assert taken < frame / 2, f"{taken} bytes; the frame has {frame}"
