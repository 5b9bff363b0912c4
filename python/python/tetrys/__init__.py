"""Tetrys: tables of wide machine-learning rows, read at random by row, column and window.

Example:

    import tetrys as tt, polars as pl

    index = tt.read_index("/data/sensors")
    busy = index.filter(pl.col("pedestrians") > 3)
    rows = tt.row_loader(busy)
    row = rows.get_row(0, columns=["lidar.*"])
    history = rows.get_rows(0, columns=["lidar.*"], offsets=range(-10, 1))

Every error is a `tetrys.Error`. Its subclass says what to do next. Calls that access a store may raise `Unavailable` (retry
later), `Denied` (change the access rights) and `Corrupt` (restore the bytes), beside the errors that each function lists.
"""

from . import _allocator as _allocator  # isort: skip - before every other module
from . import logs as logs
from ._images import decode, image
from ._index import Index, concat, merge, merge_tables, open_table, read_index, run, split_table
from ._ingest_logs import ingest_logs
from ._ingest_petastorm import ingest_petastorm, read_petastorm_metadata
from ._loader import DataLoader, MixedLoader, mix
from ._logging import enable_logging
from ._rows import RowLoader, row_loader, times
from ._scan import LazyIndex, scan_index
from ._table import Table
from ._tetrys import (
    Conflict,
    Corrupt,
    Denied,
    Diff,
    Error,
    Exists,
    Internal,
    Invalid,
    NotFound,
    OutcomeUnknown,
    Ragged,
    Receipt,
    Rows,
    Unavailable,
    Unsupported,
    __version__,
)
from ._view import Viewer, view
from ._windows import Windows
from ._write import Partition, PartitionTask, Writer, ingest_l5, write_table

__all__ = [
    "Conflict",
    "Corrupt",
    "DataLoader",
    "Denied",
    "Diff",
    "Error",
    "Exists",
    "Index",
    "Internal",
    "Invalid",
    "LazyIndex",
    "MixedLoader",
    "NotFound",
    "OutcomeUnknown",
    "Partition",
    "PartitionTask",
    "Ragged",
    "Receipt",
    "RowLoader",
    "Rows",
    "Table",
    "Unavailable",
    "Unsupported",
    "Viewer",
    "Windows",
    "Writer",
    "__version__",
    "concat",
    "decode",
    "enable_logging",
    "image",
    "ingest_l5",
    "ingest_logs",
    "ingest_petastorm",
    "logs",
    "merge",
    "merge_tables",
    "mix",
    "open_table",
    "read_index",
    "read_petastorm_metadata",
    "row_loader",
    "run",
    "scan_index",
    "split_table",
    "times",
    "view",
    "write_table",
]
