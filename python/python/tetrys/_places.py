"""Where a store is and how it is opened, for calls that many processes make; and the session that this process writes to."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from . import _tetrys
from ._arguments import Url, urls_of
from ._errors import WrongType
from ._tetrys import Invalid

StorageOptions = Mapping[str, Any] | None
"""Options of a store, {name: value}, by the names of object_store or of fsspec; None stands for those of the environment."""
Place = tuple[str, dict[str, str] | None, list[str]]
"""URL, options of the store, and the URLs that references may be followed to."""

# Names of fsspec (s3fs, gcsfs, adlfs) for options that object_store, and the native module, name otherwise.
_FSSPEC = {
    "s3": {"key": "access_key_id", "secret": "secret_access_key", "token": "session_token", "region_name": "region", "anon": "skip_signature"},
    "gs": {"token": "service_account", "anon": "skip_signature"},
    "az": {"anon": "skip_signature"},
}
_SCHEMES = {"s3a": "s3", "gcs": "gs", "abfs": "az", "abfss": "az", "azure": "az", "adl": "az"}


def place_of(url: str, storage_options: object, allow: Url | Iterable[Url], store_options: object = None) -> Place:
    """Returns where a store is and how it is opened. `store_options` is another name of `storage_options`."""
    return url, options_of(url, storage_options, store_options), urls_of("allow", allow)


def places_of(
    source: str, url: str, storage_options: object, store_options: object = None, allow: Url | Iterable[Url] = ()
) -> tuple[Place, Place]:
    """Returns the places of what is read and of what is written. Both have the options if they are in one service; else they are those
    of the table that is written, or of the source if only that is in a store.
    """
    own, other = _service(source), _service(url)
    given, none = (storage_options, store_options), (None, None)
    read = given if own == other or not other else none
    write = given if own == other or other else none
    return place_of(source, read[0], (), read[1]), place_of(url, write[0], allow, write[1])


def options_of(url: str, storage_options: object, store_options: object = None) -> dict[str, str] | None:
    """Returns the options of the store at a URL by the names of object_store; None for those of the environment. No message has the
    values of options.
    """
    if storage_options is not None and store_options is not None:
        raise Invalid("storage_options and store_options are two names of one argument: pass `storage_options` alone")
    what, given = ("store_options", store_options) if storage_options is None else ("storage_options", storage_options)
    if given is None:
        return None
    names = _FSSPEC.get(_service(url), {})
    made: dict[str, str] = {}
    for name, value in _flat(what, given):
        setting = _as_text(what, name, value)
        if name == "use_ssl":
            name, setting = "allow_http", "true" if setting == "false" else "false"
        elif name == "token" and value == "anon":
            name, setting = "skip_signature", "true"
        known = names.get(name, name)
        if made.setdefault(known, setting) != setting:
            raise Invalid(f"{what}: `{known}` is given twice, with different values")
    return made


def _service(url: str) -> str:
    """Returns the service of a URL by the name of its scheme, such as `s3`; empty for a folder."""
    scheme, _, rest = url.partition("://")
    return _SCHEMES.get(scheme.lower(), scheme.lower()) if rest and scheme.lower() != "file" else ""


def _flat(what: str, given: object) -> Iterator[tuple[str, Any]]:
    """Yields names and values; those of `client_kwargs` of s3fs too."""
    if not isinstance(given, Mapping):
        raise WrongType(f"{what}: expected a dict, found {type(given).__name__}")
    for name, value in given.items():
        if not isinstance(name, str):
            raise WrongType(f"{what}: expected text for names, found {type(name).__name__}")
        if name == "client_kwargs":
            yield from _flat(f"{what}, client_kwargs", value)
        else:
            yield name, value


def _as_text(what: str, name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, (str, int)):
        raise WrongType(f"{what}: expected text, an integer, True or False for `{name}`, found {type(value).__name__}")
    return str(value)


def native_table(place: Place) -> _tetrys.Table:
    """Opens the version of a table that a URL names."""
    url, storage, allow = place
    return _tetrys.Table(url, allow=allow) if storage is None else _tetrys.cluster_open(place)


def option_of(options: Mapping[str, Any]) -> Any:
    """Returns the options of the store among the arguments of a call, under either name."""
    one, other = options.get("storage_options"), options.get("store_options")
    options_of("", one, other)
    return other if one is None else one


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
