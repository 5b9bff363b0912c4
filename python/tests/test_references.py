"""Tables that use chunks or rows of other tables: allowed references, and owners that cannot be pinned."""

from __future__ import annotations

import functools
import inspect
import os
import pickle
import re
import ssl
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tetrys as tt
import trustme

DATA = {"i": np.arange(400), "a.x": np.arange(400 * 64, dtype=np.int64).reshape(400, 64) ** 2}


class Web(BaseHTTPRequestHandler):
    """Serves files and byte ranges; accepts no uploads."""

    def do_HEAD(self) -> None:
        self.answer(False)

    def do_GET(self) -> None:
        self.answer(True)

    def answer(self, body: bool) -> None:
        file = Path(self.server.root) / self.path.lstrip("/")  # type: ignore[attr-defined]
        if not file.is_file():
            self.send_error(404)
            return
        content = file.read_bytes()
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        self.send_response(206 if asked else 200)
        if asked:
            size = len(content)
            start = int(asked[1]) if asked[1] else max(0, size - int(asked[2]))
            end = min(int(asked[2]) + 1 if asked[1] and asked[2] else size, size)
            content = content[start:end]
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", '"1"')
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Returns the URL of a read-only web server with the table `owner`."""
    monkeypatch.delenv("TETRYS_ALLOW_UNPINNED", raising=False)
    monkeypatch.delenv("TETRYS_ALLOW", raising=False)
    tt.write_table(tmp_path / "web" / "owner", DATA, index="i")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    server.root = tmp_path / "web"  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def test_an_owner_that_cannot_be_told_is_an_error_unless_that_is_allowed(web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = f"{web}/owner@1"
    index = tt.read_index(owner)
    plain = tt.write_table(tmp_path / "plain", {"i": [-1], "a.x": np.zeros((1, 64), np.int64)}, index="i")
    more = {"i": np.arange(400), "a.x": DATA["a.x"]}
    calls: dict[str, Callable[..., tt.Table]] = {
        "write_table": lambda **how: tt.write_table(tmp_path / "made", DATA, index="i", reference=owner, **how),
        "append": lambda **how: plain.append(more, reference=owner, **how),
        "overwrite": lambda **how: plain.overwrite(more, reference=[owner], **how),
        "save": lambda **how: index[:5].save(tmp_path / "view", **how),
    }
    for name, call in calls.items():
        with pytest.raises(tt.Denied, match="`allow_unpinned=True` in Python"):
            call()
        with pytest.warns(UserWarning, match="no pin was written to"):
            made = call(allow_unpinned=True)
        assert made.lineage["not_pinned"], name
    recipe = {"from": "all", "sources": {"all": owner}, "output": {"view": str(tmp_path / "of-recipe")}}
    with pytest.raises(tt.Denied):
        tt.run(recipe)
    with pytest.warns(UserWarning, match="no pin was written to"):
        assert tt.run(recipe, allow_unpinned=True)[0]["written"]
    # Later versions inherit the permission, and warn too.
    with pytest.warns(UserWarning, match="no pin was written to"):
        tt.Table(tmp_path / "made", allow=web).delete([3])
    # An environment variable allows it too.
    monkeypatch.setenv("TETRYS_ALLOW_UNPINNED", "1")
    with pytest.warns(UserWarning):
        assert len(tt.write_table(tmp_path / "other", DATA, index="i", reference=owner)) == 400


def test_a_table_behind_https_is_read_if_its_certificate_is_trusted(tmp_path: Path) -> None:
    tt.write_table(tmp_path / "web" / "owner", DATA, index="i")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    server.root = tmp_path / "web"  # type: ignore[attr-defined]
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    code = f"""if True:
        import tetrys as tt
        try:
            table = tt.open_table("https://localhost:{server.server_address[1]}/owner@1")
            print(int(tt.row_loader(table).take([7])["a.x"][0, 3]))
        except tt.Error as error:
            print(type(error).__name__, error)
    """

    def read_with(**environment: str) -> str:
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    assert read_with(SSL_CERT_FILE=str(tmp_path / "authority.pem")) == f"{(7 * 64 + 3) ** 2}\n"
    refused = read_with(AWS_MAX_RETRIES="0")
    assert refused.startswith("Invalid"), refused
    server.shutdown()


def test_the_ticket_of_a_session_has_the_choice(web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(UserWarning):
        writer = tt.Writer(tmp_path / "t", schema={"i": "i64"}, index="i", reference=f"{web}/owner@1", allow_unpinned=True)
    task = pickle.loads(pickle.dumps(writer.task()))
    assert '"allow_unpinned":true' in task._ticket
    plain = tt.Writer(tmp_path / "p", schema={"i": "i64"}, index="i").task()
    assert "allow_unpinned" not in plain._ticket
    with task.partition() as partition:
        partition.write({"i": [1, 2]})
    assert len(writer.commit([partition.receipt])) == 2


def public() -> Iterator[tuple[str, inspect.Signature]]:
    """Yields every public function and method with its signature."""
    for name in tt.__all__:
        thing = getattr(tt, name)
        if inspect.isfunction(thing):
            yield name, inspect.signature(thing)
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for member, function in vars(thing).items():
                if inspect.isfunction(function) and (member == "__init__" or not member.startswith("_")):
                    yield f"{name}.{member}", inspect.signature(function)


def test_every_call_that_opens_a_table_takes_what_it_may_follow() -> None:
    # The arguments of `Table.allow` are the URLs themselves. The others open no existing table.
    others = {"Table.allow", "ingest_l5", "read_petastorm_metadata"}
    takes_urls = {name for name, call in public() if any("Url" in str(one.annotation) for one in call.parameters.values())}
    assert {"Table.__init__", "Writer.__init__", "write_table", "read_index", "Table.append", "Index.save"} <= takes_urls
    without = {name for name, call in public() if name in takes_urls and "allow" not in call.parameters}
    assert without == others
    assert "allow" in inspect.signature(tt.run).parameters


def test_every_call_that_makes_a_version_takes_what_is_done_about_owners() -> None:
    # Without `allow_unpinned`: methods that publish nothing, short forms of `edit`, `materialize` (which removes all references),
    # and `ingest_l5` (which makes none).
    reads = {"open_table", "Table.allow", "Writer.commit"}
    short = {f"Table.{name}" for name in ("drop_columns", "rename_column", "set_properties", "tag", "untag")}
    made = {name for name, call in public() if call.return_annotation == "Table"}
    assert {"Table.append", "Table.edit", "Table.rebind", "Index.save", "write_table", "Table.compact"} <= made
    without = {name for name, call in public() if name in made and "allow_unpinned" not in call.parameters}
    assert without == reads | short | {"Table.materialize", "ingest_l5"}
    assert all("allow_unpinned" in inspect.signature(call).parameters for call in (tt.run, tt.Writer.__init__))


def test_a_reference_by_url_is_opened_with_what_is_allowed(web: str, tmp_path: Path) -> None:
    quietly = functools.partial(tt.write_table, index="i", allow_unpinned=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        middle = quietly(tmp_path / "middle", DATA, reference=f"{web}/owner@1")
        assert middle.must_allow()
        # Without `allow`, the reference cannot be followed to the owner, and no block of the owner is shared.
        alone = quietly(tmp_path / "alone", DATA, reference=tmp_path / "middle")
        last = quietly(tmp_path / "last", DATA, reference=tmp_path / "middle", allow=web)
    assert last.lineage["shared"]["blocks"] > alone.lineage.get("shared", {}).get("blocks", 0)
    rows: Any = tt.row_loader(tt.open_table(tmp_path / "last", allow=web)).take([7])["a.x"]
    np.testing.assert_array_equal(rows[0], DATA["a.x"][7])
