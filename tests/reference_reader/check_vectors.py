"""Reads the vectors of format-spec/vectors/README.md with the reference reader and prints the name of each file it read.

    python check_vectors.py FOLDER
"""

import json
import os
import sys

import xxhash

from judge import judged, with_hash
from read_table import finish
from tetrys_reader._blocks import (
    Chunk,
    Structure,
    Type,
    block,
    blake3,
    checked,
    chunk_seed,
    lengths,
    locator,
    logical_block_hash,
    plain,
    seed_of,
    validity,
)
from tetrys_reader._codecs import chain, chain_bytes, decode_chain
from tetrys_reader._cursor import Cursor
from tetrys_reader._errors import Refused
from tetrys_reader._manifest import Schema, check_lists, check_segments, check_view, name_of, parse_manifest, parse_pin
from tetrys_reader._parquet import parquet
from tetrys_reader._segment import LAYOUT, Layout, check_statistics, plain_index, read_hashes, read_index, read_join, read_lists


folder = sys.argv[1]
read = []


def stored(name):
    read.append(name)
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def says(name):
    return json.loads(stored(name))


def same(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: found {str(found)[:500]}, expected {str(expected)[:500]}")


def refused(what, function, *arguments):
    try:
        found = function(*arguments)
    except Refused:
        return
    sys.exit(f"{what}: not refused, but {found}")


def whole(function, data, *arguments):
    cursor = Cursor(data, "vector")
    found = function(cursor, *arguments)
    cursor.end()
    return found


def parsed_chain(digits):
    steps = whole(chain, bytes.fromhex(digits))
    same(chain_bytes(steps).hex(), digits, "chain")
    return steps


def values_of(case, rows):
    structure, values = bytes.fromhex(case["structure"]), bytes.fromhex(case["values"])
    kind = Type(case["type"])
    return [plain(kind, value) for value in Structure(kind, rows, structure, len(values), case["type"]).values(values)]


def check_block(found, case, what):
    same((found.rows, found.hash.hex()), (case["rows"], case["hash"]), what)
    values = [[plain(page.parsed.type, value) for value in page.parsed.values(page.values)] for page in found.pages]
    same(values, case["holds"], what)


def types():
    file = says("types.json")
    same([text for text in file["types"] if Type(text).in_index], file["in_index"], "types of the index")
    for text in file["refused"]:
        refused(f"type `{text}`", Type, text)


def nodes():
    for case in says("validity.json"):
        same(whole(validity, bytes.fromhex(case["bytes"]), len(case["valid"])).tolist(), case["valid"], "validity")
    file = says("lengths.json")
    for case in file["nodes"]:
        same(whole(lengths, bytes.fromhex(case["bytes"]), len(case["lengths"])).tolist(), case["lengths"], "lengths")
    for case in file["refused"]:
        refused(case["why"], whole, lengths, bytes.fromhex(case["bytes"]), case["count"])


def pages():
    for case in says("pages.json"):
        same(values_of(case, case["rows"]), case["holds"], case["type"])
    for case in says("block_hashes.json"):
        parts = [(page["type"], bytes.fromhex(page["structure"]), bytes.fromhex(page["values"])) for page in case["pages"]]
        same(logical_block_hash(case["rows"], parts).hex(), case["hash"], "logical block hash")


def checksums():
    file = says("checksums.json")
    for case in file["seeds"]:
        same(format(chunk_seed(bytes.fromhex(digits) for digits in case["hashes"]), "016x"), case["seed"], "chunk seed")
    for case in file["pages"]:
        checksum = int(case["checksum"], 16).to_bytes(8, "little")
        checked(bytes.fromhex(case["unsigned"]) + checksum, seed_of(int(case["chunk_seed"], 16), case["ordinal"], case["page"] + 1), "page")


def chains():
    file = says("chains.json")
    for case in file["chains"]:
        decoded = bytes.fromhex(case["decoded"])
        same(decode_chain(parsed_chain(case["chain"]), bytes.fromhex(case["encoded"]), len(decoded), case["text"]), decoded, case["text"])
    for case in file["refused"]:
        refused(case["why"], whole, chain, bytes.fromhex(case["chain"]))
    for case in file["refused_encoded"]:
        refused(case["why"], decode_chain, parsed_chain(case["chain"]), bytes.fromhex(case["encoded"]), case["values_len"], case["why"])


def blocks():
    file, data = says("block.json"), stored("block.bin")
    kinds, steps = [Type(column["type"]) for column in file["columns"]], [parsed_chain(column["chain"]) for column in file["columns"]]
    check_block(block(data, kinds, steps, int(file["seed"], 16), file["ordinal"], "block.bin"), file, "block.bin")
    refused("a block in another place", block, data, kinds, steps, int(file["seed"], 16), file["ordinal"] + 1, "block.bin")
    file = says("chunk.json")
    found = Chunk(stored("chunk.bin"), "chunk.bin", file["name"])
    same(format(found.seed, "016x"), file["seed"], "seed of the chunk")
    same([kind.text for kind in found.kinds], [column["type"] for column in file["columns"]], "types of the chunk")
    same(found.chains, [parsed_chain(column["chain"]) for column in file["columns"]], "chains of the chunk")
    same(len(found.blocks), len(file["blocks"]), "blocks of the chunk")
    for number, case in enumerate(file["blocks"]):
        same((found.offsets[number], found.lengths[number]), (case["offset"], case["bytes"]), "place of a block")
        check_block(found.blocks[number], case, f"chunk.bin, block {number}")


def falls_below(digits, span, weight):
    return (int(digits, 16) * span) >> 64 < weight


def cuts():
    file = says("cuts.json")
    for case in file["rows_into_blocks"]:
        cuts, filled, ends = case["cuts"], 0, []
        for position, row in enumerate(case["rows"]):
            size, row_hash = 0, 0
            for column in row["columns"]:
                counts, values = bytes.fromhex(column["lengths"]), bytes.fromhex(column["values"])
                for start in range(0, len(counts), 64):
                    row_hash = xxhash.xxh3_64_intdigest(counts[start : start + 64], seed=row_hash)
                row_hash = xxhash.xxh3_64_intdigest(values, seed=row_hash)
                size += len(counts) + len(values) + 1
            same((size, format(row_hash, "016x")), (row["size"], row["hash"]), f"row {position}")
            if filled > 0 and (row["starts"] or filled + size > cuts["block_max"]):
                ends, filled = ends + [position], 0
            filled += size
            if filled >= cuts["block_min"] and falls_below(row["hash"], cuts["block_target"] - cuts["block_min"], size):
                ends, filled = ends + [position + 1], 0
        same(ends + [len(case["rows"])] * (filled > 0), case["ends"], "ends of blocks")
    for case in file["blocks_into_chunks"]:
        cuts, filled, sequence, last, ends = case["cuts"], 0, 0, "0", []
        for position, entry in enumerate(case["blocks"]):
            size, starts = entry["size"], entry["starts"]
            wanted = starts and filled >= cuts["chunk_min"] and falls_below(last, cuts["chunk_target"] - cuts["chunk_min"], 4 * sequence)
            if wanted or (filled > 0 and filled + size > cuts["chunk_max"]):
                ends, filled, sequence = ends + [position], 0, 0
            filled, sequence, last = filled + size, size + (0 if starts else sequence), entry["hash"]
            if filled >= cuts["chunk_target"] and falls_below(last, (cuts["chunk_max"] - cuts["chunk_target"]) // 2, size):
                ends, filled, sequence = ends + [position + 1], 0, 0
        same(ends + [len(case["blocks"])] * (filled > 0), case["ends"], "ends of chunks")


def locators():
    for case in says("locators.json"):
        found = locator(case["table"], case["version"], case["row"])
        same((found, found >> 48), (case["locator"], case["tag"]), "locator")


def index_values(data, wanted, rows, what):
    columns, runs = read_index(data, wanted, rows, what)
    return [plain_index(kind, column) for (_, kind), column in zip(wanted, columns)], runs.tolist()


def segment():
    file = says("manifest.json")
    members, digest = parse_manifest(stored("manifest.bin"), file["version"])
    same((digest, members, name_of(file["version"])), (file["blake3"], file["members"], file["name"]), "manifest")
    same((members["rows"], members["sequences"]), (file["rows"], file["sequences"]), "manifest")
    schema, (segment,) = Schema(members["schema"]), members["segments"]
    (group,) = segment["groups"]
    objects = {}
    for kind, reference in (("index", segment["index"]), ("layout", group["layout"]), ("hashes", group["hashes"])):
        objects[kind] = stored(f"{kind}.parquet")
        same({"blake3": blake3(objects[kind]).hex(), "bytes": len(objects[kind])}, reference, kind)
    file = says("index.json")
    wanted = [schema.columns[column] for column in schema.index]
    same([{"name": name, "type": kind.text} for name, kind in wanted], [{"name": c["name"], "type": c["type"]} for c in file["columns"]], "index")
    values, runs = index_values(objects["index"], wanted, segment["rows"], "index.parquet")
    same((values, runs), ([column["values"] for column in file["columns"]], file["runs"]), "index")
    check_statistics(segment["statistics"], schema, values, "statistics")
    layout("layout", objects["layout"])
    same([digest.hex() for digest in read_hashes(objects["hashes"], None, "hashes.parquet")], says("hashes.json")["hashes"], "hashes")


def layout(name, data):
    file = says(f"{name}.json")
    runs = Layout(data, file["columns"], file["rows"], name, file["stores"]).runs()
    for run in runs:
        run["lengths"], run["block_rows"] = run["lengths"].tolist(), run["block_rows"].tolist()
        if run["page_lengths"] is not None:
            # Of each block, the lengths of its pages.
            run["page_lengths"] = [[int(length) for length in lengths] for lengths in zip(*run["page_lengths"])]
        run["chunk"], run["seed"] = run["chunk"].hex(), format(run["seed"], "016x")
        run["chains"] = [chain_bytes(steps).hex() for steps in run["chains"]]
        same(set(run), set(LAYOUT), name)
    same(runs, file["runs"], name)


def shared():
    layout("layout_shared", stored("layout_shared.parquet"))
    file = says("manifest_shared.json")
    members, digest = parse_manifest(stored("manifest_shared.bin"), file["version"])
    same((digest, members, name_of(file["version"])), (file["blake3"], file["members"], file["name"]), "manifest_shared.bin")
    schema = Schema(members["schema"])
    check_segments(members, schema)
    same([masked for _, _, masked in schema.groups], file["masked"], "masked columns")
    file = says("manifests.json")
    for case in file["taken"]:
        judged({"manifest": case["signed"]})
    for case in file["refused"]:
        refused(case["why"], judged, {"manifest": case["signed"]})


def joined(rows):
    return [None if row == -1 else row for row in rows.tolist()]


def joins_and_pins():
    file, data = says("join.json"), stored("join.parquet")
    same(joined(read_join(data, file["left"], file["right"], "join.parquet")), file["rows"], "join.parquet")
    refused("a row beyond the right table", read_join, data, file["left"], file["right"] - 1, "join.parquet")
    refused("another number of rows", read_join, data, file["left"] - 1, file["right"], "join.parquet")
    file, data = says("pin.json"), stored("pin.bin")
    same(parse_pin(data, file["name"]), (file["members"], file["blake3"]), "pin.bin")
    refused("the pin of another commit", parse_pin, data, "pins/00000000-0000-0000-0000-000000000000.json")
    file, data = says("pin_second.json"), stored("pin_second.bin")
    same(parse_pin(data, file["name"]), (file["members"], file["blake3"]), "pin_second.bin")
    same(file["members"]["of_commit"], file["commit"], "pin_second.bin")


def tags():
    file = says("manifest_tags.json")
    members, digest = parse_manifest(stored("manifest_tags.bin"), file["version"])
    same((digest, members, name_of(file["version"])), (file["blake3"], file["members"], file["name"]), "manifest_tags.bin")
    check_segments(members, Schema(members["schema"]))
    for case in file["refused"]:
        refused(case["why"], later, case["signed"], file["version"])


def deleting():
    file = says("manifest_deleting.json")
    members, digest = parse_manifest(stored("manifest_deleting.bin"), file["version"])
    same((digest, members, name_of(file["version"])), (file["blake3"], file["members"], file["name"]), "manifest_deleting.bin")
    check_segments(members, Schema(members["schema"]))
    for case in file["refused"]:
        refused(case["why"], later, case["signed"], file["version"])


def collections():
    file = says("manifest_collections.json")
    members, digest = parse_manifest(stored("manifest_collections.bin"), file["version"])
    same((digest, members, name_of(file["version"])), (file["blake3"], file["members"], file["name"]), "manifest_collections.bin")
    check_segments(members, Schema(members["schema"]))
    for case in file["refused"]:
        refused(case["why"], later, case["signed"], file["version"])
    lists, found = json.loads(file["object"]), members["collections"]
    check_lists(lists, found["floor"], file["version"], "lists of collections")
    same({name: lists[name] for name in ("kept", "expired", "condemned")}, {name: found[name] for name in ("kept", "expired", "condemned")}, "lists")
    reference = later(file["signed_with_object"], file["version"])["collections"]["lists"]
    same(f"collections/{reference['blake3']}.json", file["name_of_object"], "the name of the lists")
    same((blake3(file["object"].encode()).hex(), len(file["object"])), (reference["blake3"], reference["bytes"]), "the lists")


def tails():
    file = says("manifest_tails.json")
    members, digest = parse_manifest(stored("manifest_tails.bin"), file["version"])
    same((digest, members, name_of(file["version"])), (file["blake3"], file["members"], file["name"]), "manifest_tails.bin")
    schema, (segment,) = Schema(members["schema"]), members["segments"]
    check_segments(members, schema)
    for case in file["refused"]:
        refused(case["why"], later, case["signed"], file["version"])
    file, data = says("index_tail.json"), stored("index_tail.parquet")
    same({"blake3": blake3(data).hex(), "bytes": len(data)}, segment["index"], "index with a tail")
    same((segment["tail"], segment["rows"]), (file["tail"], file["rows"]), "tail")
    same(blake3(data[-file["tail"]["bytes"] :]).hex(), file["tail"]["blake3"], "tail")
    wanted = [schema.columns[column] for column in schema.index]
    values, runs = index_values(data, wanted, segment["rows"], "index_tail.parquet")
    same((values, runs), ([column["values"] for column in file["columns"]], file["runs"]), "index with a tail")
    sums, end = bytes.fromhex(parquet(data, None, "index_tail.parquet")[0].metadata[b"tetrys.pages"].decode()), 4
    same(len(sums), 8 * len(file["pages"]), "checksums of pages")
    # There is one row group, so the pages lie in the order of their checksums.
    for number, page in enumerate(file["pages"]):
        same(page["offset"], end, "place of a page")
        end += page["bytes"]
        found = xxhash.xxh3_64_intdigest(data[page["offset"] : end], seed=page["offset"])
        same((format(found, "016x"), found), (page["sum"], int.from_bytes(sums[8 * number : 8 * number + 8], "little")), "checksum of a page")
    same(end, len(data) - file["tail"]["bytes"], "where the tail begins")


SALT = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)


def may_have(bits, value):
    """Whether a split block bloom filter may have a value, as the specification of Parquet says."""
    found = xxhash.xxh64_intdigest(value)
    start = 32 * ((found >> 32) * (len(bits) // 32) >> 32)
    words = [int.from_bytes(bits[at : at + 4], "little") for at in range(start, start + 32, 4)]
    return all(word >> ((found & 0xFFFFFFFF) * salt % (1 << 32) >> 27) & 1 for word, salt in zip(words, SALT))


def bloom_filters():
    file, data = says("index_filters.json"), stored("index_filters.parquet")
    same(blake3(data[-file["tail"]["bytes"] :]).hex(), file["tail"]["blake3"], "tail of an index with bloom filters")
    footer, end = parquet(data, None, "index_filters.parquet")[0].metadata, 0
    sums = bytes.fromhex(footer[b"tetrys.filters"].decode())
    same(len(sums), 8 * len(file["filters"]), "checksums of bloom filters")
    columns = {column["name"]: column for column in file["columns"]}
    for number, says_filter in enumerate(file["filters"]):
        column, end = columns[says_filter["column"]], says_filter["offset"] + says_filter["bytes"]
        stored_filter = data[says_filter["offset"] : end]
        found = xxhash.xxh3_64_intdigest(stored_filter, seed=says_filter["offset"])
        same((format(found, "016x"), found), (says_filter["sum"], int.from_bytes(sums[8 * number : 8 * number + 8], "little")), "checksum of a filter")
        # The header is less than 32 bytes long.
        bits = stored_filter[len(stored_filter) % 32 :]
        width = 8 if column["type"] in ("u64", "timestamp[us]") else 4

        def encoded(value):
            return value.encode() if isinstance(value, str) else value.to_bytes(width, "little", signed=value < 0)

        values = [value for value in column["values"] if value is not None]
        same([value for value in values if not may_have(bits, encoded(value))], [], f"values of {column['name']} in its filter")
        same([value for value in says_filter["excluded"] if may_have(bits, encoded(value))], [], f"values that {column['name']} lacks")
    same(end, len(data) - file["tail"]["bytes"], "where the tail begins")


def later(signed, version):
    manifest, _ = parse_manifest(with_hash(signed), version)
    check_segments(manifest, Schema(manifest["schema"]))
    return manifest


def views():
    file = says("manifest_view.json")
    members, digest = parse_manifest(stored("manifest_view.bin"), 1)
    same((digest, members, name_of(1)), (file["blake3"], file["members"], file["name"]), "manifest_view.bin")
    check_segments(members, Schema(members["schema"]))
    same(check_view(members, Schema(members["schema"])), file["types"], "columns of a view")
    for case in file["refused"]:
        refused(case["why"], judged, {"manifest": case["signed"]})
    file, data = says("lists.json"), stored("lists.parquet")
    same(joined(read_lists(data, len(file["firsts"]), "lists.parquet")), file["firsts"], "lists.parquet")
    for case in file["refused"]:
        refused(f"lists {case['firsts']}", read_lists, bytes.fromhex(case["file"]), len(case["firsts"]), "lists")


def main():
    for check in (types, nodes, pages, checksums, chains, blocks, cuts, locators, segment, shared, joins_and_pins, tags, deleting, collections, tails, bloom_filters, views):
        check()
    print("\n".join(sorted(read)))


finish(main)
