"""What the README says of other formats is true of the versions that are installed."""

from __future__ import annotations

from pathlib import Path

import lance
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import tetrys as tt

VALUES = [np.random.default_rng(row).bytes(50_000) for row in range(20)]


def flip_a_bit(folder: Path) -> None:
    """Flips a bit in the middle of value 7, in whichever file of the folder has it."""
    middle = VALUES[7][25_000:25_032]
    files = [file for file in folder.rglob("*") if file.is_file() and middle in file.read_bytes()]
    assert len(files) == 1
    content = bytearray(files[0].read_bytes())
    content[content.index(middle)] ^= 1
    files[0].chmod(0o644)
    files[0].write_bytes(content)


def test_lance_returns_a_flipped_bit_as_data_and_a_table_reports_it(tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"id": range(20), "jpeg": VALUES}), tmp_path / "lance")
    flip_a_bit(tmp_path / "lance")
    found = lance.dataset(tmp_path / "lance").take([7])["jpeg"][0].as_py()
    assert found != VALUES[7] and len(found) == len(VALUES[7])

    table = tt.write_table(tmp_path / "table", {"id": np.arange(20), "camera.jpeg": VALUES}, index=["id"])
    flip_a_bit(tmp_path / "table")
    with pytest.raises(tt.Corrupt, match="checksum"):
        tt.row_loader(tt.open_table(table.url)).get_row(7)


def test_polars_scans_indexes_in_lance_and_parquet_lazily(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": range(20)})
    lance.write_dataset(frame.to_arrow(), tmp_path / "lance")
    frame.write_parquet(tmp_path / "frame.parquet")
    for scan in (pl.scan_lance(str(tmp_path / "lance")), pl.scan_parquet(tmp_path / "frame.parquet")):
        assert isinstance(scan, pl.LazyFrame) and scan.filter(pl.col("id") > 16).collect().height == 3
