"""Imports logs: recordings of many topics become rows of one table."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from . import _tetrys
from ._arguments import Preset, Url, as_json, path_of, paths_of, text, truth, url_of, urls_of, whole
from ._errors import WrongType, found
from ._options import Options
from ._places import StorageOptions, places_of
from ._table import Table, called


@dataclass(frozen=True)
class Settings:
    """Settings of an import. The native module reads the fields."""

    recipe: str
    """JSON, or the path of a TOML file."""
    is_json: bool
    join: bool
    strict: bool
    msgs: list[str]
    start: str | None
    end: str | None
    workers: int


def ingest_logs(
    logs: Url | Iterable[Url],
    url: Url,
    recipe: str | os.PathLike[str] | Mapping[str, Any],
    *,
    join: bool = False,
    start: str | int | None = None,
    end: str | int | None = None,
    strict: bool = False,
    msgs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    preset: Preset | None = None,
    workers: int = 0,
    allow: Url | Iterable[Url] = (),
    allow_unpinned: bool = False,
    progress: Callable[[int], object] | None = None,
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> Table:
    """Imports MCAP and ROS recordings into a table: one sequence for each log, one row for each tick of a clock.

    The recipe says which topic or rate is the clock, and which messages each row gets. The index column `NAME.dt` has the time
    difference of each match (message - row). `tetrys.logs.plan` writes a recipe to start from.

    If there is a table at `url`, the logs that it lacks are added; its recipe must be the same. A log that fails is named in a
    `UserWarning`, and the others are committed: the same call again imports what is missing.

    Args:
        logs: Paths or URLs of MCAP files or SQLite bags (`.db3`), or folders of rosbag2. The name of the file or folder is the name of the log.
        url: URL or path of the table.
        recipe: Path of a TOML file, or the recipe as a mapping, as `tomllib.loads` returns it.
        join: All files are one log, in this order.
        start: Leave out rows before this time: `"2026-05-01T12:00:00Z"`, or nanoseconds since 1970.
        end: Leave out rows after this time.
        strict: Refuse files that are cut or damaged. By default what can be read is imported, with a `UserWarning`.
        msgs: Folders of `.msg` files, such as `/opt/ros/humble/share`: definitions of types that a recording lacks.
        preset: Codec preset of a new table: `"fast"`, `"balanced"` (default) or `"compact"`.
        workers: Number of logs imported at once; 0: `TETRYS_THREADS`, or the number of cores, at most 4.
        allow: URLs that references of the table may lead to; see `tetrys.open_table`.
        allow_unpinned: See `tetrys.write_table`.
        progress: Called with the number of rows written so far, from another thread.
        storage_options: Options of the store of the table, as for `tetrys.open_table`, and of the logs in the same service. If the
            table is in a folder, they are those of the logs.
        store_options: Another name of `storage_options`.

    Returns:
        The table. Its rows have the index columns `log`, `part` (a new one behind each gap between rows, if the recipe has `gap`) and
        `time` (nanoseconds). Its attachment `logs.report.json` says what became of each log and match.

    Example:
        table = tt.ingest_logs(["monday.mcap", "tuesday.mcap"], "drives", "sync.toml")

    Raises:
        NotFound: a file or a topic is missing.
        Invalid: the recipe is wrong, two logs have the same name, a message is late, or the table was made with another recipe.
        Corrupt: a file is no recording, or a message does not fit its definition.
    """
    sources = urls_of("logs", logs)
    first = sources[0] if sources else ""
    read, place = places_of(first, url_of(url), storage_options, store_options, allow)
    options = Options.of(
        None,
        preset=preset if preset is not None else "balanced",
        reuse="auto",
        locality=None,
        allow_unpinned=allow_unpinned,
        reference=(),
        allow=allow,
        place=place,
    )
    told, is_json = _recipe_of(recipe)
    settings = Settings(
        recipe=told,
        is_json=is_json,
        join=truth("join", join),
        strict=truth("strict", strict),
        msgs=paths_of("msgs", msgs),
        start=_time_of("start", start),
        end=_time_of("end", end),
        workers=whole("workers", workers, 0, 4096),
    )
    made, report, failed, _ = _tetrys.ingest_logs(sources, read, place, settings, options, called(progress))
    for log in json.loads(report)["logs"]:
        for warning in log["warnings"]:
            warnings.warn(warning, stacklevel=2)
    for name, error in failed:
        warnings.warn(f"log {name} failed and is not in the table: {error}", stacklevel=2)
    return Table._of(made, place[1])


def _recipe_of(recipe: object) -> tuple[str, bool]:
    if isinstance(recipe, Mapping):
        return as_json("recipe", recipe), True
    if not isinstance(recipe, (str, os.PathLike)):
        raise WrongType(f"recipe: expected the path of a TOML file or a mapping, found {found(recipe)}")
    return path_of("recipe", recipe), False


def _time_of(what: str, time: object) -> str | None:
    if time is None:
        return None
    return text(what, time) if isinstance(time, str) else str(whole(what, time, -(2**62), 2**62))
