"""The byte structures of a Tetrys table: types, canonical form, codecs, pages, blocks, chunks, checksums.

Written from the pages of format-spec/ alone, one section of code a page, and importing nothing of the library that writes tables:
what the two disagree on is a mistake of one of them, or of the pages. Every function is given bytes and gives plain Python values, or
raises Refused, which says what is wrong with them.
"""

import math
import re
import struct
import uuid
from typing import NamedTuple

import blake3 as _blake3
import lz4.block
import numpy as np
import pcodec
import xxhash
import zstandard

GIB = 1 << 30


class Refused(Exception):
    """The bytes are damaged, or are no format 1 that these pages describe."""


class Stray(Refused):
    """Something lies under a null slot: what only deep verification must look for."""


def require(condition, message, kind=Refused):
    if not condition:
        raise kind(message)


def align8(n):
    return (n + 7) // 8 * 8


def blake3(data):
    return _blake3.blake3(data).digest()


def blake3_derive(context, data):
    return _blake3.blake3(data, derive_key_context=context).digest()


class Cursor:
    """Takes bytes from the front, never beyond the end."""

    def __init__(self, data, what):
        self.data, self.at, self.what = data, 0, what

    def take(self, count):
        require(count <= len(self.data) - self.at, f"{self.what}: {count} bytes at {self.at} of {len(self.data)}")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, width):
        return int.from_bytes(self.take(width), "little")

    def zeros(self, count):
        require(not any(self.take(count)), f"{self.what}: padding or reserved bytes before {self.at} are not zero")

    def end(self):
        require(self.at == len(self.data), f"{self.what}: {len(self.data) - self.at} bytes are left")


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
        self.in_index = self.lists == 0 and self.extents is None and leaf not in ("binary", "f16", "bf16")


# ------------------------------------------------------------------------------------------------ format-spec/canonical.md


def validity(cursor, n):
    """Which of n slots are valid."""
    kind = cursor.number(1)
    if kind == 0:
        return [True] * n
    if kind == 2:
        require(n > 0, f"{cursor.what}: validity of kind 2 over no slots")
        return [False] * n
    require(kind == 1, f"{cursor.what}: validity of kind {kind}")
    bits = np.unpackbits(np.frombuffer(cursor.take((n + 7) // 8), np.uint8), bitorder="little")
    require(not bits[n:].any(), f"{cursor.what}: bits behind the last slot")
    require(0 < bits[:n].sum() < n, f"{cursor.what}: a bitmap of equal bits")
    return [bool(bit) for bit in bits[:n]]


def lengths(cursor, n):
    """The lengths of n slots."""
    base, width = cursor.number(4), cursor.number(1)
    require(width <= 32, f"{cursor.what}: lengths of {width} bits")
    packed = np.frombuffer(cursor.take((n * width + 7) // 8), np.uint8)
    if n == 0:
        require(base == 0 and width == 0, f"{cursor.what}: base {base}, width {width} of no lengths")
        return []
    bits = np.unpackbits(packed, bitorder="little")
    require(not bits[n * width :].any(), f"{cursor.what}: bits behind the last length")
    above = bits[: n * width].reshape(n, width).astype(np.uint64) @ (np.uint64(1) << np.arange(width, dtype=np.uint64))
    above = [int(length) for length in above]
    require(min(above) == 0 and max(above).bit_length() == width, f"{cursor.what}: base and width are not minimal")
    require(base + max(above) < 1 << 32, f"{cursor.what}: a length of more than 32 bits")
    return [base + length for length in above]


class Tensor(NamedTuple):
    shape: tuple
    values: list

    def numpy(self):
        return np.array(self.values).reshape(self.shape)


class Structure:
    """The nodes of a page over `rows` values: what is null, how long things are, how many elements the values have."""

    def __init__(self, kind, rows, data, values_len, what):
        cursor = Cursor(data, f"{what}: structure")
        self.type, self.levels, n, most = kind, [], rows, max(1 << 20, 8 * values_len)
        require(n <= most, f"{what}: {n} slots")
        for _ in range(kind.lists):
            valid, items = validity(cursor, n), lengths(cursor, n)
            require(all(ok or not count for ok, count in zip(valid, items)), f"{what}: a null list has items", Stray)
            self.levels.append((valid, items))
            n = sum(items)
            require(n <= most, f"{what}: {n} slots")
        self.valid = validity(cursor, n)
        self.shapes = None
        if kind.extents is not None:
            columns = [lengths(cursor, n) if extent is None else [extent] * n for extent in kind.extents]
            self.shapes = list(zip(*columns)) if columns else [()] * n
            ragged = [position for position, extent in enumerate(kind.extents) if extent is None]
            require(all(ok or not any(shape[at] for at in ragged) for ok, shape in zip(self.valid, self.shapes)), f"{what}: a null tensor has extents", Stray)
            require(all(columns[at][slot] <= 2_147_483_647 for at in ragged for slot in range(n)), f"{what}: an extent above 2,147,483,647")
            self.sizes = [math.prod(shape) for shape in self.shapes]
        elif kind.leaf in BYTES:
            self.sizes = lengths(cursor, n)
            require(all(ok or not size for ok, size in zip(self.valid, self.sizes)), f"{what}: a null text has bytes", Stray)
        else:
            self.sizes = [1] * n
        elements = sum(self.sizes)
        require(elements * kind.width == values_len, f"{what}: {elements} elements of {kind.width} bytes in {values_len} bytes")
        self.valid_elements = validity(cursor, elements) if kind.extents is not None else None
        cursor.end()

    def values(self, data, bits=False):
        """One Python value a row. With `bits`, floats are the hexadecimal digits of their bits."""
        kind, at, slots = self.type, 0, []
        elements = self._elements(data, bits)
        for element, valid in enumerate(self.valid_elements or ()):
            under = data[element * kind.width : (element + 1) * kind.width]
            require(valid or not any(under), f"`{kind.text}`: bytes under null element {element}", Stray)
        for number, (ok, size) in enumerate(zip(self.valid, self.sizes)):
            here, at = at, at + size
            if not ok:
                require(not any(data[here * kind.width : at * kind.width]), f"`{kind.text}`: bytes under null slot {number}", Stray)
                require(kind.extents is None or all(self.valid_elements[here:at]), f"`{kind.text}`: null elements under null slot {number}", Stray)
                slots.append(None)
            elif kind.extents is not None:
                items = [item if valid else None for item, valid in zip(elements[here:at], self.valid_elements[here:at])]
                slots.append(Tensor(self.shapes[number], items))
            elif kind.leaf in TEXTS:
                slots.append(decoded(data[here:at], f"`{kind.text}`: slot {number}"))
            elif kind.leaf == "binary":
                slots.append(bytes(data[here:at]))
            else:
                slots.append(elements[here])
        for valid, counts in reversed(self.levels):
            at, outer = 0, []
            for ok, count in zip(valid, counts):
                outer.append(slots[at : at + count] if ok else None)
                at += count
            slots = outer
        return slots

    def _elements(self, data, bits):
        kind = self.type
        if kind.leaf in BYTES:
            return None
        array = np.frombuffer(data, kind.dtype)
        if kind.scalar == "bool":
            require(not (array > 1).any(), f"`{kind.text}`: a bool that is neither 0 nor 1")
            return [bool(element) for element in array]
        if kind.float and bits:
            return hex_bits(array)
        if kind.scalar == "bf16":
            return (array.astype("<u4") << 16).view("<f4").tolist()
        return array.tolist()


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


# ------------------------------------------------------------------------------------------------ format-spec/codecs.md


def chain(cursor):
    """The steps (codec id, parameter) of one chain, in the order of encoding."""
    count = cursor.number(1)
    require(count <= 4, f"{cursor.what}: a chain of {count} steps")
    steps = [(cursor.number(1), cursor.number(1)) for _ in range(count)]
    for position, (codec, parameter) in enumerate(steps):
        require(codec in CODECS, f"{cursor.what}: unknown codec {codec}")
        require(parameter in CODECS[codec].parameters, f"{cursor.what}: codec {codec} with parameter {parameter}")
        require(codec not in COMPRESSORS or position == count - 1, f"{cursor.what}: a compressor is not the last step")
    if [codec for codec, _ in steps[-2:]] == [SPLIT, PCO]:
        (_, split), (_, numbers) = steps[-2:]
        require(1 << (split >> 6) == PCO_TYPES[numbers & 15].itemsize, f"{cursor.what}: a split of elements that are not pco's numbers")
    return steps


def chain_bytes(steps):
    return bytes([len(steps), *(number for step in steps for number in step)])


def decode_chain(steps, data, values_len, what):
    for position, (codec, parameter) in reversed(list(enumerate(steps))):
        try:
            data = CODECS[codec].decode(bytes(data), parameter, values_len, steps[:position])
        except (lz4.block.LZ4BlockError, zstandard.ZstdError, ValueError, TypeError, RuntimeError, MemoryError) as error:
            raise Refused(f"{what}: codec {codec}: {error}") from None
        except BaseException as error:
            # pcodec is Rust: what it did not expect of damaged bytes ends in a panic, which is no Exception.
            require(type(error).__name__ != "PanicException", f"{what}: codec {codec}: {error}")
            raise
        require(len(data) == values_len, f"{what}: codec {codec} gave {len(data)} bytes, not {values_len}")
    return data


def unshuffle(data, width, *_):
    count = len(data) // width
    whole = np.frombuffer(data, np.uint8)[: count * width].reshape(width, count)
    return whole.T.tobytes() + data[count * width :]


def unshuffle_bits(data, width, *_):
    count = 8 * (len(data) // (8 * width))
    planes = np.frombuffer(data, np.uint8)[: count * width].reshape(8 * width, count // 8)
    bits = np.unpackbits(planes, axis=1, bitorder="little")
    return np.packbits(bits.T, axis=1, bitorder="little").tobytes() + data[count * width :]


def unsplit(data, parameter, *_):
    width, components = 1 << (parameter >> 6), (parameter & 63) + 1
    count = len(data) // (width * components)
    whole = np.frombuffer(data, np.uint8)[: count * width * components].reshape(components, count, width)
    return whole.transpose(1, 0, 2).tobytes() + data[count * width * components :]


def un_lz4(data, _, values_len, *__):
    require(values_len <= 255 * len(data), f"{values_len} bytes out of {len(data)} of LZ4")
    check_lz4_offsets(data)
    return lz4.block.decompress(data, uncompressed_size=values_len)


def check_lz4_offsets(data):
    """That no match has the offset 0, which the library takes for something."""
    cursor = Cursor(data, "LZ4")

    def prolonged(length):
        more = 255 if length == 15 else 0
        while more == 255:
            more = cursor.number(1)
            length += more
        return length

    while cursor.at < len(data):
        token = cursor.number(1)
        cursor.take(prolonged(token >> 4))
        if cursor.at < len(data):
            require(cursor.number(2) > 0, "LZ4: a match of offset 0")
            prolonged(token & 15)


def un_zstd(data, _, values_len, *__):
    require(values_len <= 32_768 * len(data), f"{values_len} bytes out of {len(data)} of Zstandard")
    require(data[:4] == b"\x28\xb5\x2f\xfd", "no Zstandard frame")
    frame = zstandard.get_frame_parameters(data)
    require(frame.dict_id == 0, "a Zstandard frame with a dictionary")
    require(frame.content_size in (zstandard.CONTENTSIZE_UNKNOWN, values_len), f"a Zstandard frame of {frame.content_size} bytes")
    if values_len == 0:
        # `decompress` takes the header of an empty frame at its word and does not read on.
        frame = zstandard.ZstdDecompressor().decompressobj()
        values = frame.decompress(data)
        require(frame.eof and not frame.unused_data and not values, "not one empty Zstandard frame")
        return values
    return zstandard.ZstdDecompressor().decompress(data, max_output_size=values_len, read_across_frames=False, allow_extra_data=False)


# By pco's code: the numbers.
PCO_TYPES = dict(enumerate((np.dtype(f"<{name}") for name in "u4 u8 i4 i8 f4 f8 u2 i2 f2 u1 i1".split()), 1))
PCO_PIECE, PCO_DICT, PCO_LOOKBACK = 262_144, 4, 2


def un_pco(data, parameter, values_len, before):
    code, left = parameter & 15, values_len % PCO_TYPES[parameter & 15].itemsize
    dtype, count = PCO_TYPES[code], values_len // PCO_TYPES[code].itemsize
    require(left <= len(data), "pco: cut short")
    file, rest = Cursor(data[: len(data) - left], "pco"), data[len(data) - left :]
    components = (before[-1][1] & 63) + 1 if before and before[-1][0] == SPLIT else 1
    runs = [count // components] * components + [count % components]
    pieces = [min(PCO_PIECE, run - start) for run in runs for start in range(0, run, PCO_PIECE)]
    require(5 * len(pieces) <= len(file.data), f"pco: {len(pieces)} pieces in {len(file.data)} bytes")
    require(file.take(5) == b"pco!\x03", "pco: no standalone file of version 3")
    require(file.number(1) in (0, code), "pco: a file of another number type")
    file.take((6 + (file.data[file.at] & 63) + 1 + 7) // 8 if file.at < len(file.data) else 1)
    version = file.take(2)
    require(version[0] == 4, f"pco: wrapped format {version[0]}")
    wrapped, _ = pcodec.wrapped.FileDecompressor.new(version)
    numbers = np.zeros(count, dtype)
    at = 0
    for piece in pieces:
        found = (file.number(1), file.number(3) + 1)
        require(found == (code, piece), f"pco: {found[1]} numbers of type {found[0]}, expected {piece} of type {code}")
        check_pco_chunk(file.data[file.at : file.at + 16], 8 * dtype.itemsize)
        kind = f"{dtype.kind}{8 * dtype.itemsize}"
        chunk, taken = wrapped.chunk_decompressor(file.data[file.at :], kind)
        file.take(taken)
        progress, taken = chunk.read_page_into(file.data[file.at :], piece, numbers[at : at + piece])
        require(progress.finished and progress.n_processed == piece, f"pco: {progress.n_processed} numbers, expected {piece}")
        file.take(taken)
        at += piece
    require(file.take(1) == b"\0", "pco: no closing 0")
    file.end()
    return numbers.tobytes() + rest


def check_pco_chunk(start, bits):
    """Refuses what no writer uses, from the first bits of a chunk's metadata: mode, its extra bits, delta encoding, window."""
    start = int.from_bytes(start, "little")
    mode = start & 15
    require(mode != PCO_DICT, "pco: mode Dict")
    start >>= 4 + {0: 0, 1: bits, 2: bits, 3: 8}.get(mode, 0)
    require(start & 15 != PCO_LOOKBACK or (start >> 4 & 31) + 1 <= 16, "pco: a lookback window of more than 2^16 numbers")


class Codec(NamedTuple):
    decode: object
    parameters: object


SPLIT, PCO = 5, 6
COMPRESSORS = (2, 3, PCO)
CODECS = {
    1: Codec(unshuffle, range(2, 256)),
    2: Codec(un_lz4, (0,)),
    3: Codec(un_zstd, range(256)),
    4: Codec(unshuffle_bits, (1, 2, 4, 8)),
    SPLIT: Codec(unsplit, [parameter for parameter in range(256) if parameter & 63]),
    PCO: Codec(un_pco, [16 * level + code for level in range(13) for code in PCO_TYPES]),
}


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


def block(data, kinds, chains, chunk_seed, ordinal, what):
    cursor = Cursor(data, what)
    require(len(data) <= GIB and len(data) % 8 == 0, f"{what}: {len(data)} bytes")
    rows, count = cursor.number(4), cursor.number(4)
    require(1 <= rows <= 1 << 20 and count == len(kinds), f"{what}: {rows} rows, {count} pages")
    page_lens = [cursor.number(4) for _ in range(count)]
    require(all(length % 8 == 0 and length >= 32 for length in page_lens), f"{what}: pages of {page_lens} bytes")
    cursor.zeros(align8(cursor.at) - cursor.at)
    cursor.take(8)
    checked(data[: cursor.at], seed_of(chunk_seed, ordinal, 0), f"{what}: directory")
    pages = []
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
        seed = chunk_seed(block.hash for block in self.blocks)
        require(seed == self.seed, f"{what}: seed {self.seed:#x}, its blocks say {seed:#x}")


def chunk_seed(hashes):
    return int.from_bytes(blake3_derive("tetrys format 1 chunk seed", b"".join(hashes))[:8], "little")


# ------------------------------------------------------------------------------------------------ format-spec/locator.md


def locator(table, version, row):
    tag = blake3_derive("tetrys format 1 locator tag", uuid.UUID(table).bytes + struct.pack("<Q", version))[:2]
    return (int.from_bytes(tag, "little") & 0x7FFF) << 48 | row
