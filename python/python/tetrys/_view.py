"""Shows tables and selections of rows in the browser."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from os import PathLike
from typing import Any

from . import _tetrys
from ._arguments import Url, path_of, whole
from ._errors import WrongType, found
from ._index import Index, open_table
from ._places import StorageOptions
from ._table import Table
from ._tetrys import Invalid

_OPEN: set[Viewer] = set()
"""Keeps viewers alive until they are closed."""


class Viewer:
    """A page that this process serves to browsers of this machine, as `tetrys.view` returns it.

    As the last line of a notebook cell, it shows a link to the page, and the rows. It is also a context manager, which closes it.
    """

    def __init__(self, native: _tetrys.Viewer, shown: list[Index | Table]) -> None:
        """Not for users: `view` makes viewers."""
        self._native = native
        self._shown = shown

    @property
    def url(self) -> str:
        """The address of the page. It holds a token, without which the server answers no data: do not publish it.

        Example:
            >>> with tt.view("drives") as viewer:
            ...     viewer.url.startswith("http://127.0.0.1:")
            True
        """
        return self._native.url

    @property
    def is_open(self) -> bool:
        """Whether this process serves the page. False in processes that were forked after the call."""
        return self._native.is_open

    def close(self) -> None:
        """Ends the server, and waits until this process has freed its port. A process that was forked meanwhile holds the port until it
        ends. A second call does nothing."""
        self._native.close()
        _OPEN.discard(self)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Viewer({self.url!r})" if self.is_open else "Viewer(closed)"

    def _repr_html_(self) -> str:
        """Shows a link to the page and the first table or rows in notebooks."""
        below: str = self._shown[0]._repr_html_()
        if not self.is_open:
            return f"<p>This viewer is closed.</p>{below}"
        return f'<p><a href="{escape(self.url)}" target="_blank" rel="noopener noreferrer">Open the viewer</a></p>{below}'


def view(
    *shown: Index | Table | Url,
    port: int = 0,
    l5_map: str | PathLike[str] | None = None,
    l5_meta: str | PathLike[str] | None = None,
    allow: Url | Iterable[Url] = (),
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> Viewer:
    """Serves a page that shows rows with their pictures, points, numbers and texts, and filters and sorts them, as the command
    `tetrys view` does. An index shows exactly its rows, in its order.

    The server runs on threads of this process until `Viewer.close`, or until the process ends. It listens on 127.0.0.1 only, writes
    nothing, and gives no data to anybody who does not have the token in the address. On another machine, forward the port:
    `ssh -L 8000:localhost:8000 HOST`, and `port=8000`.

    Args:
        shown: Indexes, tables, and URLs or paths of tables.
        port: Port of the server; 0 for any that is free.
        l5_map: Semantic map of Level 5 tables, a protobuf file: its lanes are shown below the frames. Without it, the attachments
            `semantic_map.pb` and `meta.json` of the table are used.
        l5_meta: `meta.json` of the data set of `l5_map`. Without it, the one beside the map or in the folder above is used.
        allow: URLs that references of the named tables may be followed to; see `tetrys.open_table`.
        storage_options: Options of the stores of the named tables; see `tetrys.open_table`.
        store_options: Another name of `storage_options`.

    Example:
        >>> viewer = tt.view(tt.read_index("drives")[:5], "drives")
        >>> viewer.is_open
        True
        >>> viewer.close()

    Raises:
        Invalid: nothing is shown, a URL is malformed, or `l5_meta` is given without `l5_map`.
        NotFound: there is no table at a URL, or no map or `meta.json` at a path.
        Corrupt: the map is damaged.
        Unavailable: the port is in use.
    """
    sources: list[Index | Table] = []
    for number, one in enumerate(shown):
        if isinstance(one, Index | Table):
            sources.append(one)
        elif isinstance(one, str | PathLike):
            sources.append(open_table(one, allow=allow, storage_options=storage_options, store_options=store_options))
        else:
            raise WrongType(f"shown[{number}]: expected an Index, a Table, or the URL of a table, found {found(one)}")
    if not sources:
        raise Invalid("view: expected at least one index or table")
    if l5_meta is not None and l5_map is None:
        raise Invalid("l5_meta: expected l5_map with it")
    paths = [None if path is None else path_of(name, path) for name, path in (("l5_map", l5_map), ("l5_meta", l5_meta))]
    natives: list[Any] = [one._native for one in sources]
    viewer = Viewer(_tetrys.Viewer(natives, whole("port", port, most=65_535), *paths), sources)
    _OPEN.add(viewer)
    return viewer
