"""Tables of the Petastorm data sets in `shared/petastorm`, as `tetrys ingest petastorm` writes them, made from the rows that the real
library decoded.
"""

from __future__ import annotations

import base64
import io
import json
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tetrys as tt
from PIL import Image

SHARED = Path(__file__).parents[3] / "shared" / "petastorm"
needs_data = pytest.mark.skipif(not SHARED.exists(), reason="no shared Petastorm data")
RELEASES = ["0.4.0", "0.5.1", "0.7.6"]
_TYPES = {
    "bool_": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
    "float32": "f32", "float64": "f64", "str_": "utf8", "Decimal": "utf8",
}  # fmt: skip


def value_of(encoded: Any) -> Any:
    """Returns a value of the goldens."""
    if encoded is None:
        return None
    if encoded["k"] == "decimal":
        return Decimal(encoded["v"])
    if encoded["k"] == "ndarray":
        return np.frombuffer(base64.b64decode(encoded["b64"]), encoded["dtype"]).reshape(encoded["shape"])
    return np.str_(encoded["v"]) if encoded["dtype"] == "str" else np.dtype(encoded["dtype"]).type(encoded["v"])


@cache
def goldens(release: str) -> list[dict[str, Any]]:
    """Returns the rows of a release as the real library decoded them."""
    with open(SHARED / f"{release}.rows.jsonl") as lines:
        return [{name: value_of(value) for name, value in json.loads(line).items()} for line in lines]


@cache
def declared(release: str) -> list[dict[str, Any]]:
    """Returns the fields of a release: name, dtype, shape, codec and nullable."""
    fields: list[dict[str, Any]] = json.loads((SHARED / f"{release}.schema.json").read_text())["fields"]
    for field in fields:
        field["dtype"] = field.pop("numpy_dtype").rpartition(".")[2]
        if (codec := field["codec"]) and "_image_codec" in codec:
            field["codec"] = {"class": codec["class"], "image_codec": codec["_image_codec"].lstrip("."), "quality": codec["_quality"]}
    return fields


@cache
def behaviour() -> dict[str, Any]:
    """Returns which ids come out of n-grams, predicates, selectors and shards of the real library."""
    goldens: dict[str, Any] = json.loads((SHARED / "behaviour_0.7.6.json").read_text())
    return goldens


def png(pixels: np.ndarray[Any, Any] | None) -> bytes | None:
    """Returns a picture as a PNG file."""
    if pixels is None:
        return None
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


def write(url: str, release: str, **options: Any) -> tt.Table:
    """Writes the table of a release."""
    rows, data, schema, groups, properties = goldens(release), {}, {}, {}, {}
    index = ["petastorm.row_group"]
    data["petastorm.row_group"], schema["petastorm.row_group"] = np.arange(len(rows)) // 10, "u32"
    for field in declared(release):
        name, dtype, shape, codec = field["name"], field["dtype"], field["shape"], field["codec"]
        values = [row[name] for row in rows]
        properties[name] = {f"petastorm.{key}": field[key] for key in ("dtype", "shape", "nullable", "codec")}
        if codec["class"].endswith("ScalarCodec"):
            index.append(name)
            schema[name] = _TYPES[dtype]
            data[name] = [str(value) for value in values] if dtype == "Decimal" else values
            if dtype == "Decimal":
                properties[name] |= {"precision": 10, "scale": 9}
        elif codec["class"].endswith("CompressedImageCodec"):
            data[name], schema[name], groups[name] = [png(value) for value in values], "binary", [name]
        elif dtype in ("str_", "bytes_"):
            groups[name] = [name, f"{name}.shape", f"{name}.width"]
            schema |= {name: "list<utf8>" if dtype == "str_" else "list<binary>", f"{name}.shape": f"i32[{len(shape)}]", f"{name}.width": "i32"}
            unit = 4 if dtype == "str_" else 1
            data[name] = [None if value is None else value.reshape(-1).tolist() for value in values]
            data[f"{name}.shape"] = [None if value is None else np.array(value.shape, np.int32) for value in values]
            data[f"{name}.width"] = [None if value is None else value.dtype.itemsize // unit for value in values]
        else:
            extents = ",".join("?" if extent is None else str(extent) for extent in shape)
            data[name], schema[name], groups[name] = values, f"{_TYPES[dtype]}[{extents}]", [name]
    names = [field["name"] for field in declared(release)]
    table_properties = {"petastorm.schema": {"name": "TestSchema", "fields": names}}
    table = tt.write_table(url, data, schema=schema, index=index, groups=groups, properties=table_properties, **options)
    return table.edit(column_properties=properties)


def same(found: Any, expected: Any) -> bool:
    """Whether two values have the same type, dtype, shape and bytes."""
    if expected is None or found is None:
        return found is expected
    if isinstance(expected, np.ndarray):
        is_alike = isinstance(found, np.ndarray) and (found.dtype, found.shape) == (expected.dtype, expected.shape)
        return is_alike and found.tobytes() == expected.tobytes()
    return type(found) is type(expected) and str(found) == str(expected)
