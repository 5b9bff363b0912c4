"""The viewer in a process of Python: it shows exactly these rows, to who has the token, until it is closed."""

from __future__ import annotations

import json
import os
import re
import socket
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.ipc
import pytest
import tetrys as tt


def asked(viewer: tt.Viewer, path: str, *, token: str | None = None) -> bytes:
    """Returns the answer to a request of the page."""
    address, _, held = viewer.url.partition("/#token=")
    request = urllib.request.Request(address + path, headers={"Authorization": f"Bearer {held if token is None else token}", "Sec-Fetch-Site": "same-origin"})
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
    held = next(one for one in tt._view._OPEN if port_of(one) == port)
    assert held.is_open and repr(held) == f"Viewer({held.url!r})" and rows_of(held, 0)
    with pytest.raises(tt.Unavailable, match=f"listening on 127.0.0.1:{port}"):
        tt.view(drives, port=port)
    held.close()
    held.close()
    assert not held.is_open and repr(held) == "Viewer(closed)" and not any(one is held for one in tt._view._OPEN)
    with pytest.raises(urllib.error.URLError):
        asked(held, "/api/tables")
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
