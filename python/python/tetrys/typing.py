"""Types of the arguments of `tetrys`, for annotations of your own functions.

Example:

    from tetrys.typing import Preset, StorageOptions

    def export(url: str, preset: Preset = "fast", storage_options: StorageOptions = None) -> None: ...

They are names for the type checker: nothing here has to be made at run time. `Image` and `Times` are what `tetrys.image` and
`tetrys.times` return.
"""

from ._arguments import Direction, Edge, How, Pick, Preset, Reuse, Span, Url
from ._batches import Batch
from ._data import ArrowStream, Data
from ._epochs import Transform
from ._images import ImageLayout, ImageType
from ._loader import Arrays, Last, Raggeds, SampleSource, Shuffle, Stop, WorkerKind
from ._options import Locality
from ._places import StorageOptions
from ._rows import Columns, Decoding, Positions, Window
from ._tetrys import Image, Times

__all__ = [
    "Arrays",
    "ArrowStream",
    "Batch",
    "Columns",
    "Data",
    "Decoding",
    "Direction",
    "Edge",
    "How",
    "Image",
    "ImageLayout",
    "ImageType",
    "Last",
    "Locality",
    "Pick",
    "Positions",
    "Preset",
    "Raggeds",
    "Reuse",
    "SampleSource",
    "Shuffle",
    "Span",
    "StorageOptions",
    "Stop",
    "Times",
    "Transform",
    "Url",
    "Window",
    "WorkerKind",
]
