"""Handles of table versions, and the methods that publish new ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from . import _change, _tetrys
from ._arguments import Preset, Reuse, Url, as_json, called, members, path_of, text, texts, truth, url_of, urls_of, whole
from ._conditions import needed
from ._errors import WrongType, found
from ._html import of_table
from ._options import DEFAULT_BOUND, Layout, Locality, Options, bound_of, warn_not_pinned
from ._places import Place, StorageOptions, native_table, options_of, place_of
from ._tetrys import Diff, Invalid

if TYPE_CHECKING:
    import polars as pl

    from ._data import Data
    from ._index import Index


class Table:
    """Handle of one version of a table. A version never changes; the methods that write return a handle of a new version.

    Calls that read or write the store may raise `Unavailable` (it does not respond), `Denied` (it refuses access) and `Corrupt`
    (stored bytes fail a check), beside the errors that each method lists.
    """

    _native: _tetrys.Table
    # Options of its store, if the caller passed them: another process opens the table with them.
    _storage: dict[str, str] | None = None

    def __init__(
        self, url: Url, *, allow: Url | Iterable[Url] = (), storage_options: StorageOptions = None, store_options: StorageOptions = None
    ) -> None:
        """Opens a version of the table at `url`.

        Args:
            url: URL or path. `url` opens the newest version, `url@VERSION` a version by number, `url@TAG` a version by tag;
                `url@VERSION/` with a slash is a folder of that name.
            allow: URLs of other stores that references in this table may be followed to; see `tetrys.open_table`.
            storage_options: Options of the store; see `tetrys.open_table`.
            store_options: Another name of `storage_options`.

        Example:
            >>> table = tt.Table("drives")
            >>> table.version, len(table), tt.Table("drives@1").version
            (1, 20, 1)

        Raises:
            NotFound: there is no table at `url`, or no such version or tag.
            Corrupt: the manifest fails its checks.
        """
        address = url_of(url)
        self._storage = options_of(address, storage_options, store_options)
        self._native = native_table((address, self._storage, urls_of("allow", allow)))

    @classmethod
    def _of(cls, native: _tetrys.Table, storage: dict[str, str] | None = None) -> Table:
        made = cls.__new__(cls)
        made._native, made._storage = native, storage
        return made

    def _then(self, native: _tetrys.Table) -> Table:
        """Returns another version of this table, with the options of its store."""
        return Table._of(native, self._storage)

    def _made(self, native: _tetrys.Table) -> Table:
        """Returns a new version of this table. Warns of the tables to which no pin was written."""
        version = self._then(native)
        warn_not_pinned((url, "") for url in version.lineage.get("not_pinned", ()))
        return version

    @property
    def url(self) -> str:
        """URL of the table."""
        return self._native.url

    @property
    def version(self) -> int:
        """Number of this version, from 1."""
        return self._native.version

    @property
    def uuid(self) -> str:
        """UUID of the table, the same in all its versions."""
        return self._native.uuid

    @property
    def tags(self) -> dict[str, int]:
        """Tags recorded in this version: {name: version}."""
        return self._native.tags

    @property
    def lineage(self) -> dict[str, Any]:
        """Operation that made this version, with its writer and parameters, as a dict."""
        return self._native.lineage

    @property
    def preset(self) -> Preset:
        """Codec preset of the table: `fast`, `balanced` or `compact`."""
        return self._native.preset

    @property
    def is_view(self) -> bool:
        """Whether the table is a view: a saved merge, filter or split whose rows are rows of other tables."""
        return self._native.is_view

    @property
    def index_columns(self) -> list[tuple[str, str]]:
        """Index columns: a list of (name, type)."""
        return self._native.index_columns

    @property
    def sequence_by(self) -> list[str]:
        """Index columns that define sequences: consecutive rows with equal values form one sequence."""
        return self._native.sequence_by

    @property
    def order_by(self) -> list[str]:
        """Index columns that order the rows within a sequence."""
        return self._native.order_by

    @property
    def groups(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Column groups: a list of (group, [(column, type), ...])."""
        return self._native.groups

    @property
    def group_sizes(self) -> dict[str, tuple[int, int]]:
        """Bytes of each column group, stored and decoded: {group: (stored, decoded)}."""
        return self._native.group_sizes

    @property
    def properties(self) -> dict[str, Any]:
        """Properties of the table: {key: JSON value}."""
        return self._native.properties

    def column_properties(self, column: str) -> dict[str, Any]:
        """Returns the properties of a column, such as its unit: {key: JSON value}.

        Example:
            >>> tt.Table("drives").column_properties("timestamp")
            {'unit': 'ms'}

        Raises:
            NotFound: the table has no such column.
        """
        return self._native.column_properties(text("column", column))

    def attachment(self, name: str) -> bytes:
        """Reads the bytes of an attachment.

        Raises:
            NotFound: the table has no attachment of this name.
        """
        return self._native.attachment(text("name", name))

    def info(self) -> dict[str, Any]:
        """Returns sizes and counts of this version: the dict that `tetrys info --json` prints. Loads the layouts, not the chunks.

        Example:
            >>> info = tt.Table("drives").info()
            >>> info["rows"], info["sequences"], info["preset"]
            (20, 2, 'balanced')
        """
        return self._native.info()

    def explain_index(self, columns: str | Iterable[str] | None = None, where: str | pl.Expr | None = None) -> dict[str, int]:
        """Returns what `read_index` with these columns and this condition reads: `segments` of the table, `objects` of which
        anything is read, `whole_objects` among them, `row_groups` and `row_groups_read` of the others, `rows` that are decoded,
        `requests`, `bytes`, `late_bytes` among them, and `index_bytes` of the whole index. The late bytes are those of columns that the
        condition does not read, where these are read last: of them, only the pages that have chosen rows are read.

        Example:
            >>> tt.Table("drives").explain_index(where="pedestrians > 300")["objects"]
            0
        """
        patterns, condition, by_row = needed(self, None if columns is None else texts("columns", columns), where)
        return _tetrys.Index.explain(self._native, patterns, condition, by_row.skipped)

    def du(self) -> dict[str, Any]:
        """Returns the disk usage of each version: the dict that `tetrys du --json` prints. Sizes are bytes; versions are newest
        first.

        Example:
            >>> usage = tt.Table("drives").du()
            >>> [(one["version"], one["rows"], one["referenced_bytes"]) for one in usage["versions"]]
            [(1, 20, 0)]
        """
        return self._native.du()

    def versions(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Lists the versions that exist, newest first; with `limit`, only the newest of them.

        Each is a dict with `version`, `parent`, `written_ms` (milliseconds since 1970-01-01 UTC by the clock of the store, or
        None), `operation`, `tags`, `rows`, `sequences`, `bytes_added`, `preset`, `writer` and `manifest_blake3`. On a store
        that cannot list objects, such as a web server, only versions up to this one are returned.

        Raises:
            Invalid: `limit` is less than 1.

        Example:
            >>> table = tt.Table("drives").tag("gold")
            >>> [(one["version"], one["operation"], one["tags"]) for one in table.versions()]
            [(2, 'edit', []), (1, 'create', ['gold'])]
        """
        return self._native.versions(None if limit is None else whole("limit", limit, 1))

    def verify(
        self, *, all_versions: bool = False, sources: bool = False, progress: Callable[[int, int], object] | None = None
    ) -> dict[str, Any]:
        """Reads every byte of this version and checks it against its hashes and checksums, and also the pins of the table.

        Args:
            all_versions: Also check all other versions of the table.
            sources: Of a view, also check the tables that it reads from.
            progress: Called with (bytes done, bytes in total). An exception that it raises is printed and ignored.

        Returns a dict with `objects`, `chunks`, `blocks` and `bytes` (what was read), `damage` (a list of dicts with `object`
        and `problem`; empty if the table is intact) and `not_checked` (versions and tables that were left out). Damage is
        listed, not raised.

        Example:
            >>> tt.Table("drives").verify()["damage"]
            []

        Raises:
            Unavailable, Denied: the store does not respond or refuses access.
        """
        return self._native.verify(
            all_versions=truth("all_versions", all_versions), sources=truth("sources", sources), progress=called(progress)
        )

    def diff(
        self,
        before: Table,
        on: str | Sequence[str] = (),
        *,
        exact: bool = False,
        memory_limit: int | None = None,
        temporary_folder: str | os.PathLike[str] | None = None,
    ) -> Diff:
        """Compares this table with an earlier one by index columns and block hashes. It reads no payload unless `exact` is true.

        Args:
            before: The earlier version, or another table.
            on: Index columns that match rows. Default: the columns of `sequence_by` and `order_by`; without these, row numbers.
            exact: Read and compare rows that share a block with other rows. Without it, all rows of a differing block count as
                changed (see `Diff.is_exact`).
            memory_limit: Bytes up to which keys and hashes are compared in memory. Those of larger tables go through temporary
                files. The default is 2 GiB. A comparison of views also takes 8 bytes of memory for
                each row and source.
            temporary_folder: Folder for temporary files. The default is that of the system.

        Example:
            >>> old = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> print(old.append({"time": [2], "lidar.count": [8]}).diff(old, on=["time"]))
            2 rows -> 3: 1 added, 0 removed, 0 changed, 2 unchanged

        Raises:
            NotFound: a column of `on` is not an index column of both tables.
            Invalid: a column of `on` has different types in the two tables.
            Unavailable: a temporary file cannot be written, as on a full disk.
        """
        return self._native.diff(
            table_of("before", before)._native,
            texts("on", on),
            exact=truth("exact", exact),
            memory_limit=None if memory_limit is None else whole("memory_limit", memory_limit, 0),
            temporary_folder=None if temporary_folder is None else path_of("temporary_folder", temporary_folder),
        )

    def sources(self) -> list[Table]:
        """Opens the table versions that a view reads its rows from, in merge order. Returns an empty list for a table that is no
        view.

        Raises:
            NotFound: a source no longer exists at its URLs, or a different version is there.
            Denied: a source is in a store that is not allowed; see `allow`.
        """
        return [Table._of(source) for source in self._native.sources()]

    def rebind(
        self,
        *urls: Url,
        allow: Url | Iterable[Url] = (),
        allow_unpinned: bool = False,
        storage_options: StorageOptions = None,
        store_options: StorageOptions = None,
    ) -> Table:
        """Publishes a version that looks for its source or referenced tables at these URLs first, then at the previous ones.

        Use it after a table has moved. A table is recognised by its UUID and the hash of the version's manifest.

        Args:
            urls: New locations of the tables.
            allow: URLs of other stores that may be read; see `tetrys.open_table`.
            allow_unpinned: See `edit`.
            storage_options: Options of the stores at `urls`, as for `tetrys.open_table`; default: those that this table was opened with.
            store_options: Another name of `storage_options`.

        Raises:
            NotFound: a URL has none of the table versions that are needed.
            Invalid: this table uses no other table.
            Conflict: this table has a newer version.
            Denied: a pin cannot be written; see `edit`.
        """
        table, places = self.allow(*urls_of("allow", allow))._native, [url_of(url) for url in urls]
        given = options_of(places[0] if places else "", storage_options, store_options)
        storage = self._storage if given is None else given
        return self._made(table.rebind(places, storage, truth("allow_unpinned", allow_unpinned)))

    def allow(self, *urls: Url) -> Table:
        """Returns this version with permission to follow references to these URLs and to everything below them.

        Relative references to neighbouring tables are always followed.
        """
        return Table._of(self._native.allow(*map(url_of, urls)), self._storage)

    def must_allow(self) -> list[str]:
        """Lists the URLs in other stores that a reader of this table must allow. The sources of a view are opened to find theirs,
        as far as possible.

        Example:
            >>> tt.Table("drives").must_allow()
            []
        """
        return self._native.must_allow()

    def append(
        self,
        data: Data | Iterable[Data],
        *,
        reference: Url | Table | Iterable[Url | Table] = (),
        reuse: Reuse = "auto",
        locality: Locality = None,
        preset: Preset | None = None,
        write_memory: int | None = None,
        properties: Mapping[str, Any] | None = None,
        allow: Url | Iterable[Url] = (),
        allow_unpinned: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> Table:
        """Publishes a version with more rows behind the existing ones. Blocks of the last segment are not stored again,
        unless its hashes take over 1 MiB; with `reuse="any"`, neither are those of the whole table and of earlier versions.

        Args:
            data: The rows, as for `tetrys.write_table`. Columns and types are those of the table.
            preset: Codec preset of the new blocks; default: the preset of the table.
            progress: Called with the number of rows written so far.

        The other arguments are those of `tetrys.write_table`.

        Example:
            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.append({"time": [2], "lidar.count": [8]})
            >>> table.version, tt.row_loader(table).take([1, 2])["lidar.count"].tolist()
            (2, [9, 8])

        Raises:
            Invalid: columns are missing, unknown or of another type, or rows continue a sequence that ended earlier in the
                table.
            Unsupported: the table needs a newer writer.
            Conflict: another writer published a conflicting change; reload and retry.
            Denied: a pin cannot be written to a referenced table; see `tetrys.write_table`.
            OutcomeUnknown: the store did not confirm the commit; reload before a retry.
        """
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
        return self._then(_change.append(self, data, options, progress))

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
        presets: Mapping[str, Preset] | None = None,
        required: Sequence[str] | None = None,
        bloom_filters: Sequence[str] | None = None,
        reference: Url | Table | Iterable[Url | Table] = (),
        reuse: Reuse = "auto",
        locality: Locality = None,
        preset: Preset | None = None,
        write_memory: int | None = None,
        properties: Mapping[str, Any] | None = None,
        allow: Url | Iterable[Url] = (),
        allow_unpinned: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> Table:
        """Publishes a version with other rows. Earlier versions keep theirs, and blocks that an earlier version stores are not
        stored again.

        Args:
            data: The rows, as for `tetrys.write_table`.
            index, sequence_by, order_by: Default: those of this table.
            groups: Default: columns that exist in both versions stay in their group.
            schema: Column types, {column: type}; default: those of the first batch.
            units, presets, required, bloom_filters: As for `tetrys.write_table`. Columns that exist in both versions keep their
                properties unless these arguments change them.
            preset: Codec preset of the new blocks; default: the preset of the table.
            progress: Called with the number of rows written so far.

        The other arguments are those of `tetrys.write_table`.

        Example:
            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.overwrite({"time": [0, 1, 2], "lidar.count": [7, 9, 9]})
            >>> table.version, len(table), len(tt.open_table("sweeps@1"))
            (2, 3, 2)

        Raises:
            Invalid: the data or the schema break a rule.
            Unsupported: the table needs a newer writer, or a type is unknown.
            Conflict: another writer changed rows in the meantime; reload and retry.
            Denied: a pin cannot be written to a referenced table; see `tetrys.write_table`.
            OutcomeUnknown: the store did not confirm the commit; reload before a retry.
        """
        layout = Layout(index, groups, sequence_by, order_by, units, presets, required, bloom_filters)
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
        return self._then(_change.overwrite(self, data, schema, layout, options, progress))

    def replace_group(
        self,
        name: str,
        data: Data | Iterable[Data],
        *,
        on: str | Sequence[str] | None = None,
        reuse: Reuse = "auto",
        locality: Locality = None,
        preset: Preset | None = None,
        write_memory: int | None = None,
        allow_unpinned: bool = False,
    ) -> Table:
        """Publishes a version with new values in all columns of one column group. Other groups and the index are not written.

        Args:
            name: The column group.
            data: The columns of the group: one row for each row of the table, in table order, in one or several batches.
            on: Index columns that match rows instead of their order. `data` then also has these columns and comes in one batch;
                table rows without a match become null.

        The other arguments are those of `tetrys.write_table`.

        Example:
            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.replace_group("lidar", {"time": [1, 0], "lidar.count": [5, 6]}, on=["time"])
            >>> tt.row_loader(table).take([0, 1])["lidar.count"].tolist()
            [6, 5]

        Raises:
            NotFound: the table has no such group.
            Invalid: rows or columns are missing, or a key does not exist in the table or exists twice.
            Conflict: another writer changed the group or the rows; reload and retry.
        """
        options = Options.of(
            self, preset=preset, reuse=reuse, locality=locality, write_memory=write_memory, allow_unpinned=allow_unpinned
        )
        return self._made(_change.replace_group(self, text("name", name), data, on, options))

    def add_group(
        self,
        name: str,
        data: Data | Iterable[Data],
        *,
        on: str | Sequence[str] | None = None,
        schema: Mapping[str, str] | None = None,
        reuse: Reuse = "auto",
        locality: Locality = None,
        preset: Preset | None = None,
        write_memory: int | None = None,
        allow_unpinned: bool = False,
    ) -> Table:
        """Publishes a version with one more column group. Existing groups and the index are not written.

        Args:
            name: The new column group.
            data: The columns of the group, as for `replace_group`.
            on: Index columns that match rows instead of their order, as for `replace_group`.
            schema: Column types, {column: type}; default: those of the first batch.

        The other arguments are those of `tetrys.write_table`.

        Example:
            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.add_group("labels", {"labels.text": ["car", None]})
            >>> tt.row_loader(table)[0]
            {'lidar.count': np.int64(7), 'labels.text': 'car'}

        Raises:
            Invalid: the group or a column exists, rows are missing, or a key does not exist in the table or exists twice.
            Unsupported: a type is unknown.
            Conflict: another writer changed the group or the rows; reload and retry.
        """
        options = Options.of(
            self, preset=preset, reuse=reuse, locality=locality, write_memory=write_memory, allow_unpinned=allow_unpinned
        )
        return self._made(_change.add_group(self, text("name", name), data, on, schema, options))

    def patch(
        self,
        data: Data | Iterable[Mapping[str, Any]],
        on: str | Sequence[str],
        *,
        reuse: Reuse = "auto",
        locality: Locality = None,
        preset: Preset | None = None,
        write_memory: int | None = None,
        allow_unpinned: bool = False,
    ) -> Table:
        """Publishes a version with new values in some rows of one column group. Blocks without such rows are reused.

        Args:
            data: One batch with the columns to change, all of one group, and the index columns `on`; or row dicts that all have the
                same columns, `[{"time": 1, "lidar.count": 10}, ..]`.
            on: Index columns that identify the rows.

        The other arguments are those of `tetrys.write_table`.

        Example:
            >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
            >>> table = table.patch({"time": [1], "lidar.count": [10]}, on=["time"])
            >>> tt.row_loader(table).take([0, 1])["lidar.count"].tolist()
            [7, 10]

        Raises:
            Invalid: a key does not exist in the table or exists twice, or the columns belong to several groups.
            Conflict: another writer changed the group; reload and retry.
        """
        options = Options.of(
            self, preset=preset, reuse=reuse, locality=locality, write_memory=write_memory, allow_unpinned=allow_unpinned
        )
        return self._made(_change.patch(self, data, on, options))

    def delete(self, rows: pl.Expr | Index | Sequence[int] | Sequence[bool] | Any, *, allow_unpinned: bool = False) -> Table:
        """Publishes a version without some rows. It writes a new index and no payload. Returns this version if there are no rows to
        delete.

        Args:
            rows: Row numbers, a boolean mask with one value for each row, an `Index` of this table, or a polars expression over
                the index.
            allow_unpinned: See `edit`.

        Example:
            >>> table = tt.Table("drives").delete(pl.col("pedestrians") == 0)
            >>> table.version, len(table)
            (2, 16)

        Raises:
            IndexError (an `Invalid`): a row number is outside the table.
            NotFound: the index is of another table or version, or the expression names a column that does not exist.
            Conflict: another writer changed these rows; reload and retry.
        """
        return self._made(_change.delete(self, rows, truth("allow_unpinned", allow_unpinned)))

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
        """Publishes a version with other names, properties and tags: all changes in one commit. Returns this version if everything is
        already as asked for.

        Args:
            rename: Columns to rename, {old: new}.
            drop: Columns to remove. A group that loses all columns writes nothing; a group that keeps some is read and written
                again.
            properties: Properties of the table to set, {key: JSON value}; None removes one.
            column_properties: Properties of columns to set, {column: {key: JSON value}}; None removes one.
            tags: Tags to set, {name: version number, or None for this version}.
            untag: Tags to remove.
            allow_unpinned: Publish although a table that this version refers to cannot be pinned. A pin is a small object that
                keeps the garbage collection of that table from deleting the chunks that this version needs; it cannot be
                written to a read-only store. Without this argument (or `TETRYS_ALLOW_UNPINNED=1`), that is an error, unless the
                parent version already accepted it; with it, a `UserWarning`.

        Example:
            >>> table = tt.Table("drives").edit(rename={"labels.text": "labels.note"}, properties={"license": "CC0"}, tags={"gold": 1})
            >>> table.version, table.properties, tt.open_table("drives@gold").version
            (2, {'license': 'CC0'}, 1)

        Raises:
            NotFound: a column does not exist, or a version that gets a tag was deleted by a garbage collection.
            Invalid: no change is named, a name is taken, or a dropped column is needed by the schema.
            Conflict: another writer changed the same; reload and retry.
            Denied: a pin cannot be written.
        """
        of_columns = {
            name: members(f"column_properties of `{name}`", values)
            for name, values in members("column_properties", column_properties).items()
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
        return self._made(edited)

    def drop_columns(self, *columns: str) -> Table:
        """Publishes a version without these columns: the same as `edit(drop=columns)`. A group without columns is removed.

        Example:
            >>> [name for name, _ in tt.Table("drives").drop_columns("labels.text").groups]
            ['lidar', 'camera']
        """
        return self.edit(drop=columns)

    def rename_column(self, column: str, name: str) -> Table:
        """Publishes a version in which a column has another name: the same as `edit(rename={column: name})`.

        Example:
            >>> table = tt.Table("drives").rename_column("labels.text", "labels.note")
            >>> tt.row_loader(table).get_row(0, ["labels.*"])
            {'labels.note': 'row 0'}
        """
        return self.edit(rename={text("column", column): name})

    def set_properties(self, **properties: Any) -> Table:
        """Publishes a version with these table properties: the same as `edit(properties={...})`. None removes a property.

        Example:
            >>> tt.Table("drives").set_properties(license="CC0", rig=3).properties
            {'license': 'CC0', 'rig': 3}
        """
        return self.edit(properties=properties)

    def tag(self, name: str, version: int | None = None) -> Table:
        """Publishes a version that tags a version, by default this one. `url@NAME` then opens it. An existing tag of this name
        moves.

        Example:
            >>> tt.Table("drives").tag("gold").tags
            {'gold': 1}
        """
        return self.edit(tags={text("name", name): version})

    def untag(self, *names: str) -> Table:
        """Publishes a version without these tags. The tagged versions stay."""
        return self.edit(untag=names)

    def restore(self, version: int, *, allow_unpinned: bool = False) -> Table:
        """Publishes a version with the content of an earlier one: its rows, columns, properties and attachments. Call it on the
        newest version.

        No payload is read or copied. The tags and the versions in between stay, so a restore can be taken back by another one.

        Args:
            version: Number of the version to restore.
            allow_unpinned: See `edit`.

        Returns this version if it has that content already.

        Example:
            >>> table = tt.Table("drives").delete(pl.col("pedestrians") == 0)
            >>> restored = table.restore(1)
            >>> len(table), restored.version, len(restored)
            (16, 3, 20)

        Raises:
            NotFound: there was no such version, or a garbage collection has deleted it.
            Conflict: another writer committed since this version was opened; reload and retry.
            Denied: a pin cannot be written to a table that the earlier version uses.
        """
        return self._made(self._native.restore(whole("version", version, 1), truth("allow_unpinned", allow_unpinned)))

    def compact(self, *, segment_rows: int = 4_194_304, runs: bool | Locality = False, allow_unpinned: bool = False) -> Table:
        """Publishes a version that merges small neighbouring index segments. By default, payload is neither read nor copied.

        Args:
            segment_rows: Largest number of rows of a merged segment.
            runs: Also copies scattered blocks of neighbouring rows side by side into new chunks, until every window is nearly as
                cheap as in a table that was written at once: `True` for the default bound, or a bound as in
                `write_table(locality=..)`: rows of the widest window, extra ranges, percent of its bytes (`(16, 1, 150)`).
            allow_unpinned: See `edit`.

        Returns this version if there is nothing to do.

        Example:
            >>> drives = tt.open_table("drives")
            >>> drives.compact(runs=(32, 1, 120)).version == drives.version
            True

        Raises:
            Conflict: another writer changed rows; reload and retry.
        """
        bound = None if runs is False else bound_of("runs", DEFAULT_BOUND if runs is True else runs)
        compacted = self._native.compact(whole("segment_rows", segment_rows, 1), bound, truth("allow_unpinned", allow_unpinned))
        return self._made(compacted)

    def materialize(self, *, progress: Callable[[int, int], object] | None = None) -> Table:
        """Publishes a version that needs no other table: copies the chunks that it uses from other tables and verifies their
        hashes.

        Args:
            progress: Called with (chunks done, chunks in total). An exception that it raises is printed and ignored.

        Raises:
            Unsupported: the table is a view.
            Corrupt: a chunk is missing or damaged; the message names the chunk and its table.
            Conflict: another writer changed the same; reload and retry.
        """
        return Table._of(self._native.materialize(progress=called(progress)), self._storage)

    def gc(self, *, keep: int = 0, age: timedelta | None = None, apply: bool = False) -> dict[str, Any]:
        """Collects garbage in two steps: a call condemns objects that no kept version names, and a call at least `age` later
        deletes them.

        Kept are the `keep` newest versions, versions with a tag, and versions that other tables have pinned. A version that a
        garbage collection made does not count: it is kept as long as the version whose rows it repeats. Only files whose names a
        writer of tables makes are deleted. A copy of a table that lacks its newest manifests looks like an older table with objects
        that nobody needs: complete a copy before you collect its garbage.

        Args:
            keep: Number of newest versions to keep; 0 keeps all.
            age: Time between giving up and deleting; default one week. Younger objects are never deleted. Use at least an hour
                while others write or read. A change or session that pauses for longer may have to be made again.
            apply: Carry out the plan. Without it, the call is a dry run.

        Returns the plan, a dict with `expired` and `pinned` (versions), `condemn`, `delete` and `sweep` ({name: bytes}),
        `waiting` (objects that are too young), `open_sessions` (ids of write sessions for which it waits), `until_ms` (the earliest
        time of the next deletion, in milliseconds since 1970, or None) and `done`.

        Example:
            >>> plan = tt.Table("drives").gc(keep=3)
            >>> plan["done"], plan["condemn"], plan["delete"]
            (False, {}, {})

        Raises:
            Conflict: other writers committed repeatedly in the meantime; retry.
            Corrupt: an object that a kept version names cannot be read. Nothing is deleted then.
            Denied: a pin cannot be written to a table that this one uses, or a folder of the table is a symbolic link.
            Unsupported: a version was written by a later build that must collect the garbage.
        """
        return self._native.gc(keep=whole("keep", keep), age=_age(age), apply=truth("apply", apply))

    def give_up(self, version: int) -> None:
        """Gives up a version whose manifest is damaged, so that `gc` can go on. The next collections delete the manifest, and what this
        version alone names. Restore the manifest from a copy instead if there is one.

        Args:
            version: Number of the damaged version; not the newest.

        Raises:
            Invalid: the manifest is sound, or it is that of the newest version.
            Conflict: the version has a tag, or another table uses it.
            NotFound: there is no such version.
        """
        self._native.give_up(whole("version", version, 1))

    @staticmethod
    def collect_abandoned(
        url: Url,
        *,
        age: timedelta | None = None,
        apply: bool = False,
        storage_options: StorageOptions = None,
        store_options: StorageOptions = None,
    ) -> dict[str, Any]:
        """Deletes what writers left that started a first version at `url` and never committed it. There must be no manifest.

        A copy of a table to which its manifests were not copied yet looks the same, and is deleted too.

        Args:
            url: URL or path of the table that was never committed.
            age: Nothing is deleted if a part of it is younger; default one week.
            apply: Carry out the plan. Without it, the call is a dry run.
            storage_options: Options of the store; see `tetrys.open_table`.
            store_options: Another name of `storage_options`.

        Returns the plan, a dict with `sweep` ({name: bytes}), `waiting` (objects, if one of them is too young) and `done`.

        Example:
            >>> try:
            ...     tt.Table.collect_abandoned("drives")
            ... except tt.Exists:
            ...     print("there is a table")
            there is a table

        Raises:
            Exists: there is a table.
            NotFound: there is nothing that a writer left.
            Conflict: a writer wrote something meanwhile.
            Denied: a folder at `url` is a symbolic link.
        """
        place = place_of(url_of(url), storage_options, (), store_options)
        return _tetrys.Table.collect_abandoned(place, age=_age(age), apply=truth("apply", apply))

    @staticmethod
    def resolve(
        url: Url,
        version: int,
        commit: str,
        *,
        rule_out: bool = False,
        storage_options: StorageOptions = None,
        store_options: StorageOptions = None,
    ) -> str:
        """Tells what became of a commit that raised `OutcomeUnknown`. The message of that error has the version and the id.

        Args:
            url: URL or path of the table.
            version: The version that the commit was to make.
            commit: The id of the commit, as 6c0e2c61-7b5b-4f0c-9a0e-2f6a4f4d0a3b.
            rule_out: If there is no such version yet, commit an empty one, so that this commit cannot arrive any more.
            storage_options: Options of the store; see `tetrys.open_table`.
            store_options: Another name of `storage_options`.

        Returns one of these texts:
            - "committed": the change is in the table; do not repeat it.
            - "not_committed": another commit made this version, and this one never will; repeat the change.
            - "open": there is no such version yet, and a request that is under way may make it. Not with `rule_out`, except for
              version 1.
            - "cannot_tell": this version, or one after it, was deleted.

        Example:
            >>> tt.Table.resolve("drives", 2, "6c0e2c61-7b5b-4f0c-9a0e-2f6a4f4d0a3b")
            'open'

        Raises:
            NotFound: there is no table.
            Invalid: `rule_out` for a version that is not the next one.
            OutcomeUnknown: the store does not answer; try again.
        """
        number = whole("version", version, 1)
        place = place_of(url_of(url), storage_options, (), store_options)
        return _tetrys.Table.resolve(place, number, text("commit", commit), truth("rule_out", rule_out))

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return repr(self._native)

    def _repr_html_(self) -> str:
        """Shows the column groups and their sizes in notebooks."""
        return of_table(self)

    def __reduce__(self) -> tuple[Callable[..., Table], tuple[str, list[str], dict[str, str] | None]]:
        """Pickles the URL, the version, the allowed URLs, and the options of the store that the caller passed."""
        return _restore, (f"{self.url}@{self.version}", self._native.allowed, self._storage)


def _age(age: object) -> timedelta | None:
    if age is not None and not isinstance(age, timedelta):
        raise WrongType(f"age: expected a timedelta, found {found(age)}")
    if age is not None and age < timedelta():
        raise Invalid(f"age: {age} is negative")
    return age


def _restore(url: str, allow: list[str], storage: dict[str, str] | None = None) -> Table:
    return Table(url, allow=allow, storage_options=storage)


def opened(place: Place) -> Table:
    """Opens a table in a store with options."""
    return Table._of(_tetrys.cluster_open(place), place[1])


def table_of(what: str, table: object) -> Table:
    if not isinstance(table, Table):
        raise WrongType(f"{what}: expected a Table, found {found(table)}")
    return table
