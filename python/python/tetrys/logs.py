"""Logs before they are imported: what recordings have, and a recipe to start from. `tetrys.ingest_logs` imports them.

Example:

    import tetrys as tt, tetrys.logs

    print(tt.logs.plan("monday.mcap"))
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from . import _tetrys
from ._arguments import Url, paths_of, truth, urls_of
from ._places import StorageOptions, place_of

__all__ = ["info", "plan"]


def info(
    logs: Url | Iterable[Url],
    *,
    strict: bool = False,
    msgs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> list[dict[str, Any]]:
    """Reads all messages of logs and returns what each log has.

    Args:
        logs: Paths or URLs of MCAP files, SQLite bags (`.db3`) or ROS 1 bags (`.bag`), or folders of rosbag2.
        strict: Refuse files that are cut or damaged.
        msgs: Folders of `.msg` or `.idl` files, such as `/opt/ros/humble/share`: types that a recording and the standard packages of ROS 2 lack.
        storage_options: Options of their store; see `tetrys.open_table`.
        store_options: Another name of `storage_options`.

    Returns:
        For each log `{"log", "files", "messages", "log_time", "topics", "warnings"}`. Each topic has its type, its messages, bytes and
        rate (1/s), `delay`: the smallest, median and largest log time - stamp in nanoseconds, `steps_back` and `equal_stamps`, its
        `columns` with their types, and why its messages stay bytes (`problem`).

    Example:
        topics = tt.logs.info("monday.mcap")[0]["topics"]

    Raises:
        NotFound: a file is missing.
        Corrupt: a file is no recording.
    """
    sources = urls_of("logs", logs)
    place = place_of(sources[0] if sources else "", storage_options, (), store_options)
    found: list[dict[str, Any]] = json.loads(_tetrys.logs_info(sources, place, truth("strict", strict), paths_of("msgs", msgs)))
    return found


def plan(
    logs: Url | Iterable[Url],
    *,
    msgs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> str:
    """Writes a recipe to start from, for `tetrys.ingest_logs`.

    The clock is the topic with the most bytes. Each other topic that all logs have gives its last message, within twice its usual
    period. Edit the recipe before you use it.

    Args:
        logs: Paths or URLs of MCAP files, SQLite bags (`.db3`) or ROS 1 bags (`.bag`), or folders of rosbag2.
        msgs: Folders of `.msg` or `.idl` files: types that a recording and the standard packages of ROS 2 lack.
        storage_options: Options of their store; see `tetrys.open_table`.
        store_options: Another name of `storage_options`.

    Returns:
        The recipe as TOML text.

    Example:
        open("sync.toml", "w").write(tt.logs.plan("monday.mcap"))

    Raises:
        NotFound: a file is missing.
        Invalid: no topic has messages that can be decoded.
        Corrupt: a file is no recording.
    """
    sources = urls_of("logs", logs)
    place = place_of(sources[0] if sources else "", storage_options, (), store_options)
    return _tetrys.logs_plan(sources, place, paths_of("msgs", msgs))
