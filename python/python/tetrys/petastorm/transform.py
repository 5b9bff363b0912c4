"""Transforms of rows: a function, and the schema of what it returns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .._arguments import limited, text
from .errors import WrongType, WrongValue, found
from .unischema import Unischema, UnischemaField, checked_field, checked_schema

__all__ = ["TransformSpec", "edit_field", "transform_schema"]


def edit_field(name: str, numpy_dtype: Any, shape: tuple[int | None, ...], nullable: bool = False) -> tuple[Any, ...]:
    """Returns an entry of `TransformSpec.edit_fields`."""
    return name, numpy_dtype, shape, nullable


class TransformSpec:
    """A function that readers call with each row, and how it changes the schema.

    Args:
        func: Called with a dict of the row, and returns one. In `make_batch_reader`, called with a pandas frame, and returns one.
            Runs ahead of the loop, on up to four threads, or in processes with `reader_pool_type="process"`. Without it, fields are only
            left out.
        edit_fields: Fields that the function adds or changes: (name, numpy dtype, shape, nullable), or a `UnischemaField`. They come last.
        removed_fields: Names of fields that the function removes.
        selected_fields: Names of the fields that are kept, in this order. Excludes `removed_fields`.

    Example:
        >>> from tetrys.petastorm import TransformSpec, make_reader
        >>> def brightness(row):
        ...     row["mean"] = np.float32(row["camera_intrinsics"].mean())
        ...     return row
        >>> spec = TransformSpec(brightness, edit_fields=[("mean", np.float32, (), False)], removed_fields=["camera_intrinsics"])
        >>> with make_reader("drives", schema_fields=["timestamp", "camera_intrinsics"], transform_spec=spec, shuffle_row_groups=False) as reader:
        ...     next(reader)
        inferred_schema_view_transformed_view(timestamp=np.int64(0), mean=np.float32(4.0))

    Raises:
        ValueError (an `Invalid`): both `removed_fields` and `selected_fields` are given, or an entry is neither a tuple of four nor a field.
    """

    def __init__(
        self,
        func: Callable[[Any], Any] | None = None,
        edit_fields: Sequence[tuple[Any, ...]] | None = None,
        removed_fields: Sequence[str] | None = None,
        selected_fields: Sequence[str] | None = None,
    ) -> None:
        if func is not None and not callable(func):
            raise WrongType(f"func: expected a function, found {type(func).__name__}")
        if removed_fields is not None and selected_fields is not None:
            raise WrongValue("removed_fields and selected_fields exclude each other: give one of them")
        self.func = func
        self.edit_fields = [] if edit_fields is None else limited("edit_fields", edit_fields, 2**16)
        for edited in self.edit_fields:
            if not isinstance(edited, UnischemaField) and (not isinstance(edited, (tuple, list)) or len(edited) != 4):
                raise WrongValue(f"edit_fields: expected (name, numpy dtype, shape, nullable) or a UnischemaField, found {found(edited)}")
            _field(edited)
        self.removed_fields = [] if removed_fields is None else _names("removed_fields", removed_fields)
        self.selected_fields = None if selected_fields is None else _names("selected_fields", selected_fields)


def transform_schema(schema: Unischema, transform_spec: TransformSpec) -> Unischema:
    """Returns the schema of transformed rows. Unknown names are left out with a warning."""
    checked_schema(schema)
    if not isinstance(transform_spec, TransformSpec):
        raise WrongType(f"transform_spec: expected a TransformSpec, found {found(transform_spec)}")
    removed = set(transform_spec.removed_fields)
    _warn("removed_fields", removed - set(schema.fields), schema)
    edited = [_field(one) for one in transform_spec.edit_fields]
    gone = removed | {field.name for field in edited}
    fields = {field.name: field for field in [*(field for name, field in schema.fields.items() if name not in gone), *edited]}
    if transform_spec.selected_fields is not None:
        _warn("selected_fields", set(transform_spec.selected_fields) - set(fields), schema)
        fields = {name: fields[name] for name in transform_spec.selected_fields if name in fields}
    return Unischema(f"{schema._name}_transformed", fields.values())


def _field(edited: Sequence[Any]) -> UnischemaField:
    """Returns the field of an entry of `edit_fields`."""
    if isinstance(edited, UnischemaField):
        return checked_field(edited._replace(codec=None))
    name, dtype, shape, nullable = edited
    return checked_field(UnischemaField(name, dtype, tuple(shape) if isinstance(shape, list) else shape, None, nullable))


def _names(what: str, names: object) -> list[str]:
    return [text(what, name) for name in limited(what, names, 2**16)]


def _warn(what: str, unknown: set[str], schema: Unischema) -> None:
    if unknown:
        warnings.warn(f"{what}: {', '.join(sorted(unknown))} not in schema {schema._name}, and ignored", stacklevel=4)
