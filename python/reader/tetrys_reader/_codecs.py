"""How the values of a page are encoded: format-spec/codecs.md, decoding only.

LZ4 and Zstandard come with pyarrow. Numbers encoded with pco need the package `pcodec`, which is optional.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ._cursor import Cursor
from ._errors import Error, Refused, require

# ------------------------------------------------------------------------------------------------ format-spec/codecs.md#chains


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
        except (Refused, OSError, ValueError, TypeError, RuntimeError, MemoryError) as error:
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
    found = lz4_size(data)
    require(found == values_len, f"LZ4 of {found} bytes, expected {values_len}")
    return pa.decompress(data, decompressed_size=values_len, codec="lz4_raw", asbytes=True)


def lz4_size(data):
    """How many bytes a block of LZ4 gives; pyarrow fills up what is missing. Refuses the offset 0, which the library takes for something."""
    cursor, size = Cursor(data, "LZ4"), 0

    def prolonged(length):
        more = 255 if length == 15 else 0
        while more == 255:
            more = cursor.number(1)
            length += more
        return length

    while cursor.at < len(data):
        token = cursor.number(1)
        literals = prolonged(token >> 4)
        cursor.take(literals)
        size += literals
        if cursor.at < len(data):
            require(cursor.number(2) > 0, "LZ4: a match of offset 0")
            size += prolonged(token & 15) + 4
    return size


def un_zstd(data, _, values_len, *__):
    require(values_len <= 32_768 * len(data), f"{values_len} bytes out of {len(data)} of Zstandard")
    check_zstd_frame(data, values_len)
    return pa.decompress(data, decompressed_size=values_len, codec="zstd", asbytes=True)


def check_zstd_frame(data, values_len):
    """That the bytes are one frame (RFC 8878) without a dictionary, of this content size where it says one, and nothing else."""
    cursor = Cursor(data, "Zstandard")
    require(cursor.take(4) == b"\x28\xb5\x2f\xfd", "no Zstandard frame")
    flags = cursor.number(1)
    single, has_checksum = flags >> 5 & 1, flags >> 2 & 1
    cursor.take(1 - single)
    require(cursor.number((0, 1, 2, 4)[flags & 3]) == 0, "a Zstandard frame with a dictionary")
    width = (single, 2, 4, 8)[flags >> 6]
    size = cursor.number(width) + (256 if width == 2 else 0)
    require(width == 0 or size == values_len, f"a Zstandard frame of {size} bytes, expected {values_len}")
    last = False
    while not last:
        header = cursor.number(3)
        last = header & 1
        # A block of type 1 repeats one byte.
        cursor.take(1 if header >> 1 & 3 == 1 else header >> 3)
    cursor.take(4 * has_checksum)
    cursor.end()


# By pco's code: the numbers.
PCO_TYPES = dict(enumerate((np.dtype(f"<{name}") for name in "u4 u8 i4 i8 f4 f8 u2 i2 f2 u1 i1".split()), 1))
PCO_PIECE, PCO_DICT, PCO_LOOKBACK = 262_144, 4, 2


def un_pco(data, parameter, values_len, before):
    code, left = parameter & 15, values_len % PCO_TYPES[parameter & 15].itemsize
    dtype, count = PCO_TYPES[code], values_len // PCO_TYPES[code].itemsize
    try:
        from pcodec import wrapped
    except ImportError:
        raise Error("numbers are encoded with pco: install the Python package `pcodec`, 1.1 or later") from None
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
    decompressor, _ = wrapped.FileDecompressor.new(version)
    numbers = np.zeros(count, dtype)
    at = 0
    for piece in pieces:
        found = (file.number(1), file.number(3) + 1)
        require(found == (code, piece), f"pco: {found[1]} numbers of type {found[0]}, expected {piece} of type {code}")
        check_pco_chunk(file.data[file.at : file.at + 16], 8 * dtype.itemsize)
        kind = f"{dtype.kind}{8 * dtype.itemsize}"
        chunk, taken = decompressor.chunk_decompressor(file.data[file.at :], kind)
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
