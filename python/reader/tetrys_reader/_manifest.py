"""Manifests, pins and what follows from them alone: format-spec/manifest.md, pins.md, and the first half of views.md."""

import json
import math
import re

from ._blocks import GIB, Type, blake3, decoded
from ._errors import Refused, require

MAX_SEGMENT_ROWS = 4_194_304
MAX_MANIFEST = 256 << 20

# ------------------------------------------------------------------------------------------------ references


def check_reference(reference, what):
    members(reference, {"blake3": str, "bytes": int}, f"{what}: reference", exact=True)
    require(HASH.fullmatch(reference["blake3"]), f"{what}: reference: no hash")


def members(value, types, what, exact=False):
    """That a JSON object has these members, of these types; others only where it is not `exact`."""
    require(isinstance(value, dict), f"{what}: no object")
    for name, kind in types.items():
        require(name in value, f"{what}: no member `{name}`")
        given = value[name]
        if not isinstance(given, kind) or (kind is not bool and isinstance(given, bool)):
            raise Refused(f"{what}: `{name}` is {json.dumps(given)[:60]}")
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
    ("collections", ("write_features",), lambda manifest: "collections" in manifest),
    ("views", ("read_features",), lambda manifest: "view" in manifest),
    ("index-tails", ("write_features",), lambda manifest: any(isinstance(segment, dict) and "tail" in segment for segment in manifest["segments"])),
    ("tags", ("write_features",), lambda manifest: manifest.get("tags")),
    ("next-column", ("write_features",), lambda manifest: manifest.get("next_column") is not None),
)
TAG = re.compile(r"(?![0-9]+\Z)[A-Za-z0-9._-]{1,64}\Z")
CONDEMNED_IN = {"attachments": "", "chunks": "", "hashes": ".parquet", "index": ".parquet", "joins": ".parquet", "layout": ".parquet"}
MAX_RECENT = 64


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
    for mark in re.findall(r"[\[\]{}]", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
        depth += 1 if mark in "[{" else -1
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
    require(len(data) <= MAX_MANIFEST, f"{what}: {len(data)} bytes")
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
    of_another_build = [*manifest["condemned"], *(deleting or [])]
    for entry in of_another_build:
        members(entry, {"folder": str, "blake3": str, "bytes": int}, f"{what}: condemned")
        require(entry["folder"] in CONDEMNED_IN and HASH.fullmatch(entry["blake3"]), f"{what}: condemned {entry}")
    if deleting is not None:
        names = [(entry["folder"], entry["blake3"]) for entry in of_another_build]
        require(len(names) == len(set(names)), f"{what}: condemned twice, or condemned and being deleted")
    if "collections" in manifest:
        require(not manifest["condemned"] and deleting is None, f"{what}: collections beside condemned objects of another build")
        check_collections(manifest, f"{what}: collections")
    return manifest, digest


def given_up(manifest):
    """The objects that a version condemns or marks, where the manifest lists them."""
    return [*manifest["condemned"], *(manifest.get("deleting") or []), *manifest.get("collections", {}).get("condemned", [])]


def check_collections(manifest, what):
    """What garbage collections have decided: format-spec/collections.md."""
    found, version = manifest["collections"], manifest["version"]
    members(found, {"floor": int, "last": int, "recent": list}, what)
    require(0 <= found["floor"] <= found["last"] <= version and found["floor"] < version, f"{what}: floor {found['floor']}, last {found['last']}")
    check_session(found, what)
    recent = found["recent"]
    for ancestor in recent:
        members(ancestor, {"version": int, "blake3": str, "commit_id": str}, what)
        require(HASH.fullmatch(ancestor["blake3"]) and UUID.fullmatch(ancestor["commit_id"]), f"{what}: ancestor {ancestor}")
        check_session(ancestor, what)
    numbers = [ancestor["version"] for ancestor in recent]
    require(1 <= len(recent) <= MAX_RECENT and numbers == sorted(set(numbers), reverse=True) and numbers[-1] > 0, f"{what}: recent {numbers}")
    parent = manifest["parent"] or {}
    require((numbers[0], recent[0]["blake3"]) == (parent.get("version"), parent.get("blake3")), f"{what}: the first of recent is not the parent")
    lists = [name for name in ("kept", "expired", "condemned") if name in found]
    require(len(lists) == (0 if "lists" in found else 3), f"{what}: it has {lists}" + (" and lists" if "lists" in found else ""))
    if lists:
        check_lists(found, found["floor"], version, what)
    else:
        members(found, {"lists": dict}, what)
        members(found["lists"], {"blake3": str, "bytes": int}, f"{what}: lists", exact=True)
        require(HASH.fullmatch(found["lists"]["blake3"]), f"{what}: lists {found['lists']}")


def check_session(entry, what):
    require("session" not in entry or (isinstance(entry["session"], str) and UUID.fullmatch(entry["session"])), f"{what}: session")


def check_lists(lists, floor, version, what):
    """The versions that are kept, and the versions and objects that are given up."""
    members(lists, {"kept": list, "expired": list, "condemned": list}, what)
    for entry in lists["kept"]:
        members(entry, {"version": int, "blake3": str}, what)
        require(1 <= entry["version"] <= floor and HASH.fullmatch(entry["blake3"]), f"{what}: kept {entry}")
    for entry in lists["expired"]:
        members(entry, {"version": int, "blake3": str, "at": int}, what)
        require(0 < entry["version"] < entry["at"] <= version and HASH.fullmatch(entry["blake3"]), f"{what}: expired {entry}")
    kept, expired = ([entry["version"] for entry in lists[name]] for name in ("kept", "expired"))
    require(kept == sorted(set(kept)) and expired == sorted(set(expired)) and not set(kept) & set(expired), f"{what}: kept {kept}, expired {expired}")
    for entry in lists["condemned"]:
        members(entry, {"folder": str, "blake3": str, "bytes": int, "at": int}, what)
        require(entry["folder"] in {*CONDEMNED_IN, "collections"} and HASH.fullmatch(entry["blake3"]), f"{what}: condemned {entry}")
        require(0 <= entry["at"] <= version, f"{what}: condemned at {entry['at']}")
    names = [(entry["folder"], entry["blake3"]) for entry in lists["condemned"]]
    require(names == sorted(set(names)), f"{what}: condemned objects are not sorted, or one is there twice")


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
    sizes += manifest.get("collections", {}).get("lists", {}).get("bytes", 0)
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


# ------------------------------------------------------------------------------------------------ format-spec/views.md#members


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
