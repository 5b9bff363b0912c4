"""Pictures in columns of bytes: recognised by their first bytes, decoded by Pillow, shown in notebooks."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ._arguments import choice, number, truth, whole
from ._errors import WrongType, array_of, found, imported, short
from ._tetrys import Corrupt, Image, Invalid

ImageLayout = Literal["hwc", "chw"]
"""Order of the dimensions of a picture; see `tetrys.image`."""
ImageType = Literal["uint8", "float32"]
"""Type of the values of a picture; see `tetrys.image`."""

_SIGNS = {b"\xff\xd8\xff": "jpeg", b"\x89PNG\r\n\x1a\n": "png", b"GIF8": "gif", b"II*\0": "tiff", b"MM\0*": "tiff"}


def kind(data: Any) -> str | None:
    """Returns the picture format of these bytes (jpeg, png, gif, webp, tiff) by their first bytes, or None."""
    head = bytes(data[:16])
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    return next((name for sign, name in _SIGNS.items() if head.startswith(sign)), None)


def decode(data: npt.NDArray[np.uint8] | bytes) -> npt.NDArray[Any]:
    """Decodes a JPEG, PNG or another picture that Pillow can read.

    Args:
        data: The bytes of the picture, as bytes or a u8 array.

    Returns u8 [height, width, 3] for RGB, [height, width, 4] with alpha, or [height, width] for grey (u16 or i32 if the picture
    has more than 8 bits).

    Example:
        >>> import io; from PIL import Image
        >>> file = io.BytesIO(); Image.new("RGB", (4, 2), "red").save(file, "png")
        >>> tt.decode(file.getvalue()).shape
        (2, 4, 3)

    Raises:
        Invalid: the bytes are not a complete picture.
        Unsupported: Pillow is not installed (`pip install pillow`).
    """
    if not isinstance(data, (bytes, bytearray, memoryview)) and not (isinstance(data, np.ndarray) and data.dtype == np.uint8):
        raise WrongType(f"a picture is bytes, or an array of u8, found {found(data)}")
    pillow = imported("PIL.Image", "decoding a picture needs Pillow: pip install pillow")
    try:
        with pillow.open(io.BytesIO(bytes(data))) as image:
            if image.mode in ("P", "PA", "LA", "CMYK", "YCbCr", "LAB", "HSV", "1"):
                return np.asarray(image.convert("RGBA" if "transparency" in image.info or image.mode in ("PA", "LA") else "RGB"))
            return np.asarray(image)
    except MemoryError:
        raise
    except Exception as error:
        # Damaged files make Pillow raise exceptions of many types.
        raise Invalid(f"{len(data)} bytes are not a complete picture: {short(error)}") from error


def image(
    size: tuple[int, int] | None = None,
    *,
    crop: tuple[int, int, int, int] | None = None,
    layout: ImageLayout = "hwc",
    dtype: ImageType = "uint8",
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    fast: bool = False,
    crop_scale: tuple[float, float] | None = None,
    crop_ratio: tuple[float, float] = (3 / 4, 4 / 3),
    flip: float = 0.0,
    brightness: float | tuple[float, float] = 0.0,
    contrast: float | tuple[float, float] = 0.0,
    saturation: float | tuple[float, float] = 0.0,
    seed: int = 0,
) -> Image:
    """Says how a data loader decodes a column of JPEGs and PNGs: `DataLoader(.., decode={"camera.jpeg": tt.image((224, 224))})`.

    Decoding, cropping, resizing, random changes and normalising run on the threads that read, without the GIL, directly into the batch.

    Args:
        size: Height and width in pixels that pictures are resized to, by bilinear convolution as in Pillow; default: their own size.
        crop: The rectangle that is taken before resizing, in pixels of the picture: (top, left, height, width).
        layout: Order of the dimensions: [height, width, 3] or [3, height, width].
        dtype: `"uint8"`: 0 to 255. `"float32"`: pixel / 255, then (value - mean) / std.
        mean, std: Mean and standard deviation of the channels red, green and blue, for float32; one needs the other.
        fast: With a size: decodes JPEGs at a half, a quarter or an eighth of their size, as long as nothing has to be enlarged (as
            Pillow's `draft` does). Several times faster; the pixels differ a little.
        crop_scale: Takes a random part of each picture, or of the part that `crop` takes, before it is resized: smallest and largest
            area of the part, as a share of the whole, as in `(0.08, 1.0)`. Needs a size.
        crop_ratio: With `crop_scale`: smallest and largest width of the part divided by its height.
        flip: Probability with which left and right are exchanged, 0 to 1.
        brightness, contrast, saturation: Random factors. A number x stands for factors from max(0, 1 - x) to 1 + x; a pair, for factors
            between its numbers. 1 leaves a picture as it is. The three are applied in random order, after the resize.
        seed: Columns with the same seed, 0 by default, get the same random numbers in a sample: the same crop if their pictures have
            the same size, the same flip, the same factors. So a camera and its mask stay aligned. Give columns that should differ
            different seeds.

    The random changes are those of torchvision 0.20 for pictures of Pillow (`RandomResizedCrop`, `RandomHorizontalFlip` and
    `ColorJitter` without hue, of https://github.com/pytorch/vision/blob/v0.20.0/torchvision/transforms/transforms.py), with other random
    numbers. They depend on the seed of the loader, the epoch, the number of the sample in the epoch, and `seed` alone: not on the
    number of processes and workers, the batch size or the speed of threads, and a resumed epoch has the same ones. All frames of a window
    get the same changes. A row that an epoch draws twice gets two. `RowLoader` and `tetrys.torch.Dataset`, where a sample has no
    number, use its position instead.

    Without `size`, the pixels of JPEGs are those of Pillow, and those of PNGs are exact. With `size`, each value is within one level of
    256 of Pillow's bilinear resize (of the reduced picture if `fast`). Pictures are RGB: grey is repeated, transparency left out. With
    `size`, a batch has one array; without, the pictures are a column of variable shape (see `ragged` of `DataLoader`).

    Example:
        >>> pictures = tt.image((24, 32), layout="chw", dtype="float32")
        >>> loader = tt.DataLoader(tt.read_index("drives"), batch_size=8, columns=["camera.jpeg"], decode={"camera.jpeg": pictures})
        >>> batch = next(iter(loader))
        >>> batch["camera.jpeg"].shape, str(batch["camera.jpeg"].dtype)
        ((8, 3, 24, 32), 'float32')
        >>> varied = tt.image((24, 32), crop_scale=(0.25, 1.0), flip=0.5, brightness=0.4, contrast=0.4, saturation=0.4)
        >>> windows = {"camera.jpeg": range(-3, 1)}
        >>> loader = tt.DataLoader(tt.read_index("drives"), batch_size=8, offsets=windows, decode={"camera.jpeg": varied}, seed=7)
        >>> next(iter(loader))["camera.jpeg"].shape                     # one crop for the four frames of each window
        (8, 4, 24, 32, 3)

    Raises:
        Invalid: a size is 0 or too large, a bound or a probability is impossible, or an argument does not fit another one.
    """
    choice("layout", layout, ImageLayout)
    choice("dtype", dtype, ImageType)
    if (mean is None) != (std is None):
        raise Invalid("mean and std belong together: give both or none")
    if mean is not None and dtype != "float32":
        raise Invalid('mean and std need dtype="float32"')
    normalised = None
    if dtype == "float32":
        normalised = (_channels("mean", (0, 0, 0) if mean is None else mean), _channels("std", (1, 1, 1) if std is None else std))
    whole_size = None if size is None else _numbers("size", size, 2, "height and width")
    area = None if crop is None else _numbers("crop", crop, 4, "top, left, height and width")
    ratio = _bounds("crop_ratio", crop_ratio)
    if crop_scale is None and ratio != (3 / 4, 4 / 3):
        raise Invalid("crop_ratio: needs crop_scale, the share of the picture that a part has")
    parts = None if crop_scale is None else (_bounds("crop_scale", crop_scale), ratio)
    factors = (_factors("brightness", brightness), _factors("contrast", contrast), _factors("saturation", saturation))
    augment = (parts, number("flip", flip), *factors, whole("seed", seed, 0, 2**64 - 1))
    return Image(size=whole_size, crop=area, chw=layout == "chw", normalised=normalised, fast=truth("fast", fast), augment=augment)  # type: ignore[arg-type]


def _bounds(what: str, bounds: object) -> tuple[float, float]:
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise WrongType(f"{what}: expected two numbers, the smaller one first, found {found(bounds)}")
    return number(what, bounds[0]), number(what, bounds[1])


def _factors(what: str, change: object) -> tuple[float, float] | None:
    """Returns the bounds of a random factor; None if it is always 1."""
    if isinstance(change, (tuple, list)):
        return _bounds(what, change)
    most = number(what, change)
    if most < 0:
        raise Invalid(f"{what}: {most}: expected 0 or more, or the smallest and the largest factor")
    return (max(0.0, 1 - most), 1 + most) if most else None


def _numbers(what: str, values: Sequence[int], count: int, names: str) -> tuple[int, ...]:
    if not isinstance(values, (tuple, list)) or len(values) != count:
        raise WrongType(f"{what}: expected {names}, found {found(values)}")
    return tuple(whole(what, value, 0, 2**32 - 1) for value in values)


def _channels(what: str, values: Sequence[float]) -> tuple[float, ...]:
    array = array_of(what, values)
    if array.shape != (3,) or array.dtype.kind not in "iuf":
        raise WrongType(f"{what}: expected three numbers, for red, green and blue, found {found(values)}")
    return tuple(float(value) for value in array)


def decode_all(
    name: str, values: Iterable[Any], decoder: Image | None = None, randoms: Sequence[int] | None = None
) -> list[npt.NDArray[Any] | None]:
    """Decodes each value of a column, as `decoder` says; None for a null value. `randoms` has the number of the sample of each value
    that random changes are drawn with, of `sample_random`.
    """
    pictures: list[npt.NDArray[Any] | None] = []
    for row, value in enumerate(values):
        try:
            if value is None:
                pictures.append(None)
            elif decoder is None:
                pictures.append(decode(value))
            else:
                shape, elements = decoder.decode(bytes(value), 0 if randoms is None else randoms[row])
                pictures.append(elements.reshape(shape))
        except (Corrupt, Invalid) as error:
            raise Invalid(f"column `{name}`, row {row} of those read: {error}") from error
    return pictures


def thumbnail(data: Any, height: int = 64) -> str:
    """Returns an HTML `img` with the picture embedded: shrunk by Pillow, or unchanged up to 64 KiB; else its size as text."""
    found = kind(data)
    content = bytes(data)
    try:
        from PIL import Image

        with Image.open(io.BytesIO(content)) as image:
            image.thumbnail((4 * height, height))
            small = io.BytesIO()
            image.convert("RGB").save(small, "jpeg", quality=80)
            found, content = "jpeg", small.getvalue()
    except Exception:
        # Pillow is not installed, or the picture is damaged or too large.
        pass
    if found is None or found == "tiff" or len(content) > 1 << 16:
        return f"{len(content):,} bytes"
    return f'<img height="{height}" src="data:image/{found};base64,{base64.b64encode(content).decode()}">'
