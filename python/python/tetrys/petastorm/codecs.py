"""Codecs: how the value of a field becomes one cell, and a cell a value again.

A Tetrys table stores tensors as tensors, so its readers need no codec for them. Codecs describe the fields of a `Unischema`, check
values before they are written, and decode cells that a table keeps as bytes: pictures, and arrays of unusual types.
"""

from __future__ import annotations

import io
import zipfile
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._arguments import text, whole
from .._errors import imported, short
from .._images import decode as decoded
from .._tetrys import Invalid, Unsupported
from .errors import WrongType, WrongValue, found

if TYPE_CHECKING:
    from .unischema import UnischemaField

__all__ = ["CompressedImageCodec", "CompressedNdarrayCodec", "DataframeColumnCodec", "NdarrayCodec", "ScalarCodec", "StoredCodec"]

_WHOLE = {"ByteType", "ShortType", "IntegerType", "LongType"}
_FLOATS = {"FloatType", "DoubleType"}
_LARGEST = 1 << 30
"""Most bytes that a compressed array may unpack to: a small file can claim any size."""


class DataframeColumnCodec:
    """Base class of codecs. A codec of your own implements `encode`, `decode` and `spark_dtype`."""

    @abstractmethod
    def encode(self, unischema_field: UnischemaField, value: Any) -> Any:
        """Returns the cell of a value.

        Raises:
            ValueError (an `Invalid`): the value does not have the type or the shape of the field.
        """

    @abstractmethod
    def decode(self, unischema_field: UnischemaField, value: Any) -> Any:
        """Returns the value of a cell."""

    @abstractmethod
    def spark_dtype(self) -> Any:
        """Returns the type of a cell, as a `pyspark.sql.types` object."""

    def __str__(self) -> str:
        return f"{type(self).__name__}()"


class ScalarCodec(DataframeColumnCodec):
    """Stores a number, a boolean, text, a time or a `Decimal` as it is.

    Args:
        spark_type: A `pyspark.sql.types` object, such as `LongType()`. Default: the type follows from the dtype of the field.

    Example:
        >>> from tetrys.petastorm.codecs import ScalarCodec
        >>> from tetrys.petastorm.unischema import UnischemaField
        >>> ScalarCodec().decode(UnischemaField("id", np.int32, ()), 7)
        np.int32(7)
    """

    def __init__(self, spark_type: Any = None) -> None:
        self._spark_type = spark_type() if isinstance(spark_type, type) else spark_type

    def encode(self, unischema_field: UnischemaField, value: Any) -> Any:
        _field(unischema_field)
        if isinstance(value, np.ndarray) and value.shape == ():
            value = value[()]
        if hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
            raise WrongType(f"field `{unischema_field.name}`: expected a scalar, found {found(value)}")
        if unischema_field.shape:
            raise WrongValue(f"field `{unischema_field.name}`: a ScalarCodec needs the shape (), found {unischema_field.shape}")
        _check_range(unischema_field, value)
        name = type(self._spark_type).__name__
        if name in _WHOLE or name in _FLOATS or name == "BooleanType":
            if isinstance(value, (str, bytes)):
                raise WrongValue(f"field `{unischema_field.name}`: expected a number, found {found(value)}")
            return _converted(unischema_field, int if name in _WHOLE else float if name in _FLOATS else bool, value)
        if name == "StringType":
            if not isinstance(value, str):
                raise WrongValue(f"field `{unischema_field.name}`: expected text, found {found(value)}")
            return str(value)
        return value

    def decode(self, unischema_field: UnischemaField, value: Any) -> Any:
        return _converted(unischema_field, _field(unischema_field).numpy_dtype, value)

    def spark_dtype(self) -> Any:
        return self._spark_type.pyspark() if isinstance(self._spark_type, _SparkType) else self._spark_type

    def __str__(self) -> str:
        return f"ScalarCodec({'' if self._spark_type is None else type(self._spark_type).__name__ + '()'})"


class _FileCodec(DataframeColumnCodec):
    """A codec whose cells are small files."""

    def spark_dtype(self) -> Any:
        return _spark_types().BinaryType()


class NdarrayCodec(_FileCodec):
    """Stores an array of the dtype and shape of the field: in Tetrys as a tensor, in a cell of bytes as a `.npy` file.

    Example:
        >>> from tetrys.petastorm.codecs import NdarrayCodec
        >>> from tetrys.petastorm.unischema import UnischemaField
        >>> field = UnischemaField("points", np.float32, (None, 3), NdarrayCodec(), False)
        >>> field.codec.decode(field, field.codec.encode(field, np.zeros((2, 3), np.float32))).shape
        (2, 3)
    """

    def encode(self, unischema_field: UnischemaField, value: Any) -> bytearray:
        file = io.BytesIO()
        np.save(file, checked(unischema_field, value), allow_pickle=False)
        return bytearray(file.getvalue())

    def decode(self, unischema_field: UnischemaField, value: Any) -> npt.NDArray[Any]:
        return _loaded(unischema_field, value, None)


class CompressedNdarrayCodec(_FileCodec):
    """As `NdarrayCodec`, but a cell of bytes is a compressed `.npz` file."""

    def encode(self, unischema_field: UnischemaField, value: Any) -> bytearray:
        file = io.BytesIO()
        np.savez_compressed(file, arr=checked(unischema_field, value))
        return bytearray(file.getvalue())

    def decode(self, unischema_field: UnischemaField, value: Any) -> npt.NDArray[Any]:
        return _loaded(unischema_field, value, "arr")


class CompressedImageCodec(_FileCodec):
    """Stores a picture as a file: u8 [height, width, 3] (RGB) or [height, width] (grey); png also stores u16.

    Args:
        image_codec: `"png"` or `"jpeg"`, or another format of OpenCV, which then must be installed to encode.
        quality: Quality of jpeg, 0 to 100.
    """

    def __init__(self, image_codec: str = "png", quality: int = 80) -> None:
        self._image_codec = "." + text("image_codec", image_codec)
        self._quality = whole("quality", quality, 0, 100)

    @property
    def image_codec(self) -> str:
        """Format of the file: `"png"`, `"jpeg"`, .."""
        return self._image_codec[1:]

    def encode(self, unischema_field: UnischemaField, value: Any) -> bytearray:
        picture = checked(unischema_field, value)
        if picture.size == 0:
            raise WrongValue(f"field `{unischema_field.name}`: a picture has pixels, found the shape {picture.shape}")
        if picture.ndim != 2 and (picture.ndim != 3 or picture.shape[2] != 3):
            raise WrongValue(f"field `{unischema_field.name}`: a picture is [height, width] or [height, width, 3], found {picture.shape}")
        is_small = picture.dtype == np.uint8 and self.image_codec in ("png", "jpeg", "jpg")
        if not is_small and not (picture.dtype == np.uint16 and picture.ndim == 2 and self.image_codec == "png"):
            return _encoded_by_opencv(picture, self._image_codec, self._quality)
        pillow = imported("PIL.Image", "encoding a picture needs Pillow: pip install pillow")
        file = io.BytesIO()
        kind = "png" if self.image_codec == "png" else "jpeg"
        pillow.fromarray(picture).save(file, kind, **({"quality": self._quality} if kind == "jpeg" else {}))
        return bytearray(file.getvalue())

    def decode(self, unischema_field: UnischemaField, value: Any) -> npt.NDArray[Any]:
        value = _cell(_field(unischema_field), value)
        if unischema_field.numpy_dtype is np.uint16 and _is_wide_rgb(bytes(value[:32])):
            return _decoded_by_opencv(unischema_field, value)
        try:
            return np.array(decoded(bytes(value)))
        except Invalid as error:
            raise Invalid(f"field `{unischema_field.name}`: {error}") from error

    def __str__(self) -> str:
        return f"CompressedImageCodec('{self.image_codec}', {self._quality})"


class StoredCodec(DataframeColumnCodec):
    """Stands for a codec that the table names and that is not part of Petastorm. Values are the stored bytes.

    Args:
        name: Full name of the class, such as `"my.codecs.Lidar"`.
    """

    def __init__(self, name: str) -> None:
        self.name = text("name", name)

    def encode(self, unischema_field: UnischemaField, value: Any) -> Any:
        raise Unsupported(f"field `{_field(unischema_field).name}`: the codec {self.name} is not part of Petastorm: encode the value yourself")

    def decode(self, unischema_field: UnischemaField, value: Any) -> Any:
        return _cell(unischema_field, value)

    def spark_dtype(self) -> Any:
        return _spark_types().BinaryType()

    def __str__(self) -> str:
        return f"StoredCodec('{self.name}')"


def checked(field: UnischemaField, value: Any) -> npt.NDArray[Any]:
    """Returns an array that has the dtype and the shape of a field. A dimension of None or 0 fits any extent, as in Petastorm.

    Raises:
        ValueError (an `Invalid`): the value is no array, or has another dtype or shape.
    """
    _field(field)
    if not isinstance(value, np.ndarray):
        raise WrongValue(f"field `{field.name}`: expected an array of {_named(field.numpy_dtype)}, found {found(value)}")
    if np.dtype(field.numpy_dtype).type is not value.dtype.type:
        raise WrongValue(f"field `{field.name}`: expected an array of {_named(field.numpy_dtype)}, found {value.dtype}")
    fits = len(field.shape) == value.ndim and all(not a or not b or a == b for a, b in zip(field.shape, value.shape, strict=True))
    if not fits:
        raise WrongValue(f"field `{field.name}`: expected the shape {field.shape}, found {value.shape}")
    return value


def _field(field: Any) -> UnischemaField:
    from .unischema import checked_field

    return checked_field(field)


def _cell(field: Any, value: Any) -> bytes:
    """Returns a cell that has a small file."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise WrongType(f"field `{_field(field).name}`: expected the bytes of a cell, found {found(value)}")
    return bytes(value)


def _check_range(field: UnischemaField, value: Any) -> None:
    """Checks that a whole number fits the dtype of its field: numpy would wrap it, or cut off its fraction."""
    dtype = np.dtype(field.numpy_dtype) if isinstance(field.numpy_dtype, (type, np.dtype)) else None
    if dtype is None or dtype.kind not in "iu" or not isinstance(value, (int, float, np.integer, np.floating)):
        return
    limits = np.iinfo(dtype)
    # A duration of numpy is a whole number by its class alone.
    if isinstance(value, np.timedelta64) or not (limits.min <= value <= limits.max and value == int(value)):
        raise WrongValue(f"field `{field.name}`: expected a whole number in {limits.min}..={limits.max} ({dtype}), found {found(value)}")


def _converted(field: UnischemaField, kind: Any, value: Any) -> Any:
    """Returns a scalar as one of another type."""
    try:
        return kind(value)
    except OverflowError as error:
        raise WrongValue(f"field `{field.name}`: {found(value)} does not fit {_named(kind)}") from error
    except Exception as error:
        # Values of other libraries raise exceptions of many types.
        raise WrongValue(f"field `{field.name}`: {found(value)} is no {_named(kind)}: {short(error)}") from error


def _named(dtype: Any) -> str:
    return str(getattr(dtype, "__name__", dtype))


def _loaded(field: UnischemaField, value: Any, member: str | None) -> npt.NDArray[Any]:
    """Reads a `.npy` file, or a member of a `.npz` file. Never unpickles objects."""
    value = _cell(field, value)
    try:
        if member is not None:
            size = zipfile.ZipFile(io.BytesIO(value)).getinfo(f"{member}.npy").file_size
            if size > _LARGEST:
                raise ValueError(f"it unpacks to {size} bytes, at most {_LARGEST} are read")
        made = np.load(io.BytesIO(value), allow_pickle=False)
        array: npt.NDArray[Any] = made if member is None else made[member]
    except Exception as error:
        # A damaged file makes numpy and zipfile raise exceptions of many types.
        raise WrongValue(f"field `{field.name}`: {len(value)} bytes are no array file: {error}") from error
    if not isinstance(array, np.ndarray):
        raise WrongValue(f"field `{field.name}`: {len(value)} bytes are an archive, expected one array")
    return array


def _is_wide_rgb(head: bytes) -> bool:
    """Whether a file is a PNG of 16 bits with colours, which Pillow would reduce to 8 bits."""
    return head.startswith(b"\x89PNG") and len(head) > 25 and head[24] == 16 and head[25] in (2, 6)


def _encoded_by_opencv(picture: npt.NDArray[Any], suffix: str, quality: int) -> bytearray:
    cv2 = imported("cv2", f"encoding {picture.dtype} pictures of {picture.ndim} dimensions as {suffix[1:]} needs OpenCV: pip install opencv-python-headless")
    _, file = cv2.imencode(suffix, picture if picture.ndim == 2 else picture[:, :, ::-1], [int(cv2.IMWRITE_JPEG_QUALITY), quality])
    return bytearray(file)


def _decoded_by_opencv(field: UnischemaField, value: Any) -> npt.NDArray[Any]:
    without = f"field `{field.name}`: pictures of 16 bits and three channels need OpenCV (pip install opencv-python-headless), or an ingest with --decode"
    cv2 = imported("cv2", without)
    picture = cv2.imdecode(np.frombuffer(bytes(value), np.uint8), cv2.IMREAD_UNCHANGED)
    if picture is None:
        raise Invalid(f"field `{field.name}`: {len(value)} bytes are not a complete picture")
    return np.ascontiguousarray(picture[:, :, ::-1])


def _spark_types() -> Any:
    return imported("pyspark.sql.types", "types of Spark need pyspark: pip install 'pyspark>=4.0' pyarrow")


class _SparkType:
    """A type of Spark by name, so that a schema can be read without pyspark. `spark_type` makes one."""

    def __init__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)

    def pyspark(self) -> Any:
        """Returns the type as an object of pyspark."""
        kind, attributes = getattr(_spark_types(), type(self).__name__), vars(self)
        return kind(attributes["precision"], attributes["scale"]) if "precision" in attributes else kind()


def spark_type(name: str, attributes: dict[str, Any]) -> Any:
    """Returns an object that stands for a type of Spark, such as `LongType`."""
    return type(name, (_SparkType,), {})(attributes)
