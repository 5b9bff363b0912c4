"""Shared by the tests: a small table of two drives, pictures, servers of S3, the number of cases of a property, and the log of
skipped tests.
"""

from __future__ import annotations

import http.client
import importlib.util
import io
import os
import random
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tetrys as tt
from hypothesis import HealthCheck, settings
from PIL import Image

settings.register_profile(
    "tetrys",
    max_examples=int(os.environ.get("TETRYS_CASES", "25")),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("tetrys")

ROWS = 20

# Other suites than the one that needs least install these, or .ci/full alone.
NEEDED = {
    "test_jax.py": "jax", "test_hugging_face.py": "datasets", "test_tensorflow.py": "tensorflow", "test_petastorm_tensorflow.py": "tensorflow",
    "test_petastorm_files.py": "fsspec", "test_petastorm_suite.py": "petastorm",
}  # fmt: skip
collect_ignore = [file for file, name in NEEDED.items() if importlib.util.find_spec(name) is None]
if importlib.util.find_spec("torch") is None:
    collect_ignore.append("test_petastorm_pytorch.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests with the mark `torch` where PyTorch is not installed."""
    if importlib.util.find_spec("torch") is None:
        without = [item for item in items if item.get_closest_marker("torch") is None]
        config.hook.pytest_deselected(items=[item for item in items if item not in without])
        items[:] = without


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Appends skipped tests to the file that `.ci/run` counts, as the Rust tests do."""
    if report.skipped and (file := os.environ.get("TETRYS_SKIPPED")):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        with open(file, "a") as lines:
            lines.write(f"skipped: {report.nodeid}: {reason}\n")


WORDS = [
    word
    for word in (Path(__file__).parents[2] / "tests" / "rust_words.txt").read_text().splitlines()
    if word and not word.startswith("#")
]
leave_raises = pytest.RaisesExc.__exit__


def leave_with_plain_words(block: Any, kind: Any, error: Any, trace: Any) -> bool:
    """Leaves a block of `pytest.raises`, and asserts that the expected error has no word of Rust in its message."""
    is_expected = bool(leave_raises(block, kind, error, trace))
    shown = [word for word in WORDS if word in str(error)]
    assert not shown, f"words of Rust {shown} in: {error}"
    return is_expected


# All tests of errors use `pytest.raises`.
setattr(pytest.RaisesExc, "__exit__", leave_with_plain_words)


@pytest.fixture
def random_seed() -> int:
    """Returns the seed of a randomized test: `TETRYS_SEED`, or another in each run. Prints it, so that pytest shows it if the test fails."""
    given = os.environ.get("TETRYS_SEED")
    seed = int(given, 0) if given else random.randrange(1 << 48)
    print(f"TETRYS_SEED={seed:#x}")
    return seed


def points(row: int) -> np.ndarray:
    return np.arange(row % 4 * 4, dtype=np.float32).reshape(-1, 4) + row


def picture(row: int, kind: str = "png") -> bytes:
    """Returns a picture of one colour, six pixels high and eight wide."""
    file = io.BytesIO()
    Image.new("RGB", (8, 6), (row * 10, 255 - row * 10, 7)).save(file, kind)
    return file.getvalue()


def damaged_table(folder: Path) -> tt.Table:
    """Returns a table of twelve rows in a folder, one of which is damaged."""
    noise = np.random.default_rng(1).integers(0, 256, (12, 40_000), dtype=np.uint8)
    table = tt.write_table(str(folder / "t"), {"i": np.arange(12), "a.raw": noise}, index=["i"], preset="fast")
    chunk = max((folder / "t/chunks").rglob("*"), key=lambda path: path.stat().st_size)
    damaged = bytearray(chunk.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    chunk.unlink()
    chunk.write_bytes(damaged)
    return table


@pytest.fixture(scope="session")
def drives(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns the URL of a table with ten rows of `monday` and ten of `tuesday`."""
    url = str(tmp_path_factory.mktemp("tables") / "drives")
    tt.write_table(
        url,
        {
            "log_id": ["monday"] * 10 + ["tuesday"] * 10,
            "timestamp": np.arange(ROWS) * 100,
            "pedestrians": np.arange(ROWS) % 5,
            "lidar.points": [None if row == 7 else points(row) for row in range(ROWS)],
            "camera.intrinsics": np.arange(ROWS * 9, dtype=np.float64).reshape(ROWS, 3, 3),
            "camera.jpeg": [bytes([row]) * row for row in range(ROWS)],
            "labels.text": [None if row == 3 else f"row {row}" for row in range(ROWS)],
        },
        index=["log_id", "timestamp", "pedestrians"],
        sequence_by=["log_id"],
        order_by=["timestamp"],
        units={"timestamp": "ms"},
    )
    return url


@pytest.fixture
def index(drives: str) -> tt.Index:
    return tt.read_index(drives)


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server of S3 (moto) with the bucket `data`. Skips the test if there is no network to get moto with."""
    script = Path(__file__).parents[2] / "tests" / "moto" / "venv.sh"
    made = subprocess.run(["sh", script], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip("no network to get moto with")
    log = tmp_path_factory.mktemp("moto") / "log"
    with log.open("w") as out:
        # Port 0 takes a free one; werkzeug says which.
        code = "from moto.server import main; main(['-H', '127.0.0.1', '-p', '0'])"
        server = subprocess.Popen([made.stdout.strip(), "-c", code], stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + 120
        while "Running on http://127.0.0.1:" not in log.read_text():
            assert time.monotonic() < deadline and server.poll() is None, log.read_text()
            time.sleep(0.1)
        address = "http://127.0.0.1:" + log.read_text().split("Running on http://127.0.0.1:")[1].split()[0]
        urllib.request.urlopen(urllib.request.Request(f"{address}/data", method="PUT")).close()
        yield address
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(scope="session")
def bucket(s3_server: str) -> Iterator[str]:
    """URL of a bucket whose address and keys are in the environment, also in that of processes that the test starts."""
    settings = {"ENDPOINT_URL": s3_server, "ACCESS_KEY_ID": "testing", "SECRET_ACCESS_KEY": "testing", "REGION": "us-east-1"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**settings, "ALLOW_HTTP": "true", "EC2_METADATA_DISABLED": "true"}.items():
            patch.setenv(f"AWS_{name}", value)
        yield "s3://data"


class WithoutConditions(BaseHTTPRequestHandler):
    """Passes requests on without the condition that an object must not exist, as servers do that ignore it."""

    protocol_version = "HTTP/1.1"
    behind: str

    def _pass_on(self) -> None:
        sent = {name: value for name, value in self.headers.items() if name.lower() != "if-none-match"}
        length = int(self.headers.get("content-length", 0))
        answered = http.client.HTTPConnection(self.behind, timeout=60)
        answered.request(self.command, self.path, self.rfile.read(length) if length else None, sent)
        answer = answered.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        self.send_header("content-length", answer.getheader("content-length", "0") if self.command == "HEAD" else str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        answered.close()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass_on

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def overwriting_store(s3_server: str) -> Iterator[dict[str, str]]:
    """Options of a server of S3 that overwrites objects although a request forbids it."""
    handler = type("Handler", (WithoutConditions,), {"behind": s3_server.removeprefix("http://")})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    yield {"endpoint": endpoint, "access_key_id": "t", "secret_access_key": "t", "region": "us-east-1", "allow_http": "true"}
    server.shutdown()
    server.server_close()
