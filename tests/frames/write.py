"""Writes a frame of many types with pyarrow: write.py FOLDER makes frame-*.parquet and frame-*.arrow in it."""

import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

folder = Path(sys.argv[1])
rows = 300
frame = pa.table(
    {
        "log": pa.array([f"log {row // 100}" for row in range(rows)]).dictionary_encode(),
        "time": pa.array([row * 1_000_000 for row in range(rows)], pa.timestamp("us", "Europe/Berlin")),
        "speed": pa.array([None if row % 7 == 0 else row / 2 for row in range(rows)], pa.float32()),
        "note": pa.array([None if row % 3 else f"note {row}" for row in range(rows)], pa.string_view()),
        "ranges": pa.array([[float(echo) for echo in range(row % 5)] for row in range(rows)], pa.list_(pa.float32())),
        "points": pa.array([[[row, echo] for echo in range(row % 3)] for row in range(rows)], pa.list_(pa.list_(pa.int32(), 2))),
        "pose": pa.array([[row, 0, 1] for row in range(rows)], pa.list_(pa.float64(), 3)),
        "tags": pa.array([["a", "bc"][: row % 3] for row in range(rows)], pa.large_list(pa.string())),
        "image": pa.array(
            [None if row == 5 else {"bytes": bytes([row % 256]) * row, "path": f"{row}.jpg"} for row in range(rows)],
            pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
        ),
        "price": pa.array([None] * rows, pa.decimal128(10, 2)),
    }
)
units = frame.schema.field("speed").with_metadata({"unit": "m/s"})
frame = frame.cast(frame.schema.set(2, units))
for name in ["none", "snappy", "gzip", "zstd", "lz4"]:
    pq.write_table(frame, folder / f"frame-{name}.parquet", compression=name, row_group_size=70)
for name in ["uncompressed", "lz4", "zstd"]:
    feather.write_feather(frame, folder / f"frame-{name}.arrow", compression=name, chunksize=70)
os._exit(0)  # the threads of pyarrow may abort a process while it shuts down (apache/arrow#34314)
