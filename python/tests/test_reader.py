"""The package tetrys_reader, which is written from the format alone: it reads what tetrys wrote, and refuses everything else."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tetrys as tt
import tetrys_reader
from conftest import damaged_table
from hypothesis import given
from hypothesis import strategies as st
from tetrys_reader import _objects, open_table
from tetrys_reader._blocks import GIB, Structure, Type, blake3
from tetrys_reader._codecs import decode_chain
from tetrys_reader._manifest import name_of, parse_manifest
from tetrys_reader._parquet import parquet
from tetrys_reader._segment import LAYOUT, Layout, read_index

HERE = Path(__file__).parents[1]

# By type: one value from random numbers.
VALUES: dict[str, Any] = {
    "bool": lambda dice: bool(dice.integers(2)),
    "i16": lambda dice: int(dice.integers(-(2**15), 2**15)),
    "u64": lambda dice: int(dice.integers(2**64, dtype=np.uint64)),
    "f32": lambda dice: np.float32(dice.normal()),
    "f64[3]": lambda dice: dice.normal(size=3),
    "f32[?,4]": lambda dice: dice.normal(size=(dice.integers(9), 4)).astype(np.float32),
    "u8[?,2,?]": lambda dice: dice.integers(9, size=(dice.integers(4), 2, dice.integers(4)), dtype=np.uint8),
    "utf8": lambda dice: "ö🚗 "[: dice.integers(4)] * int(dice.integers(3)),
    "binary": lambda dice: bytes(dice.integers(256, size=dice.integers(50), dtype=np.uint8)),
    "list<i32>": lambda dice: dice.integers(-9, 9, size=dice.integers(5)).tolist(),
    "list<utf8>": lambda dice: ["a", "", "bc"][: dice.integers(4)],
    "list<list<f64>>": lambda dice: [[1.5, 2.5], [], [3.0]][: dice.integers(4)],
    "timestamp[us,UTC]": lambda dice: np.datetime64(int(dice.integers(10**15)), "us"),
    "duration[ns]": lambda dice: np.timedelta64(int(dice.integers(10**15)), "ns"),
    "date": lambda dice: np.datetime64(int(dice.integers(30_000)), "D"),
}


def same(found: Any, wanted: Any) -> bool:
    """Whether two values are the same to a user of numpy."""
    if found is None or wanted is None:
        return found is wanted
    if isinstance(found, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(found, bytes):
        return found == bytes(wanted)
    if isinstance(found, str):
        return bool(found == wanted)
    found, wanted = np.asarray(found), np.asarray(wanted, found.dtype if isinstance(wanted, (list, int)) else None)
    return found.shape == wanted.shape and found.dtype.kind == wanted.dtype.kind and bool((found == wanted).all())


def written(url: str, dice: np.random.Generator, kinds: list[str], rows: int, preset: str) -> dict[str, Any]:
    """Writes a table of random rows in random sequences; returns its columns."""
    columns: dict[str, Any] = {"log": sorted(f"log {dice.integers(4)}" for _ in range(rows)), "time": np.arange(rows)}
    schema = {}
    for number, kind in enumerate(kinds):
        name = f"{'abc'[dice.integers(3)]}.{number}"
        columns[name] = [None if dice.random() < 0.2 else VALUES[kind](dice) for _ in range(rows)]
        schema[name] = kind
    tt.write_table(url, columns, index=["log", "time"], sequence_by="log", schema=schema, preset=preset)
    return columns


@given(
    seed=st.integers(0, 2**32),
    kinds=st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=6),
    rows=st.integers(1, 60),
    preset=st.sampled_from(["fast", "balanced", "compact"]),
    offsets=st.lists(st.integers(-4, 4), min_size=1, max_size=5),
)
def test_it_reads_rows_and_windows_of_random_tables_as_tetrys_does(
    tmp_path_factory: pytest.TempPathFactory, seed: int, kinds: list[str], rows: int, preset: str, offsets: list[int]
) -> None:
    url, dice = str(tmp_path_factory.mktemp("reader") / "t"), np.random.default_rng(seed)
    columns = written(url, dice, kinds, rows, preset)
    table, loader = open_table(url), tt.row_loader(tt.read_index(url))
    assert (table.version, table.rows, table.sequences) == (1, rows, len(set(columns["log"])))
    assert {name: kind for name, kind, place in table.columns if place != "index"} == dict(zip(list(columns)[2:], kinds, strict=True))
    assert table.index().to_pydict() == {"log": columns["log"], "time": list(range(rows))}
    wide = list(columns)[2:]
    for row in dice.integers(rows, size=3).tolist():
        found, wanted = table.get_row(row), loader.get_row(row)
        assert (found["log"], found["time"]) == (columns["log"][row], row)
        for name in wide:
            assert same(found[name], wanted[name]) and same(found[name], columns[name][row]), (name, found[name], wanted[name])
        places = [row + offset for offset in offsets]
        log = columns["log"]
        for place, found in zip(places, table.get_rows(row, offsets), strict=True):
            assert (found is not None) == (0 <= place < rows and log[place] == log[row])
            assert found is None or all(same(found[name], columns[name][place]) for name in columns)
    several = dice.integers(rows, size=5).tolist()
    assert all(same(found["time"], row) for found, row in zip(table.take(several, ["time"]), several, strict=True))


def test_it_reads_tables_of_many_blocks_segments_and_versions(tmp_path: Path) -> None:
    url = str(tmp_path / "t")
    noise = np.random.default_rng(5).integers(0, 256, (300, 20_000), dtype=np.uint8)
    tt.write_table(url, {"log": ["a"] * 200, "i": range(200), "g.noise": noise[:200], "g.more": np.arange(200)}, index=["log", "i"], sequence_by="log")
    tt.open_table(url).append({"log": ["a"] * 100, "i": range(200, 300), "g.noise": noise[200:], "g.more": np.arange(200, 300)})
    table = open_table(url)
    assert (table.version, table.rows, table.sequences, open_table(f"{url}@1").rows) == (2, 300, 1, 200)
    for row in (0, 7, 199, 200, 299):
        assert (table.get_row(row, ["g.noise"])["g.noise"] == noise[row]).all()
    # The sequence goes on in the second segment.
    window = table.get_rows(199, range(-2, 102), ["g.more"])
    assert [found and int(found["g.more"]) for found in window] == [*range(197, 300), None]


def test_it_reads_views_and_windows_over_them_as_tetrys_does(tmp_path: Path) -> None:
    a, b, view = (str(tmp_path / name) for name in ("a", "b", "view"))
    logs = ["x"] * 6 + ["y"] * 6
    tt.write_table(a, {"log": logs, "time": np.arange(12), "a.value": np.arange(12) * 10}, index=["log", "time"], sequence_by="log")
    few = [row for row in range(12) if row % 3]
    labels = {"log": [logs[row] for row in few], "time": np.array(few), "b.text": [f"label {row}" for row in few]}
    tt.write_table(b, labels, index=["log", "time"], sequence_by="log")
    merged = tt.merge(tt.read_index(a), tt.read_index(b), ["log", "time"], how="left")
    merged = merged.filter(pl.col("time") % 2 == 1)
    merged.save(view)
    table, loader = open_table(view), tt.row_loader(tt.read_index(view))
    assert table.rows == len(merged) == 6
    for row in range(table.rows):
        found, wanted = table.get_row(row), loader.get_row(row)
        assert (int(found["a.value"]), found["b.text"]) == (int(wanted["a.value"]), wanted["b.text"])
        window, expected = table.get_rows(row, range(-3, 3)), loader.get_rows(row, offsets=range(-3, 3))
        assert [place is not None for place in window] == expected.mask.tolist()
        for number, place in enumerate(window):
            if place is not None:
                assert int(place["a.value"]) == int(expected["a.value"][number])
                assert place["b.text"] == expected["b.text"][number]


def test_it_follows_references_to_relative_and_to_allowed_urls_alone(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    data = {"i": np.arange(400), "a.x": np.arange(400 * 64, dtype=np.int64).reshape(400, 64) ** 2}
    tt.write_table(str(tmp_path / "one/owner"), data, index="i")
    tt.write_table(str(tmp_path / "one/user"), data, index="i", reference=str(tmp_path / "one/owner"))
    assert not (tmp_path / "one/user/chunks").exists()
    assert (open_table(tmp_path / "one/user").get_row(17)["a.x"] == data["a.x"][17]).all()
    # The owner moved: its place is an absolute URL now.
    (tmp_path / "one/owner").rename(tmp_path / "owner")
    manifest = tmp_path / "one/user" / name_of(1)
    changed = {**json.loads(manifest.read_bytes())}
    changed.pop("blake3")
    changed["stores"][0]["urls"] = [f"file://{tmp_path}/owner"]
    manifest.unlink()
    manifest.write_bytes(sealed(changed))
    with pytest.raises(tetrys_reader.NotFound, match="absolute URL that `allow` does not list"):
        open_table(tmp_path / "one/user").get_row(17)
    with pytest.raises(tetrys_reader.NotFound):
        open_table(tmp_path / "one/user", allow=[f"file://{tmp_path}/own"]).get_row(17)
    assert (open_table(tmp_path / "one/user", allow=[f"file://{tmp_path}"]).get_row(17)["a.x"] == data["a.x"][17]).all()


def sealed(manifest: dict[str, Any]) -> bytes:
    """Returns a manifest with its hash."""
    body = json.dumps(manifest, ensure_ascii=False, separators=(",", ":")).encode()[:-1]
    return body + b',"blake3":"' + blake3(body).hex().encode() + b'"}\n'


# ---------------------------------------------------------------------------------------------------------------- servers


class Ranges(SimpleHTTPRequestHandler):
    """Serves files and byte ranges, and keeps the names and ranges that were asked for."""

    asked: list[tuple[str, str]]

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Range", "")))
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        file = Path(self.translate_path(self.path))
        if not found or not file.is_file():
            super().do_GET()
            return
        content = file.read_bytes()[int(found[1]) : int(found[2]) + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {found[1]}-{int(found[1]) + len(content) - 1}/{file.stat().st_size}")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serving(handler: Any) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def test_a_row_of_a_web_server_takes_three_requests_and_its_own_bytes(tmp_path: Path) -> None:
    noise = np.random.default_rng(5).integers(0, 256, (50, 40_000), dtype=np.uint8)
    tt.write_table(str(tmp_path / "t"), {"i": np.arange(50), "a.raw": noise, "b.more": np.arange(50)}, index="i")
    asked: list[tuple[str, str]] = []
    handler = type("Handler", (Ranges,), {"asked": asked})
    with serving(partial(handler, directory=str(tmp_path))) as host:
        table = open_table(f"{host}/t@1")
        assert (table.get_row(30, ["a.*"])["a.raw"] == noise[30]).all()
        folders = [path.split("/")[2] for path, _ in asked]
        assert folders == ["manifests", "layout", "chunks"]
        first, last = map(int, asked[-1][1].removeprefix("bytes=").split("-"))
        assert 40_000 <= last + 1 - first < 41_000
        assert (table.get_rows(30, range(-3, 1), ["a.*"])[0]["a.raw"] == noise[27]).all()
        # The index gives the sequence, and the window is one range.
        assert [path.split("/")[2] for path, _ in asked[3:]] == ["index", "chunks"]


def test_a_server_that_knows_no_ranges_is_read_to_the_place(tmp_path: Path) -> None:
    table = damaged_table(tmp_path)
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with serving(partial(quiet, directory=str(tmp_path))) as host:
        found = [open_table(f"{host}/t", 1).take([row]) for row in (0, 11)]
        assert [int(rows[0]["i"]) for rows in found] == [0, 11]
    assert len(table) == 12


def test_a_web_server_needs_a_version_in_the_url(tmp_path: Path) -> None:
    with pytest.raises(tetrys_reader.Error, match=r"write http://127.0.0.1:1/t@7 to read version 7"):
        open_table("http://127.0.0.1:1/t")


class Misbehaving(BaseHTTPRequestHandler):
    """Leads elsewhere, has an endless answer, another range, or an error; which one stands in the path."""

    def do_GET(self) -> None:
        kind = self.path.split("/")[1]
        self.send_response({"elsewhere": 302, "endless": 200, "other": 206, "broken": 500, "secret": 403}[kind])
        if kind == "elsewhere":
            self.send_header("Location", "http://localhost:1/")
        if kind == "other":
            self.send_header("Content-Range", "bytes 5-10/100")
        self.end_headers()
        with contextlib.suppress(OSError):
            while kind == "endless":
                self.wfile.write(bytes(1 << 20))

    def log_message(self, *_: object) -> None:
        pass


def test_a_server_that_misbehaves_ends_in_an_error_that_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_objects, "TRIES", 1)
    with serving(Misbehaving) as host:
        with pytest.raises(tetrys_reader.Unavailable, match="leads to another host"):
            open_table(f"{host}/elsewhere/t@1")
        with pytest.raises(tetrys_reader.Unavailable, match="the server says 500"):
            open_table(f"{host}/broken/t@1")
        with pytest.raises(tetrys_reader.NotFound, match="the server says 403"):
            open_table(f"{host}/secret/t@1")
        with pytest.raises(tetrys_reader.Refused, match="expected at most 1000 bytes"):
            _objects.Web(f"{host}/endless").get("x", 1000)
        with pytest.raises(tetrys_reader.Refused, match="asked for bytes from 10"):
            _objects.Web(f"{host}/other").range("x", 10, 20)
    with pytest.raises(tetrys_reader.Unavailable, match="refused"):
        open_table(f"{host}/broken/t@1")
    for url in ("s3://bucket/t", "ftp://host/t@1", "http:///t@1", "http://h/t?x=1@1"):
        with pytest.raises(tetrys_reader.Error, match="expected"):
            open_table(url)


# ---------------------------------------------------------------------------------------------------------------- hostile bytes


def test_damage_is_named_by_object_range_expected_and_found(tmp_path: Path) -> None:
    damaged_table(tmp_path)
    table, errors = open_table(tmp_path / "t"), []
    for row in range(12):
        try:
            table.get_row(row)
        except tetrys_reader.Refused as error:
            errors.append(str(error))
    assert len(errors) == 1 and re.search(r"chunks/../[0-9a-f]{64}: block \d+ at \d+\.\.\d+, page 0 \(`a\.raw`\): checksum 0x\w{16}, stored 0x\w{16}", errors[0])


def test_every_changed_byte_of_what_a_row_needs_is_found(tmp_path: Path) -> None:
    url = tmp_path / "t"
    tt.write_table(str(url), {"i": np.arange(9), "a.x": np.arange(27).reshape(9, 3), "a.t": ["x"] * 9}, index="i")
    wanted = {name: str(value) for name, value in open_table(url).get_row(4).items()}
    dice, found = random.Random(1), 0
    for file in sorted(path for path in url.rglob("*") if path.is_file()):
        kept = file.read_bytes()
        for _ in range(30):
            place = dice.randrange(len(kept))
            file.unlink()
            file.write_bytes(kept[:place] + bytes([kept[place] ^ dice.randrange(1, 256)]) + kept[place + 1 :])
            try:
                rows = open_table(url).get_row(4)
                # Bytes of other rows, and of what rows do not need.
                assert {name: str(value) for name, value in rows.items()} == wanted
            except tetrys_reader.Error:
                found += 1
        file.unlink()
        file.write_bytes(kept)
    assert found > 80


def test_manifests_of_any_content_end_in_an_error_of_the_package(tmp_path: Path) -> None:
    """Whoever can write the table can sign what they like."""
    a, view = str(tmp_path / "a"), str(tmp_path / "view")
    tt.write_table(a, {"i": np.arange(9), "a.x": np.arange(9)}, index="i")
    tt.read_index(a).filter(pl.col("i") > 3).save(view)
    dice, refused = random.Random(2), 0
    others = [None, True, -1, 0, 1, 1 << 40, 1.5, "x", "", [], {}, [[]], {"x": 1}, [1], "utf8", "f32[?]", "../a", "00" * 32]
    for url in (a, view):
        file = Path(url) / name_of(1)
        whole = json.loads(file.read_bytes())
        whole.pop("blake3")
        kept = file.read_bytes()
        file.unlink()
        for _ in range(400):
            changed = json.loads(json.dumps(whole))
            place: Any = changed
            while isinstance(place, (dict, list)) and place:
                key = dice.choice(list(place)) if isinstance(place, dict) else dice.randrange(len(place))
                if not isinstance(place[key], (dict, list)) or not place[key] or dice.random() < 0.2:
                    place[key] = dice.choice(others)
                    break
                place = place[key]
            file.write_bytes(sealed(changed))
            try:
                table = open_table(url)
                table.index()
                table.take(range(min(3, table.rows)))
            except tetrys_reader.Error:
                refused += 1
        file.write_bytes(kept)
        assert open_table(url).rows == (9 if url == a else 5)
    assert refused > 400


def parquet_of(table: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def test_pages_that_unfold_are_refused_before_memory_is_taken() -> None:
    zeros = parquet_of(pa.table({"x": np.zeros(5_000_000, np.int64)}), compression="zstd", use_dictionary=False)
    assert len(zeros) < 50_000
    with pytest.raises(tetrys_reader.Refused, match="pages of 40\\d* bytes, expected at most 3"):
        parquet(zeros, None, "index")
    with pytest.raises(tetrys_reader.Refused, match="5000000 rows, expected 7"):
        parquet(zeros, 7, "index")
    strange = parquet_of(pa.table({"x": ["a", "b"]}), compression="none", use_dictionary=False, column_encoding={"x": "DELTA_BYTE_ARRAY"})
    with pytest.raises(tetrys_reader.Refused, match="DELTA_BYTE_ARRAY"):
        parquet(strange, 2, "index")
    with pytest.raises(tetrys_reader.Refused, match="codec 1 of Parquet"):
        parquet(parquet_of(pa.table({"x": [1]}), compression="snappy"), 1, "index")
    flags = bytes([0x19, 0xF1, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F])
    with pytest.raises(tetrys_reader.Refused, match="a list of booleans"):
        parquet(b"PAR1" + flags + len(flags).to_bytes(4, "little") + b"PAR1", 1, "index")
    deep = b"\x1c" * 100
    with pytest.raises(tetrys_reader.Refused, match="nested more than 16 deep"):
        parquet(b"PAR1" + deep + len(deep).to_bytes(4, "little") + b"PAR1", 1, "index")


def test_a_text_is_not_repeated_without_a_bound() -> None:
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000_000, np.int32)), ["x" * 60_000])
    bomb = parquet_of(pa.table({"log": words}), compression="none")
    with pytest.raises(tetrys_reader.Refused, match="bytes of text in 1000000 rows"):
        read_index(bomb, [("log", Type("utf8"))], 1_000_000, "index")
    with pytest.raises(tetrys_reader.Refused, match="`log`"):
        bad = pa.array([b"\xff"]).cast(pa.binary()).view(pa.string())
        read_index(parquet_of(pa.table({"log": bad}), compression="none"), [("log", Type("utf8"))], 1, "index")


def test_a_layout_of_millions_of_equal_runs_is_checked_once(tmp_path: Path) -> None:
    count = 2_000_000
    node = (1).to_bytes(4, "little") + b"\0"
    kinds = {"chunk": pa.binary(32), "owner": pa.uint32(), "chains": pa.binary(), "first_block": pa.uint32(), "blocks": pa.uint32()}
    values: dict[str, Any] = {
        "chunk": bytes(32),
        "chunk_bytes": 64,
        "blocks": 1,
        "rows": 1,
        "chains": b"\0",
        "lengths": node,
        "block_rows": node,
        "page_lengths": b"",
    }
    columns, fields = [], []
    for name, (physical, bits) in LAYOUT.items():
        kind = kinds.get(name, pa.binary() if physical == "BYTE_ARRAY" else pa.uint64())
        columns.append(pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([values.get(name, 0)], kind)).cast(kind))
        fields.append(pa.field(name, kind, nullable=False))
    data = parquet_of(pa.table(columns, pa.schema(fields)), compression="zstd", store_schema=False)
    assert len(data) < 100_000
    layout = Layout(data, 1, count, "layout")
    assert (layout.count, layout.blocks, layout.stored_bytes) == (count, count, 8 * count)
    with pytest.raises(tetrys_reader.Refused, match="the segment has 5"):
        Layout(data, 1, 5, "layout")


@pytest.mark.parametrize(
    ("chain", "stored"),
    [
        ([(3, 3)], bytes.fromhex("28b52ffd2000010000")),
        ([(2, 0)], b"\xf0" + b"\xff" * 20),
        ([(6, 1)], b"pco!\x03\x01\x3f" + b"\xff" * 40),
        ([(6, 1)], bytes(60)),
    ],
)
def test_encoded_values_that_claim_too_much_are_refused(chain: list[tuple[int, int]], stored: bytes) -> None:
    for claimed in (GIB, len(stored) * 200, 4):
        with pytest.raises(tetrys_reader.Refused):
            decode_chain(chain, stored, claimed, "page")


def test_slots_that_take_no_bytes_are_bounded() -> None:
    one = bytes([0]) + (1 << 31).to_bytes(4, "little") + bytes([0])
    for kind, data, size in [("list<utf8>", one + one, 0), ("list<u8>", one + b"\0", 1 << 30), ("u8[?,?]", one + one[1:] + b"\0", 64)]:
        with pytest.raises(tetrys_reader.Refused):
            Structure(Type(kind), 1, data, size, "page")


def test_a_link_out_of_the_table_is_not_followed(tmp_path: Path) -> None:
    damaged_table(tmp_path)
    file = tmp_path / "t" / name_of(1)
    file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(tetrys_reader.Refused, match="a symbolic link"):
        open_table(tmp_path / "t")


# ---------------------------------------------------------------------------------------------------------------- what users see


def test_versions_tags_rows_and_columns_that_do_not_exist_are_named(tmp_path: Path) -> None:
    url = str(tmp_path / "t")
    table = tt.write_table(url, {"i": np.arange(3), "a.x": np.arange(3)}, index="i")
    table.tag("gold")
    assert open_table(f"{url}@gold").version == 1
    for name, match in [("@9", r"no version 9, found \[1, 2\]"), ("@silver", r"no tag `silver`, found \['gold'\]"), ("x", "no table")]:
        with pytest.raises(tetrys_reader.NotFound, match=match):
            open_table(url + name)
    found = open_table(url)
    for row in (3, -1, 1 << 60):
        with pytest.raises(tetrys_reader.NotFound, match=f"no row {row}, the table has 3 rows"):
            found.get_row(row)
    with pytest.raises(tetrys_reader.NotFound, match=r"no column `b.\*`, found \['i', 'a.x'\]"):
        found.get_row(0, ["b.*"])
    with pytest.raises(tetrys_reader.Error, match="expected the number of a row"):
        found.get_row("first")


def test_a_missing_package_is_named_by_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pcodec", None)
    with pytest.raises(tetrys_reader.Error, match="install the Python package `pcodec`"):
        decode_chain([(6, 1)], bytes(60), 400, "page")


def ran(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(HERE / "reader"), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "tetrys_reader", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, encoding="utf-8", cwd=folder, check=False)


def test_the_command_prints_the_schema_rows_windows_and_errors(drives: str) -> None:
    schema = ran(drives)
    assert schema.returncode == 0 and "20 rows, 2 sequences" in schema.stdout
    assert re.search(r"lidar\.points +f32\[\?,4\] +lidar\n", schema.stdout)
    rows = ran(drives, "3", "7", "--columns", "lidar.*,labels.text")
    assert "row 3\n" in rows.stdout and "float32 [3, 4] 3.0 4.0 5.0" in rows.stdout and "labels.text   null" in rows.stdout
    window = ran(drives, "10", "--offsets=-1..=0", "--columns=log_id")
    assert window.stdout == "row 10, offset -1: no row\nrow 10, offset 0\n  log_id  tuesday\n"
    assert ran(drives, "--check").stdout.endswith("all 20 rows are sound\n")
    for arguments, message in [((drives, "20"), "no row 20"), (("nowhere",), "no table"), ((f"{drives}@3",), "no version 3")]:
        failed = ran(*arguments)
        assert failed.returncode == 1 and failed.stderr.startswith("error: ") and message in failed.stderr and "Traceback" not in failed.stderr


def test_what_stands_in_a_table_does_not_move_the_cursor(tmp_path: Path) -> None:
    columns = {"i": np.arange(1), "a.\x1b[2J": ["\x1b[31mred\n" + "x" * 1_000]}
    tt.write_table(str(tmp_path / "t"), columns, index="i")
    for arguments in ((), ("0",)):
        output = ran(str(tmp_path / "t"), *arguments).stdout
        assert "\x1b" not in output and r"a.\x1b[2J" in output
    assert r"\x1b[31mred\nxxx" in output and "(1009 characters)" in output


def test_errors_of_the_system_and_of_arguments_are_errors_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tt.write_table(str(tmp_path / "t"), {"i": np.arange(1), "a.x": [1]}, index="i")
    with pytest.raises(tetrys_reader.Error, match="expected the number of a version or a tag, found 'not a version'"):
        open_table(tmp_path / "t", version="not a version")
    with pytest.raises(tetrys_reader.Error, match="holds a user name or password") as refused:
        open_table("https://me:hunter2@host/t@1")
    assert "hunter2" not in str(refused.value)

    def broken(*_: Any) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(_objects.Folder, "_open", broken)
    with pytest.raises(tetrys_reader.Unavailable, match=r"t/manifests/\d+\.json: Input/output error"):
        open_table(tmp_path / "t")


def test_the_readme_of_the_reader_does_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written_by = re.search(r"^```python\n(.*?)^```$", (HERE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert written_by
    exec(compile(written_by[1], "README.md", "exec"), {})
    page = (HERE / "reader/README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert blocks
    (tmp_path / "page.py").write_text("\n".join(blocks))
    runpy.run_path(str(tmp_path / "page.py"))
    command, shown = re.search(r"^```sh\npython -m tetrys_reader (drives.*)\n```\n\n```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL).groups()  # type: ignore[union-attr]
    assert ran(*command.split(), folder=tmp_path).stdout.replace(str(tmp_path.resolve()), "/tables") == shown


def test_the_golden_table_of_the_front_page_is_read_without_rust() -> None:
    page = (HERE.parent / "README.md").read_text(encoding="utf-8")
    command = re.search(r"^python -m tetrys_reader (.*)$", page, re.MULTILINE)
    assert command
    assert ran(*command[1].split(), folder=HERE.parent).returncode == 0


def test_times_in_the_index_keep_unit_and_zone(tmp_path: Path) -> None:
    when = np.datetime64("2024-05-01T12:00:00.123456", "us")
    tt.write_table(
        str(tmp_path / "t"), {"t": np.array([when]), "d": [timedelta(seconds=3)], "a.x": [1]}, index=["t", "d"], schema={"t": "timestamp[us,Europe/Zurich]"}
    )
    table = open_table(tmp_path / "t")
    assert table.index().schema.field("t").type == pa.timestamp("us", "Europe/Zurich")
    assert (table.get_row(0)["t"], table.get_row(0)["d"]) == (when, np.timedelta64(3, "s"))
    assert parse_manifest((tmp_path / "t" / name_of(1)).read_bytes(), 1)[0]["rows"] == 1
