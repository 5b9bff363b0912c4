"""Reads and checks a whole version: everything that format-spec/ lets a reader check, hashes of blocks and all copies included."""

import json
import os

import numpy as np

from ._blocks import GIB, Chunk, Type, blake3, plain
from ._errors import NotFound, require
from ._manifest import Schema, check_segments, check_view, given_up, name_of, parse_manifest
from ._places import is_owner, newest_version, read_group
from ._segment import check_statistics, ordered, plain_index, read_hashes, read_index, read_join, read_lists


class Whole:
    """One version of a table, read and checked as a whole. `columns`: id to values, as JSON has them."""

    def __init__(self, objects, version=None):
        names = objects.manifests()
        self.objects, self.chunks = objects, {}
        self.version = newest_version(objects) if version is None else version
        self.manifest, self.hash = parse_manifest(objects.get(name_of(self.version)), self.version)
        parent = self.manifest["parent"]
        if parent is not None:
            if names is None or os.path.basename(name_of(parent["version"])) in names:
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
            tables[number] = Whole(self.owners[number - 1][0], self.manifest["stores"][number - 1]["version"])
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
            lists = None if source["lists"] is None else read_lists(self.objects.referenced("joins", source["lists"]), table.rows, f"{what}: lists")
            begins = lambda row: lists is None or row == -1 or lists[row] == row
            require(all(map(begins, rows)) and all(map(begins, joined)), f"{what}: a row that begins no list")
            require(all(column["id"] in table.schema.index for column in source["index"]), f"{what}: index columns")
            there = [exists or row != -1 for exists, row in zip(there, rows)]
            for column in source["columns"]:
                name, (_, kind) = column["name"], table.schema.columns.get(column["id"], ("", None))
                require(kind is not None and column["id"] not in table.schema.index, f"{what}: no group column {column['id']}")
                require(kind.text == column["type"], f"{what}: column {column['id']} is {kind.text}")
                values = table.columns[column["id"]]
                for place, row in enumerate(rows):
                    if row != -1 and not taken[name][place]:
                        taken[name][place] = True
                        found[name][place] = values[row] if lists is None else [values[other] for other in np.flatnonzero(lists == row)]
        require(all(there), "a row of the view is in no source")
        row_columns = {source["row"] for source in sources}
        index = [(*self.schema.columns[column], self.columns[column]) for column in self.schema.index if column not in row_columns]
        return index + [(name, Type(text), found[name]) for name, text in types.items()]

    def _segment(self, segment, what, seen, last):
        rows = segment["rows"]
        wanted = [self.schema.columns[column] for column in self.schema.index]
        columns, runs = read_index(self.objects.referenced("index", segment["index"]), wanted, rows, f"{what}: index")
        values = [plain_index(kind, column) for (_, kind), column in zip(wanted, columns)]
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
        at, runs, kinds = 0, runs.tolist(), {column: self.schema.columns[column][1] for column in self.schema.index}
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
        layout = read_group(self.objects, group, len(columns), rows, f"{what}: layout", len(self.owners))
        hashes = read_hashes(self.objects.referenced("hashes", group["hashes"]), group["blocks"], f"{what}: hashes")
        blocks = [block for number, run in enumerate(layout.runs()) for block in self._blocks(run, kinds, f"{what}, run {number}")]
        require([block.hash for block in blocks] == hashes, f"{what}: logical block hashes differ")
        for position, (column, sizes) in enumerate(zip(columns, group["columns"])):
            pages = [block.pages[position] for block in blocks]
            found = (sum(page.stored for page in pages), sum(len(page.structure) + len(page.values) for page in pages))
            require(found == (sizes["stored"], sizes["logical"]), f"{what}: column {column} takes {found} bytes")
            values = [plain(kinds[position], value) for page in pages for value in page.parsed.values(page.values)]
            require(column in masked or copies.setdefault(column, values) == values, f"{what}: copies of column {column} differ")

    def _blocks(self, run, kinds, what):
        """The blocks of a run, after comparing layout and chunk."""
        chunk = self._chunk(run["chunk"].hex(), run["owner"])
        require(run["chunk_bytes"] == chunk.size, f"{what}: a chunk of {chunk.size} bytes, the layout says {run['chunk_bytes']}")
        require([kind.text for kind in chunk.kinds] == [kind.text for kind in kinds], f"{what}: types of the chunk")
        require(chunk.seed == run["seed"] and chunk.chains == run["chains"], f"{what}: seed or chains of the chunk")
        first, end = run["first_block"], run["first_block"] + run["blocks"]
        require(end <= len(chunk.blocks), f"{what}: blocks {first}..{end} of {len(chunk.blocks)}")
        require(chunk.offsets[first] == run["first_offset"] and chunk.lengths[first:end] == run["lengths"].tolist(), f"{what}: places of blocks")
        require([block.rows for block in chunk.blocks[first:end]] == run["block_rows"].tolist(), f"{what}: rows of blocks")
        pages = [[block.pages[number].stored for block in chunk.blocks[first:end]] for number in range(len(kinds))]
        lengths_given = run["page_lengths"]
        require(lengths_given is None or [lengths.tolist() for lengths in lengths_given] == pages, f"{what}: lengths of pages")
        return chunk.blocks[first:end]

    def _chunk(self, name, owner):
        """A chunk below this root, or below that of its owner; roots are tried in the order given."""
        require(owner > 0 or ("chunks", name) not in self.condemned, f"chunk {name} is condemned")
        if (name, owner) not in self.chunks:
            path = f"chunks/{name[:2]}/{name}"
            roots = self.owners[owner - 1] if owner else [self.objects]
            data = next((root.get(path, GIB) for root in roots if root.has(path)), None)
            require(data is not None, f"{path}: not there, nor at any root of owner {owner} that is allowed", NotFound)
            self.chunks[name, owner] = Chunk(data, f"chunk {name}", name)
        return self.chunks[name, owner]

    def json(self, values):
        columns = []
        own = [(column, name, kind, self.columns[column]) for column, (name, kind) in self.schema.columns.items()]
        for column, name, kind, found in own if self.view is None else [(None, *column) for column in self.view]:
            digest = blake3(json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()).hex()
            columns.append(
                {**({"id": column} if column is not None else {}), "name": name, "type": kind.text, **({"values": found} if values else {"digest": digest})}
            )
        sizes = {"rows": self.rows, "sequences": self.sequences}
        return {"table": self.manifest["table"], "version": self.version, **sizes, "columns": columns}
