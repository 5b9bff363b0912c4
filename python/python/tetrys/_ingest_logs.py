"""Imports logs: recordings of many topics become rows of one table."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import _tetrys
from ._arguments import Preset, Url, as_json, called, path_of, paths_of, text, truth, url_of, urls_of, whole
from ._errors import WrongType, found
from ._options import Options, warn_not_pinned
from ._places import Place, StorageOptions, places_of
from ._table import Table
from ._tetrys import Error, Invalid, Receipt


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


@dataclass(frozen=True)
class Import:
    """Logs, the table that they become, and how: arguments of `ingest_logs` that are checked. Can be pickled."""

    logs: list[str]
    read: Place
    place: Place
    settings: Settings
    options: Options


@dataclass(frozen=True)
class LogTask:
    """A log for any process to write by `write_log`. Small, and can be pickled."""

    of: Import
    """The import of this log alone into its table."""
    ticket: str
    number: int
    log: str


@dataclass(frozen=True)
class Failed:
    """A log that could not be imported, and why."""

    log: str
    why: str


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
    `UserWarning`, and the others are committed: the same call again imports what is missing. It also goes on with an import that was
    interrupted: logs that are written are not read again, unless their files have changed. A log is known by its name: if the table has it
    from a file of another size, or with another `start` or `end`, it is named in a `UserWarning`, and its rows stay as they are.

    If a match of the recipe has a `table`, all messages of its topic are in the table at that URL. The table at `url` is then a view of
    the rows, which are in the table `URL-rows`, and of these tables. `tetrys.ray.ingest_logs` and `tetrys.spark.ingest_logs` do the same
    on a cluster.

    Args:
        logs: Paths or URLs of MCAP files, SQLite bags (`.db3`) or ROS 1 bags (`.bag`), or folders of rosbag2. The name of the file or folder is that of
            the log.
        url: URL or path of the table.
        recipe: Path of a TOML file, or the recipe as a mapping, as `tomllib.loads` returns it.
        join: All files are one log, in this order.
        start: Leave out rows before this time: `"2026-05-01T12:00:00Z"`, or nanoseconds since 1970.
        end: Leave out rows after this time.
        strict: Refuse files that are cut or damaged. By default what can be read is imported, with a `UserWarning`.
        msgs: Folders of `.msg` or `.idl` files, such as `/opt/ros/humble/share`: types that a recording and the standard packages of ROS 2 lack.
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
    wanted = import_of(
        logs,
        url,
        recipe,
        join=join,
        start=start,
        end=end,
        strict=strict,
        msgs=msgs,
        preset=preset,
        workers=workers,
        allow=allow,
        allow_unpinned=allow_unpinned,
        storage_options=storage_options,
        store_options=store_options,
    )
    made, report, failed, _ = _tetrys.ingest_logs(
        wanted.logs, wanted.read, wanted.place, wanted.settings, wanted.options, called(progress)
    )
    _warn(report, failed, 3)
    table = Table._of(made, wanted.place[1])
    warn_not_pinned((url, "") for url in table.lineage.get("not_pinned", ()))
    return table


def import_of(
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
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> Import:
    """Checks the arguments of `ingest_logs`."""
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
    text, is_json = _recipe_of(recipe)
    settings = Settings(
        recipe=text,
        is_json=is_json,
        join=truth("join", join),
        strict=truth("strict", strict),
        msgs=paths_of("msgs", msgs),
        start=_time_of("start", start),
        end=_time_of("end", end),
        workers=whole("workers", workers, 0, 4096),
    )
    return Import(sources, read, place, settings, options)


def ingest_by(run: Callable[[Sequence[LogTask]], Iterable[Receipt | Failed]], wanted: Import) -> Table:
    """Imports logs with an engine that carries out the tasks: `run` calls `write_log` with each task, in any process and any number of
    times, and returns a result for each. This process begins the import of each table, and commits it.

    Paths become absolute: workers have other working folders.
    """
    settings = replace(wanted.settings, msgs=[os.path.abspath(folder) for folder in wanted.settings.msgs])
    place = (_absolute(wanted.place[0]), *wanted.place[1:])
    logs = [_absolute(url) for url in wanted.logs]
    tables: list[_tetrys.Table] = []
    lost: dict[str, str] = {}
    warned: dict[str, list[str]] = {}
    report = "{}"
    parts = _tetrys.logs_parts(place, settings, wanted.options)
    for part, recipe, is_whole in parts:
        span = (None, None) if is_whole else (settings.start, settings.end)
        of_part = replace(settings, recipe=recipe, is_json=True, start=span[0], end=span[1])
        one = replace(wanted, logs=logs, place=(part, *place[1:]), settings=of_part)
        table, report, failed = _ingest_part(run, one, logs)
        tables.append(table)
        for log in json.loads(report)["logs"]:
            warned.setdefault(log["log"], []).extend(one for one in log["warnings"] if one not in warned.get(log["log"], []))
        lost |= {name: why for name, (why, _) in failed.items()}
        # Without its messages in one table, a log has no rows in the next.
        files = [file for _, files in failed.values() for file in files]
        logs = [url for url in logs if url.rstrip("/") not in files]
        # One table of which nothing was written is an error; of several, the next one may lack what this one has.
        if not logs or (len(parts) == 1 and lost and not json.loads(report)["logs"]):
            name, why = next(iter(lost.items()))
            raise Invalid(f"log {name}: {why}")
    made = tables[0] if len(tables) == 1 else _tetrys.logs_view(place, settings, wanted.options, tables, report)
    for message in (message for messages in warned.values() for message in messages):
        warnings.warn(message, stacklevel=3)
    _warn("{}", list(lost.items()), 4)
    result = Table._of(made, place[1])
    warn_not_pinned((url, "") for url in result.lineage.get("not_pinned", ()))
    return result


def _ingest_part(
    run: Callable[[Sequence[LogTask]], Iterable[Receipt | Failed]], of: Import, logs: list[str]
) -> tuple[_tetrys.Table, str, dict[str, tuple[str, list[str]]]]:
    """Imports logs into one table. Returns it, the report, and the logs that failed, with the reason and the files of each."""
    arguments = (of.read, of.place, of.settings, of.options)
    begun, receipts, left, all_logs = _tetrys.logs_begin(logs, *arguments)
    plan, ticket = begun if begun is not None else (None, "")
    tasks = [LogTask(replace(of, logs=files), ticket, number, name) for number, name, files in left]
    results = list(run(tasks)) if tasks else []
    receipts += [one for one in results if not isinstance(one, Failed)]
    failed = [(one.log, one.why) for one in results if isinstance(one, Failed)]
    table, report, lost, _ = _tetrys.logs_finish(logs, *arguments, plan, receipts, failed)
    # A log that was written before an interruption may fail, too: if another process has committed the session without it.
    files_of = dict(all_logs)
    return table, report, {name: (why, files_of.get(name, [])) for name, why in lost}


def write_log(task: LogTask) -> Receipt | Failed:
    """Writes a log in this process. An error of the log is a result: the others are imported."""
    of = task.of
    try:
        return _tetrys.logs_write(of.logs, of.read, of.place, of.settings, of.options, task.ticket, task.number)
    except Error as error:
        return Failed(task.log, str(error))


def _absolute(url: str) -> str:
    return url if "://" in url or url.startswith("file:") else os.path.abspath(url)


def _warn(report: str, failed: Iterable[tuple[str, str]], level: int) -> None:
    parsed = json.loads(report)
    of_logs = [warning for log in parsed.get("logs", []) for warning in log["warnings"]]
    for warning in of_logs + parsed.get("warnings", []):
        warnings.warn(warning, stacklevel=level)
    for name, error in failed:
        is_there = "its rows stay as they are" in error
        message = f"log {name}: {error}" if is_there else f"log {name} failed and is not in the table: {error}"
        warnings.warn(message, stacklevel=level)


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
