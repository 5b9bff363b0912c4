"""Judges byte structures: says of each case in a JSON file whether it is refused, and what it holds if not.

    python judge.py CASES

A case is {"type": text}, {"chain": hex}, {"chain": hex, "stored": hex, "values_len": n}, {"manifest": text} (without its last member) with its "version" (1 unless it is there), {"pin": text} (likewise) with its "name", or
{"page": text of the type, "rows": n, "structure": hex, "values": hex}. Prints a list with, for each case, what it holds, {"refused": why}, or {"stray": why} where only what lies under null slots is
wrong.
"""

import json
import sys

from read_table import finish
from tetrys_reader._blocks import Structure, Type, blake3, plain
from tetrys_reader._codecs import chain, decode_chain
from tetrys_reader._cursor import Cursor
from tetrys_reader._errors import Refused, Stray
from tetrys_reader._manifest import Schema, check_segments, parse_manifest, parse_pin


def with_hash(text):
    signed = text.encode()
    return signed + b',"blake3":"' + blake3(signed).hex().encode() + b'"}\n'


def judged(case):
    if "type" in case:
        return Type(case["type"]).text
    if "chain" in case:
        cursor = Cursor(bytes.fromhex(case["chain"]), "chain")
        steps = chain(cursor)
        cursor.end()
        if "stored" in case:
            return decode_chain(steps, bytes.fromhex(case["stored"]), case["values_len"], "page").hex()
        return [list(step) for step in steps]
    if "manifest" in case:
        manifest, _ = parse_manifest(with_hash(case["manifest"]), case.get("version", 1))
        check_segments(manifest, Schema(manifest["schema"]))
        return manifest["table"]
    if "pin" in case:
        return parse_pin(with_hash(case["pin"]), case["name"])[0]["commit_id"]
    structure, values = bytes.fromhex(case["structure"]), bytes.fromhex(case["values"])
    kind = Type(case["page"])
    return [plain(kind, value) for value in Structure(kind, case["rows"], structure, len(values), "page").values(values)]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    verdicts = []
    for case in cases:
        try:
            verdicts.append({"holds": judged(case)})
        except Stray as error:
            verdicts.append({"stray": str(error)})
        except Refused as error:
            verdicts.append({"refused": str(error)})
    sys.stdout.reconfigure(encoding="utf-8")
    json.dump(verdicts, sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    finish(main)
