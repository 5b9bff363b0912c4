"""The byte structures of a Tetrys table: types, canonical form, pages, blocks, chunks, checksums, locators.

Written from the pages of format-spec/ alone, one section of code a page, and importing nothing of the library that writes tables:
what the two disagree on is a mistake of one of them, or of the pages. Every function is given bytes and gives plain Python and numpy
values, or raises Refused, which says what is wrong with them. Memory is taken only where stored bytes fill it.
"""

import math
import re
import struct
import uuid
from typing import NamedTuple

import blake3 as _blake3
import numpy as np
import xxhash

from ._codecs import chain, decode_chain
from ._cursor import Cursor
from ._errors import Refused, Stray, require

GIB = 1 << 30
# What this reader takes of one page, beyond the limits of the format: slots at each level of lists, and Python objects.
MAX_SLOTS, MAX_OBJECTS = 1 << 27, 1 << 24


def align8(n):
    return (n + 7) // 8 * 8


def blake3(data):
    return _blake3.blake3(data).digest()


def blake3_derive(context, data):
    return _blake3.blake3(data, derive_key_context=context).digest()


# ------------------------------------------------------------------------------------------------ format-spec/manifest.md#types

SCALARS = {
    **{name: (np.dtype(f"<{name[0]}{int(name[1:]) // 8}"), name[0] == "f") for name in "i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64".split()},
    "bool": (np.dtype("u1"), False),
    "bf16": (np.dtype("<u2"), True),
}
UNITS = ("s", "ms", "us", "ns")
TEXTS = ("utf8", "categorical")
BYTES = (*TEXTS, "binary")


class Type:
    """`lists` levels of lists around a leaf: a scalar, a time, text, bytes, or a tensor (then `extents` is a list)."""

    def __init__(self, text):
        require(len(text.encode()) <= 65_535, "a type text is longer than 65,535 bytes")
        self.text, leaf, self.lists = text, text, 0
        while leaf.startswith("list<") and leaf.endswith(">"):
            leaf, self.lists = leaf[5:-1], self.lists + 1
        require(self.lists <= 8, f"type `{text}`: lists nest {self.lists} deep")
        self.leaf, self.extents, self.unit, self.zone, self.scalar = leaf, None, None, None, None
        name, bracket, inside = leaf.partition("[")
        if leaf in SCALARS:
            self.scalar = leaf
        elif leaf in BYTES:
            self.scalar = "u8"
        elif leaf == "date":
            self.scalar = "i32"
        elif name in ("timestamp", "duration") and inside.endswith("]"):
            self.scalar = "i64"
            self.unit, comma, zone = inside[:-1].partition(",")
            self.zone = zone or None
            require(self.unit in UNITS and bool(comma) == bool(zone) and not (comma and name == "duration"), f"no type `{text}`")
        elif name in SCALARS and bracket and inside.endswith("]"):
            self.scalar = name
            texts = inside[:-1].split(",") if inside != "]" else []
            require(all(re.fullmatch(r"\?|0|[1-9][0-9]{0,9}", extent) for extent in texts), f"no type `{text}`")
            self.extents = [None if extent == "?" else int(extent) for extent in texts]
            require(len(texts) <= 32 and all((e or 0) <= 2_147_483_647 for e in self.extents), f"type `{text}` exceeds a limit")
        else:
            raise Refused(f"no type `{text}`")
        self.dtype, self.float = SCALARS[self.scalar]
        self.width = self.dtype.itemsize
        if leaf == "date" or self.unit:
            self.time = "M8[D]" if leaf == "date" else f"{'m8' if name == 'duration' else 'M8'}[{self.unit}]"
        else:
            self.time = None
        self.in_index = self.lists == 0 and self.extents is None and leaf not in ("binary", "f16", "bf16")

    def array(self, data):
        """The elements of stored bytes: numbers of numpy, booleans, and dates and times as numpy has them. A bf16 is a float32."""
        array = np.frombuffer(data, self.dtype)
        if self.scalar == "bool":
            require(not (array > 1).any(), f"`{self.text}`: a bool that is neither 0 nor 1")
            return array.view(np.bool_)
        if self.scalar == "bf16":
            return (array.astype("<u4") << 16).view("<f4")
        if self.leaf == "date":
            return array.astype(np.int64).view(self.time)
        return array.view(self.time) if self.time else array


# ------------------------------------------------------------------------------------------------ format-spec/canonical.md


def validity(cursor, n):
    """Which of n slots are valid."""
    kind = cursor.number(1)
    if kind == 0:
        return np.broadcast_to(np.True_, n)
    if kind == 2:
        require(n > 0, f"{cursor.what}: validity of kind 2 over no slots")
        return np.broadcast_to(np.False_, n)
    require(kind == 1, f"{cursor.what}: validity of kind {kind}")
    bits = np.unpackbits(np.frombuffer(cursor.take((n + 7) // 8), np.uint8), bitorder="little")
    require(not bits[n:].any(), f"{cursor.what}: bits behind the last slot")
    require(0 < np.count_nonzero(bits[:n]) < n, f"{cursor.what}: a bitmap of equal bits")
    return bits[:n].view(np.bool_)


def is_all(flags):
    """Whether all flags are set, without a look at each where they are one."""
    return bool(flags[:1].all()) if flags.strides == (0,) else bool(flags.all())


def lengths(cursor, n):
    """The lengths of n slots."""
    base, width = cursor.number(4), cursor.number(1)
    require(width <= 32, f"{cursor.what}: lengths of {width} bits")
    packed = np.frombuffer(cursor.take((n * width + 7) // 8), np.uint8)
    if n == 0:
        require(base == 0 and width == 0, f"{cursor.what}: base {base}, width {width} of no lengths")
        return np.zeros(0, np.int64)
    if width == 0:
        return np.broadcast_to(np.int64(base), n)
    above, weights = np.empty(n, np.int64), np.int64(1) << np.arange(width, dtype=np.int64)
    for start in range(0, n, 1 << 16):
        end = min(n, start + (1 << 16))
        bits = np.unpackbits(packed[start * width // 8 : (end * width + 7) // 8], bitorder="little")
        require(not bits[(end - start) * width :].any(), f"{cursor.what}: bits behind the last length")
        above[start:end] = bits[: (end - start) * width].reshape(end - start, width).astype(np.int64) @ weights
    most = int(above.max())
    require(above.min() == 0 and most.bit_length() == width, f"{cursor.what}: base and width are not minimal")
    require(base + most < 1 << 32, f"{cursor.what}: a length of more than 32 bits")
    return base + above


def total(counts):
    """The sum of lengths, without a look at each where they are one."""
    return int(counts[0]) * len(counts) if len(counts) and counts.strides == (0,) else int(counts.sum())


class Structure:
    """The nodes of a page over `rows` values: what is null, how long things are, how many elements the values have."""

    def __init__(self, kind, rows, data, values_len, what):
        cursor = Cursor(data, f"{what}: structure")
        self.type, self.levels, self.what, n, most = kind, [], what, rows, max(1 << 20, 8 * values_len)

        def check_slots():
            require(n <= most, f"{what}: {n} slots, expected at most {most}")
            require(n <= MAX_SLOTS, f"{what}: {n} slots, this reader takes {MAX_SLOTS} at most")

        check_slots()
        for _ in range(kind.lists):
            valid, items = validity(cursor, n), lengths(cursor, n)
            require(not has_any(items, valid), f"{what}: a null list has items", Stray)
            self.levels.append((valid, items))
            n = total(items)
            check_slots()
        self.valid = validity(cursor, n)
        self.shapes = None
        if kind.extents is not None:
            columns = [lengths(cursor, n) if extent is None else np.broadcast_to(np.int64(extent), n) for extent in kind.extents]
            ragged = [column for column, extent in zip(columns, kind.extents) if extent is None]
            require(not any(has_any(column, self.valid) for column in ragged), f"{what}: a null tensor has extents", Stray)
            require(all(column.max(initial=0) <= 2_147_483_647 for column in ragged), f"{what}: an extent above 2,147,483,647")
            self.shapes = columns
            # As floats, whose products cannot wrap: 32 extents are less than 2^1024.
            sizes = math.prod((column.astype(np.float64) for column in ragged), start=np.ones(n if ragged else min(n, 1)))
            sizes = sizes * float(math.prod(extent for extent in kind.extents if extent is not None))
            require(not (sizes > GIB).any(), f"{what}: a tensor of more than {GIB} elements")
            self.sizes = sizes.astype(np.int64) if ragged or n == 0 else np.broadcast_to(np.int64(sizes[0]), n)
        elif kind.leaf in BYTES:
            self.sizes = lengths(cursor, n)
            require(not has_any(self.sizes, self.valid), f"{what}: a null text has bytes", Stray)
        else:
            self.sizes = np.broadcast_to(np.int64(1), n)
        elements = total(self.sizes)
        require(elements * kind.width == values_len, f"{what}: {elements} elements of {kind.width} bytes in {values_len} bytes")
        self.valid_elements = validity(cursor, elements) if kind.extents is not None else None
        cursor.end()

    def values(self, data):
        """One value a row: None, a number, boolean or time of numpy, text, bytes, an array (a tensor), or a list of these.

        The innermost list is an array where its items are numbers without a null. A tensor with null elements is a masked array.
        """
        kind = self.type
        array = None if kind.leaf in BYTES else kind.array(data)
        self._check_what_lies_under_nulls(data)
        is_plain = kind.extents is None and kind.leaf not in BYTES
        if is_plain and kind.lists:
            slots = Items(array, self.valid)
        else:
            require(len(self.valid) <= MAX_OBJECTS, f"{self.what}: {len(self.valid)} values, this reader takes {MAX_OBJECTS} at most")
            slots = Items(array, self.valid).list() if is_plain else [self._slot(array, data, *slot) for slot in self._places()]
        for valid, counts in reversed(self.levels):
            require(len(counts) <= MAX_OBJECTS, f"{self.what}: {len(counts)} lists, this reader takes {MAX_OBJECTS} at most")
            at, outer = 0, []
            for ok, count in zip(valid.tolist(), counts.tolist()):
                outer.append(slots[at : at + count] if ok else None)
                at += count
            slots = outer
        return slots

    def _places(self):
        """Of each slot: its number, whether it is valid, and which elements are its own."""
        at = 0
        for number, (ok, size) in enumerate(zip(self.valid.tolist(), self.sizes.tolist())):
            yield number, ok, at, at + size
            at += size

    def _slot(self, array, data, number, ok, start, end):
        kind = self.type
        if not ok:
            return None
        if kind.leaf in TEXTS:
            return decoded(data[start:end], f"{self.what}: `{kind.text}`: slot {number}")
        if kind.leaf == "binary":
            return bytes(data[start:end])
        values, valid = array[start:end], self.valid_elements[start:end]
        shape = [int(column[number]) for column in self.shapes]
        values = values if is_all(valid) else np.ma.MaskedArray(values, ~valid)
        return values.reshape(shape)

    def _check_what_lies_under_nulls(self, data):
        kind = self.type
        nulls = None if is_all(self.valid) else ~self.valid
        if kind.extents is not None:
            under = None if nulls is None else np.repeat(nulls, self.sizes)
            if under is not None:
                require(not (under & ~self.valid_elements).any(), f"{self.what}: `{kind.text}`: null elements under a null slot", Stray)
            if not is_all(self.valid_elements):
                under = ~self.valid_elements if under is None else under | ~self.valid_elements
        else:
            under = None if kind.leaf in BYTES else nulls
        if under is not None and len(data):
            stray = np.frombuffer(data, np.uint8).reshape(-1, kind.width)[under]
            require(not stray.any(), f"{self.what}: `{kind.text}`: bytes under a null", Stray)


def has_any(counts, valid):
    """Whether a slot that is not valid has a length."""
    return not is_all(valid) and bool(np.any(counts[~valid]))


class Items:
    """The numbers of all slots: a slice is an array, or a list where one of its items is null."""

    def __init__(self, array, valid):
        self.array, self.valid = array, valid

    def __getitem__(self, part):
        return self.array[part] if is_all(self.valid[part]) else Items(self.array[part], self.valid[part]).list()

    def list(self):
        return [value if ok else None for value, ok in zip(self.array, self.valid.tolist())]


def plain(kind, value, lists=None):
    """What JSON holds of a value: floats and bytes as hexadecimal digits, times as integers, tensors with their shapes."""
    lists = kind.lists if lists is None else lists
    if value is None:
        return None
    if lists and not isinstance(value, np.ndarray):
        return [plain(kind, item, lists - 1) for item in value]
    if kind.leaf in BYTES:
        return value.hex() if isinstance(value, bytes) else value
    flat = np.asarray(value).reshape(-1)
    if kind.scalar == "bf16":
        items = hex_bits((flat.view("<u4") >> 16).astype("<u2"))
    elif kind.float:
        items = hex_bits(flat)
    else:
        items = (flat.astype(kind.time).view(np.int64) if kind.time else flat).tolist()
    if kind.extents is not None:
        mask = np.ma.getmaskarray(value).reshape(-1).tolist()
        return {"shape": list(value.shape), "values": [None if null else item for null, item in zip(mask, items)]}
    return items if lists else items[0]


def hex_bits(array):
    """Floats as the digits of their bits, most significant first: 1.0 as an f32 is 3f800000."""
    return [format(element, f"0{2 * array.itemsize}x") for element in array.view(f"<u{array.itemsize}").tolist()]


def decoded(text, what):
    try:
        return bytes(text).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"{what}: {error}") from None


def logical_block_hash(rows, pages):
    """`pages`: (type text, structure, values) of each column."""
    message = struct.pack("<IQ", rows, len(pages))
    for text, structure, values in pages:
        for part in (text.encode(), structure, values):
            message += struct.pack("<Q", len(part)) + part
    return blake3_derive("tetrys format 1 logical block", message)


# ------------------------------------------------------------------------------------------------ format-spec/checksums.md


def seed_of(chunk_seed, ordinal, slot):
    return chunk_seed ^ ((ordinal * 65_536 + slot) * 0x9E37_79B9_7F4A_7C15 % 2**64)


def checked(data, seed, what):
    """The bytes before their XXH3."""
    require(len(data) >= 8, f"{what}: {len(data)} bytes")
    found, expected = xxhash.xxh3_64_intdigest(data[:-8], seed=seed), int.from_bytes(data[-8:], "little")
    require(found == expected, f"{what}: checksum {found:#018x}, stored {expected:#018x}")
    return data[:-8]


# ------------------------------------------------------------------------------------------------ format-spec/block.md


class Page(NamedTuple):
    structure: bytes
    values: bytes
    parsed: Structure
    stored: int


class Block(NamedTuple):
    rows: int
    pages: list
    hash: bytes


def page(data, kind, steps, rows, seed, what):
    cursor = Cursor(checked(data, seed, what), what)
    structure_len, stored_len, values_len, flags = (cursor.number(width) for width in (4, 4, 4, 1))
    cursor.zeros(3)
    require(flags <= 1, f"{what}: flags {flags:#x}")
    require(structure_len >= 1 and values_len <= GIB, f"{what}: structure of {structure_len} bytes, values of {values_len}")
    plain = flags == 1 or not steps
    require(not (flags and not steps), f"{what}: PLAIN, but the chain is empty")
    require(stored_len == values_len if plain else stored_len < values_len, f"{what}: {stored_len} stored bytes for {values_len}")
    structure = bytes(cursor.take(structure_len))
    cursor.zeros(align8(structure_len) - structure_len)
    values = cursor.take(stored_len)
    cursor.zeros(align8(stored_len) - stored_len)
    cursor.end()
    parsed = Structure(kind, rows, structure, values_len, what)
    values = bytes(values if plain else decode_chain(steps, values, values_len, what))
    return Page(structure, values, parsed, len(data))


def directory_len(columns):
    return align8(8 + 4 * columns) + 8


def directory(data, columns, chunk_seed, ordinal, what):
    """The rows of a block and the places of its pages, from the first bytes of the block."""
    cursor = Cursor(data[: directory_len(columns)], what)
    rows, count = cursor.number(4), cursor.number(4)
    require(1 <= rows <= 1 << 20 and count == columns, f"{what}: {rows} rows, {count} pages, expected {columns} pages")
    page_lens = [cursor.number(4) for _ in range(count)]
    require(all(length % 8 == 0 and length >= 32 for length in page_lens), f"{what}: pages of {page_lens} bytes")
    cursor.zeros(align8(cursor.at) - cursor.at)
    cursor.take(8)
    checked(data[: cursor.at], seed_of(chunk_seed, ordinal, 0), f"{what}: directory")
    return rows, page_lens


def block(data, kinds, chains, chunk_seed, ordinal, what):
    require(len(data) <= GIB and len(data) % 8 == 0, f"{what}: {len(data)} bytes")
    rows, page_lens = directory(data, len(kinds), chunk_seed, ordinal, what)
    cursor, pages = Cursor(data[directory_len(len(kinds)) :], what), []
    for number, length in enumerate(page_lens):
        seed = seed_of(chunk_seed, ordinal, number + 1)
        pages.append(page(cursor.take(length), kinds[number], chains[number], rows, seed, f"{what}, page {number}"))
    cursor.end()
    logical = sum(len(page.structure) + len(page.values) for page in pages)
    require(logical <= GIB, f"{what}: {logical} logical bytes")
    return Block(rows, pages, logical_block_hash(rows, [(kind.text, page.structure, page.values) for kind, page in zip(kinds, pages)]))


# ------------------------------------------------------------------------------------------------ format-spec/chunk.md


class Chunk:
    """All blocks of a chunk, found by its own header and salvage directory, without a layout."""

    def __init__(self, data, what, name=None):
        require(len(data) <= GIB and len(data) % 8 == 0, f"{what}: {len(data)} bytes")
        require(name is None or blake3(data).hex() == name, f"{what}: BLAKE3 is not its name")
        self.size = len(data)
        cursor = Cursor(data, f"{what}: header")
        require(cursor.take(8) == b"TETRYSCH", f"{what}: no magic")
        version = cursor.number(2)
        require(version == 1, f"{what}: version {version}")
        cursor.zeros(2)
        header_len, self.seed, columns = (cursor.number(width) for width in (4, 8, 4))
        require(1 <= columns <= 65_534 and header_len % 8 == 0 and 40 <= header_len <= len(data), f"{what}: header")
        checked(data[:header_len], self.seed, f"{what}: header")
        self.kinds, self.chains = [], []
        for _ in range(columns):
            self.kinds.append(Type(decoded(cursor.take(cursor.number(2)), what)))
            self.chains.append(chain(cursor))
        cursor.zeros(align8(cursor.at) - cursor.at)
        require(cursor.at + 8 == header_len, f"{what}: a header of {header_len} bytes has {cursor.at + 8}")

        trailer = Cursor(data[-24:], f"{what}: trailer")
        offset, count = trailer.number(8), trailer.number(8)
        require(trailer.take(8) == b"TETRYSND", f"{what}: no magic at the end")
        require(count >= 1 and offset + 8 * count + 8 + 24 == len(data), f"{what}: {count} blocks, directory at {offset}")
        directory = Cursor(checked(data[offset:-24], self.seed, f"{what}: salvage directory"), f"{what}: salvage directory")
        self.lengths = [8 * directory.number(4) for _ in range(count)]
        rows = [directory.number(4) for _ in range(count)]
        directory.end()

        require(header_len + sum(self.lengths) == offset, f"{what}: blocks do not fill what lies between header and directory")
        self.offsets, self.blocks, at = [], [], header_len
        for ordinal, length in enumerate(self.lengths):
            where = f"{what}, block {ordinal} at {at}..{at + length}"
            self.offsets.append(at)
            self.blocks.append(block(data[at : at + length], self.kinds, self.chains, self.seed, ordinal, where))
            require(self.blocks[-1].rows == rows[ordinal], f"{where}: {self.blocks[-1].rows} rows, salvage directory {rows[ordinal]}")
            at += length


def chunk_seed(hashes):
    return int.from_bytes(blake3_derive("tetrys format 1 chunk seed", b"".join(hashes))[:8], "little")


# ------------------------------------------------------------------------------------------------ format-spec/locator.md


def locator(table, version, row):
    tag = blake3_derive("tetrys format 1 locator tag", uuid.UUID(table).bytes + struct.pack("<Q", version))[:2]
    return (int.from_bytes(tag, "little") & 0x7FFF) << 48 | row
