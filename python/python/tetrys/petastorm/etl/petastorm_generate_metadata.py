"""Checks that a table has its schema: `python -m tetrys.petastorm.etl.petastorm_generate_metadata --dataset_url URL`.

Petastorm's program of this name adds the metadata that a folder of Parquet files lacks. A table has them since it was committed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pydoc import ErrorDuringImport, locate
from typing import Any

from ..._arguments import text
from .._source import opened
from ..errors import WrongValue
from ..unischema import Unischema
from .dataset_metadata import PetastormMetadataError

__all__ = ["generate_petastorm_metadata", "main"]


def generate_petastorm_metadata(
    spark: Any, dataset_url: Any, unischema_class: str | None = None, use_summary_metadata: bool = False, hdfs_driver: str = "libhdfs3"
) -> None:
    """Checks that there is a table at a URL, and that it has the fields of a schema. Writes nothing: a table has its metadata.

    Args:
        spark, use_summary_metadata, hdfs_driver: Unused.
        dataset_url: URL or path of the table.
        unischema_class: Name of a `Unischema` in a module, such as `"my_schemas.HelloWorldSchema"`; None checks no fields.

    Raises:
        FileNotFoundError (a `NotFound`): there is no table. Parquet files, with and without metadata, are made one by
            `tetrys.ingest_petastorm`.
        ValueError (an `Invalid`): the name is not that of a `Unischema`.
        PetastormMetadataError: the table lacks a field of the schema.
    """
    del spark, use_summary_metadata, hdfs_driver
    source = opened(dataset_url)
    if unischema_class is None:
        return
    name = text("unischema_class", unischema_class)
    try:
        schema = locate(name)
    except ErrorDuringImport as error:
        raise WrongValue(f"unischema_class: {error}") from error
    if not isinstance(schema, Unischema):
        raise WrongValue(f"unischema_class: `{name[:200]}` is not a Unischema: name a module and its schema, such as my_schemas.HelloWorldSchema")
    if missing := [field for field in schema.fields if field not in source.fields]:
        raise PetastormMetadataError(f"{source.tables[0].url}: the table has no field `{missing[0]}`; there are: {', '.join(source.fields)}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the program with some arguments; None: those of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tetrys.petastorm.etl.petastorm_generate_metadata", description="Checks that a table has its schema.")
    parser.add_argument("--dataset_url", required=True, help="URL or path of the table")
    parser.add_argument("--unischema_class", help="name of a Unischema whose fields the table has")
    for unused in ("--master", "--spark-driver-memory", "--hdfs-driver"):
        parser.add_argument(unused, help="unused")
    parser.add_argument("--use-summary-metadata", action="store_true", help="unused")
    given = parser.parse_args(arguments)
    generate_petastorm_metadata(None, given.dataset_url, given.unischema_class)
    print(f"{given.dataset_url}: a table, which has its metadata; nothing was written")


_main = main

if __name__ == "__main__":
    main(sys.argv[1:])
