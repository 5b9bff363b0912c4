"""Parcels: objects that go to another process. The pickle and the arrays beside it lie in a memory file, which has no name: nothing is
left of it when the processes end, however they end.

A memory file has a head, `u64 [parts + 1]` with the number of parts and their lengths, then the parts: the pickle (protocol 5), and its
buffers. Each begins at a multiple of 64 bytes. The sender copies an array once, into the file. The receiver maps the file, and its arrays
are views of the mapping. They are writable if they were at the sender.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import select
import socket
import struct
import tempfile
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._errors import short
from ._tetrys import Ragged, Unavailable
from ._torch import pytorch

_ALIGNMENT = 64
_SMALL = 512
"""Buffers of fewer bytes go into the pickle."""
_MAPPED = 32
"""Parcels of a channel that stay mapped at a time. A mapping takes a file descriptor: with more of them, parcels are copied."""
_PARTS = 512
"""Parts that one call writes; Linux takes 1,024."""
_STEP = 1000
"""Milliseconds of a wait, after which it looks whether the other process is there."""


def is_supported() -> bool:
    """Whether file descriptors can be sent to another process here."""
    return hasattr(socket, "AF_UNIX") and hasattr(socket, "send_fds") and hasattr(select, "poll")


class Channel:
    """Sends parcels to another process, and receives those that it sends, over a Unix socket that the channel owns."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._mapped: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()

    def send(self, value: Any) -> int:
        """Sends an object. Returns the bytes of its parcel.

        Raises:
            EOFError: the other process has closed its end.
            Unavailable: there is no memory for the parcel.
            Exception: the object cannot be pickled.
        """
        parts = packed(value)
        file, size = _file(), 0
        try:
            size = _write(file, parts)
            socket.send_fds(self._socket, [struct.pack("<Q", size)], [file], getattr(socket, "MSG_NOSIGNAL", 0))
        except (BrokenPipeError, ConnectionResetError) as error:
            raise EOFError from error
        except OSError as error:
            raise Unavailable(f"a batch of {size} bytes cannot be sent to another process: {short(error)}") from error
        finally:
            os.close(file)
        return size

    def send_nothing(self) -> None:
        """Sends a message without an object, for which no descriptor is needed.

        Raises:
            EOFError: the other process has closed its end.
        """
        try:
            self._socket.sendall(struct.pack("<Q", 0), getattr(socket, "MSG_NOSIGNAL", 0))
        except OSError as error:
            raise EOFError from error

    def receive(self, is_gone: Callable[[], bool]) -> tuple[Any, int]:
        """Waits for an object. Returns it, and the bytes of its parcel; `(None, 0)` for a message without an object.

        Args:
            is_gone: Whether the other process has ended, though a child of it may hold its end open.

        Raises:
            EOFError: the other process has closed its end, or has ended.
        """
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while not poll.poll(_STEP):
            if is_gone() and not poll.poll(0):
                raise EOFError
        try:
            header, files, _, _ = socket.recv_fds(self._socket, 8, 1, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
        except ConnectionResetError as error:
            raise EOFError from error
        if len(header) < 8:
            raise EOFError
        (size,) = struct.unpack("<Q", header)
        if size == 0:
            return None, 0
        if not files:
            raise Unavailable("a batch of a worker process cannot be received: no file descriptor is left: raise the limit (`ulimit -n`)")
        try:
            view = self._view(files[0], size)
        finally:
            os.close(files[0])
        return unpacked(view), size

    def _view(self, file: int, size: int) -> memoryview:
        if len(self._mapped) < _MAPPED:
            try:
                mapped = mmap.mmap(file, size)
            except OSError:
                # A mapping takes a second descriptor, and none is left.
                pass
            else:
                self._mapped.add(mapped)
                return memoryview(mapped)
        copied = np.empty(size, np.uint8).data
        os.lseek(file, 0, os.SEEK_SET)
        done = 0
        while done < size:
            done += os.readv(file, [copied[done:]])
        return copied

    def wait_for_end(self) -> bool:
        """Waits until the other process closes its end, or for a second. Returns whether it has closed it."""
        poll = select.poll()
        # Without events, it tells of the end alone.
        poll.register(self._socket, 0)
        return bool(poll.poll(_STEP))

    def hang_up(self) -> None:
        """Ends the connection. Waits of both processes end."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            # The other process has ended.
            pass

    def close(self) -> None:
        self._socket.close()


def packed(value: Any) -> list[memoryview]:
    """Returns the parts of the parcel of an object, one after the other."""
    buffers: list[memoryview] = []

    def is_inside(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes >= _SMALL:
            buffers.append(raw)
        return raw.nbytes < _SMALL

    stream = io.BytesIO()
    _Pickler(stream, protocol=5, buffer_callback=is_inside).dump(value)
    parts = [stream.getbuffer(), *buffers]
    head = struct.pack(f"<{len(parts) + 1}Q", len(parts), *(part.nbytes for part in parts))
    padded: list[memoryview] = []
    for part in (memoryview(head), *parts):
        padded += [part, memoryview(bytes(-part.nbytes % _ALIGNMENT))]
    return padded


def unpacked(parcel: memoryview) -> Any:
    """Returns the object of a parcel. Its arrays are views of the parcel."""
    (count,) = struct.unpack_from("<Q", parcel)
    lengths = struct.unpack_from(f"<{count}Q", parcel, 8)
    parts, start = [], 8 * (count + 1)
    for length in lengths:
        start += -start % _ALIGNMENT
        parts.append(parcel[start : start + length])
        start += length
    return pickle.loads(parts[0], buffers=parts[1:])


def _file() -> int:
    """Returns the descriptor of a new file without a name."""
    try:
        if hasattr(os, "memfd_create"):
            return os.memfd_create("tetrys")
        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())
    except OSError as error:
        raise Unavailable(f"no memory file for a batch: {short(error)}") from error


def _write(file: int, parts: Sequence[memoryview]) -> int:
    """Writes parts to a file, without the interpreter's lock. Returns their bytes."""
    left = [part for part in reversed(parts) if part.nbytes]
    size = 0
    try:
        while left:
            taken = left[: -_PARTS - 1 : -1]
            done = os.writev(file, taken)
            size += done
            del left[-len(taken) :]
            for place, part in enumerate(taken):
                if done < part.nbytes:
                    left += [*reversed(taken[place + 1 :]), part[done:]]
                    break
                done -= part.nbytes
    except OSError as error:
        raise Unavailable(f"no memory for a batch of {sum(part.nbytes for part in parts)} bytes: {short(error)}") from error
    return size


class _Pickler(pickle.Pickler):
    """Puts arrays beside the pickle, which `pickle` alone would copy into it."""

    def reducer_override(self, value: Any) -> Any:
        kind = type(value)
        if kind is np.ndarray:
            # Buffers know no times, and no types of other libraries, such as bfloat16.
            if value.ndim and value.flags.c_contiguous and (value.dtype.kind in "mM" or value.dtype.isbuiltin == 2):
                return np.ndarray.view, (value.view(np.uint8), value.dtype)
        elif kind is np.ma.MaskedArray:
            if not value.hardmask and value.dtype.kind != "O":
                return _masked, (np.ma.getdata(value), np.ma.getmask(value), value._fill_value)
        elif kind is Ragged:
            restore, (name, content) = value.__reduce__()
            return _ragged, (restore, name, pickle.PickleBuffer(content))
        elif kind.__module__ == "torch" and kind.__name__ == "Tensor":
            return _reduced(value)
        return NotImplemented


def _masked(data: Any, mask: Any, fill: Any) -> Any:
    return np.ma.MaskedArray(data, mask, fill_value=fill)


def _ragged(restore: Callable[[str, bytes], Any], name: str, content: Any) -> Any:
    return restore(name, bytes(content))


def _reduced(tensor: Any) -> Any:
    """Reduces a plain tensor in memory to its bytes. PyTorch itself reduces the others."""
    torch = pytorch()
    is_plain = tensor.device.type == "cpu" and tensor.layout is torch.strided and not tensor.is_quantized
    if not is_plain or tensor.requires_grad or tensor.is_conj() or tensor.is_neg():
        return NotImplemented
    content = tensor.contiguous().reshape(-1).view(torch.uint8).numpy()
    return _tensor, (content, tensor.dtype, tuple(tensor.shape))


def _tensor(content: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    return pytorch().from_numpy(content).view(dtype).reshape(shape)
