"""Petastorm's readers over Tetrys tables: `from petastorm import X` becomes `from tetrys.petastorm import X`.

`tetrys ingest petastorm` (or `tetrys.ingest_petastorm`) makes a table of a Petastorm data set. The modules have the names that they
have in Petastorm: `unischema`, `codecs`, `predicates`, `ngram`, `selectors`, `transform`, `weighted_sampling_reader`, `pytorch`,
`tf_utils`, `spark`, `spark_utils`, `etl`, `utils`, `fs_utils`, `generator` and `test_util`. The chapter "Coming from Petastorm" of the guide lists every difference.

Example:
    >>> from tetrys.petastorm import make_reader
    >>> with make_reader("drives", schema_fields=["timestamp"], shuffle_row_groups=False) as reader:
    ...     sum(int(row.timestamp) for row in reader)
    19000
"""

from .errors import NoDataAvailableError
from .reader import make_batch_reader, make_reader
from .transform import TransformSpec

__all__ = ["NoDataAvailableError", "TransformSpec", "make_batch_reader", "make_reader"]
