"""Selectors: choose rows by the values of indexed fields. The index of the table answers them: there is no other index to build."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import limited, text
from .errors import WrongType, WrongValue
from .predicates import values_of

__all__ = ["IntersectIndexSelector", "RowGroupSelectorBase", "SingleIndexSelector", "UnionIndexSelector"]

Mask = npt.NDArray[np.bool_]
RowsWith = Callable[[str, set[Any]], Mask]
"""Returns the rows that have one of some values in the field of an index."""


class RowGroupSelectorBase(abc.ABC):
    """Base class of selectors. In Petastorm they choose row groups; here they choose the rows themselves."""

    @abc.abstractmethod
    def get_index_names(self) -> list[str]:
        """Returns the names of the indexes that the selector needs."""

    @abc.abstractmethod
    def _rows(self, rows_with: RowsWith) -> Mask:
        """Returns whether each row is chosen."""


class SingleIndexSelector(RowGroupSelectorBase):
    """Chooses rows that have one of some values. If the field is an array, one of its elements is enough.

    Args:
        index_name: Name of an index that the data set had in Petastorm, or that `build_rowgroup_index` named, or of a field.
        values_list: The values.

    Example:
        >>> from tetrys.petastorm import make_reader
        >>> from tetrys.petastorm.selectors import SingleIndexSelector
        >>> with make_reader("drives", schema_fields=["timestamp"], rowgroup_selector=SingleIndexSelector("log_id", ["monday"])) as reader:
        ...     len(reader)
        10
    """

    def __init__(self, index_name: str, values_list: Sequence[Any]) -> None:
        self._index_name = text("index_name", index_name)
        self._values_to_select = values_of("values_list", values_list)

    def get_index_names(self) -> list[str]:
        return [self._index_name]

    def _rows(self, rows_with: RowsWith) -> Mask:
        return rows_with(self._index_name, self._values_to_select)


class _Several(RowGroupSelectorBase):
    """A selector made of several."""

    def __init__(self, single_index_selectors: Sequence[RowGroupSelectorBase]) -> None:
        self._single_index_selectors = limited(type(self).__name__, single_index_selectors, 2**16)
        if not self._single_index_selectors:
            raise WrongValue(f"{type(self).__name__}: expected one selector or more, found none")
        for selector in self._single_index_selectors:
            if not isinstance(selector, RowGroupSelectorBase):
                raise WrongType(f"{type(self).__name__}: expected selectors, found {type(selector).__name__}")

    def get_index_names(self) -> list[str]:
        return [name for selector in self._single_index_selectors for name in selector.get_index_names()]


class IntersectIndexSelector(_Several):
    """Chooses the rows that all selectors choose."""

    def _rows(self, rows_with: RowsWith) -> Mask:
        chosen: Mask = np.all([selector._rows(rows_with) for selector in self._single_index_selectors], axis=0)
        return chosen


class UnionIndexSelector(_Several):
    """Chooses the rows that at least one selector chooses."""

    def _rows(self, rows_with: RowsWith) -> Mask:
        chosen: Mask = np.any([selector._rows(rows_with) for selector in self._single_index_selectors], axis=0)
        return chosen
