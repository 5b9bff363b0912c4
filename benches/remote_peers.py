"""Lance and pyarrow's Parquet on the server of `benches/remote.rs`, with its rows: `remote_peers.py write|lance|parquet FILE`.

The bench runs this script once to write the rows of FILE to the bucket `data`, and once for each engine to read random rows of
{picture, intrinsics}, several at a time, each by its own call. Environment variables have the address and the keys of the
server.
"""

import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import lance
import pyarrow.fs
import pyarrow.parquet as pq

COLUMNS = ["camera_jpeg", "camera_intrinsics"]
ROW_GROUP = 1_000
ENDPOINT, KEY, SECRET = (os.environ[name] for name in ("PEERS_ENDPOINT", "PEERS_KEY", "PEERS_SECRET"))
OPTIONS = {
    "endpoint": ENDPOINT,
    "allow_http": "true",
    "access_key_id": KEY,
    "secret_access_key": SECRET,
    "region": "us-east-1",
}


def files() -> pyarrow.fs.S3FileSystem:
    return pyarrow.fs.S3FileSystem(
        access_key=KEY, secret_key=SECRET, region="us-east-1", scheme="http", endpoint_override=ENDPOINT.removeprefix("http://")
    )


def write(path: str) -> None:
    rows = pq.read_table(path)
    rows = rows.rename_columns([name.replace(".", "_") for name in rows.column_names])
    lance.write_dataset(rows, "s3://data/lance", storage_options=OPTIONS, data_storage_version="2.1")
    # The bench uploads this file to the server.
    pq.write_table(rows, f"{path}.groups", row_group_size=ROW_GROUP, write_page_index=True)


def read_lance():
    dataset = lance.dataset("s3://data/lance", storage_options=OPTIONS)
    return dataset.count_rows(), lambda row: dataset.take([row], columns=COLUMNS)


def read_parquet():
    system = files()
    footer = pq.read_metadata("data/rows.parquet", filesystem=system)

    def row(number: int):
        with system.open_input_file("data/rows.parquet") as file:
            group = pq.ParquetFile(file, metadata=footer, pre_buffer=True).read_row_group(number // ROW_GROUP, columns=COLUMNS)
        return group.slice(number % ROW_GROUP, 1)

    return footer.num_rows, row


def main() -> None:
    what, path = sys.argv[1:3]
    if what == "write":
        write(path)
        return
    samples, at_once = int(os.environ["PEERS_SAMPLES"]), int(os.environ["PEERS_IN_FLIGHT"])
    rows, read = {"lance": read_lance, "parquet": read_parquet}[what]()
    read(0)
    chosen = random.Random(7)
    wanted = [chosen.randrange(rows) for _ in range(samples)]
    begun = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        for found in pool.map(read, wanted):
            assert found.num_rows == 1
    took = time.perf_counter() - begun
    print(f"{samples} random rows with {what}, {at_once} in flight: {samples / took:.0f} /s")


main()
sys.stdout.flush()
# Skips the shutdown of the interpreter, in which threads of pyarrow may abort the process.
os._exit(0)
