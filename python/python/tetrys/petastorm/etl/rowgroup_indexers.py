"""Indexers: names for fields that selectors choose rows by. The index of the table answers selectors: nothing is built."""

from __future__ import annotations

from ..._arguments import text

__all__ = ["FieldNotNullIndexer", "SingleFieldIndexer"]


class SingleFieldIndexer:
    """Names a field for `SingleIndexSelector`, which then chooses rows by its values.

    Args:
        index_name: Name of the index.
        index_field: The field. Of an array, each element is a value.
    """

    def __init__(self, index_name: str, index_field: str) -> None:
        self._index_name = text("index_name", index_name)
        self._column_name = text("index_field", index_field)

    @property
    def index_name(self) -> str:
        """Name of the index."""
        return self._index_name

    @property
    def column_names(self) -> list[str]:
        """The field, as a list of one."""
        return [self._column_name]


class FieldNotNullIndexer(SingleFieldIndexer):
    """Names the rows in which a field is not null: `SingleIndexSelector(index_name, [..])` chooses them, whatever its values."""
