"""Prints a table and rows of it: `python -m tetrys_reader TABLE [ROW ..]`."""

import argparse
import re
import signal
import sys

import numpy as np

from . import Error, open_table
from ._whole import Whole

SHOWN, SHOWN_OF_TEXT = 8, 400


def say(text):
    """Prints a line of any content: nothing in it moves the cursor."""
    print("".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text))


def shown(value):
    """A value on one line."""
    if isinstance(value, np.ndarray):
        values = " ".join(str(item) for item in value.reshape(-1)[:SHOWN].tolist())
        return f"{value.dtype} {list(value.shape)} {values}{' ..' if value.size > SHOWN else ''}"
    if isinstance(value, bytes):
        return f"{len(value)} bytes {value[:SHOWN].hex(' ')}{' ..' if len(value) > SHOWN else ''}"
    if isinstance(value, list):
        items = ", ".join(shown(item) for item in value[:SHOWN])
        return f"{len(value)} items: {items}{' ..' if len(value) > SHOWN else ''}"
    text = "null" if value is None else str(value)
    return text if len(text) <= SHOWN_OF_TEXT else f"{text[:SHOWN_OF_TEXT]} .. ({len(text)} characters)"


def offsets(text):
    found = re.fullmatch(r"(-?[0-9]{1,9})\.\.(=?)(-?[0-9]{1,9})", text)
    if not found:
        raise argparse.ArgumentTypeError(f"expected offsets such as -5..=0, found {text}")
    return range(int(found[1]), int(found[3]) + bool(found[2]))


def print_row(title, row):
    say(title)
    width = max(map(len, row), default=0)
    for name, value in row.items():
        say(f"  {name:{width}}  {shown(value)}")


def print_schema(table):
    say(f"{table.objects.root}: version {table.version}, {table.rows} rows, {table.sequences} sequences")
    lines = [("column", "type", "column group"), *table.columns]
    widths = [max(len(line[part]) for line in lines) for part in (0, 1)]
    for name, kind, place in lines:
        say(f"  {name:{widths[0]}}  {kind:{widths[1]}}  {place}")


def main():
    sys.stdout.reconfigure(errors="backslashreplace")
    parser = argparse.ArgumentParser(
        prog="python -m tetrys_reader", description="Prints the schema of a Tetrys table, or rows of it. Slow: the package tetrys is for real work."
    )
    parser.add_argument("table", help="a folder or a URL; TABLE@3 is version 3 of it. A URL of a web server needs a version")
    parser.add_argument("rows", nargs="*", type=int, help="numbers of rows, from 0")
    parser.add_argument("--columns", help="names or patterns, as 'camera.*,labels.text'")
    parser.add_argument("--offsets", type=offsets, help="a window around each row, as --offsets=-5..=0")
    parser.add_argument("--allow", action="append", default=[], help="an absolute URL that references of the table may lead to; may be repeated")
    parser.add_argument("--check", action="store_true", help="read the whole table, and verify every checksum and hash")
    arguments = parser.parse_args()
    columns = arguments.columns.split(",") if arguments.columns else None
    table = open_table(arguments.table, allow=arguments.allow)
    if arguments.check:
        Whole(table.objects, table.version)
        say(f"{table.objects.root}: version {table.version}: all {table.rows} rows are sound")
    elif not arguments.rows:
        print_schema(table)
    for row in arguments.rows:
        if arguments.offsets is None:
            print_row(f"row {row}", table.get_row(row, columns))
            continue
        for offset, found in zip(arguments.offsets, table.get_rows(row, arguments.offsets, columns)):
            print_row(f"row {row}, offset {offset}" + ("" if found is not None else ": no row"), found or {})


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        main()
    except Error as error:
        sys.exit(f"error: {error}".encode("ascii", "backslashreplace").decode())
    except KeyboardInterrupt:
        sys.exit(130)
