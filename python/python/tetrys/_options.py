"""Checks the options of calls that write. The native module reads the fields of `Options`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ._arguments import Preset, Reuse, Url, as_json, choice, limited, members, several, text, texts, truth, url_of, urls_of, whole
from ._tetrys import Invalid

if TYPE_CHECKING:
    from . import _tetrys
    from ._places import Place
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
            references=[one._native for one in _opened(reference, urls_of("allow", allow), place)],
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


def described(schema: Mapping[str, str], layout: Layout, kept: Iterable[tuple[str, str, str]] = ()) -> tuple[Any, ...]:
    """Returns the parts of a schema as the native module expects them.

    `kept` has column properties (column, name, JSON text) that apply unless the layout sets them.
    """
    index = texts("index", layout.index)
    required = () if layout.required is None else layout.required
    filtered = () if layout.bloom_filters is None else layout.bloom_filters
    said = [
        *((column, "unit", json.dumps(unit)) for column, unit in types("units", layout.units).items()),
        *((column, "tetrys.preset", json.dumps(preset)) for column, preset in types("presets", layout.presets).items()),
        *((column, "tetrys.nullable", "false") for column in texts("required", required)),
        *((column, "tetrys.bloom_filter", "true") for column in texts("bloom_filters", filtered)),
    ]
    told = {(column, name) for column, name, _ in said}
    said += [one for one in kept if one[0] in schema and one[:2] not in told]
    if missing := [name for name in index if name not in schema]:
        raise Invalid(f"index columns that do not exist: {', '.join(missing)}")
    named = _groups(schema, index, layout.groups)
    return (
        [(name, schema[name]) for name in index],
        [(group, [(name, schema[name]) for name in columns]) for group, columns in named.items()],
        texts("sequence_by", layout.sequence_by),
        texts("order_by", layout.order_by),
        said,
    )


def types(what: str, schema: object) -> dict[str, str]:
    """Returns types by column."""
    return {name: text(f"{what}, column `{name}`", ty) for name, ty in members(what, schema).items()}


def _groups(
    schema: Mapping[str, str], index: Sequence[str], groups: Mapping[str, Sequence[str]] | None
) -> dict[str, list[str]]:
    named = {group: texts(f"group `{group}`", columns) for group, columns in members("groups", groups).items()}
    placed = {name for columns in named.values() for name in columns} | set(index)
    if unknown := sorted(placed - set(schema)):
        raise Invalid(f"columns of `groups` that do not exist: {', '.join(unknown)}")
    for name in schema:
        if name not in placed:
            named.setdefault(name.split(".")[0], []).append(name)
    return named


def bound_of(what: str, bound: Locality) -> str | None:
    """Returns a locality bound, the argument `what`, as the text that the native module parses."""
    if bound is None or isinstance(bound, str):
        return None if bound is None else text(what, bound)
    numbers = limited(what, bound, 3) if isinstance(bound, Iterable) else [bound]
    return ",".join(str(whole(what, number)) for number in numbers)


def _opened(reference: Url | Table | Iterable[Url | Table], allow: list[str], place: Place | None) -> list[Table]:
    """Opens the referenced tables; those in the store of the table that is written with its options."""
    from ._table import Table

    named = [reference] if isinstance(reference, (str, os.PathLike, Table)) else several("reference", reference)
    return [one.allow(*allow) if isinstance(one, Table) else Table(one, allow=allow, storage_options=_of_store(url_of(one), place)) for one in named]


def _of_store(url: str, place: Place | None) -> dict[str, str] | None:
    is_same = place is not None and urlsplit(url)[:2] == urlsplit(place[0])[:2]
    return place[1] if place is not None and is_same else None
