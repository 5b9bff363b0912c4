"""Pictures in columns of bytes: recognised by their first bytes, decoded by Pillow, shown in notebooks."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import WrongType, found
from ._tetrys import Invalid, Unsupported

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
        Unsupported: Pillow is not installed (`pip install tetrys[images]`).
    """
    if not isinstance(data, (bytes, bytearray, memoryview)) and not (isinstance(data, np.ndarray) and data.dtype == np.uint8):
        raise WrongType(f"a picture is bytes, or an array of u8, found {found(data)}")
    try:
        from PIL import Image
    except ImportError as error:
        raise Unsupported("decoding a picture needs Pillow: pip install tetrys[images]") from error
    try:
        with Image.open(io.BytesIO(bytes(data))) as image:
            if image.mode in ("P", "PA", "CMYK", "YCbCr", "LAB", "HSV", "1"):
                return np.asarray(image.convert("RGBA" if "transparency" in image.info or image.mode == "PA" else "RGB"))
            return np.asarray(image)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise Invalid(f"{len(data)} bytes are not a complete picture: {error}") from error


def decode_all(name: str, values: Iterable[Any]) -> list[npt.NDArray[Any] | None]:
    """Decodes each value of a column; None for a null value."""
    pictures: list[npt.NDArray[Any] | None] = []
    for row, value in enumerate(values):
        try:
            pictures.append(None if value is None else decode(value))
        except Invalid as error:
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
    except (ImportError, OSError, SyntaxError, ValueError):
        pass
    if found is None or found == "tiff" or len(content) > 1 << 16:
        return f"{len(content):,} bytes"
    return f'<img height="{height}" src="data:image/{found};base64,{base64.b64encode(content).decode()}">'
