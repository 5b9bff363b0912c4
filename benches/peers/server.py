"""The S3 server of the tests as a process of its own, 30 ms and 90 MB/s a stream away: `remote.rs` with the argument `serve`.

It listens on the loopback alone, and ends when its standard input does. `Server` puts its address and its keys into the environment,
where the clients of S3 look for them.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

BUCKET = "data"
COMMAND = "cargo bench --quiet --package tetrys --no-default-features --bench remote -- serve"


def client() -> Any:
    """Returns boto3's client of the server."""
    import boto3

    return boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])


class Server:
    """The S3 server, while it runs."""

    def __init__(self, command: str) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(shlex.split(command), cwd=Path(__file__).parents[2], **pipes)
        address = self._line()
        os.environ |= {"AWS_ACCESS_KEY_ID": address["key"], "AWS_SECRET_ACCESS_KEY": address["secret"]}
        os.environ |= dict.fromkeys(("AWS_ENDPOINT_URL", "AWS_ENDPOINT", "S3_ENDPOINT_URL"), address["endpoint"])
        os.environ |= dict.fromkeys(("AWS_REGION", "AWS_DEFAULT_REGION"), "us-east-1")
        os.environ |= {"AWS_ALLOW_HTTP": "true", "AWS_EC2_METADATA_DISABLED": "true"}
        # The server knows no checksums in trailers.
        os.environ |= dict.fromkeys(("AWS_REQUEST_CHECKSUM_CALCULATION", "AWS_RESPONSE_CHECKSUM_VALIDATION"), "when_required")

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout
        if not (line := self.process.stdout.readline()):
            raise SystemExit(f"the S3 server ended with status {self.process.wait()}: see --server in --help")
        found: dict[str, Any] = json.loads(line)
        return found

    def command(self, line: str) -> dict[str, int]:
        """Sends a command: `far` and `near` set the distance, `stall 2` lets every request wait for two seconds.

        Returns `requests` since the command before, and the `bytes` that they read.
        """
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self._line()

    def upload(self, folder: Path) -> None:
        """Uploads a folder under its name, from nearby."""
        self.command("near")
        uploads = client()
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            uploads.upload_file(str(path), BUCKET, str(path.relative_to(folder.parent)))

    def end(self) -> None:
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
