"""A reader without data, for tests of code that takes a reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from types import TracebackType
from typing import Any

import numpy as np

from ..errors import WrongType, WrongValue, found
from ..unischema import Unischema, checked_schema

__all__ = ["ReaderMock", "schema_data_generator_example"]


class ReaderMock(Iterator[Any]):
    """Delivers rows that a function makes, without end.

    Args:
        schema: The schema of the rows.
        schema_data_generator: Called with the schema for each row; returns its values by field name.
        ngram: Not supported.

    Example:
        >>> from tetrys.petastorm.test_util.reader_mock import ReaderMock, schema_data_generator_example
        >>> from tetrys.petastorm.unischema import Unischema, UnischemaField
        >>> reader = ReaderMock(Unischema("Scan", [UnischemaField("points", np.float32, (None, 3))]), schema_data_generator_example)
        >>> next(reader).points.shape
        (10, 3)

    Raises:
        ValueError (an `Invalid`): an n-gram is given.
    """

    def __init__(self, schema: Unischema, schema_data_generator: Callable[[Unischema], dict[str, Any]], ngram: Any = None) -> None:
        if not callable(schema_data_generator):
            raise WrongType(f"schema_data_generator: expected a function, found {found(schema_data_generator)}")
        if ngram is not None:
            raise WrongValue("ngram: a ReaderMock delivers rows, not n-grams")
        self.schema = checked_schema(schema)
        self.schema_data_generator = schema_data_generator
        self.ngram = None
        self.batched_output = False
        self.last_row_consumed = False

    def fetch(self) -> Any:
        """Returns a new row, a namedtuple."""
        row = self.schema_data_generator(self.schema)
        if not isinstance(row, Mapping):
            raise WrongType(f"schema_data_generator: expected a function that returns a dict of the fields, it returned {found(row)}")
        return self.schema.make_namedtuple(**row)

    def __iter__(self) -> ReaderMock:
        return self

    def __next__(self) -> Any:
        return self.fetch()

    def next(self) -> Any:
        """Returns a new row, as `next(reader)` does."""
        return self.fetch()

    def __enter__(self) -> ReaderMock:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def stop(self) -> None:
        """Does nothing."""

    def join(self) -> None:
        """Does nothing."""


def schema_data_generator_example(schema: Unischema) -> dict[str, Any]:
    """Returns a row of zeros, {field: array}. A dimension of any extent has 10 entries; a decimal is `Decimal("0.0")`."""
    return {name: Decimal("0.0") if field.numpy_dtype is Decimal else np.zeros(_shape(field.shape), field.numpy_dtype) for name, field in checked_schema(schema).fields.items()}


def _shape(shape: tuple[int | None, ...]) -> tuple[int, ...]:
    return tuple(10 if extent is None else extent for extent in shape)
