"""Worker processes: they call a transform whose Python code holds the interpreter's lock.

A pool has a thread for each worker. A job runs on such a thread, and lets its worker call the transform: so order, results and errors of
jobs are those of threads. Workers are started afresh (`spawn`), because the parent has threads of its own, and end with the parent or the
pool. Objects travel as [parcels](_parcels.py).
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from multiprocessing import spawn
from queue import SimpleQueue
from typing import Any

from ._errors import LostWorker, WrongType, short
from ._parcels import Channel, is_supported
from ._tetrys import Error, Invalid, Unsupported

MOST = 1024
"""Workers of a pool."""
_PATIENCE = 2.0
"""Seconds in which a worker ends by itself, before it is killed."""


@dataclass
class Carried:
    """Bytes of a job's parcels, from its start until its result is no longer needed."""

    sent: int = 0
    received: int = 0
    is_done: bool = False


class Pool:
    """Runs jobs on threads, each of which has a worker process.

    Args:
        transform: Called in the workers. They get a copy of it, when they start.
        workers: Number of workers.
        by_threads: The argument with which threads call the transform, for messages.

    Raises:
        Unsupported: this system has no Unix sockets.
        Invalid: the transform cannot be pickled, or this process is a worker that still imports its main module.
    """

    def __init__(self, transform: Callable[..., Any], workers: int, by_threads: str) -> None:
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise Invalid(
                "a worker process imports your script again, and the script starts worker processes: put what the script does under "
                '`if __name__ == "__main__":`'
            )
        if not is_supported() or getattr(sys, "frozen", False):
            where = "in a frozen program" if getattr(sys, "frozen", False) else f"on {sys.platform}, which sends no file descriptors over sockets"
            raise Unsupported(f"worker processes do not work {where}: use {by_threads}")
        main = _main_module()
        setup = {"sys_argv": sys.argv, "dir": os.getcwd(), "orig_dir": _folder(), **main}, _pickled(transform, bool(main), by_threads)
        self._crew = _Crew([_Worker(setup, by_threads) for _ in range(workers)])
        _CREWS.add(self._crew)
        weakref.finalize(self, self._crew.end).atexit = False

    def submit(self, job: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Runs `job(*arguments, call)` on a thread of the pool.

        `call(arguments, where, carried)` lets its worker call the transform with these arguments. `where` names them in messages.
        It raises the exception of the transform, whose cause has the traceback of the worker, or `LostWorker`.
        """
        future: Future[Any] = Future()
        self._crew.take(future, job, arguments)
        return future

    def expects(self, jobs: Iterable[Carried]) -> int | None:
        """Returns how many bytes these jobs and another one hold, as far as those before tell; None before the first result."""
        largest = self._crew.largest
        return None if largest is None else largest + sum(one.received if one.is_done else largest for one in jobs)


class _Crew:
    """The workers and the threads of a pool. The threads know the crew, and not the pool: a pool that is dropped ends them."""

    def __init__(self, workers: list[_Worker]) -> None:
        self.jobs: SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]] | None] = SimpleQueue()
        self.largest: int | None = None
        self._workers = workers
        self._process = os.getpid()
        self._is_over = False
        self._threads = [threading.Thread(target=self._serve, args=(worker,), name="tetrys-worker", daemon=True) for worker in workers]
        try:
            for thread in self._threads:
                thread.start()
        except RuntimeError as error:
            self.end()
            raise LostWorker(f"the thread of a worker process cannot be started: {short(error)}") from error

    def take(self, future: Future[Any], job: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Adds a job. `future` gets its result."""
        if self._is_over:
            future.set_exception(over())
        else:
            self.jobs.put((future, job, arguments))

    def _serve(self, worker: _Worker) -> None:
        def call(arguments: tuple[Any, ...], where: str, carried: Carried) -> Any:
            if self._is_over:
                raise over()
            try:
                return worker.call(arguments, where, carried)
            except _EndedIdle:
                if self._is_over:
                    raise over() from None
                return worker.call(arguments, where, carried)
            finally:
                carried.is_done = True
                self.largest = max(self.largest or 0, carried.sent + carried.received)

        # An error is raised by the first job.
        with contextlib.suppress(Exception):
            worker.start()
        while (taken := self.jobs.get()) is not None:
            future, job, arguments = taken
            # A frame that waits for the next job keeps nothing of the last one.
            del taken
            try:
                result = job(*arguments, call)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
                del result
            del future, job, arguments
        worker.end()

    def end(self) -> None:
        """Lets the workers end, also in the middle of a call. Does not wait. A forked child leaves them to its parent."""
        if self._process != os.getpid() or self._is_over:
            return
        self._is_over = True
        for worker in self._workers:
            worker.hang_up()
            self.jobs.put(None)

    def wait(self, seconds: float) -> None:
        """Waits until the workers have ended, but no longer than this."""
        until = time.monotonic() + seconds
        for thread in self._threads if self._process == os.getpid() else ():
            thread.join(max(0.0, until - time.monotonic()))


def over() -> LostWorker:
    """Returns the error of a job for workers that were told to end."""
    return LostWorker("the worker processes have been told to end: this process ends, or the reader was stopped")


_CREWS: weakref.WeakSet[_Crew] = weakref.WeakSet()


def _end_all() -> None:
    crews = list(_CREWS)
    for crew in crews:
        crew.end()
    for crew in crews:
        crew.wait(2 * _PATIENCE)


atexit.register(_end_all)


class _EndedIdle(Exception):
    """A worker ended after its last call, and before it took the arguments of this one."""


class _Worker:
    """A worker process. One thread uses it. A process that has ended is replaced by the next call."""

    def __init__(self, setup: tuple[dict[str, Any], bytes], by_threads: str) -> None:
        self._setup = setup
        self._by_threads = by_threads
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._is_ready = False

    def start(self) -> tuple[subprocess.Popen[bytes], Channel]:
        """Returns the process, which it starts if there is none, and its channel. Does not wait until it is ready."""
        if self._process is not None and self._channel is not None:
            if not self._is_ready or self._process.poll() is None:
                return self._process, self._channel
            self.end()
        try:
            return self._started()
        except Exception as error:
            # A process without its setup would never answer.
            self.end()
            raise LostWorker(f"a worker process cannot be started: {short(error)}") from error

    def _started(self) -> tuple[subprocess.Popen[bytes], Channel]:
        paths = [path or _folder() for path in sys.path if isinstance(path, str)]
        ours, theirs = socket.socketpair()
        with theirs:
            program = f"import sys; sys.path[:] = {paths!r}; from tetrys._worker import run; run({theirs.fileno()}, {os.getpid()})"
            try:
                # In a session of its own, it gets no Ctrl-C of the terminal, also while Python starts.
                started = subprocess.Popen(
                    [*spawn.get_command_line()[:-2], program], stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True, env=_environment()
                )
            except BaseException:
                ours.close()
                raise
        channel = Channel(ours)
        self._process, self._channel, self._is_ready = started, channel, False
        with contextlib.suppress(EOFError):
            channel.send(self._setup)
        return started, channel

    def call(self, arguments: tuple[Any, ...], where: str, carried: Carried) -> Any:
        """Lets the process call the transform."""
        was_idle, is_taken = self._is_ready, False
        started, channel = self.start()
        try:
            if not self._is_ready:
                answer, _ = channel.receive(lambda: started.poll() is not None)
                if not answer[0]:
                    raise _not_loaded(answer[1])
                self._is_ready = True
            carried.sent = self._send(channel, arguments, where)
            answer, carried.received = channel.receive(lambda: started.poll() is not None)
            # An empty message: the call begins. There is none if the worker could not take the arguments.
            if answer is None:
                is_taken = True
                answer, carried.received = channel.receive(lambda: started.poll() is not None)
        except EOFError:
            status = self.end()
            if was_idle and not is_taken:
                raise _EndedIdle from None
            state = f"while it had {where}" if is_taken else f"before it took {where}"
            message = f"worker process {started.pid} {_ending(status)} {state}: this batch is lost, and the next one gets another worker"
            if status == -signal.SIGKILL:
                message += ". Linux kills large processes when memory runs out (see `dmesg`): use fewer workers or smaller batches"
            raise LostWorker(message) from None
        except BaseException as error:
            # The next call would wait for an answer that was given, or get the one of this call.
            if not self._is_ready or isinstance(error, OSError):
                self.end()
            raise
        if answer[0]:
            return answer[1]
        raise _raised(answer[1])

    def _send(self, channel: Channel, arguments: tuple[Any, ...], where: str) -> int:
        try:
            return channel.send(arguments)
        except (EOFError, Error):
            raise
        except Exception as error:
            message = f"{where} cannot be sent to a worker process: {type(error).__name__}: {short(error)}: use {self._by_threads}"
            raise WrongType(message) from error

    def hang_up(self) -> None:
        """Ends the connection, from any thread: the process ends, and a wait for it."""
        if (channel := self._channel) is not None:
            channel.hang_up()

    def end(self) -> int:
        """Ends the process, and returns its exit status."""
        ended, channel = self._process, self._channel
        self._process = self._channel = None
        self._is_ready = False
        if ended is None or channel is None:
            return 0
        channel.close()
        try:
            return ended.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            ended.kill()
            return ended.wait()


def _environment() -> dict[str, str]:
    """Returns the environment of a worker. There are several: unless it says otherwise, OpenMP uses one thread, and JAX no GPU."""
    return {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", **os.environ}


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


class _Trace(Exception):
    """The traceback of a worker: the cause of an exception that it raised."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._text = text

    def __str__(self) -> str:
        return f"\n\n{self._text}"


def _raised(failure: tuple[bytes | None, str, str]) -> BaseException:
    """Returns the exception of a worker. One that cannot be pickled becomes a RuntimeError with its type and text."""
    pickled, message, trace = failure
    error: BaseException
    try:
        error = RuntimeError(f"the transform raised {message}") if pickled is None else pickle.loads(pickled)
    except Exception:
        error = RuntimeError(f"the transform raised {message}")
    error.__cause__ = _Trace(trace)
    return error


def _not_loaded(failure: tuple[bytes | None, str, str]) -> WrongType:
    """Returns the error for a worker that could not import the main module, or the transform."""
    advice = (
        ". It imports the script that runs, and the module of the transform: define the transform in a module or a script, whose own work is under "
        '`if __name__ == "__main__":`, or pip install cloudpickle'
    )
    error = WrongType(f"a worker process cannot load the transform: {failure[1]}{'' if 'if __name__' in failure[1] else advice}")
    error.__cause__ = _Trace(failure[2])
    return error


def _folder() -> str:
    """Returns the working folder in which this process began."""
    return getattr(multiprocessing.process, "ORIGINAL_DIR", None) or os.getcwd()


def _main_module() -> dict[str, str]:
    """Returns how a worker imports the main module of this process; an empty dict if it has no file, as in a notebook."""
    main = sys.modules["__main__"]
    if (name := getattr(getattr(main, "__spec__", None), "name", None)) is not None:
        return {"init_main_from_name": name}
    path = getattr(main, "__file__", None)
    if path is None or not os.path.isfile(path := os.path.join(_folder(), path)):
        return {}
    return {"init_main_from_path": os.path.normpath(path)}


def _pickled(transform: Callable[..., Any], has_main: bool, by_threads: str) -> bytes:
    """Pickles a transform: by its name, or with cloudpickle, which takes the code along, if it is installed."""
    try:
        import cloudpickle
    except ImportError:
        cloudpickle = None
    # Without a file of the main module, its functions are known by name here alone.
    ways = [pickle, cloudpickle] if has_main else [cloudpickle, pickle]
    refused: Exception | None = None
    for way in ways:
        if way is not None:
            try:
                pickled: bytes = way.dumps(transform, protocol=5)
                return pickled
            except Exception as error:
                refused = error
    raise WrongType(
        f"the transform cannot be sent to worker processes: {short(refused)}: define it at the top level of a module, pip install cloudpickle for "
        f"lambdas and functions in functions, or use {by_threads}"
    ) from refused
