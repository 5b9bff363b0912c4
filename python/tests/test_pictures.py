"""Columns of pictures: decoded on request, and shown in notebooks."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tetrys as tt
from conftest import picture
from PIL import Image


def pixels(row: int) -> np.ndarray:
    return np.full((6, 8, 3), (row * 10, 255 - row * 10, 7), np.uint8)


@pytest.fixture
def loader(tmp_path: Path) -> tt.RowLoader:
    columns = {
        "i": np.arange(4),
        "camera.front": [picture(0), picture(1), None, picture(3)],
        "camera.rear": [picture(row, "webp") if row == 2 else b"not a picture" for row in range(4)],
        "camera.gain": np.arange(4.0),
    }
    return tt.row_loader(tt.write_table(str(tmp_path / "pictures"), columns, index=["i"]))


def test_a_row_has_pixels_where_they_are_asked_for(loader: tt.RowLoader) -> None:
    assert bytes(loader.get_row(1)["camera.front"]) == picture(1)
    row = loader.get_row(1, decode=["*.front"])
    np.testing.assert_array_equal(row["camera.front"], pixels(1), strict=True)
    assert (bytes(row["camera.rear"]), row["camera.gain"]) == (b"not a picture", 1.0)
    assert loader.get_row(2, ["camera.front"], decode=["*"])["camera.front"] is None


def test_rows_one_by_one_have_pixels_too(loader: tt.RowLoader) -> None:
    rows = list(loader.rows([3, 2, 0], ["camera.*"], ahead=2, decode={"camera.front": tt.image(size=(3, 4))}))
    assert [None if row["camera.front"] is None else row["camera.front"].shape for row in rows] == [(3, 4, 3), None, (3, 4, 3)]
    assert bytes(rows[0]["camera.rear"]) == b"not a picture"


def test_a_data_loader_decodes_a_list_of_columns_to_all_pixels(loader: tt.RowLoader) -> None:
    (batch,) = tt.DataLoader(loader._source, batch_size=4, columns=["camera.front"], decode=["*.front"], shuffle="none")
    assert [values.shape for values in batch["camera.front"] if values is not None] == [(6, 8, 3)] * 3
    np.testing.assert_array_equal(batch["camera.front"][1], pixels(1))


def test_a_data_loader_decodes_where_every_column_has_a_window(loader: tt.RowLoader) -> None:
    options: dict[str, Any] = dict(columns=["camera.front"], offsets=range(-1, 1), decode={"*.front": tt.image((3, 4))}, shuffle="none")
    (batch,) = tt.DataLoader(loader._source, batch_size=4, **options)
    assert batch["camera.front"].shape == (4, 2, 3, 4, 3)
    np.testing.assert_array_equal(batch["camera.front"][1, 0], pixels(0)[:3, :4])


def test_all_that_begins_as_a_picture_is_decoded(loader: tt.RowLoader) -> None:
    row = loader.get_row(3, decode=True)
    assert row["camera.front"].shape == (6, 8, 3) and bytes(row["camera.rear"]) == b"not a picture"
    assert loader.get_row(2, decode=True)["camera.rear"].shape == (6, 8, 3)


def test_a_window_gives_the_pixels_of_each_row(loader: tt.RowLoader) -> None:
    images = loader.get_rows(1, ["camera.front"], offsets=range(-2, 2)).images("camera.front")
    assert [image is None for image in images] == [True, False, False, True]
    np.testing.assert_array_equal(images[2], pixels(1), strict=True)


@pytest.mark.parametrize(("mode", "shape", "dtype"), [("L", (2, 3), "u1"), ("I;16", (2, 3), "u2"), ("RGBA", (2, 3, 4), "u1"), ("LA", (2, 3, 4), "u1"), ("P", (2, 3, 3), "u1"), ("1", (2, 3, 3), "u1")])
def test_grey_alpha_and_palettes(mode: str, shape: tuple[int, ...], dtype: str) -> None:
    file = io.BytesIO()
    Image.new(mode, (3, 2)).save(file, "png")
    found = tt.decode(file.getvalue())
    assert (found.shape, found.dtype) == (shape, np.dtype(dtype))


def test_what_is_no_picture_is_an_error_that_names_its_place(loader: tt.RowLoader) -> None:
    with pytest.raises(tt.Invalid, match=r"column `camera.rear`, row 0 .*13 bytes are not a complete picture"):
        loader.get_row(0, decode=["camera.rear"])
    with pytest.raises(tt.Invalid, match="not a complete picture"):
        tt.decode(picture(1)[:50])
    with pytest.raises(tt.NotFound):
        loader.get_row(0, decode=["camera.raer"])


@pytest.mark.parametrize("raised", [OSError, SyntaxError, ValueError, RuntimeError, NotImplementedError, AttributeError, TypeError, Image.DecompressionBombError])
def test_whatever_pillow_raises_is_an_error_of_the_picture(loader: tt.RowLoader, monkeypatch: pytest.MonkeyPatch, raised: type[Exception]) -> None:
    def opened(file: object) -> None:
        raise raised("a damaged header")

    monkeypatch.setattr(Image, "open", opened)
    with pytest.raises(tt.Invalid, match="are not a complete picture: a damaged header"):
        tt.decode(picture(1))
    assert "<img" in loader.take([0])._repr_html_()


def test_a_decoder_is_shown_as_it_is_written() -> None:
    assert repr(tt.image()) == "tetrys.image()"
    assert repr(tt.image((24, 32), crop=(0, 1, 4, 5), layout="chw", fast=True)) == 'tetrys.image((24, 32), crop=(0, 1, 4, 5), layout="chw", fast=True)'
    assert repr(tt.image(dtype="float32", mean=[0] * 3, std=[0.5] * 3)) == 'tetrys.image(dtype="float32", mean=[0.0, 0.0, 0.0], std=[0.5, 0.5, 0.5])'


def test_without_pillow_the_next_step_is_named() -> None:
    program = "import sys; sys.modules['PIL'] = None\nimport tetrys as tt\ntry: tt.decode(b'')\nexcept tt.Unsupported as error: print(error)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True, timeout=60)
    assert "pip install pillow" in done.stdout


def test_notebooks_show_groups_sizes_and_pictures(loader: tt.RowLoader, tmp_path: Path) -> None:
    index = tt.read_index(str(tmp_path / "pictures"))
    html = index._repr_html_()
    assert html.count("<img") == 4 and "data:image/jpeg;base64" in html
    assert "<td>camera</td><td>camera.front <i>binary</i>, camera.rear <i>binary</i>, camera.gain <i>f64</i></td>" in html
    assert html.count("<img") == index[[3, 0, 1, 2]]._repr_html_().count("<img")
    stored, decoded = tt.Table(str(tmp_path / "pictures")).group_sizes["camera"]
    assert 0 < stored and decoded > 4 * len(b"not a picture")
    rows = loader.take([0, 2])
    assert rows.types == {"camera.front": "binary", "camera.rear": "binary", "camera.gain": "f64"}
    assert rows._repr_html_().count("<img") == 2 and "of which 2 exist" in rows._repr_html_()


def test_names_of_columns_are_text_in_html(tmp_path: Path) -> None:
    tt.write_table(str(tmp_path / "t"), {"i": [0], "<b>.<i>*[": [picture(0)]}, index=["i"], groups={"<g>": ["<b>.<i>*["]})
    html = tt.read_index(str(tmp_path / "t"))._repr_html_()
    assert "&lt;b&gt;.&lt;i&gt;*[" in html and "<b>." not in html and html.count("<img") == 1
