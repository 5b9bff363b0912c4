"""Parquet objects under the rules of format-spec/segment.md: pages are walked and bounded before pyarrow makes room for one."""

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq

from ._cursor import Cursor
from ._errors import Refused, require

MAX_DEPTH, DELTA_BYTE_ARRAY, CODECS = 16, 7, {0: "UNCOMPRESSED", 6: "ZSTD"}
DATA, DICTIONARY, DATA_2 = 0, 2, 3


def parquet(data, rows, what):
    """A Parquet file of this many rows (None: any number): its footer, its table with dictionaries, and per column (name, physical type,
    length, annotation as JSON, required, flat). Columns of bytes stay dictionaries, so that a value is not repeated.
    """
    check_pages(data, rows, what)
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        metadata, columns = file.metadata, []
        for number in range(metadata.num_columns):
            column = file.schema.column(number)
            annotation = {"Type": "None"} if column.logical_type.type == "NONE" else json.loads(column.logical_type.to_json())
            flat = column.path == column.name and column.max_repetition_level == 0 and column.max_definition_level <= 1
            require(flat and column.length <= 64, f"{what}: column `{column.path}` is nested or {column.length} bytes wide")
            columns.append((column.name, column.physical_type, column.length, annotation, column.max_definition_level == 0, flat))
        names = [name for name, physical, *_ in columns if physical == "BYTE_ARRAY"]
        table = pq.ParquetFile(io.BytesIO(data), read_dictionary=names).read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Refused(f"{what}: {error}") from None
    require(table.num_columns == len(columns), f"{what}: {table.num_columns} columns, the footer says {len(columns)}")
    for name, column in zip(table.column_names, table.columns):
        require(name not in names or pa.types.is_dictionary(column.type), f"{what}: column `{name}` is read as {column.type}")
    return metadata, table, columns


class Thrift(Cursor):
    """Structures in Thrift's compact protocol, as members by their numbers."""

    def varint(self):
        value, shift = 0, 0
        while True:
            byte = self.number(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            require(shift < 70, f"{self.what}: a number of more than 10 bytes before {self.at}")

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def struct(self, depth=1):
        require(depth <= MAX_DEPTH, f"{self.what}: nested more than {MAX_DEPTH} deep")
        members, last = {}, 0
        while True:
            head = self.number(1)
            if head == 0:
                return members
            last = last + (head >> 4) if head >> 4 else self.zigzag()
            members[last] = head & 15 == 1 if head & 15 in (1, 2) else self.value(head & 15, depth + 1)

    def value(self, kind, depth):
        if kind == 3:
            return self.number(1)
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 7:
            return self.take(8)
        if kind == 8:
            return self.take(self.varint())
        if kind == 12:
            return self.struct(depth)
        require(kind in (9, 10), f"{self.what}: type {kind} before {self.at}")
        require(depth <= MAX_DEPTH, f"{self.what}: nested more than {MAX_DEPTH} deep")
        head = self.number(1)
        count, item = self.varint() if head >> 4 == 15 else head >> 4, head & 15
        require(item not in (1, 2), f"{self.what}: a list of booleans before {self.at}")
        require(count <= len(self.data) - self.at, f"{self.what}: a list of {count} before {self.at}, {len(self.data) - self.at} bytes follow")
        return [self.value(item, depth + 1) for _ in range(count)]


def number(members, *path):
    """An integer inside of structures."""
    for place in path[:-1]:
        members = members.get(place)
        require(isinstance(members, dict), f"no structure {place}")
    found = members.get(path[-1])
    require(isinstance(found, int) and not isinstance(found, bool), f"no number {path[-1]}")
    return found


def check_pages(data, rows, what):
    """That all pages have as many values as there are rows, and unfold to no more than the format allows."""
    require(len(data) >= 12 and data[:4] == data[-4:] == b"PAR1", f"{what}: no Parquet file")
    length = int.from_bytes(data[-8:-4], "little")
    require(length <= len(data) - 12, f"{what}: a footer of {length} bytes in {len(data)}")
    end = len(data) - 8 - length
    footer = Thrift(data[end:-8], f"{what}: footer").struct()
    try:
        found, unfolded, groups = number(footer, 3), 0, footer.get(4, [])
        require(rows is None or found == rows, f"{found} rows, expected {rows}")
        require(all(isinstance(group, dict) for group in groups), "row groups")
        require(sum(number(group, 3) for group in groups) == found and found >= 0, f"row groups do not have the {found} rows of the footer")
        for group in groups:
            of_group = number(group, 3)
            require(of_group >= 0, f"a row group of {of_group} rows")
            for column in group.get(1, []):
                unfolded += unfolded_size(data, end, column, of_group, what)
                most = 33_554_432 + 64 * len(data)
                require(unfolded <= most, f"pages of {unfolded} bytes, expected at most {most}")
    except (Refused, TypeError, AttributeError) as error:
        raise Refused(str(error) if str(error).startswith(what) else f"{what}: {error}") from None


def unfolded_size(data, end, column, rows, what):
    """The decompressed bytes that the pages of a column of a row group claim."""
    codec = number(column, 3, 4)
    require(codec in CODECS, f"{what}: pages in codec {codec} of Parquet, expected one of {CODECS}")
    at = number(column, 3, 9)
    if 11 in column[3]:
        at = min(at, number(column, 3, 11))
    stop = at + number(column, 3, 7)
    require(4 <= at <= stop <= end, f"{what}: pages at {at}..{stop} of {end} bytes")
    unfolded, values = 0, 0
    while at < stop:
        cursor = Thrift(data[at : min(stop, at + (1 << 20))], f"{what}: page at {at}")
        header = cursor.struct()
        kind, size, stored = (number(header, place) for place in (1, 2, 3))
        require(0 <= size and 0 <= stored <= stop - at - cursor.at, f"{what}: page at {at}: {stored} bytes, {size} unfolded")
        unfolded += size
        if kind == DICTIONARY:
            count = number(header, 7, 1)
            require(0 <= 4 * count <= size, f"{what}: page at {at}: a dictionary of {count} values in {size} bytes")
        else:
            require(kind in (DATA, DATA_2), f"{what}: page at {at}: kind {kind}")
            place, encoding = (5, 2) if kind == DATA else (8, 4)
            count = number(header, place, 1)
            require(0 <= count <= rows - values, f"{what}: page at {at}: {count} values, {rows - values} rows are left")
            require(number(header, place, encoding) != DELTA_BYTE_ARRAY, f"{what}: page at {at}: encoding DELTA_BYTE_ARRAY")
            values += count
        at += cursor.at + stored
    require(values == rows, f"{what}: a column of {values} values in {rows} rows")
    return unfolded
