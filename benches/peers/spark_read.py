"""Spark reads a table with `tetrys.spark`, and the same columns from Parquet: `run.sh spark [options]`.

Both run in one session of `local[CORES]`, in turns, and the best of the rounds counts. The index is summed up, so that each value
is read. Payload goes to Spark's sink `noop`, which takes rows and drops them. Needs Java 17 and PySpark (`spark.txt`).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tetrys as tt

PART = 250_000
"""Rows of the index that are written at a time."""


def index_rows(start: int, rows: int) -> pa.Table:
    """Returns index columns as a drive has them: log, time, position, counts, a flag and a class."""
    rng = np.random.default_rng(start)
    numbers = np.arange(start, start + rows)
    return pa.table(
        {
            "log": pa.array(numbers // 1000).cast(pa.string()),
            "time": numbers * 100,
            "x": np.cumsum(rng.normal(0, 1, rows)),
            "y": np.cumsum(rng.normal(0, 1, rows)),
            "agents": rng.integers(0, 60, rows, np.int32),
            "moving": rng.random(rows) < 0.7,
            "weather": pa.array(np.array(["sun", "rain", "fog"])[rng.integers(0, 3, rows)]),
        }
    )


def payload_rows(start: int, rows: int) -> pa.Table:
    """Returns rows with a lidar sweep of 320 KB in millimetres and a picture of 80 KB of noise."""
    rng = np.random.default_rng(start)
    values = rng.integers(-60_000, 60_000, rows * 80_000, np.int32).astype(np.float32) / np.float32(1000)
    points = pa.FixedSizeListArray.from_arrays(pa.array(values), 80_000)
    return pa.table({"time": np.arange(start, start + rows), "lidar.points": points, "camera.jpeg": [rng.bytes(80_000) for _ in range(rows)]})


def written(folder: Path, name: str, made: Callable[[int, int], pa.Table], rows: int, part: int, **layout: Any) -> tuple[str, str]:
    """Writes rows as a table and as a Parquet file. Returns both paths."""
    parquet, table = str(folder / f"{name}.parquet"), str(folder / name)
    parts = [(start, min(part, rows - start)) for start in range(0, rows, part)]
    tt.write_table(table, (made(*one) for one in parts), **layout)
    with pq.ParquetWriter(parquet, made(0, 1).schema, compression="zstd") as writer:
        for one in parts:
            writer.write_table(made(*one))
    return table, parquet


def seconds(rounds: int, tasks: list[Callable[[], object]]) -> list[float]:
    """Runs the tasks in turns. Returns the best time of each."""
    best = [float("inf")] * len(tasks)
    for _ in range(rounds):
        for number, task in enumerate(tasks):
            begin = time.perf_counter()
            task()
            best[number] = min(best[number], time.perf_counter() - begin)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where data is written")
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the index")
    parser.add_argument("--sweeps", type=int, default=2_000, help="rows with payload, 400 KB each")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1", SPARK_LOCAL_DIRS=str(options.folder / "spark"))

    from pyspark.sql import SparkSession

    import tetrys.spark

    index, index_parquet = written(
        options.folder, "index", index_rows, options.rows, PART, index=index_rows(0, 1).column_names, sequence_by=["log"], order_by=["time"]
    )
    sweeps, sweeps_parquet = written(options.folder, "sweeps", payload_rows, options.sweeps, 50, index=["time"])
    builder = SparkSession.builder.master(f"local[{options.cores}]").config("spark.driver.memory", "4g").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.session.timeZone", "UTC").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    tetrys.spark.register(spark)

    def table(path: str, **given: str) -> Any:
        return spark.read.format("tetrys").options(**given).load(path)

    def summed(df: Any) -> object:
        return df.selectExpr(f"sum(hash({', '.join(df.columns)}))").collect()

    def dropped(df: Any) -> None:
        df.write.format("noop").mode("overwrite").save()

    found, expected = summed(table(index, payload="false")), summed(spark.read.parquet(index_parquet))
    assert found == expected, f"{found} rows differ from {expected}"
    tasks = [
        lambda: summed(table(index, payload="false")),
        lambda: summed(spark.read.parquet(index_parquet)),
        lambda: dropped(table(sweeps)),
        lambda: dropped(spark.read.parquet(sweeps_parquet)),
    ]
    ours, parquet, our_payload, parquet_payload = seconds(options.rounds, tasks)
    size = options.sweeps * 0.4
    print(f"Spark {spark.version}, {options.cores} cores, best of {options.rounds}")
    print(f"index columns, {options.rows:,} rows: tetrys {ours:.2f} s, Parquet {parquet:.2f} s, {parquet / ours:.2f}x (at least 0.5x is expected)")
    print(f"payload, {options.sweeps:,} rows of 400 KB: tetrys {size / our_payload:,.0f} MB/s, Parquet {size / parquet_payload:,.0f} MB/s")
    spark.stop()


if __name__ == "__main__":
    main()
