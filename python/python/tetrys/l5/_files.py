"""Files that appear when they are complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .._arguments import path_of
from .._errors import WrongValue


def read_file(what: str, path: object) -> bytes:
    """Reads a file. `what` is the argument with its path."""
    return Path(path_of(what, path)).read_bytes()


@contextmanager
def written_whole(path: Path) -> Iterator[IO[Any]]:
    """Opens a binary file that replaces `path` when the block ends, with the permissions of a new file or of the replaced one.

    After an exception, `path` is as it was.
    """
    if path.is_dir():
        raise WrongValue(f"{path}: a folder, expected the name of a file")
    handle, made = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(made, path.stat().st_mode if path.exists() else 0o666 & ~mask)
        os.replace(made, path)
    except BaseException:
        os.unlink(made)
        raise
