"""Processes of one node that run a measurement step by step: all of them wait, all of them go, and all of them say what they found.

`Node` starts the processes, with the environment of `torchrun` (RANK, WORLD_SIZE, ..), and samples their memory. In each process, a
`Seat` waits for the node and answers it. They talk through pipes: a process writes `ready`, reads a line, works, and writes its figures
as JSON. The standard output of a process goes to its errors, because libraries print there.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

READY = "ready"
SAMPLED = 0.25
"""Seconds between two samples of the memory."""


class Failed(Exception):
    """A process ended, or did not answer in time. The text is the last line of its errors."""


class Seat:
    """What a process does in a node."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._out = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)

    def wait(self) -> None:
        """Waits until all processes have come here."""
        self._write(READY)
        if not sys.stdin.readline():
            os._exit(1)

    def say(self, figures: Any) -> None:
        self._write(json.dumps(figures))

    def _write(self, line: str) -> None:
        self._out.write(f"{line}\n")
        self._out.flush()


class Node:
    """Processes that run the same command, with ranks. They end with the node, and so do the processes that they started."""

    def __init__(self, command: list[str], processes: int = 1, limit: float = 600) -> None:
        self._ends = time.monotonic() + limit
        self._limit = limit
        self._errors: list[IO[bytes]] = []
        self._lines: list[queue.Queue[str | None]] = []
        self.processes: list[subprocess.Popen[str]] = []
        for rank in range(processes):
            self._errors.append(tempfile.TemporaryFile())
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._errors[-1], "text": True}
            process = subprocess.Popen(command, env=environment(rank, processes), start_new_session=True, **pipes)
            lines: queue.Queue[str | None] = queue.Queue()
            threading.Thread(target=_listen, args=(process, lines), daemon=True).start()
            self.processes.append(process)
            self._lines.append(lines)
        self.memory = Memory({process.pid for process in self.processes})

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *error: object) -> None:
        self.memory.stop()
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    assert pipe
                    pipe.close()

    def ready(self) -> None:
        """Waits until every process waits."""
        for rank in range(len(self.processes)):
            if (line := self._line(rank)) != READY:
                raise Failed(f"expected that process {rank} waits, found {line[:100]}")

    def go(self) -> None:
        """Lets every process go on."""
        for rank, process in enumerate(self.processes):
            assert process.stdin
            try:
                process.stdin.write("go\n")
                process.stdin.flush()
            except OSError:
                raise Failed(self._error(rank)) from None

    def figures(self) -> list[Any]:
        """Returns the figures of each process, in the order of ranks."""
        return [json.loads(self._line(rank)) for rank in range(len(self.processes))]

    def _line(self, rank: int) -> str:
        while True:
            # A worker may hold the pipe open behind the end of its process.
            is_over = self.processes[rank].poll() is not None
            with contextlib.suppress(queue.Empty):
                if (line := self._lines[rank].get(timeout=0.1)) is None:
                    raise Failed(self._error(rank))
                return line
            if is_over:
                raise Failed(self._error(rank))
            if time.monotonic() > self._ends:
                raise Failed(f"not done after {self._limit:.0f} s")

    def _error(self, rank: int) -> str:
        """Prints the errors of a process. Returns their last line."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.processes[rank].wait(5)
        self._errors[rank].seek(0)
        text = self._errors[rank].read().decode(errors="replace").strip()
        print(f"process {rank}: {text[-2000:]}", file=sys.stderr, flush=True)
        return (text.splitlines() or [f"status {self.processes[rank].returncode}"])[-1][:200]


def end_on_sigterm() -> None:
    """Lets SIGTERM end this process as an error does, so that its nodes end too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def environment(rank: int, processes: int) -> dict[str, str]:
    """Returns the environment of a process, as `torchrun` sets it. A single process has no rank.

    There is no MASTER_ADDR: a group of processes meets in a file (see `process_group`), because PyTorch's own meeting point listens on
    all interfaces.
    """
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT")
    found = {name: value for name, value in os.environ.items() if name not in names}
    if processes > 1:
        found |= dict.fromkeys(("RANK", "LOCAL_RANK"), str(rank)) | dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), str(processes))
        found |= {"GROUP_RANK": "0", "GLOO_SOCKET_IFNAME": "lo"}
    return found


def process_group(folder: str, rank: int, processes: int) -> None:
    """Initialises `torch.distributed` for the processes of a node: over the loopback alone."""
    import torch.distributed

    meeting = Path(folder, "processes").absolute().as_uri()
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=processes)


def _listen(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout
    with contextlib.suppress(ValueError, OSError):
        for line in process.stdout:
            lines.put(line.rstrip("\n"))
    lines.put(None)


class Memory:
    """Samples the memory of all processes of some sessions, until it is stopped."""

    def __init__(self, sessions: set[int]) -> None:
        self.peak = 0
        """The most bytes that all processes had together."""
        self._sessions = sessions
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._is_over.wait(SAMPLED):
            self.peak = max(self.peak, pss(self._sessions))

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()


def pss(sessions: set[int]) -> int:
    """Returns the bytes of memory of all processes of some sessions: a page that several processes share counts once (PSS of Linux).

    Mapped pages of files count too. 0 where there is no /proc.
    """
    total = 0
    for entry in Path("/proc").iterdir() if Path("/proc/self/smaps_rollup").exists() else ():
        if not entry.name.isdigit():
            continue
        # Processes end meanwhile.
        with contextlib.suppress(OSError, ValueError, IndexError):
            session = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
            if session in sessions:
                total += rollup((entry / "smaps_rollup").read_text())
    return total


def rollup(text: str) -> int:
    """Parses the PSS of a `smaps_rollup`, in bytes."""
    (kilobytes,) = [line.split()[1] for line in text.splitlines() if line.startswith("Pss:")]
    return int(kilobytes) * 1024
