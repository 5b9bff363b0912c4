"""The programs of Petastorm over tables: copies, measurements, and what the metadata say."""

from __future__ import annotations

import subprocess
import sys
import types
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tetrys as tt
from conftest import ROWS
from petastorm_tables import SHARED, goldens, needs_data, write
from tetrys.petastorm import make_reader
from tetrys.petastorm.benchmark import cli, throughput
from tetrys.petastorm.benchmark.throughput import ReadMethod, WorkerPoolType, reader_throughput
from tetrys.petastorm.etl import metadata_util, petastorm_generate_metadata
from tetrys.petastorm.etl.dataset_metadata import PetastormMetadataError
from tetrys.petastorm.etl.petastorm_generate_metadata import generate_petastorm_metadata
from tetrys.petastorm.etl.rowgroup_indexers import SingleFieldIndexer
from tetrys.petastorm.etl.rowgroup_indexing import build_rowgroup_index
from tetrys.petastorm.tools import copy_dataset as program
from tetrys.petastorm.tools.copy_dataset import copy_dataset
from tetrys.petastorm.unischema import Unischema, UnischemaField


def read(url: Any) -> list[dict[str, Any]]:
    with make_reader(str(url), shuffle_row_groups=False, num_epochs=1) as reader:
        return [row._asdict() for row in reader]


def assert_rows(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        for name, value in other.items():
            np.testing.assert_equal(one[name], value, err_msg=name)


@needs_data
def test_a_copy_has_the_rows_that_petastorm_reads(tmp_path: Path) -> None:
    write(str(tmp_path / "t"), "0.7.6")
    program.main([str(tmp_path / "t"), str(tmp_path / "copy")])
    assert_rows(read(tmp_path / "copy"), read(tmp_path / "t"))
    with pytest.raises(tt.Exists):
        program.main([str(tmp_path / "t"), str(tmp_path / "copy")])
    program.main([str(tmp_path / "t"), str(tmp_path / "copy"), "--overwrite"])
    assert_rows(read(tmp_path / "copy"), read(tmp_path / "t"))
    source, copy = (tt.open_table(str(tmp_path / name)) for name in ("t", "copy"))
    names = [name for name, _ in source.index_columns] + [name for _, columns in source.groups for name, _ in columns]
    assert {name: copy.column_properties(name) for name in names} == {name: source.column_properties(name) for name in names}
    # The stored bytes are those of the source: no picture was encoded again.
    pictures = [tt.row_loader(table).get_row(3, ["image_png"])["image_png"] for table in (source, copy)]
    np.testing.assert_array_equal(*pictures)


@needs_data
def test_a_copy_of_some_fields_and_of_rows_without_nulls(tmp_path: Path) -> None:
    write(str(tmp_path / "t"), "0.7.6")
    program.main([str(tmp_path / "t"), str(tmp_path / "ids"), "--field-regex", r"\bid\b", "--partition-count", "1"])
    with make_reader(str(tmp_path / "ids"), num_epochs=1) as reader:
        assert list(reader.schema.fields) == ["id"] and sorted(row.id for row in reader) == list(range(100))
    expected = [row for row in goldens("0.7.6") if row["string_array_nullable"] is not None]
    assert 0 < len(expected) < 100
    program.main([str(tmp_path / "t"), str(tmp_path / "whole"), "--not-null-fields", "string_array_nullable"])
    assert [row["id"] for row in read(tmp_path / "whole")] == [row["id"] for row in expected]
    # In the 0.7.6 release, this field is null in every row.
    copy_dataset(None, tmp_path / "t", tmp_path / "none", ["id", "matrix_nullable"], ["matrix_nullable"], False, None, 196)
    assert len(tt.open_table(str(tmp_path / "none"))) == 0


def test_a_copy_of_any_table_keeps_its_groups_and_its_order(drives: str, tmp_path: Path) -> None:
    copy_dataset(None, drives, tmp_path / "copy", None, ["labels_text", "lidar_points"], False, None, None)
    source, copy = tt.open_table(drives), tt.open_table(tmp_path / "copy")
    assert copy.groups == source.groups and copy.index_columns == source.index_columns and copy.sequence_by == ["log_id"]
    kept = [row for row in range(ROWS) if row not in (3, 7)]
    for row, number in enumerate(kept):
        found, expected = tt.row_loader(copy).get_row(row), tt.row_loader(source).get_row(number)
        for name in expected:
            np.testing.assert_equal(found[name], expected[name])
    copy_dataset(None, drives, tmp_path / "short", ["timestamp", "camera_jpeg"], [], False, None, None)
    assert tt.open_table(tmp_path / "short").groups == [("camera", [("camera.jpeg", "binary")])]
    assert tt.open_table(tmp_path / "short").sequence_by == []


def decimals(url: str) -> tt.Table:
    """Writes a table of a schema whose fields do not follow from the types of their columns."""
    columns = {"id": np.arange(4), "price": ["1.50"] * 4}
    table = tt.write_table(url, columns, index=["id", "price"], properties={"petastorm.schema": {"name": "S", "fields": ["price", "id"]}})
    kind = {"petastorm.shape": [], "petastorm.nullable": False, "petastorm.codec": None}
    return table.edit(column_properties={"id": {"petastorm.dtype": "int32", **kind}, "price": {"petastorm.dtype": "Decimal", **kind, "scale": 2}})


def test_a_copy_of_a_view_has_the_schema_of_the_tables_behind_it(tmp_path: Path) -> None:
    table = decimals(str(tmp_path / "t"))
    view = tt.read_index(tt.read_index(table)[1:].save(str(tmp_path / "view")))[:2].save(str(tmp_path / "of view"))
    copy_dataset(None, view.url, tmp_path / "copy", None, None, False, None, None)
    copy = tt.open_table(tmp_path / "copy")
    assert copy.properties["petastorm.schema"] == table.properties["petastorm.schema"]
    for name in ("id", "price"):
        assert copy.column_properties(name) == table.column_properties(name)
    assert_rows(read(tmp_path / "copy"), [{"price": Decimal("1.50"), "id": np.int32(row)} for row in (1, 2)])


def test_a_copy_that_is_killed_names_no_field_without_properties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decimals(str(tmp_path / "t"))
    # The table that is overwritten once had other fields, which its schema still names.
    copy_dataset(None, tmp_path / "t", tmp_path / "before", ["id"], None, False, None, None)
    tt.open_table(tmp_path / "before").edit(properties={"petastorm.schema": {"name": "S", "fields": ["id", "price"]}})

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    for name, replaces in (("copy", False), ("before", True)):
        with monkeypatch.context() as patch:
            patch.setattr(tt.Table, "edit", killed)
            with pytest.raises(KeyboardInterrupt):
                copy_dataset(None, tmp_path / "t", tmp_path / name, None, None, replaces, None, None)
        assert [row["price"] for row in read(tmp_path / name)] == ["1.50"] * 4
        copy_dataset(None, tmp_path / "t", tmp_path / name, None, None, True, None, None)
        assert_rows(read(tmp_path / name), read(tmp_path / "t"))
    # A table without a schema leaves none.
    tt.write_table(str(tmp_path / "plain"), {"id": np.arange(3)}, index=["id"])
    copy_dataset(None, tmp_path / "plain", tmp_path / "copy", None, None, True, None, None)
    assert "petastorm.schema" not in tt.open_table(tmp_path / "copy").properties


def test_copies_that_are_refused(drives: str, tmp_path: Path) -> None:
    for given, raised, message in (
        ({"field_regex": ["bogus_name"]}, ValueError, "do not match any fields"),
        ({"field_regex": ["camera_jpeg"]}, ValueError, "none of the fields that match is a scalar of the index"),
        ({"not_null_fields": ["bogus"]}, KeyError, "no field"),
        ({"source_url": tmp_path / "nothing"}, FileNotFoundError, "no table"),
    ):  # fmt: skip
        arguments = {"source_url": drives, "target_url": tmp_path / "out", "field_regex": None, "not_null_fields": None, **given}
        with pytest.raises(raised, match=message):
            copy_dataset(None, overwrite_output=False, partitions_count=None, row_group_size_mb=None, **arguments)
    assert not (tmp_path / "out").exists()


def test_a_table_has_its_metadata(drives: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    module = types.ModuleType("my_schemas")
    setattr(module, "Times", Unischema("Times", [UnischemaField("timestamp", np.int64, ())]))
    setattr(module, "Others", Unischema("Others", [UnischemaField("bogus", np.int64, ())]))
    monkeypatch.setitem(sys.modules, "my_schemas", module)
    petastorm_generate_metadata.main(["--dataset_url", drives, "--unischema_class", "my_schemas.Times", "--master", "local[*]"])
    assert "nothing was written" in capsys.readouterr().out and tt.open_table(drives).version == 1
    with pytest.raises(PetastormMetadataError, match="no field `bogus`"):
        generate_petastorm_metadata(None, drives, "my_schemas.Others")
    with pytest.raises(ValueError, match="is not a Unischema"):
        generate_petastorm_metadata(None, drives, "my_schemas.Nothing")
    with pytest.raises(FileNotFoundError):
        generate_petastorm_metadata(None, tmp_path / "nothing")


@needs_data
def test_the_metadata_of_data_sets_and_of_tables_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = next((SHARED / "legacy" / "0.7.6").rglob("_common_metadata")).parent
    metadata_util.main(["--dataset-url", str(folder), "--skip-index", "id"])
    shown = capsys.readouterr().out
    for line in ("*** Schema from dataset metadata ***", "Unischema(TestSchema", "*** Row group indexes from dataset metadata ***", "Index: id\n  (skipped)"):
        assert line in shown, line
    metadata_util.main(["--dataset-url", str(folder), "--index", "--print-values"])
    shown = capsys.readouterr().out
    assert "  -- p_3(1)\n[3]\n" in shown and "Unischema(" not in shown
    write(str(tmp_path / "t"), "0.7.6")
    build_rowgroup_index(str(tmp_path / "t"), None, [SingleFieldIndexer("ids", "id")])
    metadata_util.main(["--dataset-url", str(tmp_path / "t")])
    shown = capsys.readouterr().out
    assert "UnischemaField('matrix', float32" in shown and "Index: ids\n  -- field id\n" in shown


@pytest.mark.parametrize("pool", list(WorkerPoolType))
def test_a_reader_is_measured(drives: str, pool: WorkerPoolType) -> None:
    result = reader_throughput(drives, ["ti.*"], 5, 50, pool, 1, spawn_new_process=False)
    assert result.samples_per_second == pytest.approx(1 / result.time_mean) and result.memory_info.rss > 1 << 20 and result.cpu >= 0
    with pytest.raises(NotImplementedError, match="TensorFlow is not measured"):
        reader_throughput(drives, read_method=ReadMethod.TF)


def test_as_many_rows_are_taken_as_the_measurement_says() -> None:
    taken: list[int] = []
    throughput._time_warmup_and_work(None, 2, 3, lambda: taken.append(1))
    assert len(taken) == 5


def test_the_program_measures_in_a_process_of_its_own(drives: str, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main([drives, "--field-regex", "timestamp", "-m", "5", "-n", "50", "-p", "dummy"])
    assert "samples/sec; RAM" in capsys.readouterr().out


@pytest.mark.parametrize("module", ["tools.copy_dataset", "etl.petastorm_generate_metadata", "etl.metadata_util", "benchmark.cli"])
def test_each_program_says_what_its_arguments_are(module: str) -> None:
    ran = subprocess.run([sys.executable, "-m", f"tetrys.petastorm.{module}", "--help"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith(f"usage: python -m tetrys.petastorm.{module}")
