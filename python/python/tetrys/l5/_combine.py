"""Data sets made of scenes of others, as views: they copy no payload (L5Kit's `data.zarr_utils` and `data.combine`)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _tetrys
from .._arguments import Url, called, chosen, limited, number, path_of, several, text, url_of, whole
from .._errors import NoKey, NotMet, Taken, WrongType, WrongValue, array_of, found, short
from .._index import Index, concat, read_index
from .._table import Table
from .._tetrys import Corrupt, Exists, Invalid, NotFound
from ._checks import records
from ._chunked import ChunkedDataset, _is_zarr
from ._records import SCENE_DTYPE, Records

GIGABYTE = 1 << 30

_ARRAYS = ("frames", "agents", "tl_faces")


def zarr_concat(input_zarrs: Iterable[Url | Table], output_zarr: Url, *, allow_unpinned: bool = False) -> Table:
    """Saves a view with the scenes of several data sets, one data set after the other.

    Args:
        input_zarrs: Tables that `tetrys.ingest_l5` made, or views of such tables. One that cannot be read is skipped, with a
            warning.
        output_zarr: URL or path of the view.
        allow_unpinned: See `Index.save`; for data sets that cannot be written to.

    Example:
        >>> zarr_concat(["monday", "tuesday"], "both")

    A view copies no payload: it has rows of its tables, with the numbers that they have there. `ChunkedDataset` and `export`
    number frames, agents and faces from 0, as L5Kit does in its copies. Scenes without frames have no rows: they are left out.

    Raises:
        AssertionError: something exists at `output_zarr` (also a `tetrys.Exists`).
        ValueError: an input is a zarr group, arrays have different types, or no input can be read.
    """
    output = _free(output_zarr)
    datasets: list[ChunkedDataset] = []
    for place in several("input_zarrs", input_zarrs):
        _refuse_zarr(place)
        try:
            datasets.append(opened(place))
        except (NotFound, Invalid, Corrupt) as error:
            warnings.warn(f"{place} is not valid! skipping: {error}", RuntimeWarning, stacklevel=2)
    if not datasets:
        raise WrongValue("no input is a table of Level 5 data that can be read")
    for dataset in datasets[1:]:
        for name in _ARRAYS:
            kind, expected = getattr(dataset, name).dtype, getattr(datasets[0], name).dtype
            if kind != expected:
                raise WrongValue(f"{dataset.path}: {name} has the type {kind}, in {datasets[0].path} it is {expected}")
    # Views may have columns of their own; rows of other tables have nulls there.
    return _saved(concat([_index(dataset) for dataset in datasets], fill=True), output, allow_unpinned)


def zarr_split(
    input_zarr: Url | Table, output_path: Url, split_infos: Sequence[Mapping[str, Any]], *, allow_unpinned: bool = False
) -> list[tuple[int, int]]:
    """Splits a data set into views of neighbouring scenes.

    Args:
        input_zarr: A table that `tetrys.ingest_l5` made, or a view of such tables.
        output_path: Folder or URL below which the views are saved.
        split_infos: For each view its `name`, and in `split_size_GB` its size in GiB. The last size is -1: it takes the rest.
        allow_unpinned: See `Index.save`.

    Returns the first scene and the end of each view.

    A view of a size has as many scenes as its share of the size of the input, rounded down. The size of a table is that of its
    stored columns, without the index. The size of a view is the sum of those of its tables, times the share of their rows.

    Raises:
        AssertionError: sizes are larger than the input or do not end with -1, a view would have no scene, or something exists at
            its place.
        ValueError: the input is a zarr group.
    """
    dataset = opened(input_zarr)
    infos = [_split_info(place, info) for place, info in enumerate(limited("split_infos", split_infos, 2**16))]
    if len(infos) == 0 or infos[-1][1] != -1:
        raise NotMet("last split element should have split_size_GB equal to -1")
    scenes, index = len(dataset.scenes), _index(dataset)
    size = _stored_bytes(index) / GIGABYTE
    counts = [int(min(scenes * share / size, scenes)) if size else 0 for _, share in infos[:-1]]
    if sum(counts) >= scenes:
        raise NotMet(f"size exceed: {counts} scenes of {scenes} before the last split")
    counts.append(scenes - sum(counts))
    names = [name for name, _ in infos]
    if min(counts) < 1:
        raise NotMet(f"split {names[int(np.argmin(counts))]} has {min(counts)} scenes of {scenes}: expected at least one")
    if not (folder := url_of(output_path)):
        # A name behind it would be a folder of the root.
        raise WrongValue("output_path is empty: expected a folder or a URL")
    outputs = [_free(f"{folder.rstrip('/')}/{name}") for name in names]
    ends = np.cumsum(counts).tolist()
    cuts = list(zip([0, *ends[:-1]], ends, strict=True))
    for (first, last), output in zip(cuts, outputs, strict=True):
        intervals = dataset.scenes["frame_index_interval"]
        _saved(index[int(intervals[first, 0]) : int(intervals[last - 1, 1])], output, allow_unpinned)
    return cuts


def _split_info(place: int, info: object) -> tuple[str, float]:
    """Returns the name and the size of a view."""
    where = f"split_infos[{place}]"
    if not isinstance(info, Mapping):
        raise WrongType(f"{where}: expected a dict with name and split_size_GB, found {found(info)}")
    if missing := [key for key in ("name", "split_size_GB") if key not in info]:
        raise NoKey(f"{where}: the key `{missing[0]}` is missing; there are: {short(', '.join(map(str, info)))}")
    name = text(f"{where}, name", info["name"])
    if not name or name in (".", "..") or "/" in name:
        raise WrongValue(f"{where}: name {short(repr(name))}: expected the name of a folder")
    return name, number(f"{where}, split_size_GB", info["split_size_GB"])


def zarr_scenes_chop(
    input_zarr: Url | Table, output_zarr: Url, num_frames_to_copy: int, *, allow_unpinned: bool = False
) -> Table:
    """Saves a view with the first frames of each scene.

    Args:
        input_zarr: A table that `tetrys.ingest_l5` made, or a view of such tables.
        output_zarr: URL or path of the view.
        num_frames_to_copy: Frames of each scene, at least 1.
        allow_unpinned: See `Index.save`.

    A sample of the view ends where its scene was chopped: later frames of the table are never read.

    Raises:
        AssertionError: a scene has no more frames than that, or something exists at `output_zarr`.
        ValueError: the input is a zarr group, or `num_frames_to_copy` is no number of frames.
    """
    output, dataset = _free(output_zarr), opened(input_zarr)
    starts = chopped_starts(dataset, num_frames_to_copy)
    return _saved(_index(dataset)[(starts[:, None] + np.arange(num_frames_to_copy)).reshape(-1)], output, allow_unpinned)


def scene_subset(
    input_zarr: Url | Table, output_zarr: Url, scene_indices: npt.ArrayLike, *, allow_unpinned: bool = False
) -> Table:
    """Saves a view with some scenes, in the order of `scene_indices`.

    Args:
        input_zarr: A table that `tetrys.ingest_l5` made, or a view of such tables.
        output_zarr: URL or path of the view.
        scene_indices: Numbers of scenes, or a mask of all scenes. Negative numbers count from the end; a number may repeat.
        allow_unpinned: See `Index.save`.

    Raises:
        IndexError: there is no such scene.
        AssertionError: something exists at `output_zarr`.
        ValueError: the input is a zarr group.
    """
    output, dataset = _free(output_zarr), opened(input_zarr)
    intervals = dataset.scenes["frame_index_interval"][chosen(scene_indices, len(dataset.scenes), "the scenes")]
    rows = [np.arange(start, stop) for start, stop in intervals]
    return _saved(_index(dataset)[np.concatenate([np.empty(0, np.int64), *rows])], output, allow_unpinned)


def get_combined_scenes(scenes: Any) -> Records:
    """Combines scenes of one host that follow each other: each starts at the time at which the one before ends.

    Returns the combined scenes, from the first frame of the first to the last frame of the last.
    """
    rows: Records = array_of("scenes", scenes if hasattr(scenes, "__array__") else limited("scenes", scenes, 2**24))
    if rows.ndim != 1 or len(rows) and rows.dtype.names is None:
        raise WrongType(f"scenes: expected an array of scenes, found {found(scenes)}")
    if not len(rows):
        return rows
    records("scenes", rows, SCENE_DTYPE)
    new = (rows["start_time"][1:] != rows["end_time"][:-1]) | (rows["host"][1:] != rows["host"][:-1])
    firsts, lasts = np.flatnonzero(np.append(True, new)), np.flatnonzero(np.append(new, True))
    combined: Records = rows[firsts].astype(SCENE_DTYPE)
    combined["frame_index_interval"][:, 1] = rows["frame_index_interval"][lasts, 1]
    combined["end_time"] = rows["end_time"][lasts]
    return combined


def export(table: Url | Table, path: str | os.PathLike[str], *, progress: Callable[[int], object] | None = None) -> None:
    """Writes a table or a view as the zarr group that L5Kit reads.

    Args:
        table: A table that `tetrys.ingest_l5` made, or a view of such tables.
        path: The folder to make.
        progress: Called with the number of frames done, from another thread.

    A table becomes the arrays that it was made from. Frames, agents and faces of a view are numbered from 0. A view has the
    attributes, types and chunks of its first table, and no `agents_mask`.

    Raises:
        Exists: something exists at `path`.
        Invalid: the table was not made from Level 5 data.
    """
    source = table if isinstance(table, Table) else Table(table)
    _tetrys.l5_export(source._native, path_of("path", path), called(progress))


def opened(place: Url | Table) -> ChunkedDataset:
    """Opens a table for a view of it."""
    _refuse_zarr(place)
    return ChunkedDataset(place if isinstance(place, Table) else url_of(place)).open()


def _refuse_zarr(place: Url | Table) -> None:
    if not isinstance(place, Table) and _is_zarr(url_of(place)):
        raise WrongValue(f"{place} is a zarr group, and a view is made of tables: make one with tetrys.ingest_l5(zarr, table)")


def chopped_starts(dataset: ChunkedDataset, frames: int) -> npt.NDArray[np.int64]:
    """Returns the first frame of each scene, if each has more than `frames` frames."""
    whole("num_frames_to_copy", frames, least=1)
    intervals: npt.NDArray[np.int64] = dataset.scenes["frame_index_interval"]
    lengths = intervals[:, 1] - intervals[:, 0]
    if len(lengths) and lengths.min() <= frames:
        raise NotMet(f"not enough frames: scene {int(lengths.argmin())} has {lengths.min()}, expected more than {frames}")
    return intervals[:, 0]


def _index(dataset: ChunkedDataset) -> Index:
    assert dataset._table is not None
    return read_index(dataset._table)


def _free(output: Url) -> str:
    """Checks that nothing exists at a local path. The writer checks that there is no table at a URL."""
    url = url_of(output)
    if "://" not in url and os.path.lexists(url):
        raise Taken(f"{url}: something exists there; a view is saved at a new place: name another one, or remove what is there first")
    return url


def _saved(index: Index, output: str, allow_unpinned: bool) -> Table:
    try:
        return index.save(output, allow_unpinned=allow_unpinned)
    except Exists as error:
        raise Taken(str(error)) from error


def _stored_bytes(index: Index) -> float:
    """Returns the stored bytes of the rows, as their share of the rows of each table."""
    frame, size = index.to_polars(), 0.0
    for locator, table in zip(index._native.locators(), index.tables, strict=True):
        stored = sum(stored for stored, _ in table.group_sizes.values())
        size += stored * int((frame[locator] >= 0).sum()) / max(len(table), 1)
    return size
