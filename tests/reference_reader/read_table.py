"""Reads Tetrys tables with the package tetrys_reader, checks everything that format-spec/ lets a reader check, and prints them as JSON.

    python read_table.py TABLE ... [--version N] [--values]

prints for each, on a line, {"table", "version", "rows", "sequences", "columns"}, where each column has id (not those of a view), name, type and the BLAKE3 `digest` of its values
(of their JSON without blanks), or with --values the `values`: null, booleans, integers (dates, times and durations too), text,
floats and bytes as hexadecimal digits (floats by their bits, most significant first), lists as lists, and tensors as
{"shape": [...], "values": [...]} in C order. Ends with status 1 and the reason where the table is refused.

The package is in `python/reader`, which the tests put on the path; it was written from format-spec/ alone.
"""

import argparse
import json
import os
import sys

from tetrys_reader import Error
from tetrys_reader._objects import Folder
from tetrys_reader._whole import Whole


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
            table = Whole(Folder(path), arguments.version)
        except Error as error:
            sys.exit(f"{path}: refused: {error}")
        print(json.dumps(table.json(arguments.values), ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    finish(main)
