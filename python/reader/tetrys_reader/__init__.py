"""Reads Tetrys tables without the library that wrote them: from the description of the format alone, in Python, and slowly.

>>> import tetrys_reader
>>> table = tetrys_reader.open_table("drives")
>>> row = table.get_row(0, columns=["lidar.*"])
>>> window = table.get_rows(0, offsets=range(-5, 1), columns=["lidar.*"])
"""

from ._errors import Error, NotFound, Refused, Unavailable
from ._table import Column, Table, open_table

__all__ = ["Column", "Error", "NotFound", "Refused", "Table", "Unavailable", "open_table"]
__version__ = "0.1.0"
