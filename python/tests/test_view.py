"""The viewer in a process of Python: it shows exactly these rows, to who has the token, until it is closed."""

from __future__ import annotations

import datetime
import json
import math
import os
import re
import socket
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.ipc
import pytest
import tetrys as tt
from hypothesis import given
from hypothesis import strategies as st
from l5_scenes import random_dataset, write_zarr


def asked(viewer: tt.Viewer, path: str, *, token: str | None = None) -> bytes:
    """Returns the answer to a request of the page."""
    address, _, kept = viewer.url.partition("/#token=")
    request = urllib.request.Request(address + path, headers={"Authorization": f"Bearer {kept if token is None else token}", "Sec-Fetch-Site": "same-origin"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        body: bytes = answer.read()
    return body


def rows_of(viewer: tt.Viewer, table: int) -> list[Any]:
    body = asked(viewer, f"/api/rows?table={table}&start=0&count=100")
    return pyarrow.ipc.open_stream(body).read_all()["timestamp"].to_pylist()


def port_of(viewer: tt.Viewer) -> int:
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#token=[0-9a-f]{64}", viewer.url)
    assert found is not None, viewer.url
    return int(found[1])


def test_an_index_shows_its_rows_in_its_order_beside_whole_tables(drives: str) -> None:
    index = tt.read_index(drives)
    chosen = index.filter(pl.col("timestamp") >= 300).sort("timestamp", descending=True)[:4]
    with tt.view(chosen, tt.open_table(drives), Path(drives)) as viewer:
        assert rows_of(viewer, 0) == chosen.to_polars()["timestamp"].to_list()
        for table in (1, 2):
            assert rows_of(viewer, table) == index.to_polars()["timestamp"].to_list()
        assert len(json.loads(asked(viewer, "/api/tables"))["tables"]) == 3
        with pytest.raises(urllib.error.HTTPError, match="401"):
            asked(viewer, "/api/tables", token="0" * 64)


def test_a_viewer_goes_on_until_it_is_closed_and_its_port_is_free_then(drives: str) -> None:
    port = port_of(tt.view(drives))
    # Nothing refers to the viewer any more.
    kept = next(one for one in tt._view._OPEN if port_of(one) == port)
    assert kept.is_open and repr(kept) == f"Viewer({kept.url!r})" and rows_of(kept, 0)
    with pytest.raises(tt.Unavailable, match=f"listening on 127.0.0.1:{port}"):
        tt.view(drives, port=port)
    kept.close()
    kept.close()
    assert not kept.is_open and repr(kept) == "Viewer(closed)" and not any(one is kept for one in tt._view._OPEN)
    with pytest.raises(urllib.error.URLError):
        asked(kept, "/api/tables")
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", port))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_does_not_end_the_viewer(drives: str) -> None:
    with tt.view(drives) as viewer:
        child = os.fork()
        if child == 0:
            try:
                code = 1 if viewer.is_open else 0
                viewer.close()
                del viewer
            except BaseException:
                code = 2
            os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert viewer.is_open and rows_of(viewer, 0)


def test_a_notebook_shows_a_link_and_the_rows(drives: str) -> None:
    with tt.view(tt.read_index(drives)[:3]) as viewer:
        shown = viewer._repr_html_()
        assert f'<a href="{viewer.url}" target="_blank" rel="noopener noreferrer">' in shown and "Index of 3 rows" in shown
    assert "<a href=" not in viewer._repr_html_() and "Index of 3 rows" in viewer._repr_html_()


@pytest.mark.parametrize(
    ("shown", "options", "expected"),
    [
        ((), {}, "view: expected at least one index or table"),
        ((7,), {}, r"shown\[0\]: expected an Index, a Table, or the URL of a table, found int 7"),
        (("none-such",), {}, "no table there"),
        (("{drives}",), {"port": 70_000}, "port"),
        (("{drives}",), {"port": "80"}, "port: expected an integer"),
    ],
)
def test_what_cannot_be_shown_is_a_clear_error(drives: str, shown: tuple[Any, ...], options: dict[str, Any], expected: str) -> None:
    before = len(tt._view._OPEN)
    with pytest.raises(tt.Error, match=expected):
        tt.view(*(drives if one == "{drives}" else one for one in shown), **options)
    assert len(tt._view._OPEN) == before


BIG = [0, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, None]
WHOLE = [-(2**63), -(2**53) - 1, -1, 0, 2**53 + 1, 2**63 - 1, None]
FLOAT = [math.nan, -0.0, 0.0, 5e-324, 0.1, -1.5, 1e21, math.inf, -math.inf, None]
TEXT = ["", "it's", 'a "b"', "line\nbreak", "back\\slash \\n", "{id}", "ünï 😀\u2028", None]
ODD = 'an "odd", [name]*'


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tt.Viewer]:
    """Shows a table of values at the edges of their types; column `id` counts its rows."""
    url, rows = str(tmp_path_factory.mktemp("tables") / 'the "edges"'), range(56)
    day, time = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, microsecond=1)
    frame = pl.DataFrame(
        {
            "id": pl.Series(rows, dtype=pl.Int64),
            "big": pl.Series([BIG[row % len(BIG)] for row in rows], dtype=pl.UInt64),
            "whole": pl.Series([WHOLE[row * 3 % len(WHOLE)] for row in rows], dtype=pl.Int64),
            "float": pl.Series([FLOAT[row * 7 % len(FLOAT)] for row in rows], dtype=pl.Float64),
            "text": [TEXT[row * 5 % len(TEXT)] for row in rows],
            ODD: [None if row % 5 == 1 else row % 2 == 0 for row in rows],
            "day": [None if row % 9 == 0 else day + datetime.timedelta(days=row % 4 - 2) for row in rows],
            "time": [None if row % 7 == 0 else time + datetime.timedelta(microseconds=row % 3 - 2) for row in rows],
            "row": [row % 10 for row in rows],
        }
    )
    tt.write_table(url, frame, index=frame.columns)
    with tt.view(url) as viewer:
        yield viewer


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


COMPARED = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
LITERALS = {
    '"big"': [str(value) for value in BIG if value is not None],
    '"whole"': [str(value) for value in WHOLE if value is not None],
    '"float"': ["-0.0", "0", "0.1", "5e-324", "1e+21", "-1.5"],
    '"text"': [quoted(text) for text in TEXT if text is not None],
}
OTHERS = [
    '"an ""odd"", [name]*" = true',
    '"big" IS NULL',
    "day >= '2020-01-01'",
    "time < '2020-01-01'",
    "whole = MAX(whole)",
    "id % 3 = 1",
    '"row" IN (3, 5)',
    "id >\n5",
]
CONDITIONS = st.one_of(
    *(st.tuples(st.just(column), COMPARED, st.sampled_from(literals)).map(" ".join) for column, literals in LITERALS.items()),
    st.text(max_size=6).map(lambda text: f'"text" <> {quoted(text)}'),
    st.sampled_from(OTHERS),
)


@given(
    conditions=st.lists(CONDITIONS, max_size=2),
    sort=st.none() | st.tuples(st.sampled_from(["big", "whole", "float", "text", ODD, "day", "time", "row"]), st.booleans()),
    only=st.none() | st.lists(st.integers(0, 55), max_size=12),
)
def test_copied_python_gives_the_rows_that_the_page_shows(
    edges: tt.Viewer, conditions: list[str], sort: tuple[str, bool] | None, only: list[int] | None
) -> None:
    asked_for: list[tuple[str, str | int]] = [("table", 0), *(("where", condition) for condition in conditions)]
    if sort is not None:
        asked_for += [("sort", sort[0]), ("descending", int(sort[1]))]
    if only is not None:
        asked_for.append(("only", ",".join(map(str, only))))
    choice = urllib.parse.urlencode(asked_for)
    shown = pyarrow.ipc.open_stream(asked(edges, f"/api/rows?start=0&count=1000&{choice}")).read_all()["id"].to_pylist()
    copied: dict[str, Any] = {}
    exec(json.loads(asked(edges, f"/api/copies?{choice}"))["python"], copied)
    assert copied["index"]["id"].to_list() == shown and len(copied["loader"]) == len(shown)


def test_frames_of_level_5_are_shown_from_above_with_a_map(tmp_path: Path) -> None:
    zarr, table = tmp_path / "sample.zarr", tmp_path / "sample"
    write_zarr(zarr, random_dataset(7, scenes=1, max_frames=25), compressed=False)
    tt.ingest_l5(zarr, table)
    with pytest.raises(tt.Invalid, match="l5_map"):
        tt.view(table, l5_meta="meta.json")
    with pytest.raises(tt.NotFound, match="nothing.pb"):
        tt.view(table, l5_map=tmp_path / "nothing.pb")
    (tmp_path / "map.pb").write_bytes(b"")
    with pytest.raises(tt.NotFound, match="meta.json"):
        tt.view(table, l5_map=str(tmp_path / "map.pb"))
    matrix = [[float(row == column) for column in range(4)] for row in range(4)]
    (tmp_path / "other.json").write_text(json.dumps({"world_to_ecef": matrix}))
    for shown in (table, tt.read_index(table)[:3]):
        with tt.view(shown, l5_map=tmp_path / "map.pb", l5_meta=tmp_path / "other.json") as viewer:
            answer = json.loads(asked(viewer, "/api/scene?table=0&row=1"))
            assert answer["failures"] == {} and answer["map"] and len(answer["agents"]) == answer["agent_count"] and answer["ego"]
            assert json.loads(asked(viewer, "/api/ground?table=0&x=0&y=0&radius=5")) == {"lanes": [], "crosswalks": [], "cut": False}
