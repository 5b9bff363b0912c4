"""Transforms for worker processes, in a module that a worker imports quickly, and how tests look at the workers."""

from __future__ import annotations

import marshal
import multiprocessing
import os
import pickle
import signal
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = str(Path(__file__).parent)


def same(value: Any) -> Any:
    return value


def changed(batch: dict[str, Any]) -> dict[str, Any]:
    """Adds entries of many kinds, and writes to an array that may be written to."""
    batch["positions"] += 1
    batch["positions"] -= 1
    batch["nested"] = {"a": [batch["positions"][:1], None, "text"], "b": (1.5, np.float32(2))}
    batch["large"] = np.arange(1000.0)
    return batch


def of_row(sample: dict[str, Any]) -> dict[str, Any]:
    return {"position": sample["positions"], "sum": np.asarray(sample["camera.intrinsics"], np.float64).sum(), "text": sample["labels.text"]}


def as_list(batch: dict[str, Any]) -> list[Any]:
    return [batch, batch["positions"].tolist()]


class Own:
    """An object of the caller."""

    def __init__(self, batch: dict[str, Any]) -> None:
        self.positions = batch["positions"]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and bool(np.array_equal(self.positions, other.positions))


def marked(batch: dict[str, Any]) -> dict[str, Any]:
    """Says which process transformed the batch."""
    return {**batch, "pid": os.getpid(), "parent": os.getppid()}


class Once:
    """Does something in the batch that has a position, the first time."""

    def __init__(self, position: int, folder: Path, what: Callable[[], Any]) -> None:
        self.position, self.file, self.what = position, folder / "done", what

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        if self.position in batch["positions"] and not self.file.exists():
            self.file.touch()
            self.what()
        return batch


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> None:
    os._exit(7)


def fork_and_kill() -> None:
    """Dies, and leaves a child that holds what it held."""
    if os.fork() == 0:
        time.sleep(20)
        os._exit(0)
    kill()


class Refuses(Exception):
    """An exception that cannot be made again from its pickle."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


class Unpicklable(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("no pickle")


RAISED: dict[str, Callable[[], BaseException]] = {
    "ValueError": lambda: ValueError("no such thing"),
    "StopIteration": lambda: StopIteration(),
    "EOFError": lambda: EOFError("the file ends"),
    "Refuses": lambda: Refuses(1, 2),
    "Unpicklable": lambda: Unpicklable("secret"),
    "SystemExit": lambda: SystemExit(3),
    "MemoryError": lambda: MemoryError("too much"),
}


class Raises:
    """Raises in the batch that has a position."""

    def __init__(self, name: str, position: int) -> None:
        self.name, self.position = name, position

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        if self.position in batch["positions"]:
            raise RAISED[self.name]()
        return batch


def generator(batch: dict[str, Any]) -> Any:
    return {"a": (one for one in batch)}


class Unsendable:
    """An object for which a worker has no memory."""

    def __init__(self, batch: dict[str, Any]) -> None: ...

    def __reduce__(self) -> Any:
        from tetrys import Unavailable

        raise Unavailable("no memory for this")


def rows(row: dict[str, Any]) -> dict[str, Any]:
    """For Petastorm: changes an array in place, and adds a field."""
    row["vector"] *= 2
    return {**row, "sum": row["vector"].sum(dtype=np.float64)}


def frames(frame: Any) -> Any:
    return frame.assign(year=frame["year"] + 1)


def frames_of_rows(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "label": row["label"] + 1000}


def stops_at_5(row: dict[str, Any]) -> dict[str, Any]:
    if row["id"] == 5:
        raise StopIteration
    return row


def stops(frame: Any) -> Any:
    raise StopIteration


def in_child(loader: Any) -> list[list[int]]:
    return [batch["positions"].tolist() for batch in loader]


def in_daemon(loader: Any, found: Any) -> None:
    assert multiprocessing.current_process().daemon
    found.put(in_child(loader))


class Cloud(types.ModuleType):
    """Stands for cloudpickle: pickles lambdas with their code."""

    class Pickler(pickle._Pickler):
        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, types.FunctionType) and value.__name__ == "<lambda>":
                return of_code, (marshal.dumps(value.__code__),)
            return NotImplemented

    def dumps(self, value: Any, protocol: int) -> bytes:
        import io

        file = io.BytesIO()
        self.Pickler(file, protocol).dump(value)
        return file.getvalue()


def of_code(code: bytes) -> Any:
    return types.FunctionType(marshal.loads(code), {"__builtins__": __builtins__})


def is_alive(pid: int) -> bool:
    """Whether a process runs. One that has ended, and that its parent has not asked for, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Waits for something that comes at some time, however busy the machine is."""
    until = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < until, what
        time.sleep(0.02)


if __name__ == "__main__":
    sys.exit("this is no program")
