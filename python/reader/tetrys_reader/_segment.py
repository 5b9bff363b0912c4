"""Index, layout, hashes, join maps and lists: the Parquet objects of format-spec/segment.md, joins.md and views.md."""

import math
import re
import struct

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ._blocks import GIB, TEXTS, UNITS, directory_len, lengths
from ._codecs import chain
from ._cursor import Cursor
from ._errors import Refused, require
from ._manifest import MAX_SEGMENT_ROWS
from ._parquet import parquet

# ------------------------------------------------------------------------------------------------ format-spec/segment.md


def annotation_of(kind):
    """Physical type and annotations that a column of the index may have, and the Arrow type of its plain values."""
    integer = re.fullmatch("([iu])(8|16|32|64)", kind.leaf)
    if integer:
        bits, signed = int(integer[2]), integer[1] == "i"
        annotation = {"Type": "Int", "bitWidth": bits, "isSigned": signed}
        return (
            "INT64" if bits == 64 else "INT32",
            [annotation] + [{"Type": "None"}] * (kind.leaf in ("i32", "i64")),
            getattr(pa, f"{integer[1].replace('i', 'int').replace('u', 'uint')}{bits}")(),
        )
    if kind.unit:
        unit = dict(zip(UNITS, (None, "milliseconds", "microseconds", "nanoseconds")))[kind.unit]
        if kind.leaf.startswith("duration") or unit is None:
            return "INT64", [{"Type": "None"}], pa.int64()
        return "INT64", [{"Type": "Timestamp", "isAdjustedToUTC": kind.zone is not None, "timeUnit": unit}], pa.int64()
    return {
        "bool": ("BOOLEAN", [{"Type": "None"}], pa.bool_()),
        "f32": ("FLOAT", [{"Type": "None"}], pa.float32()),
        "f64": ("DOUBLE", [{"Type": "None"}], pa.float64()),
        "date": ("INT32", [{"Type": "Date"}], pa.int32()),
        "utf8": ("BYTE_ARRAY", [{"Type": "String"}], pa.large_string()),
    }["utf8" if kind.leaf in TEXTS else kind.leaf]


def read_index(data, wanted, rows, what):
    """The index columns as Arrow has them, times as integers; and the rows of each run of a sequence."""
    metadata, table, columns = parquet(data, rows, what)
    require(len(columns) == len(wanted), f"{what}: {len(columns)} columns, expected {len(wanted)}")
    found_columns = []
    for number, ((name, kind), (found, physical, _, annotation, required, flat)) in enumerate(zip(wanted, columns)):
        expected, annotations, plain = annotation_of(kind)
        given = {key: value for key, value in annotation.items() if key in ("Type", "bitWidth", "isSigned", "isAdjustedToUTC", "timeUnit")}
        require(found == name and flat and not required, f"{what}: column `{found}`, expected an optional `{name}`")
        require(physical == expected and given in annotations, f"{what}: `{name}` ({kind.text}) is {physical} {given}")
        # The file may carry an Arrow schema that claims zones, units or dictionaries; it says nothing here.
        try:
            if kind.leaf in TEXTS:
                found_columns.append(texts(table.column(number), rows, f"{what}: `{name}`"))
            else:
                found_columns.append(table.column(number).combine_chunks().cast(plain))
        except (pa.ArrowException, ValueError) as error:
            raise Refused(f"{what}: `{name}`: {error}") from None
    text = (metadata.metadata or {}).get(b"tetrys.sequences", b"")
    require(re.fullmatch(rb"([0-9a-f]{2})+", text), f"{what}: no tetrys.sequences")
    cursor = Cursor(bytes.fromhex(text.decode()), f"{what}: tetrys.sequences")
    count = cursor.number(8)
    require(1 <= count <= rows, f"{what}: {count} runs in {rows} rows")
    runs = lengths(cursor, count)
    cursor.end()
    require(runs.min() >= 1 and runs.sum() == rows, f"{what}: runs of {runs.sum()} rows")
    return found_columns, runs


def texts(column, rows, what):
    """A column of dictionaries as text; no more of it than the format allows is repeated."""
    parts, size = [], 0
    for part in column.chunks:
        words = part.dictionary.cast(pa.large_binary())
        sizes = pc.binary_length(words).cast(pa.int64())
        require((pc.max(sizes).as_py() or 0) <= 65_536, f"{what}: a text of more than 65,536 bytes")
        size += pc.sum(sizes.take(part.indices)).as_py() or 0
        require(size <= 2**24 + 1_024 * rows, f"{what}: more than {2**24 + 1_024 * rows} bytes of text in {rows} rows")
        # The cast checks that the bytes are text.
        parts.append(words.cast(pa.large_string()).take(part.indices))
    return pa.concat_arrays(parts) if parts else pa.array([], pa.large_string())


def plain_index(kind, column):
    """The values of an index column as JSON has them; floats as digits of their bits."""
    if not kind.float:
        return column.to_pylist()
    bits = column.view(pa.uint32() if kind.width == 4 else pa.uint64()).to_pylist()
    return [None if value is None else format(value, f"0{2 * kind.width}x") for value in bits]


def ordered(kind, value):
    """A key that sorts as format-spec/manifest.md#schema says: nulls first, floats in IEEE total order, text by bytes."""
    if value is None:
        return (0,)
    if kind.float:
        bits, sign = int(value, 16), 1 << 8 * kind.width - 1
        return (1, -(bits - sign) - 1 if bits & sign else bits)
    return (1, value.encode() if kind.leaf in TEXTS else value)


def number_of(kind, value):
    """The value as statistics give it; None for what they do not bound."""
    if value is not None and kind.float:
        (value,) = struct.unpack(">f" if kind.width == 4 else ">d", bytes.fromhex(value))
        return None if math.isnan(value) else value
    return value.encode() if isinstance(value, str) else value


def check_statistics(statistics, schema, values, what):
    for entry, column, found in zip(statistics, schema.index, values):
        kind = schema.columns[column][1]
        require(entry["nulls"] == sum(value is None for value in found), f"{what}: {entry['nulls']} nulls of column {column}")
        for bound, holds in (("min", lambda value, limit: limit <= value), ("max", lambda value, limit: value <= limit)):
            limit = entry[bound]
            if limit is None:
                continue
            allowed = str if kind.leaf in TEXTS else (int, float) if kind.float else int
            require(isinstance(limit, allowed) and not isinstance(limit, bool), f"{what}: {bound} {limit!r} of column {column}")
            limit = limit.encode() if isinstance(limit, str) else limit
            bounded = [number for number in (number_of(kind, value) for value in found) if number is not None]
            require(bounded and all(holds(value, limit) for value in bounded), f"{what}: {bound} of column {column} bounds nothing")


LAYOUT = {
    "chunk": ("FIXED_LEN_BYTE_ARRAY", None),
    "owner": ("INT32", 32),
    "chunk_bytes": ("INT64", 64),
    "seed": ("INT64", 64),
    "chains": ("BYTE_ARRAY", None),
    "first_block": ("INT32", 32),
    "blocks": ("INT32", 32),
    "first_offset": ("INT64", 64),
    "rows": ("INT64", 64),
    "lengths": ("BYTE_ARRAY", None),
    "block_rows": ("BYTE_ARRAY", None),
    "page_lengths": ("BYTE_ARRAY", None),
}


class Layout:
    """The runs of blocks of a group in a segment: which chunk, and where in it."""

    def __init__(self, data, columns_of_group, rows, what, stores=0, runs=None):
        metadata, table, columns = parquet(data, runs, what)
        require([column[0] for column in columns] == list(LAYOUT), f"{what}: columns {[column[0] for column in columns]}")
        for (name, (physical, bits)), (_, found, width, annotation, required, flat) in zip(LAYOUT.items(), columns):
            unsigned = {"Type": "Int", "bitWidth": bits, "isSigned": False} if bits else {"Type": "None"}
            require(found == physical and annotation == unsigned and required and flat, f"{what}: `{name}` is {found} {annotation}")
            require(name != "chunk" or width == 32, f"{what}: chunk names of {width} bytes")
        require(1 <= metadata.num_rows <= MAX_SEGMENT_ROWS, f"{what}: {metadata.num_rows} runs")
        self.what, self.columns, self.stores, self.count = what, columns_of_group, stores, metadata.num_rows
        self.names = table.column("chunk").combine_chunks()
        self.words, self.numbers = {}, {}
        for name, (_, bits) in LAYOUT.items():
            if bits:
                self.numbers[name] = table.column(name).combine_chunks().cast(pa.uint64()).to_numpy()
            elif name != "chunk":
                column = table.column(name).unify_dictionaries().combine_chunks()
                self.words[name] = (column.dictionary, column.indices.to_numpy())
        most = self.numbers["rows"].max()
        require(most <= MAX_SEGMENT_ROWS, f"{what}: a run of {most} rows")
        self.ends = np.cumsum(self.numbers["rows"].astype(np.int64))
        require(self.ends[-1] == rows, f"{what}: {self.ends[-1]} rows, the segment has {rows}")
        self._check()

    def _check(self):
        """Checks each kind of run once: a few bytes of Parquet can repeat one for millions of runs."""
        alike = [indices for _, indices in self.words.values()] + [self.numbers["blocks"], self.numbers["rows"]]
        alike = np.stack([column.astype(np.int64) for column in alike], axis=1)
        _, examples, kinds = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        stored = np.array([int(self.run(int(number))["lengths"].sum()) for number in examples], np.int64)[kinds.reshape(-1)]
        owner, chunk_bytes, first_offset = (self.numbers[name] for name in ("owner", "chunk_bytes", "first_offset"))
        wrong = (owner > self.stores) | (chunk_bytes > GIB) | (first_offset > chunk_bytes) | (first_offset % 8 != 0)
        wrong |= first_offset.astype(np.int64) + stored > chunk_bytes.astype(np.int64)
        if wrong.any():
            number = int(wrong.argmax())
            raise Refused(
                f"{self.what}, run {number}: owner {owner[number]} of {self.stores}, {stored[number]} bytes at {first_offset[number]} "
                f"of a chunk of {chunk_bytes[number]} bytes, which has at most {GIB}"
            )
        self.blocks, self.stored_bytes = int(self.numbers["blocks"].sum()), int(stored.sum())

    def run(self, number):
        """The members of a run, with `lengths` in bytes, and `page_lengths` in bytes of each page of each block, or None."""
        here, run = f"{self.what}, run {number}", {"chunk": self.names[number].as_py()}
        run |= {name: int(column[number]) for name, column in self.numbers.items()}
        words = {name: dictionary[int(indices[number])].as_py() for name, (dictionary, indices) in self.words.items()}
        # As many blocks as rows at most, and a node over n slots of width 0 takes five bytes whatever n is.
        require(1 <= run["blocks"] <= run["rows"], f"{here}: {run['blocks']} blocks, {run['rows']} rows")
        for member in ("lengths", "block_rows"):
            cursor = Cursor(words[member], f"{here}: {member}")
            run[member] = lengths(cursor, run["blocks"])
            cursor.end()
        run["lengths"] = 8 * run["lengths"]
        require(run["block_rows"].min() >= 1 and run["block_rows"].sum() == run["rows"], f"{here}: rows of its blocks")
        cursor = Cursor(words["chains"], f"{here}: chains")
        run["chains"] = [chain(cursor) for _ in range(self.columns)]
        cursor.end()
        run["page_lengths"] = page_lengths(words["page_lengths"], self.columns, run["lengths"], f"{here}: page_lengths")
        return run

    def runs(self):
        return [self.run(number) for number in range(self.count)]


def page_lengths(data, columns, block_lengths, what):
    """Of each page its bytes in each block; None where the layout does not say them."""
    if not data:
        return None
    cursor = Cursor(data, what)
    left_out = cursor.number(2)
    require(columns >= 2 and left_out < columns, f"{what}: page {left_out} of {columns} is left out")
    others = [8 * lengths(cursor, len(block_lengths)) for _ in range(columns - 1)]
    cursor.end()
    others.insert(left_out, block_lengths - directory_len(columns) - sum(others))
    least = min(int(pages.min()) for pages in others)
    require(least >= 32, f"{what}: a page of {least} bytes")
    return others


def read_hashes(data, rows, what):
    _, table, columns = parquet(data, rows, what)
    require(len(columns) == 1, f"{what}: {len(columns)} columns")
    name, physical, width, annotation, required, flat = columns[0]
    shape = (name, physical, width, annotation, required, flat)
    require(shape == ("hash", "FIXED_LEN_BYTE_ARRAY", 32, {"Type": "None"}, True, True), f"{what}: {shape}")
    return table.column(0).to_pylist()


# ------------------------------------------------------------------------------------------------ format-spec/joins.md


def read_join(data, left, right, what):
    """For each of `left` rows the row of a table of `right` rows, or -1."""
    _, table, columns = parquet(data, left, what)
    require(len(columns) == 1, f"{what}: {len(columns)} columns")
    name, physical, _, annotation, required, flat = columns[0]
    annotations = ({"Type": "None"}, {"Type": "Int", "bitWidth": 64, "isSigned": True})
    require((name, physical, required, flat) == ("row", "INT64", True, True) and annotation in annotations, f"{what}: {columns[0]}")
    rows = table.column(0).combine_chunks().cast(pa.int64()).to_numpy()
    require(((-1 <= rows) & (rows < right)).all(), f"{what}: rows beyond the {right} of the right table")
    return rows


# ------------------------------------------------------------------------------------------------ format-spec/views.md#lists


def read_lists(data, rows, what):
    """For each row the first row of its list, or -1."""
    firsts = read_join(data, rows, rows, what)
    members = np.flatnonzero(firsts >= 0)
    heads = firsts[members]
    wrong = members[(heads > members) | (firsts[heads] != heads)]
    require(len(wrong) == 0, f"{what}: rows {wrong[:3].tolist()} are in lists that do not begin")
    return firsts
