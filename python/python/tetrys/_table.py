"""Tables: what they say of themselves, and the versions that are made of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from . import _tetrys
from ._arguments import Url, as_json, members, text, texts, truth, url_of, urls_of, whole
from ._errors import WrongType, found
from ._tetrys import Diff, Invalid

if TYPE_CHECKING:
    import polars as pl

    from ._index import Index
    from ._options import Locality
    from ._write import Data


class Table:
    """One version of a table; immutable."""

    _native: _tetrys.Table

    def __init__(self, url: Url, *, allow: Url | Iterable[Url] = ()) -> None:
        """Opens the newest version of the table at `url`, or the one that `url@VERSION` or `url@TAG` names. References to tables
        in other stores are followed as `open_table` says.

            >>> table = tt.Table("drives")
            >>> table.version, len(table), tt.Table("drives@1").version
            (1, 20, 1)

        Raises `NotFound` where there is no table, no such version or tag; `Corrupt` where its bytes are not what was written.
        """
        self._native = _tetrys.Table(url_of(url), allow=urls_of("allow", allow))

    @classmethod
    def _of(cls, native: _tetrys.Table) -> Table:
        made = cls.__new__(cls)
        made._native = native
        return made

    @property
    def url(self) -> str:
        """Where the table lies."""
        return self._native.url

    @property
    def version(self) -> int:
        """The number of this version."""
        return self._native.version

    @property
    def uuid(self) -> str:
        """The table, the same in all versions."""
        return self._native.uuid

    @property
    def tags(self) -> dict[str, int]:
        """The tags, as this version says: {name: version}."""
        return self._native.tags

    @property
    def lineage(self) -> dict[str, Any]:
        """What made this version: writer, operation, and what the operation says."""
        return self._native.lineage

    @property
    def preset(self) -> str:
        """The preset that it was written with: `fast`, `balanced` or `compact`."""
        return self._native.preset

    @property
    def is_view(self) -> bool:
        """Whether the table is a view: a saved merge, filter or split, with rows of other tables."""
        return self._native.is_view

    @property
    def index_columns(self) -> list[tuple[str, str]]:
        """The index columns and their types."""
        return self._native.index_columns

    @property
    def sequence_by(self) -> list[str]:
        """The index columns whose equal values make a sequence."""
        return self._native.sequence_by

    @property
    def order_by(self) -> list[str]:
        """The index columns that order the rows of a sequence."""
        return self._native.order_by

    @property
    def groups(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """The column groups, each with its columns and their types."""
        return self._native.groups

    @property
    def group_sizes(self) -> dict[str, tuple[int, int]]:
        """Stored bytes, and bytes of the values, of each column group: {group: (stored, decoded)}."""
        return self._native.group_sizes

    @property
    def properties(self) -> dict[str, Any]:
        """What the table says of itself."""
        return self._native.properties

    def column_properties(self, column: str) -> dict[str, Any]:
        """What is said of a column: its unit, and what else was set.

            >>> tt.Table("drives").column_properties("timestamp")
            {'unit': 'ms'}

        Raises `NotFound` for a column that is not there.
        """
        return self._native.column_properties(text("column", column))

    def attachment(self, name: str) -> bytes:
        """The content of an attachment."""
        return self._native.attachment(text("name", name))

    def info(self) -> dict[str, Any]:
        """What the table is, in numbers: what `tetrys info --json` prints, as a dict. Loads the layouts.

        >>> info = tt.Table("drives").info()
        >>> info["rows"], info["sequences"], info["preset"]
        (20, 2, 'balanced')
        """
        return self._native.info()

    def du(self) -> dict[str, Any]:
        """What each version takes, and shares with others: what `tetrys du --json` prints, as a dict. Bytes; versions newest first.

        >>> usage = tt.Table("drives").du()
        >>> [(one["version"], one["rows"], one["referenced_bytes"]) for one in usage["versions"]]
        [(1, 20, 0)]
        """
        return self._native.du()

    def versions(self) -> list[dict[str, Any]]:
        """The versions that are there, newest first, each a dict: `version`, `parent`, `written_ms` (milliseconds since 1970 in UTC, by
        the store's clock), `operation`, `tags`, `rows`, `sequences`, `bytes_added`, `preset`, `writer`, `manifest_blake3`.

            >>> table = tt.Table("drives").tag("gold")
            >>> [(one["version"], one["operation"], one["tags"]) for one in table.versions()]
            [(2, 'edit', []), (1, 'create', ['gold'])]
        """
        return self._native.versions()

    def verify(
        self, *, all_versions: bool = False, sources: bool = False, progress: Callable[[int, int], object] | None = None
    ) -> dict[str, Any]:
        """Reads every byte of this version and checks it: a dict with `objects`, `chunks`, `blocks`, `bytes`, and `damage`, a list of
        dicts with `object` and `problem`, empty for a sound table. With `all_versions` every version is checked, with `sources` the
        tables behind a view too; `not_checked` lists what was left. `progress` is told bytes done and bytes in all.

            >>> tt.Table("drives").verify()["damage"]
            []

        Raises `Unavailable`, `Denied` where the store does not answer: damage is listed, not raised.
        """
        return self._native.verify(
            all_versions=truth("all_versions", all_versions), sources=truth("sources", sources), progress=called(progress)
        )

    def diff(self, before: Table, on: str | Sequence[str] = (), *, exact: bool = False) -> Diff:
        """What differs between this table and one that was before it, told by index columns and hashes; no payload is read. Rows are
        matched by the index columns `on`, else by those of sequence and order, else by their numbers. Rows that share a block with
        others are known to differ together only (`Diff.is_exact`); with `exact` they are read and compared.

            >>> old = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> print(old.append({"time": [2], "lidar.count": [8]}).diff(old, on=["time"]))
            2 rows -> 3: 1 added, 0 removed, 0 changed, 2 unchanged

        Raises `NotFound` for a key that is no index column of both, `Invalid` for one of different types.
        """
        return self._native.diff(table_of("before", before)._native, texts("on", on), exact=truth("exact", exact))

    def sources(self) -> list[Table]:
        """Of a view, the table versions whose rows it has, in the order in which they were put together; else none.

        Raises `NotFound` where one is not there any more, or there in another state; `Denied` where it may not be followed.
        """
        return [Table._of(source) for source in self._native.sources()]

    def rebind(self, *urls: Url, allow: Url | Iterable[Url] = (), allow_unpinned: bool = False) -> Table:
        """Of a view, or of a table with references: a version that looks for other tables at these URLs first. A table that moved is
        known by its UUID and the hash of the version; another one is refused. `allow` is that of `open_table`, `allow_unpinned` that
        of `edit`.

        Raises `NotFound` where none of the URLs has a table that is needed.
        """
        table = self.allow(*urls_of("allow", allow))._native
        return made(table.rebind([url_of(url) for url in urls], truth("allow_unpinned", allow_unpinned)))

    def allow(self, *urls: Url) -> Table:
        """The same version, which may also follow references to absolute URLs at or below these."""
        return Table._of(self._native.allow(*map(url_of, urls)))

    def must_allow(self) -> list[str]:
        """The URLs in other stores that a reader of this table has to allow: those by which it refers to tables that are no
        neighbours of it. Of a view the tables behind it are opened, as far as they can be.

            >>> tt.Table("drives").must_allow()
            []
        """
        return self._native.must_allow()

    def append(
        self,
        data: Data | Iterable[Data],
        *,
        reference: Url | Table | Iterable[Url | Table] = (),
        reuse: str = "any",
        locality: Locality = None,
        preset: str | None = None,
        write_memory: int | None = None,
        properties: Mapping[str, Any] | None = None,
        allow: Url | Iterable[Url] = (),
        allow_unpinned: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> Table:
        """A version with more rows, cut as this table's are; blocks that an earlier version or one of the tables `reference` has are
        not stored again. `data` is what `tt.write_table` takes, and the options are those of it.

            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.append({"time": [2], "lidar.count": [8]})
            >>> table.version, tt.row_loader(table).take([1, 2])["lidar.count"].tolist()
            (2, [9, 8])

        Raises `Invalid` for other columns or a sequence that comes back, `Conflict` where another writer changed the same.
        """
        from ._change import append
        from ._options import Options

        options = Options.of(
            self,
            preset=preset,
            reuse=reuse,
            locality=locality,
            write_memory=write_memory,
            allow_unpinned=allow_unpinned,
            reference=reference,
            allow=allow,
            properties=properties,
        )
        return append(self, data, options, progress)

    def overwrite(
        self,
        data: Data | Iterable[Data],
        *,
        index: Sequence[str] | None = None,
        schema: Mapping[str, str] | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        sequence_by: Sequence[str] | None = None,
        order_by: Sequence[str] | None = None,
        units: Mapping[str, str] | None = None,
        presets: Mapping[str, str] | None = None,
        required: Sequence[str] | None = None,
        reference: Url | Table | Iterable[Url | Table] = (),
        reuse: str = "any",
        locality: Locality = None,
        preset: str | None = None,
        write_memory: int | None = None,
        properties: Mapping[str, Any] | None = None,
        allow: Url | Iterable[Url] = (),
        allow_unpinned: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> Table:
        """A version with other rows; what was before stays in the versions before, and blocks that are the same are not stored again.
        `data` and options are those of `tt.write_table`; what is not said stays as the table has it: `index`, `sequence_by`,
        `order_by`, and the group and the properties of each column that is there again.

            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.overwrite({"time": [0, 1, 2], "lidar.count": [7, 9, 9]})
            >>> table.version, len(table), len(tt.open_table("sweeps@1"))
            (2, 3, 2)

        Raises `Conflict` where another writer committed rows in the meantime.
        """
        from ._change import overwrite
        from ._options import Layout, Options

        layout = Layout(index, groups, sequence_by, order_by, units, presets, required)
        options = Options.of(
            self,
            preset=preset,
            reuse=reuse,
            locality=locality,
            write_memory=write_memory,
            allow_unpinned=allow_unpinned,
            reference=reference,
            allow=allow,
            properties=properties,
        )
        return overwrite(self, data, schema, layout, options, progress)

    def replace_group(
        self,
        name: str,
        data: Data | Iterable[Data],
        *,
        on: str | Sequence[str] | None = None,
        reuse: str = "any",
        locality: Locality = None,
        preset: str | None = None,
        write_memory: int | None = None,
        allow_unpinned: bool = False,
    ) -> Table:
        """A version with other values in the columns of one group; nothing else is written. `data` has one row for each row of the
        table, in its order, or batches of them; or with `on`, index columns that tell which row is which, and rows that are not
        there become null.

            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.replace_group("lidar", {"time": [1, 0], "lidar.count": [5, 6]}, on=["time"])
            >>> tt.row_loader(table).take([0, 1])["lidar.count"].tolist()
            [6, 5]

        Raises `NotFound` for no such group, `Invalid` for missing rows or columns and keys that are not there or there twice,
        `Conflict` where another writer changed the group or the rows.
        """
        from ._change import replace_group
        from ._options import Options

        options = Options.of(
            self, preset=preset, reuse=reuse, locality=locality, write_memory=write_memory, allow_unpinned=allow_unpinned
        )
        return replace_group(self, text("name", name), data, on, options)

    def add_group(
        self,
        name: str,
        data: Data | Iterable[Data],
        *,
        on: str | Sequence[str] | None = None,
        schema: Mapping[str, str] | None = None,
        reuse: str = "any",
        locality: Locality = None,
        preset: str | None = None,
        write_memory: int | None = None,
        allow_unpinned: bool = False,
    ) -> Table:
        """A version with one more column group; rows are given as to `replace_group`, types by `schema` where they should not be
        guessed.

            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.add_group("labels", {"labels.text": ["car", None]})
            >>> tt.row_loader(table)[0]
            {'lidar.count': np.int64(7), 'labels.text': 'car'}

        Raises `Invalid` for names that are there already; as `replace_group`.
        """
        from ._change import add_group
        from ._options import Options

        options = Options.of(
            self, preset=preset, reuse=reuse, locality=locality, write_memory=write_memory, allow_unpinned=allow_unpinned
        )
        return add_group(self, text("name", name), data, on, schema, options)

    def patch(
        self,
        data: Data,
        on: str | Sequence[str],
        *,
        reuse: str = "any",
        locality: Locality = None,
        preset: str | None = None,
        write_memory: int | None = None,
        allow_unpinned: bool = False,
    ) -> Table:
        """A version with other values in some rows, in columns of one group: `data` has these columns and the index columns `on` that
        find the rows. Blocks without such rows stay.

            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.patch({"time": [1], "lidar.count": [10]}, on=["time"])
            >>> tt.row_loader(table).take([0, 1])["lidar.count"].tolist()
            [7, 10]

        Raises `Invalid` for keys that are not there or there twice, and columns of several groups; `Conflict` where another writer
        changed the group.
        """
        from ._change import patch
        from ._options import Options

        options = Options.of(
            self, preset=preset, reuse=reuse, locality=locality, write_memory=write_memory, allow_unpinned=allow_unpinned
        )
        return patch(self, data, on, options)

    def delete(self, rows: pl.Expr | Index | Sequence[int] | Sequence[bool] | Any, *, allow_unpinned: bool = False) -> Table:
        """A version without some rows: row numbers, a mask with a boolean for each row, those of an index of this table, or those for
        which a polars expression is true. No payload is written. `allow_unpinned` is that of `edit`.

            >>> table = tt.Table("drives").delete(pl.col("pedestrians") == 0)
            >>> table.version, len(table)
            (2, 16)

        Raises `Invalid` for a row outside the table, `Conflict` where another writer changed these rows.
        """
        from ._change import delete

        return delete(self, rows, truth("allow_unpinned", allow_unpinned))

    def edit(
        self,
        *,
        rename: Mapping[str, str] | None = None,
        drop: str | Sequence[str] = (),
        properties: Mapping[str, Any] | None = None,
        column_properties: Mapping[str, Mapping[str, Any]] | None = None,
        tags: Mapping[str, int | None] | None = None,
        untag: str | Sequence[str] = (),
        allow_unpinned: bool = False,
    ) -> Table:
        """A version of which other things are said, all changes at once: columns under other names (`rename={"old": "new"}`), without
        columns (`drop`), with properties of the table (`properties`, None takes one back) or of columns (`column_properties`,
        {column: {key: value}}), with names of versions (`tags`, {name: version or None for this one}), without some (`untag`). No
        payload is written.

        A table that this one refers to is told that the new version needs it. One that cannot be told, being read-only, is an error,
        unless that was accepted before: with `allow_unpinned` (or `TETRYS_ALLOW_UNPINNED=1`) it is a `UserWarning`.

            >>> table = tt.Table("drives").edit(rename={"labels.text": "labels.note"}, properties={"license": "CC0"}, tags={"gold": 1})
            >>> table.version, table.properties, tt.open_table("drives@gold").version
            (2, {'license': 'CC0'}, 1)

        Raises `NotFound` for what is not there, `Invalid` for names that are taken and columns that others need, `Conflict` where
        another writer changed the same.
        """
        of_columns = {
            name: members(f"column_properties of `{name}`", said)
            for name, said in members("column_properties", column_properties).items()
        }
        as_json("column_properties", of_columns)
        as_json("properties", members("properties", properties))
        edited = self._native.edit(
            rename={old: text(f"rename of `{old}`", new) for old, new in members("rename", rename).items()},
            drop=texts("drop", drop),
            properties=members("properties", properties),
            column_properties=of_columns,
            tags={name: version if version is None else whole(f"tag `{name}`", version) for name, version in members("tags", tags).items()},
            untag=texts("untag", untag),
            allow_unpinned=truth("allow_unpinned", allow_unpinned),
        )
        return made(edited)

    def drop_columns(self, *columns: str) -> Table:
        """A version without these columns; a column group goes with its last one. As `edit(drop=columns)`.

        >>> [name for name, _ in tt.Table("drives").drop_columns("labels.text").groups]
        ['lidar', 'camera']
        """
        return self.edit(drop=columns)

    def rename_column(self, column: str, name: str) -> Table:
        """A version in which a column has another name. As `edit(rename={column: name})`.

        >>> table = tt.Table("drives").rename_column("labels.text", "labels.note")
        >>> tt.row_loader(table).get_row(0, ["labels.*"])
        {'labels.note': 'row 0'}
        """
        return self.edit(rename={text("column", column): name})

    def set_properties(self, **properties: Any) -> Table:
        """A version that says these things of the table; None takes one back. As `edit(properties={...})`.

        >>> tt.Table("drives").set_properties(license="CC0", rig=3).properties
        {'license': 'CC0', 'rig': 3}
        """
        return self.edit(properties=properties)

    def tag(self, name: str, version: int | None = None) -> Table:
        """A version in which this version, or another one, has a name: `url@NAME` opens it. A name that is there moves.

        >>> tt.Table("drives").tag("gold").tags
        {'gold': 1}
        """
        return self.edit(tags={text("name", name): version})

    def untag(self, *names: str) -> Table:
        """A version in which these names of versions are taken back."""
        return self.edit(untag=names)

    def compact(self, *, segment_rows: int = 4_194_304, allow_unpinned: bool = False) -> Table:
        """A version whose index segments have up to `segment_rows` rows: neighbours are put together, payload stays where it is. The
        same version where nothing can be put together. `allow_unpinned` is that of `edit`.
        """
        return made(self._native.compact(whole("segment_rows", segment_rows, 1), truth("allow_unpinned", allow_unpinned)))

    def materialize(self, *, progress: Callable[[int, int], object] | None = None) -> Table:
        """A version that needs no other table: the chunks that it uses of others are copied, compared with their names, and the ties
        are cut. `progress` is told chunks done and chunks in all.

        Raises `Corrupt` where a chunk is missing or damaged, naming it and its owner.
        """
        return Table._of(self._native.materialize(progress=called(progress)))

    def gc(self, *, keep: int = 0, age: timedelta | None = None, apply: bool = False) -> dict[str, Any]:
        """Collects garbage: what no kept version names is condemned by a version, and what was condemned `age` ago (a timedelta; a
        week) is deleted. Kept are the `keep` newest versions (0: all), those with a tag and those that other tables use. Without
        `apply` nothing is done, and the plan says what would be: a dict with `expired`, `pinned`, `condemn`, `delete`, `sweep`
        ({name: bytes}), `waiting` and `done`.

            >>> plan = tt.Table("drives").gc(keep=3)
            >>> plan["done"], plan["condemn"], plan["delete"]
            (False, {}, {})

        Raises `Conflict` where another writer committed in the meantime, `Corrupt` where what a kept version names cannot be read.
        """
        if age is not None and not isinstance(age, timedelta):
            raise WrongType(f"age: expected a timedelta, found {found(age)}")
        if age is not None and age < timedelta():
            raise Invalid(f"age: {age} is negative")
        return self._native.gc(keep=whole("keep", keep), age=age, apply=truth("apply", apply))

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return repr(self._native)

    def _repr_html_(self) -> str:
        """Its groups and sizes."""
        from ._html import of_table

        return of_table(self)

    def __reduce__(self) -> tuple[Callable[..., Table], tuple[str, list[str]]]:
        """By URL and version."""
        return _restore, (f"{self.url}@{self.version}", self._native.allowed)


def _restore(url: str, allow: list[str]) -> Table:
    return Table(url, allow=allow)


def table_of(what: str, table: object) -> Table:
    if not isinstance(table, Table):
        raise WrongType(f"{what}: expected a Table, found {found(table)}")
    return table


def called(progress: Any) -> Any:
    """Something that can be called, or None."""
    if progress is not None and not callable(progress):
        raise WrongType(f"progress: expected a function, found {found(progress)}")
    return progress


def tell(untold: Iterable[tuple[str, str]]) -> None:
    """Warns of tables to which no pin was written: URL and reason."""
    for url, why in untold:
        reason = f" ({why})" if why else ""
        warnings.warn(f"no pin was written to {url}: a garbage collection there may delete what this table needs{reason}", stacklevel=3)


def made(native: _tetrys.Table) -> Table:
    """Returns a new version as a table. Warns of the tables to which no pin was written."""
    table = Table._of(native)
    tell((url, "") for url in table.lineage.get("not_pinned", ()))
    return table
