"""Ray: reads tables as Ray datasets, writes Ray datasets as tables, and extracts tables on a Ray cluster.

    ds = tetrys.ray.read("s3://bucket/drives", columns=["log_id", "lidar.*"])
    tetrys.ray.write(ds, "s3://bucket/copy", index=["log_id"], sequence_by=["log_id"])
    tetrys.ray.ingest_logs(recordings, "s3://bucket/synced", "sync.toml")
    tetrys.ray.extract(files, rows_of, "s3://bucket/drives", schema=schema, index=["log_id", "time"], sequence_by=["log_id"])

Workers read from and write to the store; the driver plans and commits. See the chapter "On a cluster" of the guide.
"""

from __future__ import annotations

from .._tetrys import Unsupported

try:
    import pyarrow as _pyarrow  # noqa: F401
    import ray.data as _data  # noqa: F401
except ImportError as error:
    raise Unsupported(f"tetrys.ray needs Ray Data and pyarrow ({error}): pip install 'ray[data]' pyarrow pydantic") from error

from ._extract import Progress, extract
from ._logs import ingest_logs
from ._read import TetrysDatasource, read
from ._write import TetrysDatasink, write

__all__ = ["Progress", "TetrysDatasink", "TetrysDatasource", "extract", "ingest_logs", "read", "write"]
