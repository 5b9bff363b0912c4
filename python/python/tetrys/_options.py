"""Checks the options of calls that write. The native module reads the fields of `Options`."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from . import _tetrys
from ._arguments import Preset, Reuse, Url, as_json, choice, limited, members, native_of, several, text, texts, truth, url_of, urls_of, whole
from ._places import Place, native_table, options_of

if TYPE_CHECKING:
    from ._table import Table

Locality = int | Sequence[int] | str | None
DEFAULT_BOUND = "16,1,150"


class Types(dict[str, str]):
    """Type of each column, {column: type}, with properties of some columns: (column, name, JSON text)."""

    def __init__(self, kinds: Mapping[str, str] = {}, properties: Iterable[tuple[str, str, str]] = ()) -> None:  # noqa: B006
        super().__init__(kinds)
        self.properties = list(properties)


@dataclass(frozen=True)
class Options:
    """Settings of a write: codecs, memory, tables to share blocks with, and properties of the version."""

    preset: str
    reuse: str
    locality: str | None
    write_memory: int | None
    allow_unpinned: bool
    references: list[_tetrys.Table]
    properties: str

    @classmethod
    def of(
        cls,
        table: Table | None,
        *,
        preset: str | None,
        reuse: Reuse = "auto",
        locality: Locality = None,
        write_memory: int | None = None,
        allow_unpinned: bool = False,
        reference: Url | Table | Iterable[Url | Table] = (),
        allow: Url | Iterable[Url] = (),
        properties: Mapping[str, Any] | None = None,
        place: Place | None = None,
    ) -> Options:
        """Checks the arguments of a call. Without a preset, uses that of `table`. `place` is that of the table that is written."""
        return cls(
            preset=choice("preset", table.preset if table is not None and preset is None else preset, Preset),
            reuse=choice("reuse", reuse, Reuse),
            locality=bound_of("locality", locality),
            write_memory=None if write_memory is None else whole("write_memory", write_memory, 1),
            allow_unpinned=truth("allow_unpinned", allow_unpinned),
            properties=as_json("properties", members("properties", properties)),
            references=_opened(reference, urls_of("allow", allow), place),
        )


@dataclass(frozen=True)
class Layout:
    """The role of each column, as the caller declared it. None stands for an argument that was not given."""

    index: str | Sequence[str] | None
    groups: Mapping[str, Sequence[str]] | None
    sequence_by: str | Sequence[str] | None
    order_by: str | Sequence[str] | None
    units: Mapping[str, str] | None
    presets: Mapping[str, Preset] | None
    required: str | Sequence[str] | None
    bloom_filters: str | Sequence[str] | None


@dataclass(frozen=True)
class Described:
    """Columns with their types, and what `Layout` says of them, as the native module reads it."""

    columns: list[tuple[str, str]]
    index: list[str] | None
    groups: list[tuple[str, list[str]]] | None
    sequence_by: list[str] | None
    order_by: list[str] | None
    required: list[str] | None
    bloom_filters: list[str] | None
    properties: list[tuple[str, str, str]]
    defaults: list[tuple[str, str, str]]


def described(
    schema: Mapping[str, str], layout: Layout, defaults: Iterable[tuple[str, str, str]] = (), *, inherits: bool = False
) -> Described:
    """Checks the types of the arguments. `defaults` has column properties (column, name, JSON text) that hold unless the layout sets them.

    With `inherits`, roles that are None are those of a table.
    """
    may_lack = _LISTS if inherits else ("required", "bloom_filters")
    lists = ((what, getattr(layout, what)) for what in _LISTS)
    named = {what: None if given is None and what in may_lack else texts(what, given) for what, given in lists}
    groups = None if layout.groups is None else members("groups", layout.groups)
    properties_given = [
        *((column, "unit", json.dumps(unit)) for column, unit in types("units", layout.units).items()),
        *((column, "tetrys.preset", json.dumps(preset)) for column, preset in types("presets", layout.presets).items()),
    ]
    return Described(
        columns=list(schema.items()),
        groups=None if groups is None else [(group, texts(f"group `{group}`", columns)) for group, columns in groups.items()],
        properties=properties_given,
        defaults=list(defaults),
        **named,
    )


_LISTS = ("index", "sequence_by", "order_by", "required", "bloom_filters")


def types(what: str, schema: object) -> dict[str, str]:
    """Returns types by column."""
    return {name: text(f"{what}, column `{name}`", ty) for name, ty in members(what, schema).items()}


def bound_of(what: str, bound: Locality) -> str | None:
    """Returns a locality bound, the argument `what`, as the text that the native module parses."""
    if bound is None or isinstance(bound, str):
        return None if bound is None else text(what, bound)
    numbers = limited(what, bound, 3) if isinstance(bound, Iterable) else [bound]
    return ",".join(str(whole(what, number)) for number in numbers)


def _opened(reference: Url | Table | Iterable[Url | Table], allow: list[str], place: Place | None) -> list[_tetrys.Table]:
    """Opens the referenced tables; those in the store of the table that is written with its options."""
    is_one = isinstance(reference, (str, os.PathLike)) or native_of(reference, _tetrys.Table) is not None
    return [_open(one, allow, place) for one in ([reference] if is_one else several("reference", reference))]


def _open(reference: object, allow: list[str], place: Place | None) -> _tetrys.Table:
    if (native := native_of(reference, _tetrys.Table)) is not None:
        return native.allow(*allow)
    url = url_of(reference)
    return native_table((url, options_of(url, _of_store(url, place)), allow))


def _of_store(url: str, place: Place | None) -> dict[str, str] | None:
    is_same = place is not None and urlsplit(url)[:2] == urlsplit(place[0])[:2]
    return place[1] if place is not None and is_same else None


def warn_not_pinned(not_pinned: Iterable[tuple[str, str]]) -> None:
    """Warns of tables to which no pin was written: URL and reason."""
    for url, why in not_pinned:
        reason = f" ({why})" if why else ""
        warnings.warn(f"no pin was written to {url}: a garbage collection there may delete what this table needs{reason}", stacklevel=3)
