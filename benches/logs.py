"""Measures the import of a large recording: three cameras, a lidar and an IMU in an MCAP file of 2 GB.

The file has ROS 2 messages: pictures of 150 KB and point clouds of 480 KB at 10 Hz, an IMU at 100 Hz, all of noise, in chunks of 4 MB that
are compressed with LZ4. The recipe makes one row for each sweep, with the nearest picture of each camera and all messages of the IMU since
the row before.

`tetrys ingest logs` is measured as a process: seconds, and the most memory that it had (ru_maxrss). Beside it, what is at least needed: a
process that reads all chunks and decompresses them (lz4, the C library), and one that writes the same rows from memory with `write_table`.
The import should take at most 1.3 times the sum of both. They take turns for several rounds; the figures are medians. All write with the
defaults, and the page cache is warm.

Then the same file lies on the S3 server of the tests. An import of the IMU alone, of ten seconds, may fetch only the chunks with wanted
topics and times: the server counts requests and bytes. The IMU stands in every chunk, so the bytes follow the time.

    python benches/logs.py --tetrys target/release/tetrys

Needs mcap and lz4 from PyPI, and boto3 for S3.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from server import BUCKET, COMMAND, Server

HEADER = """================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
"""
IMAGE = """std_msgs/Header header
string format
uint8[] data
"""
CLOUD = """std_msgs/Header header
uint32 height
uint32 width
sensor_msgs/PointField[] fields
bool is_bigendian
uint32 point_step
uint32 row_step
uint8[] data
bool is_dense
================================================================================
MSG: sensor_msgs/PointField
uint8 INT8=1
uint8 FLOAT32=7
string name
uint32 offset
uint8 datatype
uint32 count
"""
IMU = """std_msgs/Header header
geometry_msgs/Quaternion orientation
float64[9] orientation_covariance
geometry_msgs/Vector3 angular_velocity
float64[9] angular_velocity_covariance
geometry_msgs/Vector3 linear_acceleration
float64[9] linear_acceleration_covariance
================================================================================
MSG: geometry_msgs/Quaternion
float64 x
float64 y
float64 z
float64 w
================================================================================
MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z
"""
START = 1_770_000_000_000_000_000
POINTS = 30_000
RECIPE = """[clock]
topic = "/lidar"
name = "lidar"
time = "stamp"
"""
CAMERA = """[[match]]
name = "{name}"
topic = "/{name}"
time = "stamp"
policy = "nearest"
tolerance = "50ms"
future = true
"""
ALL = """[[match]]
name = "imu"
topic = "/imu"
time = "stamp"
policy = "all"
tolerance = "100ms"
"""
ALONE = """[clock]
topic = "/imu"
name = "imu"
time = "log"
"""


class Cdr:
    """A message in CDR, little endian: values are aligned from behind the four bytes of the head."""

    def __init__(self) -> None:
        self.out = bytearray(b"\0\1\0\0")

    def add(self, form: str, *values: object) -> None:
        size = struct.calcsize("<" + form[-1])
        self.out += bytes(-(len(self.out) - 4) % size) + struct.pack(f"<{form}", *values)

    def bytes(self, value: bytes) -> None:
        self.add("I", len(value))
        self.out += value

    def header(self, stamp: int, frame: bytes) -> None:
        self.add("i", stamp // 10**9)
        self.add("I", stamp % 10**9)
        self.bytes(frame + b"\0")


def write(path: Path, size: int) -> int:
    """Writes the recording, and returns the number of sweeps."""
    from mcap.writer import CompressionType, Writer

    random = np.random.default_rng(7)
    noise = random.integers(0, 256, 8 << 20, np.uint8).tobytes()
    sweep = 3 * 150_000 + 16 * POINTS + 10 * 350
    ticks = size // sweep
    with path.open("wb") as file:
        writer = Writer(file, chunk_size=4 << 20, compression=CompressionType.LZ4)
        writer.start("ros2", "tetrys")
        schemas = {name: writer.register_schema(name, "ros2msg", (text + HEADER).encode()) for name, text in (("sensor_msgs/msg/CompressedImage", IMAGE), ("sensor_msgs/msg/PointCloud2", CLOUD), ("sensor_msgs/msg/Imu", IMU))}
        types = {"/front": "CompressedImage", "/left": "CompressedImage", "/right": "CompressedImage", "/lidar": "PointCloud2", "/imu": "Imu"}
        channels = {topic: writer.register_channel(topic, "cdr", schemas[f"sensor_msgs/msg/{kind}"]) for topic, kind in types.items()}

        def add(topic: str, stamp: int, message: Cdr) -> None:
            log = stamp + 3_000_000
            writer.add_message(channels[topic], log, bytes(message.out), log)

        def part(length: int) -> bytes:
            at = int(random.integers(0, len(noise) - length))
            return noise[at : at + length]

        for tick in range(ticks):
            for step in range(10):
                stamp = START + tick * 100_000_000 + step * 10_000_000
                message = Cdr()
                message.header(stamp, b"imu")
                message.add("37d", *random.normal(0, 1, 37))
                add("/imu", stamp, message)
            stamp = START + tick * 100_000_000 + 95_000_000
            for number, topic in enumerate(("/front", "/left", "/right")):
                message = Cdr()
                message.header(stamp + number * 1_000_000, topic[1:].encode())
                message.bytes(b"jpeg\0")
                message.bytes(part(150_000))
                add(topic, stamp + number * 1_000_000, message)
            message = Cdr()
            message.header(stamp, b"lidar")
            message.add("I", 1)
            message.add("I", POINTS)
            message.add("I", 4)
            for number, name in enumerate((b"x", b"y", b"z", b"intensity")):
                message.bytes(name + b"\0")
                message.add("I", 4 * number)
                message.add("B", 7)
                message.add("I", 1)
            message.add("B", 0)
            message.add("I", 16)
            message.add("I", 16 * POINTS)
            message.bytes(random.normal(0, 30, (POINTS, 4)).astype("<f4").tobytes())
            message.add("B", 1)
            add("/lidar", stamp + 3_500_000, message)
        writer.finish()
    return ticks


def chunks(path: str) -> None:
    """Reads all chunks and decompresses them."""
    import lz4.frame
    from mcap.records import Chunk
    from mcap.stream_reader import StreamReader

    with Path(path).open("rb") as file:
        for record in StreamReader(file, emit_chunks=True).records:
            if isinstance(record, Chunk):
                assert len(lz4.frame.decompress(record.data)) == record.uncompressed_size


def rows(source: str, target: str) -> None:
    """Writes the rows of a table again. Prints the seconds of the writing: the rows are read before."""
    import pyarrow
    import tetrys as tt

    loader = tt.row_loader(tt.open_table(source))
    columns = pyarrow.table(loader.take(range(len(loader))))
    index = pyarrow.table(tt.read_index(source).to_arrow())
    for name in index.column_names:
        columns = columns.append_column(index.schema.field(name), index[name])
    began = time.perf_counter()
    tt.write_table(target, columns, index=index.column_names, sequence_by=["log", "part"], order_by=["time"])
    print(time.perf_counter() - began)


def measured(command: list[str]) -> tuple[float, float, str]:
    """Runs a process. Returns its seconds, the most memory that it had in MB, and what it printed."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command[:4]} ended with status {status}")
    return time.perf_counter() - began, usage.ru_maxrss / 1024, output


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=2.0, help="size of the recording (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default: %(default)s)")
    parser.add_argument("--tetrys", default="target/release/tetrys", metavar="PROGRAM", help="the command line (default: %(default)s)")
    parser.add_argument("--server", default=COMMAND, metavar="COMMAND", help="command of the S3 server")
    parser.add_argument("--one", nargs="+", default=[], help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        {"chunks": chunks, "rows": rows}[chosen.one[0]](*chosen.one[1:])
        return
    with tempfile.TemporaryDirectory() as folder:
        log, recipe, alone = Path(folder, "drive.mcap"), Path(folder, "sync.toml"), Path(folder, "imu.toml")
        ticks = write(log, int(chosen.gigabytes * 1e9))
        recipe.write_text(RECIPE + "".join(CAMERA.format(name=name) for name in ("front", "left", "right")) + ALL)
        alone.write_text(ALONE)
        print(f"{platform.machine()}, {log.stat().st_size / 1e9:.2f} GB, {ticks} sweeps")
        found: dict[str, list[float]] = {"import": [], "memory": [], "chunks": [], "rows": []}
        for _ in range(chosen.rounds):
            target, again = Path(folder, "rows"), Path(folder, "again")
            seconds, memory, _ = measured([chosen.tetrys, "ingest", "logs", str(log), str(target), "--recipe", str(recipe)])
            found["import"].append(seconds)
            found["memory"].append(memory)
            found["chunks"].append(measured([sys.executable, __file__, "--one", "chunks", str(log)])[0])
            found["rows"].append(float(measured([sys.executable, __file__, "--one", "rows", str(target), str(again)])[2]))
            shutil.rmtree(target)
            shutil.rmtree(again)
        median = {name: statistics.median(values) for name, values in found.items()}
        least = median["chunks"] + median["rows"]
        print(found)
        print(f"import {median['import']:.2f} s, {median['memory']:.0f} MB; chunks {median['chunks']:.2f} s, rows {median['rows']:.2f} s: {median['import'] / least:.2f}")
        server = Server(chosen.server)
        try:
            moved = Path(folder, "logs")
            moved.mkdir()
            log.rename(moved / log.name)
            server.upload(moved)
            shutil.rmtree(moved)
            for what, limits in (("all", []), ("ten seconds", ["--from", "2026-02-02T02:41:00Z", "--to", "2026-02-02T02:41:10Z"])):
                server.command("near")
                seconds, memory, output = measured([chosen.tetrys, "ingest", "logs", f"s3://{BUCKET}/logs/{log.name}", f"{folder}/{what.replace(' ', '-')}", "--recipe", str(alone), *limits])
                traffic = server.command("near")
                print(f"IMU alone, {what}: {traffic['requests']} requests, {traffic['bytes'] / 1e6:.1f} MB, {seconds:.2f} s, {memory:.0f} MB; {output.strip()}")
        finally:
            server.end()


if __name__ == "__main__":
    main()
