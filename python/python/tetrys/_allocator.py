"""Loads the native module with the settings of its allocator.

The allocator returns freed memory to the system after a hundredth of a second. A writer frees and takes buffers of megabytes all the
time, and new memory costs the kernel as much time as a copy: with two seconds, writing is up to 1.6 times as fast.
"""

import os

_NAME = "MIMALLOC_PURGE_DELAY"

_is_set = _NAME in os.environ
os.environ.setdefault(_NAME, "2000")
from . import _tetrys as _tetrys  # noqa: E402 - after the setting

if not _is_set:
    # Other programs that this one starts must not get it.
    del os.environ[_NAME]
