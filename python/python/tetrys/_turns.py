"""Iterators that several threads may share: each item goes to one of them."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from typing import NoReturn, TypeVar

from ._errors import unpicklable

T = TypeVar("T")


class Turns:
    """Lets the threads of a process take turns: `with turns.lock:`.

    This is no context manager itself: Ctrl-C inside an `__enter__` that is written in Python could leave the lock held for ever.
    """

    lock: threading.Lock

    def __init__(self) -> None:
        self.renew()
        _ALL.add(self)

    def renew(self) -> None:
        self.lock = threading.Lock()


_ALL: weakref.WeakSet[Turns] = weakref.WeakSet()


def _renew() -> None:
    """Makes new locks in a forked child: other threads of the parent may have held the old ones."""
    for turns in list(_ALL):
        turns.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


class Shared(Iterator[T]):
    """An iterator whose threads take turns. `what` and `instead` are the error of a process that pickles it."""

    def __init__(self, items: Iterator[T], what: str, instead: str) -> None:
        self._items = items
        self._refusal = what, instead
        self._turns = Turns()

    def __next__(self) -> T:
        with self._turns.lock:
            return next(self._items)

    def __reduce__(self) -> NoReturn:
        unpicklable(*self._refusal)
