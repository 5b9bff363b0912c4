"""Reads a Tetrys table from a directory, checks everything that format-spec/ lets a reader check, and prints it as JSON.

    python read_table.py TABLE ... [--version N] [--values]

prints for each, on a line, {"table", "version", "rows", "sequences", "columns"}, where each column has id (not those of a view), name, type and the BLAKE3 `digest` of its values
(of their JSON without blanks), or with --values the `values`: null, booleans, integers (dates, times and durations too), text,
floats and bytes as hexadecimal digits (floats by their bits, most significant first), lists as lists, and tensors as
{"shape": [...], "values": [...]} in C order. Ends with status 1 and the reason where the table is refused.

Written from format-spec/ alone, like tetrys_bytes.py beside it, which has the byte structures.
"""

import argparse
import io
import json
import math
import os
import re
import struct
import sys

import pyarrow as pa
import pyarrow.parquet as pq

from tetrys_bytes import GIB, TEXTS, UNITS, Chunk, Cursor, Refused, Tensor, Type, blake3, chain, decoded, directory_len, lengths, require

MAX_SEGMENT_ROWS = 4_194_304


# ------------------------------------------------------------------------------------------------ format-spec/README.md#objects


class Directory:
    """The objects below a root; names are built from hashes, never taken from metadata."""

    def __init__(self, root):
        self.root = os.path.realpath(root)

    def manifests(self):
        folder = os.path.join(self.root, "manifests")
        return sorted(name for name in os.listdir(folder) if re.fullmatch(r"[0-9]{20}\.json", name)) if os.path.isdir(folder) else []

    def has(self, name):
        return os.path.isfile(os.path.join(self.root, name))

    def get(self, name):
        path = os.path.join(self.root, name)
        require(os.path.realpath(path) == path, f"{name}: a symbolic link")
        require(os.path.isfile(path), f"{name}: not there")
        with open(path, "rb") as file:
            return file.read()

    def neighbour(self, url):
        """The root that a relative URL names, or None for an absolute one, which nobody allowed."""
        if "://" in url:
            return None
        names = url.split("/")
        require(all(names) and not set(url) & set("\\?#:"), f"relative URL `{url}`")
        root = [name for name in self.root.split("/") if name]
        for name in names:
            require(name != ".." or root, f"relative URL `{url}` leads out of {self.root}")
            root = root[:-1] if name == ".." else root + [name]
        return type(self)("/" + "/".join(root))

    def referenced(self, kind, reference, suffix=".parquet"):
        """An object that a reference of a manifest names; size and hash are checked before anybody parses it."""
        name = f"{kind}/{reference['blake3']}{suffix}"
        data = self.get(name)
        require(len(data) == reference["bytes"], f"{name}: {len(data)} bytes, expected {reference['bytes']}")
        require(blake3(data).hex() == reference["blake3"], f"{name}: BLAKE3 is not its name")
        return data


def check_reference(reference, what):
    members(reference, {"blake3": str, "bytes": int}, f"{what}: reference", exact=True)
    require(HASH.fullmatch(reference["blake3"]), f"{what}: reference: no hash")


def members(value, types, what, exact=False):
    """That a JSON object has these members, of these types; others only where it is not `exact`."""
    require(isinstance(value, dict), f"{what}: no object")
    for name, kind in types.items():
        require(name in value, f"{what}: no member `{name}`")
        given = value[name]
        require(isinstance(given, kind) and (kind is bool or not isinstance(given, bool)), f"{what}: `{name}` is {json.dumps(given)[:60]}")
        require(not isinstance(given, int) or 0 <= given < 1 << 64, f"{what}: `{name}` is {given}")
    require(not exact or len(value) == len(types), f"{what}: unknown members {sorted(set(value) - set(types))}")


# ------------------------------------------------------------------------------------------------ format-spec/manifest.md

CUTS = ("block_min", "block_target", "block_max", "chunk_min", "chunk_target", "chunk_max")
HASH = re.compile("[0-9a-f]{64}")
UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# What these pages describe: the feature, the lists that announce it, and whether a manifest uses it.
FEATURES = (
    ("references", ("read_features", "write_features"), lambda manifest: manifest["stores"]),
    ("masked-copies", ("read_features",), lambda manifest: any(group.get("masked") for group in manifest["schema"]["groups"])),
    ("condemned", ("write_features",), lambda manifest: manifest["condemned"]),
    ("deleting", ("write_features",), lambda manifest: manifest.get("deleting") is not None),
    ("views", ("read_features",), lambda manifest: "view" in manifest),
    ("index-tails", ("write_features",), lambda manifest: any(isinstance(segment, dict) and "tail" in segment for segment in manifest["segments"])),
    ("tags", ("write_features",), lambda manifest: manifest.get("tags")),
    ("next-column", ("write_features",), lambda manifest: manifest.get("next_column") is not None),
)
TAG = re.compile(r"(?![0-9]+\Z)[A-Za-z0-9._-]{1,64}\Z")
CONDEMNED_IN = {"attachments": "", "chunks": "", "hashes": ".parquet", "index": ".parquet", "joins": ".parquet", "layout": ".parquet"}


def no_twins(pairs):
    require(len({name for name, _ in pairs}) == len(pairs), "a member name occurs twice")
    return dict(pairs)


def no_such_number(text):
    raise Refused(f"{text} is no JSON")


def finite(text):
    number = float(text)
    require(math.isfinite(number), f"{text[:40]} is beyond 64 bits")
    return number


def whole(text):
    number = finite(text)
    return number if text == "-0" else int(text)


def depth_of(text):
    """How deep objects and lists nest, outside of strings."""
    deepest = depth = 0
    for mark in re.sub(r'"(?:[^"\\]|\\.)*"', "", text):
        depth += (mark in "[{") - (mark in "]}")
        deepest = max(deepest, depth)
    return deepest


def sealed(data, what):
    """The members of a JSON object that ends with its hash, and the hash."""
    require(len(data) >= 78, f"{what}: {len(data)} bytes")
    body, tail = data[:-78], data[-78:]
    require(re.fullmatch(rb',"blake3":"[0-9a-f]{64}"}\n', tail), f"{what}: no tail")
    digest = tail[11:75].decode()
    require(blake3(body).hex() == digest, f"{what}: BLAKE3 differs")
    text = decoded(data, what)
    require(depth_of(text) <= 127, f"{what}: nested {depth_of(text)} deep")
    try:
        found = json.loads(text, object_pairs_hook=no_twins, parse_constant=no_such_number, parse_float=finite, parse_int=whole)
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError, Refused) as error:
        raise Refused(f"{what}: {error}") from None
    members(found, {"format": int}, what)
    require(found["format"] == 1, f"{what}: format {found['format']}")
    return found, digest


def check_features(manifest, what):
    members(manifest, {"read_features": list, "write_features": list}, what)
    for features in (manifest["read_features"], manifest["write_features"]):
        require(all(isinstance(name, str) for name in features), f"{what}: features {features}")
        require(sorted(set(features), key=str.encode) == features, f"{what}: features {features} are not sorted")
    for name in manifest["read_features"]:
        require(any(name == known and "read_features" in lists for known, lists, _ in FEATURES), f"{what}: unknown read feature `{name}`")


def check_use_of_features(manifest, what):
    """That what a manifest announces it uses, and what it uses it announces."""
    for name, lists, used in FEATURES:
        for features in lists:
            does = "uses it" if used(manifest) else "does not use it"
            require((name in manifest[features]) == bool(used(manifest)), f"{what}: `{name}` in {manifest[features]}, but the table {does}")


def name_of(version):
    return f"manifests/{2**64 - 1 - version:020}.json"


def parse_manifest(data, version):
    """The manifest of a version, and its hash."""
    what = f"manifest of version {version}"
    require(len(data) <= 256 << 20, f"{what}: {len(data)} bytes")
    manifest, digest = sealed(data, what)
    check_features(manifest, what)
    integers = dict.fromkeys(("version", "rows", "sequences"), int)
    texts = dict.fromkeys(("table", "commit_id", "preset", "blake3"), str)
    lists = dict.fromkeys(("segments", "stores", "condemned"), list)
    objects = dict.fromkeys(("schema", "cuts", "attachments", "properties"), dict)
    members(manifest, integers | texts | lists | objects, what)
    require("lineage" in manifest and "parent" in manifest, f"{what}: no lineage or no parent")
    require(manifest["version"] == version >= 1, f"{what}: says that it is version {manifest['version']}")
    require(UUID.fullmatch(manifest["table"]) and UUID.fullmatch(manifest["commit_id"]), f"{what}: no UUID")
    require((manifest["parent"] is None) == (version == 1), f"{what}: parent {manifest['parent']}")
    if version > 1:
        members(manifest["parent"], {"version": int, "blake3": str}, f"{what}: parent")
        require(manifest["parent"]["version"] == version - 1, f"{what}: parent is version {manifest['parent']['version']}")
    members(manifest["cuts"], dict.fromkeys(CUTS, int), f"{what}: cuts", exact=True)
    block, chunk = [manifest["cuts"][name] for name in CUTS[:3]], [manifest["cuts"][name] for name in CUTS[3:]]
    require(1 <= block[0] < block[1] < block[2] <= 1 << 20, f"{what}: cuts of blocks {block}")
    require(1 <= chunk[0] < chunk[1] < chunk[2] <= GIB, f"{what}: cuts of chunks {chunk}")
    for name, reference in manifest["attachments"].items():
        require(1 <= len(name.encode()) <= 1_024, f"{what}: attachment `{name[:40]}`")
        check_reference(reference, f"{what}: attachment `{name}`")
    for name in manifest["properties"]:
        require(1 <= len(name.encode()) <= 1_024, f"{what}: property `{name[:40]}`")
    require(manifest["rows"] <= 1 << 48 and len(manifest["segments"]) <= 1 << 20, f"{what}: too long")
    check_stores(manifest, what)
    tags = manifest.get("tags", {})
    require(isinstance(tags, dict), f"{what}: tags {tags}")
    for tag, tagged in tags.items():
        require(TAG.match(tag) and type(tagged) is int and 1 <= tagged < version, f"{what}: tag `{tag[:80]}` of version {tagged}")
    deleting = manifest.get("deleting")
    require(deleting is None or isinstance(deleting, list), f"{what}: deleting {deleting}")
    for entry in given_up(manifest):
        members(entry, {"folder": str, "blake3": str, "bytes": int}, f"{what}: condemned")
        require(entry["folder"] in CONDEMNED_IN and HASH.fullmatch(entry["blake3"]), f"{what}: condemned {entry}")
    if deleting is not None:
        names = [(entry["folder"], entry["blake3"]) for entry in given_up(manifest)]
        require(len(names) == len(set(names)), f"{what}: condemned twice, or condemned and being deleted")
    return manifest, digest


def given_up(manifest):
    """The objects that a version condemns or marks."""
    return [*manifest["condemned"], *(manifest.get("deleting") or [])]


def check_stores(manifest, what):
    require(len(manifest["stores"]) <= 4_096, f"{what}: {len(manifest['stores'])} stores")
    for number, store in enumerate(manifest["stores"], 1):
        here = f"{what}: store {number}"
        check_version(store, here)
        members(store, {"urls": list}, here)
        require(len(store["urls"]) <= 16, f"{here}: {len(store['urls'])} urls")
        require(store["urls"] and all(isinstance(url, str) and url for url in store["urls"]), f"{here}: urls {store['urls']}")
        itself = store["table"] == manifest["table"]
        require(not itself or store["version"] < manifest["version"], f"{here}: this table, version {store['version']}")


def check_version(value, what):
    """A version of a table, and the hash of its manifest."""
    members(value, {"table": str, "version": int, "blake3": str}, what)
    require(UUID.fullmatch(value["table"]) and HASH.fullmatch(value["blake3"]) and value["version"] >= 1, f"{what}: no version of a table")


class Schema:
    """The columns by id, the groups as (name, columns, those of them that are masked), and the index."""

    def __init__(self, schema):
        members(schema, dict.fromkeys(("columns", "groups", "index", "sequence_by", "order_by"), list), "schema")
        require(len(schema["columns"]) <= 100_000, "schema: more than 100,000 columns")
        require(schema["index"], "schema: no index column")
        self.columns, names = {}, set()
        for column in schema["columns"]:
            members(column, {"id": int, "name": str, "type": str}, "schema: column")
            what, properties = f"column `{column['name']}`", column.get("properties", {})
            require(isinstance(properties, dict) and all(1 <= len(name.encode()) <= 1_024 for name in properties), f"{what}: properties")
            require(column["id"] < 1 << 32 and column["id"] not in self.columns, f"{what}: id {column['id']}")
            require(1 <= len(column["name"].encode()) <= 1_024 and column["name"] not in names, f"{what}: name")
            names.add(column["name"])
            self.columns[column["id"]] = (column["name"], Type(column["type"]))
        self.groups, self.index = [], self._ids(schema["index"], "index")
        for group in schema["groups"]:
            members(group, {"name": str, "columns": list}, "schema: group")
            require(1 <= len(group["name"].encode()) <= 1_024, "schema: name of a group")
            require(1 <= len(group["columns"]) <= 65_534, f"group `{group['name']}`: {len(group['columns'])} columns")
            columns, masked = (self._ids(group.get(ids, []), f"group `{group['name']}`") for ids in ("columns", "masked"))
            require(masked == sorted(masked) and set(masked) <= set(columns), f"group `{group['name']}`: masked {masked} of {columns}")
            self.groups.append((group["name"], columns, masked))
        require(len({name for name, *_ in self.groups}) == len(self.groups), "schema: two groups of one name")
        self.sequence_by, self.order_by = self._ids(schema["sequence_by"], "sequence_by"), self._ids(schema["order_by"], "order_by")
        grouped = {column for _, columns, _ in self.groups for column in columns}
        valid = {column for _, columns, masked in self.groups for column in columns if column not in masked}
        for column, (name, kind) in self.columns.items():
            require((column in self.index) != (column in grouped), f"column `{name}` is in the index and a group, or in neither")
            require(column in grouped or kind.in_index, f"column `{name}`: no `{kind.text}` in the index")
            require(column not in grouped or column in valid, f"column `{name}` is masked in all of its groups")
        require(set(self.sequence_by + self.order_by) <= set(self.index), "schema: sequences or order by what is not in the index")

    def _ids(self, ids, what):
        require(isinstance(ids, list), f"{what}: {ids} is no list")
        require(all(type(column) is int and column in self.columns for column in ids), f"{what}: unknown column in {ids}")
        require(len(set(ids)) == len(ids), f"{what}: a column twice in {ids}")
        return ids


def check_segments(manifest, schema):
    """That the segments fit the schema and add up to what the manifest says."""
    check_use_of_features(manifest, "manifest")
    following, above = manifest.get("next_column"), max(schema.columns, default=-1) + 1
    require(following is None or type(following) is int and above < following < 1 << 32, f"manifest: next column {following}, columns below {above}")
    if "view" in manifest:
        check_view(manifest, schema)
    rows, sequences, sizes = 0, 0, sum(entry["bytes"] for entry in [*manifest["attachments"].values(), *given_up(manifest)])
    sources = manifest["view"]["sources"] if "view" in manifest else []
    sizes += sum(source[member]["bytes"] for source in sources for member in ("join", "lists") if source[member])
    for number, segment in enumerate(manifest["segments"]):
        what = f"segment {number}"
        integers = dict.fromkeys(("first_row", "rows", "sequences"), int)
        members(segment, integers | {"continues": bool, "index": dict, "statistics": list, "groups": list}, what)
        require(1 <= segment["rows"] <= MAX_SEGMENT_ROWS, f"{what}: {segment['rows']} rows")
        require(segment["first_row"] == rows, f"{what}: first_row {segment['first_row']} after {rows} rows")
        require(1 <= segment["sequences"] <= segment["rows"], f"{what}: {segment['sequences']} sequences")
        require(number or not segment["continues"], f"{what}: continues")
        check_reference(segment["index"], what)
        if "tail" in segment:
            check_reference(segment["tail"], f"{what}: tail")
            require(1 <= segment["tail"]["bytes"] < segment["index"]["bytes"], f"{what}: tail of {segment['tail']['bytes']} bytes")
        require(len(segment["statistics"]) == len(schema.index), f"{what}: {len(segment['statistics'])} statistics")
        for entry, column in zip(segment["statistics"], schema.index):
            members(entry, {"column": int, "nulls": int}, f"{what}: statistics")
            require({"min", "max"} <= set(entry) and entry["column"] == column, f"{what}: statistics of {entry}")
            require(entry["nulls"] <= segment["rows"], f"{what}: {entry['nulls']} nulls of column {column}")
        require(len(segment["groups"]) == len(schema.groups), f"{what}: {len(segment['groups'])} groups")
        for (name, columns, _), group in zip(schema.groups, segment["groups"]):
            here = f"{what}, group `{name}`"
            members(group, {"layout": dict, "hashes": dict, "blocks": int, "runs": int, "stored_bytes": int, "columns": list}, here)
            check_reference(group["layout"], here)
            check_reference(group["hashes"], here)
            require(1 <= group["runs"] <= group["blocks"] <= segment["rows"], f"{here}: {group['blocks']} blocks, {group['runs']} runs")
            require(len(group["columns"]) == len(columns), f"{here}: {len(group['columns'])} columns")
            for column in group["columns"]:
                members(column, {"stored": int, "logical": int}, here)
                sizes += column["stored"] + column["logical"]
            sizes += group["layout"]["bytes"] + group["hashes"]["bytes"] + group["stored_bytes"]
        sizes += segment["index"]["bytes"]
        rows += segment["rows"]
        sequences += segment["sequences"] - segment["continues"]
    require(sizes < 1 << 64, f"sizes of {sizes} bytes in all")
    require(rows == manifest["rows"], f"{rows} rows, the manifest says {manifest['rows']}")
    require(sequences == manifest["sequences"], f"{sequences} sequences, the manifest says {manifest['sequences']}")


# ------------------------------------------------------------------------------------------------ format-spec/segment.md


def parquet(data, what):
    """A Parquet file: its table, and per column (name, physical type, annotation as JSON, required, flat)."""
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        metadata, table = file.metadata, file.read()
        columns = []
        for number in range(metadata.num_columns):
            column = file.schema.column(number)
            annotation = {"Type": "None"} if column.logical_type.type == "NONE" else json.loads(column.logical_type.to_json())
            flat = column.path == column.name and column.max_repetition_level == 0 and column.max_definition_level <= 1
            columns.append((column.name, column.physical_type, column.length, annotation, column.max_definition_level == 0, flat))
            for group in range(metadata.num_row_groups):
                compression = metadata.row_group(group).column(number).compression
                require(compression in ("UNCOMPRESSED", "ZSTD"), f"{what}: {compression} pages")
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Refused(f"{what}: {error}") from None
    return metadata, table, columns


def annotation_of(kind):
    """Physical type and annotations that a column of the index may have, and the Arrow type of its plain values."""
    integer = re.fullmatch("([iu])(8|16|32|64)", kind.leaf)
    if integer:
        bits, signed = int(integer[2]), integer[1] == "i"
        annotation = {"Type": "Int", "bitWidth": bits, "isSigned": signed}
        return "INT64" if bits == 64 else "INT32", [annotation] + [{"Type": "None"}] * (kind.leaf in ("i32", "i64")), getattr(pa, f"{integer[1].replace('i', 'int').replace('u', 'uint')}{bits}")()
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
    """Values of the index columns, one list each, floats as digits of their bits; and the rows of each run of a sequence."""
    metadata, table, columns = parquet(data, what)
    require(metadata.num_rows == rows and len(columns) == len(wanted), f"{what}: {metadata.num_rows} rows, {len(columns)} columns")
    values = []
    for number, ((name, kind), (found, physical, _, annotation, required, flat)) in enumerate(zip(wanted, columns)):
        expected, annotations, plain = annotation_of(kind)
        given = {key: value for key, value in annotation.items() if key in ("Type", "bitWidth", "isSigned", "isAdjustedToUTC", "timeUnit")}
        require(found == name and flat and not required, f"{what}: column `{found}`, expected an optional `{name}`")
        require(physical == expected and given in annotations, f"{what}: `{name}` ({kind.text}) is {physical} {given}")
        # The file may carry an Arrow schema that claims zones, units or dictionaries; it says nothing here.
        column = table.column(number).combine_chunks().cast(plain)
        if kind.float:
            bits = column.view(pa.uint32() if kind.width == 4 else pa.uint64()).to_pylist()
            values.append([None if value is None else format(value, f"0{2 * kind.width}x") for value in bits])
        else:
            values.append(column.to_pylist())
        if kind.leaf in TEXTS:
            texts = [len(value.encode()) for value in values[-1] if value is not None]
            require(max(texts, default=0) <= 65_536 and sum(texts) <= 2**24 + 1_024 * rows, f"{what}: `{name}` has {sum(texts)} bytes of text")
    text = (metadata.metadata or {}).get(b"tetrys.sequences", b"")
    require(re.fullmatch(rb"([0-9a-f]{2})+", text), f"{what}: no tetrys.sequences")
    cursor = Cursor(bytes.fromhex(text.decode()), f"{what}: tetrys.sequences")
    count = cursor.number(8)
    require(1 <= count <= rows, f"{what}: {count} runs in {rows} rows")
    runs = lengths(cursor, count)
    cursor.end()
    require(min(runs) >= 1 and sum(runs) == rows, f"{what}: runs of {sum(runs)} rows")
    return values, runs


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


def read_layout(data, columns_of_group, rows, what, stores=0):
    """The runs of a layout, with `lengths` in bytes, and `page_lengths` in bytes of each page of each block, or None."""
    metadata, table, columns = parquet(data, what)
    require([column[0] for column in columns] == list(LAYOUT), f"{what}: columns {[column[0] for column in columns]}")
    for (name, (physical, bits)), (_, found, width, annotation, required, flat) in zip(LAYOUT.items(), columns):
        unsigned = {"Type": "Int", "bitWidth": bits, "isSigned": False} if bits else {"Type": "None"}
        require(found == physical and annotation == unsigned and required and flat, f"{what}: `{name}` is {found} {annotation}")
        require(name != "chunk" or width == 32, f"{what}: chunk names of {width} bytes")
    runs = table.to_pylist()
    for number, run in enumerate(runs):
        here = f"{what}, run {number}"
        require(run["owner"] <= stores and run["chunk_bytes"] <= GIB, f"{here}: owner {run['owner']} of {stores}, {run['chunk_bytes']} bytes")
        for member in ("lengths", "block_rows"):
            cursor = Cursor(run[member], f"{here}: {member}")
            # As many blocks as rows at most, and a node over n slots of width 0 takes five bytes whatever n is.
            require(1 <= run["blocks"] <= run["rows"] <= MAX_SEGMENT_ROWS, f"{here}: {run['blocks']} blocks, {run['rows']} rows")
            run[member] = lengths(cursor, run["blocks"])
            cursor.end()
        run["lengths"] = [8 * length for length in run["lengths"]]
        require(min(run["block_rows"]) >= 1 and sum(run["block_rows"]) == run["rows"], f"{here}: rows of its blocks")
        require(run["first_offset"] % 8 == 0, f"{here}: first_offset {run['first_offset']}")
        require(run["first_offset"] + sum(run["lengths"]) <= run["chunk_bytes"], f"{here}: blocks beyond the end of the chunk")
        cursor = Cursor(run["chains"], f"{here}: chains")
        run["chains"] = [chain(cursor) for _ in range(columns_of_group)]
        cursor.end()
        run["page_lengths"] = page_lengths(run["page_lengths"], columns_of_group, run["lengths"], f"{here}: page_lengths")
    require(sum(run["rows"] for run in runs) == rows, f"{what}: {sum(run['rows'] for run in runs)} rows, the segment has {rows}")
    return runs


def page_lengths(data, columns, block_lengths, what):
    """Bytes of each page of each block; None where the layout does not say them."""
    if not data:
        return None
    cursor = Cursor(data, what)
    left_out = cursor.number(2)
    require(columns >= 2 and left_out < columns, f"{what}: page {left_out} of {columns} is left out")
    pages = [lengths(cursor, len(block_lengths)) for _ in range(columns - 1)]
    cursor.end()
    found = []
    for block, length in enumerate(block_lengths):
        others = [8 * page[block] for page in pages]
        others.insert(left_out, length - directory_len(columns) - sum(others))
        require(min(others) >= 32, f"{what}: pages of {others} bytes in a block of {length}")
        found.append(others)
    return found


def read_hashes(data, what):
    _, table, columns = parquet(data, what)
    require(len(columns) == 1, f"{what}: {len(columns)} columns")
    name, physical, width, annotation, required, flat = columns[0]
    shape = (name, physical, width, annotation, required, flat)
    require(shape == ("hash", "FIXED_LEN_BYTE_ARRAY", 32, {"Type": "None"}, True, True), f"{what}: {shape}")
    return table.column(0).to_pylist()


# ------------------------------------------------------------------------------------------------ format-spec/joins.md


def read_join(data, left, right, what):
    """For each of `left` rows the row of a table of `right` rows, or None."""
    metadata, table, columns = parquet(data, what)
    require(len(columns) == 1, f"{what}: {len(columns)} columns")
    name, physical, _, annotation, required, flat = columns[0]
    annotations = ({"Type": "None"}, {"Type": "Int", "bitWidth": 64, "isSigned": True})
    require((name, physical, required, flat) == ("row", "INT64", True, True) and annotation in annotations, f"{what}: {columns[0]}")
    require(metadata.num_rows == left, f"{what}: {metadata.num_rows} rows, expected {left}")
    rows = table.column(0).to_pylist()
    require(all(-1 <= row < right for row in rows), f"{what}: rows beyond the {right} of the right table")
    return [None if row == -1 else row for row in rows]


# ------------------------------------------------------------------------------------------------ format-spec/views.md


def check_view(manifest, schema):
    """What follows from the manifest of a view alone; its types by the names of the columns read from its sources."""
    what = "view"
    members(manifest["view"], {"sources": list}, what)
    sources = manifest["view"]["sources"]
    require(1 <= len(sources) <= 4_096, f"{what}: {len(sources)} sources")
    require(not (schema.groups or schema.sequence_by or schema.order_by), f"{what}: groups or sequences of its own")
    for number, segment in enumerate(manifest["segments"]):
        one = isinstance(segment, dict) and segment.get("sequences") == 1 and segment.get("continues") == (number > 0)
        require(one, f"{what}: more than one sequence")
    types, row_columns = {}, [source.get("row") for source in sources if isinstance(source, dict)]
    for number, source in enumerate(sources):
        here = f"source {number}"
        members(source, dict.fromkeys(("store", "rows", "row", "base"), int) | {"columns": list, "index": list}, here)
        require(1 <= source["store"] <= len(manifest["stores"]) and source["rows"] <= 1 << 48, f"{here}: store {source['store']}")
        require(source["base"] <= number and sources[source["base"]]["base"] == source["base"], f"{here}: base {source['base']}")
        require({"join", "lists"} <= set(source), f"{here}: no join or lists")
        require((source["join"] is None) == (source["base"] == number), f"{here}: join {source['join']}, base {source['base']}")
        for member in ("join", "lists"):
            if source[member] is not None:
                check_reference(source[member], f"{here}: {member}")
        row = source["row"]
        require(row in schema.index and schema.columns[row][1].text == "i64" and row_columns.count(row) == 1, f"{here}: row column {row}")
        for member, kinds in (("columns", {"id": int, "name": str, "type": str}), ("index", {"id": int, "name": str})):
            for column in source[member]:
                members(column, kinds, f"{here}: {member}")
                require(1 <= len(column["name"].encode()) <= 1_024, f"{here}: name of a column")
            for twice in ("id", "name"):
                found = [column[twice] for column in source[member]]
                require(len(set(found)) == len(found), f"{here}: {member}: a {twice} twice")
        for column in source["columns"]:
            kind = Type(f"list<{column['type']}>" if source["lists"] else column["type"])
            require(types.setdefault(column["name"], kind.text) == kind.text, f"{here}: column `{column['name']}` has two types")
    require(set(row_columns) < set(schema.index), f"{what}: no index column but row columns")
    return types


def read_lists(data, rows, what):
    """For each row the first row of its list, or None."""
    firsts = read_join(data, rows, rows, what)
    for row, first in enumerate(firsts):
        require(first is None or (first <= row and firsts[first] == first), f"{what}: row {row} in the list of row {first}")
    return firsts


# ------------------------------------------------------------------------------------------------ format-spec/pins.md


def parse_pin(data, name):
    """The members of a pin, and its hash."""
    require(len(data) <= 64 << 10, f"{name}: {len(data)} bytes")
    pin, digest = sealed(data, name)
    members(pin, {"owner": dict, "table": str, "version": int, "commit_id": str, "urls": list}, name)
    check_version(pin["owner"], f"{name}: owner")
    require(UUID.fullmatch(pin["table"]) and UUID.fullmatch(pin["commit_id"]) and pin["version"] >= 1, f"{name}: no version of a table")
    require(all(isinstance(url, str) for url in pin["urls"]), f"{name}: urls {pin['urls']}")
    require(name == f"pins/{pin['commit_id']}.json", f"{name}: the pin of commit {pin['commit_id']}")
    return pin, digest


# ------------------------------------------------------------------------------------------------ the whole table


def is_owner(root, store):
    """Whether the very manifest is there that the store names; what it says need not be understood."""
    name = name_of(store["version"])
    return root.has(name) and sealed(root.get(name), name)[1] == store["blake3"]


class Table:
    """One version of a table, read and checked as a whole. `columns`: id to values; floats are digits of their bits if `bits`."""

    def __init__(self, objects, version=None, bits=True):
        names = objects.manifests()
        require(names, "no manifest: no table")
        newest = 2**64 - 1 - int(names[0][:20])
        self.objects, self.bits, self.chunks = objects, bits, {}
        self.version = newest if version is None else version
        self.manifest, self.hash = parse_manifest(objects.get(name_of(self.version)), self.version)
        parent = self.manifest["parent"]
        if parent is not None:
            if os.path.basename(name_of(parent["version"])) in names:
                before, digest = parse_manifest(objects.get(name_of(parent["version"])), parent["version"])
                require(digest == parent["blake3"], f"parent is {parent['blake3']}, version {parent['version']} is {digest}")
                require(before["table"] == self.manifest["table"], "the parent is of another table")
        self.schema = Schema(self.manifest["schema"])
        check_segments(self.manifest, self.schema)
        self.owners = [[root for root in map(objects.neighbour, store["urls"]) if root and is_owner(root, store)] for store in self.manifest["stores"]]
        self.condemned = {(entry["folder"], entry["blake3"]) for entry in given_up(self.manifest)}
        for reference in self.manifest["attachments"].values():
            objects.referenced("attachments", reference, suffix="")
        self.columns = {column: [] for column in self.schema.columns}
        self.rows, self.sequences, seen, last = self.manifest["rows"], self.manifest["sequences"], set(), None
        for number, segment in enumerate(self.manifest["segments"]):
            last = self._segment(segment, f"segment {number}", seen, last)
        self.view = self._view() if "view" in self.manifest else None

    def _view(self):
        """The columns of a view as (name, type, values): its index without row columns, then those of its sources."""
        types, sources = check_view(self.manifest, self.schema), self.manifest["view"]["sources"]
        tables = {source["store"]: None for source in sources}
        for number in tables:
            require(self.owners[number - 1], f"store {number}: not at any root that is allowed")
            tables[number] = Table(self.owners[number - 1][0], self.manifest["stores"][number - 1]["version"], self.bits)
            require(tables[number].manifest["table"] == self.manifest["stores"][number - 1]["table"], f"store {number}: another table")
            require(tables[number].view is None, f"store {number}: a view")
        found = {name: [None] * self.rows for name in types}
        there = [False] * self.rows
        taken = {name: [False] * self.rows for name in types}
        for number, source in enumerate(sources):
            what, table, rows = f"source {number}", tables[source["store"]], self.columns[source["row"]]
            require(source["rows"] == table.rows, f"{what}: {source['rows']} rows, it has {table.rows}")
            require(all(row is not None and -1 <= row < table.rows for row in rows), f"{what}: a row that it does not have")
            if source["join"]:
                left = sources[source["base"]]["rows"]
                joined = read_join(self.objects.referenced("joins", source["join"]), left, table.rows, f"{what}: join map")
            else:
                joined = []
            lists = source["lists"] and read_lists(self.objects.referenced("joins", source["lists"]), table.rows, f"{what}: lists")
            begins = lambda row: lists is None or row in (None, -1) or lists[row] == row
            require(all(map(begins, rows)) and all(map(begins, joined)), f"{what}: a row that begins no list")
            require(all(column["id"] in table.schema.index for column in source["index"]), f"{what}: index columns")
            there = [held or row != -1 for held, row in zip(there, rows)]
            for column in source["columns"]:
                name, (_, kind) = column["name"], table.schema.columns.get(column["id"], ("", None))
                require(kind is not None and column["id"] not in table.schema.index, f"{what}: no group column {column['id']}")
                require(kind.text == column["type"], f"{what}: column {column['id']} is {kind.text}")
                values = table.columns[column["id"]]
                for place, row in enumerate(rows):
                    if row != -1 and not taken[name][place]:
                        taken[name][place] = True
                        listed = lists and [values[other] for other, first in enumerate(lists) if first == row]
                        found[name][place] = values[row] if lists is None else listed
        require(all(there), "a row of the view is in no source")
        row_columns = {source["row"] for source in sources}
        index = [(*self.schema.columns[column], self.columns[column]) for column in self.schema.index if column not in row_columns]
        return index + [(name, Type(text), found[name]) for name, text in types.items()]

    def _segment(self, segment, what, seen, last):
        rows = segment["rows"]
        wanted = [self.schema.columns[column] for column in self.schema.index]
        values, runs = read_index(self.objects.referenced("index", segment["index"]), wanted, rows, f"{what}: index")
        for column, found in zip(self.schema.index, values):
            self.columns[column] += found
        check_statistics(segment["statistics"], self.schema, values, what)
        require(len(runs) == segment["sequences"], f"{what}: {len(runs)} runs, the manifest says {segment['sequences']}")
        last = self._sequences(dict(zip(self.schema.index, values)), runs, segment["continues"], seen, last, what)
        copies = {}
        for (name, columns, masked), group in zip(self.schema.groups, segment["groups"]):
            self._group(group, columns, masked, rows, copies, f"{what}, group `{name}`")
        for column, found in copies.items():
            self.columns[column] += found
        return last

    def _sequences(self, values, runs, continues, seen, last, what):
        """That runs are maximal, that no sequence comes back, and that rows do not fall in their order."""
        at, kinds = 0, {column: self.schema.columns[column][1] for column in self.schema.index}
        for number, count in enumerate(runs):
            keys = {tuple(values[column][row] for column in self.schema.sequence_by) for row in range(at, at + count)}
            require(len(keys) == 1, f"{what}: run {number} holds {len(keys)} sequences")
            (key,) = keys
            same = last is not None and key == last[0]
            require(not same or number == 0, f"{what}: runs {number - 1} and {number} are one")
            require(number or continues == same, f"{what}: continues is {continues}")
            require(same or key not in seen, f"{what}: the sequence {key} comes back")
            seen.add(key)
            order = [tuple(ordered(kinds[column], values[column][row]) for column in self.schema.order_by) for row in range(at, at + count)]
            order = ([last[1]] if same else []) + order
            require(all(before <= after for before, after in zip(order, order[1:])), f"{what}: rows of run {number} are out of order")
            last, at = (key, order[-1]), at + count
        return last

    def _group(self, group, columns, masked, rows, copies, what):
        kinds = [self.schema.columns[column][1] for column in columns]
        runs = read_layout(self.objects.referenced("layout", group["layout"]), len(columns), rows, f"{what}: layout", len(self.owners))
        hashes = read_hashes(self.objects.referenced("hashes", group["hashes"]), f"{what}: hashes")
        counts = (sum(run["blocks"] for run in runs), len(runs), sum(sum(run["lengths"]) for run in runs))
        require(counts == (group["blocks"], group["runs"], group["stored_bytes"]), f"{what}: blocks, runs, bytes are {counts}")
        require(len(hashes) == group["blocks"], f"{what}: {len(hashes)} hashes of {group['blocks']} blocks")
        blocks = [block for number, run in enumerate(runs) for block in self._blocks(run, kinds, f"{what}, run {number}")]
        require([block.hash for block in blocks] == hashes, f"{what}: logical block hashes differ")
        for position, (column, sizes) in enumerate(zip(columns, group["columns"])):
            pages = [block.pages[position] for block in blocks]
            found = (sum(page.stored for page in pages), sum(len(page.structure) + len(page.values) for page in pages))
            require(found == (sizes["stored"], sizes["logical"]), f"{what}: column {column} takes {found} bytes")
            values = [value for page in pages for value in page.parsed.values(page.values, self.bits)]
            require(column in masked or copies.setdefault(column, values) == values, f"{what}: copies of column {column} differ")

    def _blocks(self, run, kinds, what):
        """The blocks of a run, after comparing layout and chunk."""
        chunk = self._chunk(run["chunk"].hex(), run["owner"])
        require(run["chunk_bytes"] == chunk.size, f"{what}: a chunk of {chunk.size} bytes, the layout says {run['chunk_bytes']}")
        require([kind.text for kind in chunk.kinds] == [kind.text for kind in kinds], f"{what}: types of the chunk")
        require(chunk.seed == run["seed"] and chunk.chains == run["chains"], f"{what}: seed or chains of the chunk")
        first, end = run["first_block"], run["first_block"] + run["blocks"]
        require(end <= len(chunk.blocks), f"{what}: blocks {first}..{end} of {len(chunk.blocks)}")
        require(chunk.offsets[first] == run["first_offset"] and chunk.lengths[first:end] == run["lengths"], f"{what}: places of blocks")
        require([block.rows for block in chunk.blocks[first:end]] == run["block_rows"], f"{what}: rows of blocks")
        pages = [[page.stored for page in block.pages] for block in chunk.blocks[first:end]]
        require(run["page_lengths"] in (None, pages), f"{what}: lengths of pages")
        return chunk.blocks[first:end]

    def _chunk(self, name, owner):
        """A chunk below this root, or below that of its owner; roots are tried in the order given."""
        require(owner > 0 or ("chunks", name) not in self.condemned, f"chunk {name} is condemned")
        if (name, owner) not in self.chunks:
            path = f"chunks/{name[:2]}/{name}"
            roots = self.owners[owner - 1] if owner else [self.objects]
            data = next((root.get(path) for root in roots if root.has(path)), None)
            require(data is not None, f"{path}: not there, nor at any root of owner {owner} that is allowed")
            self.chunks[name, owner] = Chunk(data, f"chunk {name}", name)
        return self.chunks[name, owner]

    def json(self, values):
        columns = []
        own = [(column, name, kind, self.columns[column]) for column, (name, kind) in self.schema.columns.items()]
        for column, name, kind, found in own if self.view is None else [(None, *column) for column in self.view]:
            found = [plain(value) for value in found]
            digest = blake3(json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()).hex()
            columns.append({**({"id": column} if column is not None else {}), "name": name, "type": kind.text, **({"values": found} if values else {"digest": digest})})
        sizes = {"rows": self.rows, "sequences": self.sequences}
        return {"table": self.manifest["table"], "version": self.version, **sizes, "columns": columns}


def plain(value):
    """What JSON holds of a value."""
    if isinstance(value, Tensor):
        return {"shape": list(value.shape), "values": value.values}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.hex() if isinstance(value, bytes) else value


def finish(main):
    """Runs a script and ends the process with its status at once: the threads of pyarrow may abort a process while it shuts down (apache/arrow#34314)."""
    status = 0
    try:
        main()
    except SystemExit as end:
        status = end.code or 0
        if isinstance(status, str):
            print(status, file=sys.stderr)
            status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main():
    parser = argparse.ArgumentParser(description="Reads and checks a whole table.")
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--version", type=int)
    parser.add_argument("--values", action="store_true", help="print values and not their digest")
    arguments = parser.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")
    for path in arguments.tables:
        try:
            table = Table(Directory(path), arguments.version)
        except Refused as error:
            sys.exit(f"{path}: refused: {error}")
        print(json.dumps(table.json(arguments.values), ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    finish(main)
