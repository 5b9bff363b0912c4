"""Schemas, codecs, and data sets that are written without Spark."""

from __future__ import annotations

import io
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tetrys as tt
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nst
from tetrys.petastorm import make_reader
from tetrys.petastorm.codecs import CompressedImageCodec, CompressedNdarrayCodec, DataframeColumnCodec, NdarrayCodec, ScalarCodec, spark_type
from tetrys.petastorm.etl.dataset_metadata import PetastormMetadataError, materialize_dataset
from tetrys.petastorm.unischema import Unischema, UnischemaField


class Upper(DataframeColumnCodec):
    """A codec of the user."""

    def encode(self, unischema_field: UnischemaField, value: str) -> bytes:
        return value.upper().encode()

    def decode(self, unischema_field: UnischemaField, value: bytes) -> str:
        return value.decode()

    def spark_dtype(self) -> Any:
        raise NotImplementedError


FIELDS = [
    UnischemaField("id", np.int32, (), ScalarCodec(), False),
    UnischemaField("flag", np.bool_, (), None, True),
    UnischemaField("half", np.float16, (), None, True),
    UnischemaField("name", np.str_, (), ScalarCodec(), True),
    UnischemaField("raw", np.bytes_, (), ScalarCodec(), True),
    UnischemaField("price", Decimal, (), ScalarCodec(), True),
    UnischemaField("when", np.datetime64, (), None, True),
    UnischemaField("points", np.float32, (None, 3), NdarrayCodec(), True),
    UnischemaField("zero", np.float64, (), NdarrayCodec(), True),
    UnischemaField("packed", np.uint64, (2, 2), CompressedNdarrayCodec(), True),
    UnischemaField("complex", np.complex64, (2,), NdarrayCodec(), True),
    UnischemaField("times", np.datetime64, (None,), CompressedNdarrayCodec(), True),
    UnischemaField("words", np.str_, (None, None), NdarrayCodec(), True),
    UnischemaField("bytes", np.bytes_, (2,), CompressedNdarrayCodec(), True),
    UnischemaField("list", np.int64, (None,), None, True),
    UnischemaField("texts", np.str_, (None,), None, True),
    UnischemaField("png", np.uint8, (None, None, 3), CompressedImageCodec("png"), True),
    UnischemaField("grey", np.uint8, (None, None), CompressedImageCodec("png"), True),
    UnischemaField("deep", np.uint16, (None, None), CompressedImageCodec("png"), True),
    UnischemaField("jpeg", np.uint8, (None, None, 3), CompressedImageCodec("jpeg", 95), True),
    UnischemaField("mine", np.str_, (), Upper(), True),
]
SCHEMA = Unischema("Everything", FIELDS)


def full(number: int) -> dict[str, Any]:
    return {
        "id": np.int32(number), "flag": number % 2 == 0, "half": np.float16(number / 2), "name": f"näme {number}", "raw": b"\0\xff" * number,
        "price": Decimal(f"{number}.10"), "when": np.datetime64(number, "ms"), "points": np.full((number, 3), number, np.float32), "zero": np.array(number / 3),
        "packed": np.full((2, 2), 2**64 - 1 - number, np.uint64), "complex": np.full(2, number + 1j, np.complex64), "times": np.arange(number).astype("M8[s]"),
        "words": np.array([["a", "bcd"]] * number).reshape(number, -1), "bytes": np.array([b"x" * number, b"yz"]), "list": np.arange(number),
        "texts": np.array(["p", "q"][: number % 3], np.str_), "png": np.full((3, 4, 3), number, np.uint8), "grey": np.full((3, 4), number, np.uint8),
        "deep": np.full((3, 4), 1000 * number, np.uint16), "jpeg": np.full((8, 8, 3), 10 * number, np.uint8), "mine": f"m{number}",
    }  # fmt: skip


def test_every_kind_of_field_is_written_without_spark_and_read_again(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/t"
    with materialize_dataset(None, url, SCHEMA) as writer:
        writer.write(full(number) for number in range(1, 7))
        writer.write({"id": np.int32(7)})
    with make_reader(url, shuffle_row_groups=False) as reader:
        assert list(reader.schema.fields.values()) == FIELDS
        assert str(reader.schema).splitlines()[:-2] == str(SCHEMA).splitlines()[:-2]
        rows = list(reader)
    empty = rows[6]._asdict()
    # Null is NaN in a field of floats, as in Petastorm.
    assert np.isnan(empty.pop("half"))
    assert empty == {"id": 7, **dict.fromkeys([field.name for field in FIELDS[1:] if field.name != "half"])}
    for number, row in enumerate(rows[:6], 1):
        for name, expected in full(number).items():
            found = getattr(row, name)
            if name == "mine":
                assert found == f"M{number}".encode()
            elif name == "jpeg":
                assert found.shape == (8, 8, 3) and np.abs(found.astype(int) - 10 * number).max() <= 2
            elif isinstance(expected, np.ndarray):
                assert isinstance(found, np.ndarray) and (found.dtype, found.shape) == (expected.dtype, expected.shape), name
                assert found.tolist() == expected.tolist(), name
            else:
                assert found == expected and (not isinstance(expected, np.generic) or isinstance(found, np.generic)), name


def test_writing_needs_neither_pyspark_nor_pandas(tmp_path: Path) -> None:
    code = """
import sys
for name in ("pyspark", "pandas", "torch", "tensorflow", "cv2"):
    sys.modules[name] = None
import numpy as np
from tetrys.petastorm import make_reader
from tetrys.petastorm.codecs import NdarrayCodec, ScalarCodec
from tetrys.petastorm.etl.dataset_metadata import materialize_dataset
from tetrys.petastorm.unischema import Unischema, UnischemaField
schema = Unischema("S", [UnischemaField("id", np.int32, (), ScalarCodec()), UnischemaField("m", np.float32, (None,), NdarrayCodec())])
with materialize_dataset(None, sys.argv[1], schema) as writer:
    writer.write({"id": row, "m": np.zeros(row, np.float32)} for row in range(5))
with make_reader(sys.argv[1], shuffle_row_groups=False) as reader:
    print(sum(len(row.m) for row in reader))
"""
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path / "t")], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.returncode) == ("10\n", 0), ran.stderr


@given(data=st.data(), codec=st.sampled_from([NdarrayCodec(), CompressedNdarrayCodec()]))
def test_a_codec_gives_any_array_back(data: st.DataObject, codec: DataframeColumnCodec) -> None:
    dtype = data.draw(st.one_of(nst.scalar_dtypes(), nst.byte_string_dtypes(), nst.unicode_string_dtypes()))
    array = data.draw(nst.arrays(dtype, nst.array_shapes(min_dims=0, min_side=0)))
    field = UnischemaField("x", array.dtype.type, array.shape, codec)
    found = codec.decode(field, bytes(codec.encode(field, array)))
    assert (found.dtype, found.shape) == (array.dtype, array.shape) and found.tobytes() == array.tobytes()


@pytest.mark.parametrize("picture", [np.arange(60, dtype=np.uint8).reshape(4, 5, 3), np.arange(20, dtype=np.uint8).reshape(4, 5), (np.arange(20) * 3000).astype(np.uint16).reshape(4, 5)])
def test_a_png_is_exact(picture: npt.NDArray[Any]) -> None:
    codec = CompressedImageCodec("png")
    field = UnischemaField("x", picture.dtype.type, (None,) * picture.ndim, codec)
    found = codec.decode(field, codec.encode(field, picture))
    assert found.dtype == picture.dtype and found.tolist() == picture.tolist()


def npz(members: dict[str, bytes]) -> bytes:
    import zipfile

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def bomb() -> bytes:
    """A small npz file that claims 4 GiB."""
    file = npz({"arr.npy": b"\x93NUMPY"})
    size = (6).to_bytes(4, "little")
    return file.replace(size + size, size + (2**32 - 2).to_bytes(4, "little"))


OBJECTS = io.BytesIO()
np.save(OBJECTS, np.array([print], object), allow_pickle=True)


@pytest.mark.parametrize(
    "cell",
    [
        b"", b"\x93NUMPY", OBJECTS.getvalue(), b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }" + b" " * 60 + b"\n",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,), }" + b" " * 41 + b"\n", b"PK\x03\x04rest",
        npz({"arr.npy": OBJECTS.getvalue()}), npz({"other.npy": b""}), bomb(),
    ],
)  # fmt: skip
def test_a_hostile_cell_is_an_error_that_names_the_field(cell: bytes) -> None:
    for codec in (NdarrayCodec(), CompressedNdarrayCodec()):
        with pytest.raises(tt.Invalid, match="field `x`"):
            codec.decode(UnischemaField("x", np.float64, (None,), codec), cell)
    picture = CompressedImageCodec("png")
    with pytest.raises(tt.Invalid, match="field `x`"):
        picture.decode(UnischemaField("x", np.uint8, (None, None, 3), picture), cell)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("id", None, "field `id` is None"), ("id", "7", "field `id`: expected a scalar of int32, found str '7'"), ("id", 2**40, "field `id`"), ("id", 1.5, "does not fit int32"),
        ("id", [1], "expected a scalar of int32"), ("name", 3, "field `name`: expected a scalar of str_"), ("price", "x", "is no decimal"), ("flag", 7, "does not fit bool"),
        ("points", np.zeros((2, 4), np.float32), r"expected the shape \(None, 3\), found \(2, 4\)"), ("points", np.zeros((2, 3)), "expected an array of float32, found float64"),
        ("points", [[1, 2, 3]], "expected an array of float32, found list"), ("png", np.zeros((2, 2, 4), np.uint8), r"expected the shape \(None, None, 3\)"),
        ("nope", 1, "a field `nope`, which schema Everything does not"), ("zero", np.zeros(1), r"expected the shape \(\)"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_an_error_and_nothing_is_published(tmp_path: Path, name: str, value: Any, reason: str) -> None:
    url = str(tmp_path / "t")
    with pytest.raises(ValueError, match=reason), materialize_dataset(None, url, SCHEMA) as writer:
        writer.write([full(1), {**full(2), name: value}])
    with pytest.raises(tt.NotFound):
        tt.Table(url)


def test_misuse_of_the_writer_is_an_error(tmp_path: Path) -> None:
    url = str(tmp_path / "t")
    with pytest.raises(TypeError, match="schema: expected a Unischema"), materialize_dataset(None, url, "schema"):  # type: ignore[arg-type]
        pass
    with pytest.raises(PetastormMetadataError, match="no table was written"), materialize_dataset(None, url, SCHEMA):
        pass
    for rows in (3, "rows", [3], [None]):
        with pytest.raises(TypeError, match="rows: expected dicts"), materialize_dataset(None, url, SCHEMA) as writer:
            writer.write(rows)
    no_scalar = Unischema("S", [UnischemaField("m", np.float32, (2,), NdarrayCodec())])
    with pytest.raises(ValueError, match="no scalar that the index could hold"), materialize_dataset(None, url, no_scalar) as writer:
        writer.write({"m": np.zeros(2, np.float32)})
    with pytest.raises(ValueError, match="no column stores"), materialize_dataset(None, url, Unischema("S", [UnischemaField("m", np.complex64, (2,))])):
        pass
    with materialize_dataset(None, url, SCHEMA, index=["id", "name"], sequence_by=["name"]) as writer:
        writer.write([full(1)])
    assert tt.Table(url).sequence_by == ["name"] and [name for name, _ in tt.Table(url).index_columns] == ["id", "name"]
    with pytest.raises(tt.Exists), materialize_dataset(None, url, SCHEMA) as writer:
        writer.write([full(1)])


@pytest.mark.parametrize(
    ("dtype", "wrong", "right"),
    [(np.uint8, (300, -1, 1.5, np.int64(256), float("nan"), np.timedelta64(1, "s")), (0, 255, np.int64(7), 3.0)), (np.int16, (1 << 15, float("inf")), (-(1 << 15), True))],
)
def test_a_number_that_does_not_fit_its_field_is_refused(dtype: Any, wrong: tuple[Any, ...], right: tuple[Any, ...]) -> None:
    field = UnischemaField("count", dtype, (), ScalarCodec(), False)
    for value in wrong:
        with pytest.raises(tt.Invalid, match=r"field `count`: expected a whole number in "):
            ScalarCodec().encode(field, value)
    for value in right:
        assert dtype(ScalarCodec().encode(field, value)) == value
    # The dtype counts, not the wider type of Spark.
    wide = spark_type("LongType", {})
    with pytest.raises(tt.Invalid, match=r"0\.\.=255 \(uint8\), found int 300"):
        ScalarCodec(wide).encode(UnischemaField("count", np.uint8, (), ScalarCodec(wide), False), 300)
