"""Spark: reads tables as DataFrames, writes DataFrames as tables, and extracts tables on a Spark cluster. Needs PySpark 4.0.

    tetrys.spark.register(spark)
    df = spark.read.format("tetrys").option("columns", "log_id,lidar.*").load("s3://bucket/drives")
    tetrys.spark.write(df, "s3://bucket/copy", index=["log_id"], sequence_by=["log_id"])
    tetrys.spark.ingest_logs(spark, recordings, "s3://bucket/synced", "sync.toml")
    tetrys.spark.extract(spark, files, rows_of, "s3://bucket/drives", schema=schema, index=["log_id", "time"], sequence_by=["log_id"])

Executors read from and write to the store; the driver plans and commits. See the chapter "On a cluster" of the guide.
"""

from __future__ import annotations

from .._tetrys import Unsupported

try:
    import pyarrow as _pyarrow  # noqa: F401
    from pyspark.sql.datasource import DataSourceArrowWriter as _needed  # noqa: F401
except ImportError as error:
    raise Unsupported(f"tetrys.spark needs PySpark 4.0 or later and pyarrow ({error}): pip install 'pyspark>=4.0' pyarrow") from error

from ._logs import ingest_logs
from ._source import TetrysDataSource, register
from ._write import extract, write

__all__ = ["TetrysDataSource", "extract", "ingest_logs", "register", "write"]
