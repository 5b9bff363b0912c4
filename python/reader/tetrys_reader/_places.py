"""Finds versions, owners and the blocks of a group: from the objects of a table to checked metadata."""

from ._errors import Error, NotFound, require
from ._manifest import name_of, sealed
from ._segment import Layout


def newest_version(objects):
    """The newest version of a table in a folder."""
    names = objects.manifests()
    require(
        names is not None,
        f"{objects.root}: a web server gives no listings: write {objects.root}@7 to read version 7 (`tetrys versions` lists them where the table was written)",
        Error,
    )
    require(names, f"{objects.root}: no table: there is no manifest in {objects.root}/manifests", NotFound)
    return 2**64 - 1 - int(names[0][:20])


def is_owner(root, store):
    """Whether the very manifest is there that the store names; what it says need not be understood."""
    name = name_of(store["version"])
    return root.has(name) and sealed(root.get(name), name)[1] == store["blake3"]


def read_group(objects, group, columns, rows, what, stores):
    """The layout of a group in a segment, which adds up to what the manifest says of it."""
    layout = Layout(objects.referenced("layout", group["layout"]), columns, rows, what, stores, group["runs"])
    found, expected = (layout.blocks, layout.stored_bytes), (group["blocks"], group["stored_bytes"])
    require(found == expected, f"{what}: blocks and bytes are {found}, the manifest says {expected}")
    return layout
