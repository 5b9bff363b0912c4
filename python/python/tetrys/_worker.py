"""What a worker process runs: it takes a transform once, and then calls it with the arguments of one parcel after the other.

The first parcel has how the main module is imported, and the pickled transform. Each further one has arguments: an empty message says
that the call begins. The answer to either is a parcel: `(True, result)`, or `(False, failure)` with the exception. The process ends when its
parent does.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing import spawn
from typing import Any

from ._errors import WrongType, short
from ._parcels import Channel
from ._tetrys import Error

Failure = tuple["bytes | None", str, str]
"""An exception: its pickle if it has one, its type and text, and its traceback."""


def run(file: int, parent: int) -> None:
    """Serves the process `parent` at the other end of a socket."""
    # Processes that the transform starts would hold it open.
    os.set_inheritable(file, False)
    # Ctrl-C is for the parent, which then ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = Channel(socket.socket(fileno=file))
    busy = threading.Event()
    busy.set()
    threading.Thread(target=_watch, args=(channel, parent, busy), name="tetrys-parent", daemon=True).start()
    with contextlib.suppress(EOFError):
        _serve(channel, lambda: os.getppid() != parent, busy)


def _serve(channel: Channel, is_gone: Callable[[], bool], busy: threading.Event) -> None:
    (preparation, pickled), _ = channel.receive(is_gone)
    call: Any = None
    try:
        _prepare(preparation)
        call = pickle.loads(pickled)
    except BaseException as error:
        channel.send((False, _failure(error)))
        return
    channel.send((True, None))
    while True:
        # An idle worker keeps no batch.
        arguments = result = None
        busy.clear()
        try:
            arguments, _ = channel.receive(is_gone)
            busy.set()
            # From here on, no other worker may get these arguments.
            channel.send_nothing()
            result = True, call(*arguments)
        except BaseException as error:
            if isinstance(error, EOFError) and not busy.is_set():
                raise
            result = False, _failure(error)
        with contextlib.suppress(OSError, ValueError):
            # The parent may kill this process later: text that the transform has printed must not be lost with it.
            sys.stdout.flush()
        try:
            channel.send(result)
        except EOFError:
            raise
        except Error as error:
            channel.send((False, _failure(error)))
        except Exception as error:
            message = f"what the transform returned cannot be sent from its worker process: {type(error).__name__}: {short(error)}"
            channel.send((False, _failure(WrongType(message))))


def _prepare(preparation: dict[str, Any]) -> None:
    """Imports the main module of the parent under another name, as `multiprocessing` does. It may start no process meanwhile."""
    process: Any = multiprocessing.current_process()
    process._inheriting = True
    try:
        spawn.prepare(preparation)
    finally:
        del process._inheriting


def _failure(error: BaseException) -> Failure:
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    message = f"{type(error).__name__}: {short(error)}"
    try:
        pickled = pickle.dumps(error)
        # Some are pickled, and cannot be made again.
        pickle.loads(pickled)
    except Exception:
        return None, message, trace
    return pickled, message, trace


def _watch(channel: Channel, parent: int, busy: threading.Event) -> None:
    """Ends the process soon after its parent, also in the middle of a call."""
    while not channel.wait_for_end() and os.getppid() == parent:
        pass
    # The main thread of an idle worker ends the process, and functions of `atexit` run. This thread ends it if that takes long, or if a
    # last call begins.
    busy.wait(2)
    os._exit(1)
