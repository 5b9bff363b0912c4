"""Passes the spans and events of the library on to Python's `logging`."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import traceback
from typing import Literal

from ._arguments import choice, is_whole, whole
from ._tetrys import record_spans, spans

_LEVELS = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARNING": logging.WARNING, "ERROR": logging.ERROR}

_lock = threading.Lock()
# Held while records go to their handlers.
_handing_over = threading.Lock()
_stopped = threading.Event()
_thread: threading.Thread | None = None
_level: int | None = None


def enable_logging(level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] | int = "DEBUG") -> None:
    """Passes what the library does on to the logger "tetrys" of Python's `logging`.

    At "DEBUG", each open, plan, fetch, decode and commit becomes a record with its duration in milliseconds and the URL of the
    table. Requests that fail and are sent again come from the logger "tetrys.object_store". Where the records go is up to you, as
    for every logger: see the example.

    A thread hands the records over, so that a read never waits for a slow handler; at the end of the process it hands over the
    rest. If more than 10,000 records wait, further ones are left out, and a warning says how many. A forked process (a worker of a
    data loader) goes on logging.

    Args:
        level: The least level that is recorded: a name, or a number as in `logging`. It also becomes the level of the logger.
            Call the function again to change it; `logging.CRITICAL` ends the recording.

    Example:
        >>> import logging
        >>> logging.basicConfig(filename="tetrys.log", format="%(asctime)s %(name)s %(message)s")
        >>> tt.enable_logging("DEBUG")
        >>> len(tt.open_table("drives"))
        20
        >>> tt.enable_logging(logging.CRITICAL)

    Raises:
        Invalid: there is no such level.
        Unsupported: the process has another subscriber of `tracing` already.
    """
    number = whole("level", level, 0, logging.CRITICAL) if is_whole(level) else _LEVELS[choice("level", level, _LEVELS)]
    global _level
    with _lock:
        # Logs the waiting records first: the level from before this call applies to them.
        _hand_over_waiting(0.0)
        record_spans(number)
        logging.getLogger("tetrys").setLevel(number)
        if _level is None:
            atexit.register(_stop)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=_go_on)
        _level = number
        _start()


def _start() -> None:
    global _thread
    if _thread is None:
        _thread = threading.Thread(target=_hand_over, name="tetrys-logging", daemon=True)
        _thread.start()


def _hand_over() -> None:
    while not _stopped.is_set():
        _hand_over_waiting(0.2)


def _hand_over_waiting(patience: float) -> None:
    with _handing_over:
        for level, name, message in spans(patience):
            try:
                logging.getLogger(name).log(level, "%s", message)
            except Exception:
                # A filter or a handler of the caller. `logging` prints what its own handlers raise.
                traceback.print_exc()


def _stop() -> None:
    """Hands over the rest at the end of the process."""
    _stopped.set()
    if _thread is not None:
        _thread.join()
        _hand_over_waiting(0.0)


def _go_on() -> None:
    """Starts again in a forked process, which has no other thread; another thread of its parent may have held the lock."""
    global _lock, _handing_over, _thread, _stopped
    _lock, _handing_over, _stopped, _thread = threading.Lock(), threading.Lock(), threading.Event(), None
    if _level is not None:
        record_spans(_level)
        _start()
