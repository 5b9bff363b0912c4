"""Reads rows, and windows of neighbouring rows, of one version of a table. Only the bytes that are asked for are read, and each is checked."""

import fnmatch
import operator
import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ._blocks import TEXTS, directory, directory_len, page, seed_of
from ._errors import Error, NotFound, require
from ._manifest import TAG, Schema, check_segments, check_view, name_of, parse_manifest
from ._objects import objects_at
from ._places import is_owner, newest_version, read_group
from ._segment import read_index, read_join, read_lists

# Ranges of one chunk that lie this close are read as one, up to this size.
GAP, TOGETHER = 4_096, 64 << 20


class Column(NamedTuple):
    name: str
    type: str
    #: The column group that stores the column, or `index`.
    place: str


def open_table(url, version=None, allow=()):
    """Opens a table: a folder, `file://` or `http(s)://`. `URL@3` is version 3, `URL@gold` the version with the tag `gold`, and `URL`
    alone the newest. A web server gives no listings, so a URL there needs a version. A table may use chunks or rows of other tables by
    absolute URLs, which are followed only where `allow` lists them.
    """
    named = re.fullmatch(r"(.+)@([A-Za-z0-9._-]{1,64})", str(url), re.DOTALL)
    root, name = (named[1], named[2]) if named and version is None else (str(url), version)
    objects = objects_at(root, allow)
    if name is None:
        name = newest_version(objects)
    elif isinstance(name, str) and TAG.match(name):
        newest = newest_version(objects)
        tags = parse_manifest(objects.get(name_of(newest)), newest)[0].get("tags", {})
        require(name in tags, f"{root}: no tag `{name}`, found {sorted(tags)}", NotFound)
        name = tags[name]
    require(str(name).isdecimal(), f"{root}: expected the number of a version or a tag, found {name!r}", Error)
    return Table(objects, int(name))


class Table:
    """One version of a table. See `open_table`."""

    def __init__(self, objects, version):
        self.objects, self.version = objects, version
        require(1 <= version < 1 << 64, f"{objects.root}: no version {version}", NotFound)
        name = name_of(version)
        known = objects.manifests()
        if known is not None and name.split("/")[1] not in known:
            found = [2**64 - 1 - int(other[:20]) for other in reversed(known)]
            raise NotFound(f"{objects.root}: no version {version}, found {found[-20:] or 'no table'}")
        self.manifest, self.hash = parse_manifest(objects.get(name), version)
        self.schema = Schema(self.manifest["schema"])
        check_segments(self.manifest, self.schema)
        self.rows, self.sequences = self.manifest["rows"], self.manifest["sequences"]
        self._ends = np.cumsum([segment["rows"] for segment in self.manifest["segments"]], dtype=np.int64)
        self._indexes, self._layouts, self._runs, self._owners = {}, {}, {}, {}
        self._view = View(self) if "view" in self.manifest else None
        self.columns = self._view.columns() if self._view else self._own_columns()

    def __repr__(self):
        return f"Table({self.objects.root}@{self.version}: {self.rows} rows, {self.sequences} sequences, {len(self.columns)} columns)"

    def _own_columns(self):
        places = {}
        for name, ids, masked in self.schema.groups:
            for column in ids:
                if column not in masked:
                    places.setdefault(column, name)
        return [Column(name, kind.text, places.get(column, "index")) for column, (name, kind) in self.schema.columns.items()]

    # -------------------------------------------------------------------------------------------- what users call

    def index(self):
        """The small columns of all rows as a pyarrow table."""
        names = [column.name for column in self.columns if column.place == "index"]
        parts = {name: [] for name in names}
        for segment in range(len(self._ends)):
            columns, _ = self._index(segment)
            for name, part in parts.items():
                kind, column = columns[name]
                part.append(arrow_column(kind, column))
        kinds = {name: kind for name, kind in self.schema.columns.values()}
        return pa.table({name: pa.chunked_array(part, arrow_type(kinds[name])) for name, part in parts.items()})

    def get_row(self, row, columns=None):
        """One row: a dictionary of its columns, or of those that match a name or pattern of `columns`, as `["camera.*"]`."""
        return self.take([row], columns)[0]

    def take(self, rows, columns=None):
        """Rows by their numbers, in the order given: a list of dictionaries."""
        rows, names = [self._row(row) for row in rows], self._names(columns)
        found = self._view.values(names, rows) if self._view else self._values(names, rows)
        return [{name: found[name][number] for name in names} for number in range(len(rows))]

    def get_rows(self, row, offsets, columns=None):
        """A window: the rows at these offsets around a row, as `range(-5, 1)`. None stands where the sequence of the row has no row.

        Over a view, a window follows the rows of the table behind the view, and has the columns of its column groups alone.
        """
        row, offsets = self._row(row), [operator.index(offset) for offset in offsets]
        names = self._names(columns, without_index=self._view is not None)
        if self._view:
            return self._view.window(names, row, offsets)
        places = self._window(row, offsets)
        found = self._values(names, [place for place in places if place is not None])
        dictionaries = iter([dict(zip(names, values)) for values in zip(*(found[name] for name in names))])
        return [None if place is None else next(dictionaries) for place in places]

    # -------------------------------------------------------------------------------------------- rows and columns

    def _row(self, row):
        try:
            row = operator.index(row)
        except TypeError:
            raise Error(f"expected the number of a row, found {row!r}") from None
        require(0 <= row < self.rows, f"{self.objects.root}: no row {row}, the table has {self.rows} rows", NotFound)
        return row

    def _names(self, patterns, without_index=False):
        names = [column.name for column in self.columns if not (without_index and column.place == "index")]
        if patterns is None:
            return names
        patterns, chosen = [patterns] if isinstance(patterns, str) else patterns, set()
        for pattern in patterns:
            matching = [name for name in names if name == pattern] or fnmatch.filter(names, pattern)
            require(matching, f"{self.objects.root}: no column `{pattern}`, found {names[:50]}", NotFound)
            chosen.update(matching)
        return [name for name in names if name in chosen]

    def _segment(self, row):
        """The segment that has a row, and the row's number there."""
        segment = int(np.searchsorted(self._ends, row, side="right"))
        return segment, row - int(self._ends[segment]) + self.manifest["segments"][segment]["rows"]

    def _index(self, number):
        """The index columns of a segment by name, as (type, Arrow column), and the rows of each run of a sequence."""
        if number not in self._indexes:
            segment = self.manifest["segments"][number]
            wanted = [self.schema.columns[column] for column in self.schema.index]
            what = f"index/{segment['index']['blake3']}.parquet"
            columns, runs = read_index(self.objects.referenced("index", segment["index"]), wanted, segment["rows"], what)
            require(len(runs) == segment["sequences"], f"{what}: {len(runs)} runs, the manifest says {segment['sequences']}")
            self._indexes[number] = {name: (kind, column) for (name, kind), column in zip(wanted, columns)}, np.cumsum(runs)
        return self._indexes[number]

    def _window(self, row, offsets):
        """The rows at these offsets, None outside the sequence of the row."""
        segments, (segment, inside) = self.manifest["segments"], self._segment(row)
        ends = self._index(segment)[1]
        run = int(np.searchsorted(ends, inside, side="right"))
        first = segments[segment]["first_row"] + (int(ends[run - 1]) if run else 0)
        last, before, behind = segments[segment]["first_row"] + int(ends[run]), segment, segment
        # A sequence may begin in a segment before this one, and end in one behind it.
        while run == 0 and segments[before]["continues"]:
            before -= 1
            ends = self._index(before)[1]
            run, start = len(ends) - 1, segments[before]["first_row"]
            first = start + (int(ends[run - 1]) if run else 0)
        while last == int(self._ends[behind]) and behind + 1 < len(segments) and segments[behind + 1]["continues"]:
            behind += 1
            last = segments[behind]["first_row"] + int(self._index(behind)[1][0])
        return [row + offset if first <= row + offset < last else None for offset in offsets]

    def _values(self, names, rows):
        """By name, the values at these rows."""
        found, of_groups, ids = {}, {}, {name: column for column, (name, _) in self.schema.columns.items()}
        places = {column.name: column.place for column in self.columns} if not self._view else {}
        for name in names:
            column, place = ids[name], places.get(name, "index")
            if place == "index":
                found[name] = [self._index_value(name, row) for row in rows]
            else:
                number, group = next((number, group) for number, group in enumerate(self.schema.groups) if group[0] == place)
                of_groups.setdefault(number, {})[group[1].index(column)] = name
        for number, positions in of_groups.items():
            for position, values in self._group(number, sorted(positions), rows).items():
                found[positions[position]] = values
        return found

    def _index_value(self, name, row):
        segment, inside = self._segment(row)
        kind, column = self._index(segment)[0][name]
        if not column[inside].is_valid:
            return None
        if kind.leaf in TEXTS:
            return column[inside].as_py()
        value = column.slice(inside, 1).to_numpy(zero_copy_only=False)
        return (value.astype(np.int64).view(kind.time) if kind.time else value)[0]

    # -------------------------------------------------------------------------------------------- blocks

    def _group(self, number, positions, rows):
        """By position in the group, the values at these rows."""
        wanted = {}
        for place, row in enumerate(rows):
            segment, inside = self._segment(row)
            layout = self._layout(segment, number)
            run = int(np.searchsorted(layout.ends, inside, side="right"))
            starts = self._run(segment, number, run)[1]
            inside -= int(layout.ends[run - 1]) if run else 0
            block = int(np.searchsorted(starts, inside, side="right")) - 1
            wanted.setdefault((segment, run, block), []).append((place, inside - int(starts[block])))
        pieces = [piece for block in wanted for piece in self._pieces(number, positions, block)]
        values = {position: [None] * len(rows) for position in positions}
        for owner, chunk, start, end, parts in together(pieces):
            data = self._range(owner, chunk, start, end)
            for part in parts:
                for position, found in part.decode(data[part.start - start : part.end - start]).items():
                    for place, inside in wanted[part.block]:
                        values[position][place] = found[inside]
        return values

    def _layout(self, segment, number):
        if (segment, number) not in self._layouts:
            of, (name, columns, _) = self.manifest["segments"][segment], self.schema.groups[number]
            group = of["groups"][number]
            what = f"layout/{group['layout']['blake3']}.parquet (group `{name}`)"
            self._layouts[segment, number] = read_group(self.objects, group, len(columns), of["rows"], what, len(self.manifest["stores"]))
        return self._layouts[segment, number]

    def _run(self, segment, number, run):
        """A run of blocks, the first row of each block within it, and the offset of each block in the chunk."""
        key = segment, number, run
        if key not in self._runs:
            if len(self._runs) > 1_000:
                self._runs.clear()
            found = self._layout(segment, number).run(run)
            starts, offsets = np.cumsum(found["block_rows"]) - found["block_rows"], np.cumsum(found["lengths"]) - found["lengths"]
            self._runs[key] = found, starts, offsets + found["first_offset"]
        return self._runs[key]

    def _pieces(self, number, positions, place):
        """The ranges to read of a block: its pages where the layout says where they are, else all of it."""
        segment, run, block = place
        (found, _, offsets), (_, columns, _) = self._run(segment, number, run), self.schema.groups[number]
        columns = [(f"`{self.schema.columns[column][0]}`", self.schema.columns[column][1]) for column in columns]
        chunk, ordinal, rows = found["chunk"].hex(), found["first_block"] + block, int(found["block_rows"][block])
        start, length = int(offsets[block]), int(found["lengths"][block])
        what = f"chunks/{chunk[:2]}/{chunk}: block {ordinal} at {start}..{start + length}"

        def decoded(position, data):
            name, kind = columns[position]
            read = page(data, kind, found["chains"][position], rows, seed_of(found["seed"], ordinal, position + 1), f"{what}, page {position} ({name})")
            return read.parsed.values(read.values)

        def from_block(data):
            found_rows, lens = directory(data, len(columns), found["seed"], ordinal, what)
            require(found_rows == rows, f"{what}: {found_rows} rows, the layout says {rows}")
            ends = np.cumsum(lens) + directory_len(len(columns))
            require(ends[-1] == length, f"{what}: pages end at {ends[-1]}, the block has {length} bytes")
            return {position: decoded(position, data[int(ends[position]) - lens[position] : int(ends[position])]) for position in positions}

        if found["page_lengths"] is None:
            return [Piece(found["owner"], chunk, start, start + length, place, from_block)]
        lens = [int(pages[block]) for pages in found["page_lengths"]]
        at = [start + directory_len(len(columns)) + sum(lens[:position]) for position in positions]
        from_page = [lambda data, position=position: {position: decoded(position, data)} for position in positions]
        return [Piece(found["owner"], chunk, first, first + lens[position], place, decode) for position, first, decode in zip(positions, at, from_page)]

    def _range(self, owner, chunk, start, end):
        """Bytes of a chunk below this root, or below that of its owner; roots are tried in the order given."""
        name = f"chunks/{chunk[:2]}/{chunk}"
        if owner == 0:
            return self.objects.range(name, start, end)
        for root in self._roots(owner):
            try:
                return root.range(name, start, end)
            except NotFound:
                continue
        raise NotFound(f"{name}: at no root of its table, {[root.root for root in self._roots(owner)]}")

    def _roots(self, owner):
        """The roots of a table that this one uses."""
        if owner not in self._owners:
            store = self.manifest["stores"][owner - 1]
            roots = [root for root in map(self.objects.neighbour, store["urls"]) if root is not None]
            self._owners[owner] = [root for root in roots if is_owner(root, store)]
            require(
                self._owners[owner],
                f"{self.objects.root} uses version {store['version']} of the table {store['table']}, which is not at {store['urls']}, or "
                "only at an absolute URL that `allow` does not list",
                NotFound,
            )
        return self._owners[owner]


class Piece(NamedTuple):
    """A range of a chunk, which has pages of a block."""

    owner: int
    chunk: str
    start: int
    end: int
    block: tuple
    decode: object


def together(pieces):
    """Ranges that are read as one, as (owner, chunk, start, end, pieces)."""
    found = []
    for piece in sorted(pieces, key=lambda piece: piece[:4]):
        if found:
            owner, chunk, start, end, parts = found[-1]
            if (owner, chunk) == piece[:2] and piece.start - end <= GAP and piece.end - start <= TOGETHER:
                found[-1] = owner, chunk, start, max(end, piece.end), [*parts, piece]
                continue
        found.append((*piece[:4], [piece]))
    return found


# ------------------------------------------------------------------------------------------------ format-spec/views.md


class View:
    """The rows of a view: rows of the tables behind it."""

    def __init__(self, table):
        self.table, self.types, self.sources = table, check_view(table.manifest, table.schema), table.manifest["view"]["sources"]
        self.tables, self.joins, self.lists = {}, {}, {}

    def columns(self):
        row_columns = {source["row"] for source in self.sources}
        own = [self.table.schema.columns[column] for column in self.table.schema.index if column not in row_columns]
        names = {name for name, _ in own}
        groups = [Column(name, text, "of a source") for name, text in self.types.items() if name not in names]
        return [Column(name, kind.text, "index") for name, kind in own] + groups

    def _source(self, number):
        """The table behind a source."""
        source = self.sources[number]
        if source["store"] not in self.tables:
            store = self.table.manifest["stores"][source["store"] - 1]
            behind = Table(self.table._roots(source["store"])[0], store["version"])
            require(behind.hash == store["blake3"], f"source {number}: version {store['version']} of another table")
            require(behind._view is None, f"source {number}: a view")
            self.tables[source["store"]] = behind
        behind = self.tables[source["store"]]
        require(source["rows"] == behind.rows, f"source {number}: {behind.rows} rows, the view says {source['rows']}")
        for column in source["columns"]:
            _, kind = behind.schema.columns.get(column["id"], ("", None))
            require(kind is not None and column["id"] not in behind.schema.index, f"source {number}: no group column {column['id']}")
            require(kind.text == column["type"], f"source {number}: column {column['id']} is {kind.text}, the view says {column['type']}")
        return behind

    def _row_of(self, number, row):
        """The row of a source that belongs to a row of the view, or -1."""
        name = self.table.schema.columns[self.sources[number]["row"]][0]
        found = self.table._index_value(name, row)
        require(found is not None and -1 <= found < self.sources[number]["rows"], f"source {number}: row {found} of {self.sources[number]['rows']}")
        return int(found)

    def _map(self, number, member, kind):
        """A join map or the lists of a source."""
        source, maps = self.sources[number], {"join": self.joins, "lists": self.lists}[member]
        if number not in maps:
            what = f"joins/{source[member]['blake3']}.parquet (source {number})"
            data = self.table.objects.referenced("joins", source[member])
            maps[number] = kind(data, what)
        return maps[number]

    def _read(self, number, names, rows):
        """By name, the values of a source at rows of it; -1 gives no value."""
        source, behind = self.sources[number], self._source(number)
        ids = {column["name"]: column["id"] for column in source["columns"]}
        theirs = {name: behind.schema.columns[ids[name]][0] for name in names}
        there = [row for row in rows if row >= 0]
        if source["lists"]:
            firsts = self._map(number, "lists", lambda data, what: read_lists(data, source["rows"], what))
            members = [np.flatnonzero(firsts == row).tolist() for row in there]
            require(all(members), f"source {number}: a row that begins no list")
            flat = behind._values(list(theirs.values()), [row for rows in members for row in rows])
            values = {}
            for name, theirs_name in theirs.items():
                left = iter(flat[theirs_name])
                values[name] = [[next(left) for _ in rows] for rows in members]
        else:
            found = behind._values(list(theirs.values()), there)
            values = {name: found[theirs_name] for name, theirs_name in theirs.items()}
        filled = {}
        for name in names:
            left = iter(values[name])
            filled[name] = [next(left) if row >= 0 else None for row in rows]
        return filled

    def _merged(self, names, rows_of, count):
        """By name, values at places; each place takes its value from the first source that has a row there. `rows_of`: by source."""
        found, taken = {name: [None] * count for name in names}, {name: [False] * count for name in names}
        for number, rows in rows_of.items():
            columns = {column["name"] for column in self.sources[number]["columns"]}
            here = [name for name in names if name in columns]
            for name, values in (self._read(number, here, rows) if here else {}).items():
                for place, (row, value) in enumerate(zip(rows, values)):
                    if row >= 0 and not taken[name][place]:
                        taken[name][place], found[name][place] = True, value
        return found

    def values(self, names, rows):
        """By name, the values at rows of the view."""
        own = {column.name for column in self.table.columns if column.place == "index"}
        found = self.table._values([name for name in names if name in own], rows)
        rows_of = {number: [self._row_of(number, row) for row in rows] for number in range(len(self.sources))}
        return found | self._merged([name for name in names if name not in own], rows_of, len(rows))

    def window(self, names, row, offsets):
        """A window around a row of the view: rows of the base, and their partners by the join maps."""
        here = [self._row_of(number, row) for number in range(len(self.sources))]
        base = next((number for number, source in enumerate(self.sources) if source["base"] == number and here[number] >= 0), None)
        require(base is not None, f"row {row}: no table behind the view has a row here that a window could follow", Error)
        places = self._source(base)._window(here[base], offsets)
        middle = np.array([-1 if place is None else place for place in places], np.int64)
        rows_of, elsewhere = {}, set()
        for number, source in enumerate(self.sources):
            if number == base:
                rows_of[number] = middle.tolist()
            elif source["base"] == base:
                left, right = self.sources[base]["rows"], source["rows"]
                join = self._map(number, "join", lambda data, what: read_join(data, left, right, what))
                rows_of[number] = np.where(middle >= 0, join[np.maximum(middle, 0)], -1).tolist()
            elif here[number] >= 0:
                elsewhere |= {column["name"] for column in source["columns"]}
        names_there = {column["name"] for number in rows_of for column in self.sources[number]["columns"]}
        lost = sorted((set(names) & elsewhere) - names_there)
        require(not lost, f"row {row}: the window follows source {base}, and {lost} are of another table; choose other columns", Error)
        found = self._merged(names, rows_of, len(offsets))
        return [None if place is None else {name: found[name][number] for name in names} for number, place in enumerate(places)]


# ------------------------------------------------------------------------------------------------ Arrow


def arrow_type(kind):
    """The Arrow type of an index column."""
    if kind.leaf in TEXTS:
        return pa.large_string()
    if kind.leaf == "date":
        return pa.date32()
    if kind.unit:
        return pa.duration(kind.unit) if kind.leaf.startswith("duration") else pa.timestamp(kind.unit, kind.zone)
    return pa.bool_() if kind.scalar == "bool" else pa.from_numpy_dtype(kind.dtype)


def arrow_column(kind, column):
    return column.view(arrow_type(kind)) if kind.time else column
