"""Shows the schema and the indexes of a table or of a data set of Petastorm: `python -m tetrys.petastorm.etl.metadata_util --dataset-url URL`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ..._ingest_petastorm import read_petastorm_metadata
from .._select import INDEXES
from .._source import opened, table_url
from ..errors import NoDataSet
from .dataset_metadata import get_schema

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the schema and the indexes. `arguments`: those of the program; None: those of the command line.

    An index of a data set has values and the row groups that have them. One of a table has its fields: values are looked up in the index
    of the table.
    """
    parser = argparse.ArgumentParser(prog="python -m tetrys.petastorm.etl.metadata_util", description="Shows the metadata of a table or of a data set.")
    parser.add_argument("--dataset-url", required=True, help="URL or path of the table or of the data set")
    parser.add_argument("--schema", action="store_true", help="show the schema")
    parser.add_argument("--index", action="store_true", help="show the indexes")
    parser.add_argument("--print-values", action="store_true", help="show the row groups of each value")
    parser.add_argument("--skip-index", nargs="+", default=[], help="names of indexes whose values are not shown")
    parser.add_argument("--hdfs-driver", help="unused")
    given = parser.parse_args(arguments)
    url, shows_all = given.dataset_url, not given.schema and not given.index
    if given.schema or shows_all:
        print("*** Schema from dataset metadata ***")
        print(get_schema(url))
    if given.index or shows_all:
        print("*** Row group indexes from dataset metadata ***")
        for name, entry in _indexes(url).items():
            print(f"Index: {name}")
            if name in given.skip_index:
                print("  (skipped)")
                continue
            for field in entry.get("columns", ()):
                print(f"  -- field {field}")
            for value, _, groups in entry.get("values", ()):
                print(f"  -- {value}({len(groups)})")
                if given.print_values:
                    print(groups)


def _indexes(url: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = opened(url).tables[0].properties.get(INDEXES, {})
    except NoDataSet:
        found = read_petastorm_metadata(table_url(url))["indexes"]
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
