"""Where a store is and how it is opened, for calls that many processes make; and the session that this process writes to."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping

from . import _tetrys
from ._arguments import Url, urls_of
from ._errors import WrongType

StoreOptions = Mapping[str, str] | None
"""Options of a store, {name: value}; None stands for those of the environment."""
Place = tuple[str, dict[str, str] | None, list[str]]
"""URL, options of the store, and the URLs that references may be followed to."""


def place_of(url: str, store_options: object, allow: Url | Iterable[Url]) -> Place:
    """Returns where a store is and how it is opened. No message has the values of options."""
    if store_options is None:
        return url, None, urls_of("allow", allow)
    if not isinstance(store_options, Mapping):
        raise WrongType(f"store_options: expected a dict, found {type(store_options).__name__}")
    for name, value in store_options.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise WrongType(f"store_options: expected text for names and values, found {type(name).__name__} and {type(value).__name__}")
    return url, dict(store_options), urls_of("allow", allow)


_lock = threading.Lock()
_joined: tuple[object, _tetrys.TableWriter] | None = None


def _renew_lock() -> None:
    """Makes a new lock in a forked child: another thread of the parent may have held the old one."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def partition_of(place: Place, ticket: str, open_it: Callable[[_tetrys.TableWriter], _tetrys.Partition]) -> _tetrys.Partition:
    """Joins the session of a ticket, with the blocks that it can reuse, and opens one of its partitions.

    A process remembers the session that it joined last, because the hashes of known blocks may take long to load.
    """
    global _joined
    key = (os.getpid(), ticket, place)
    with _lock:
        if _joined is None or _joined[0] != key:
            _joined = None
            _joined = key, _tetrys.cluster_join(place, ticket)
        return open_it(_joined[1])
