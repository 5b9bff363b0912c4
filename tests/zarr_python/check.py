"""The other side of tests/l5/zarr_python.rs: zarr-python 2 reads and writes the same data.

hashes GROUP         prints "array sha256" of the decoded records of every array
rewrite FROM TO HOW  writes every array of FROM anew with zarr-python; HOW is a compressor as cname:shuffle or "none"
"""

import hashlib
import sys

import numcodecs
import numpy as np
import zarr


def arrays(group):
    found = []
    group.visititems(lambda name, item: found.append((name, item)) if isinstance(item, zarr.Array) else None)
    return sorted(found)


def hashes(path):
    for name, array in arrays(zarr.open_group(path, mode="r")):
        print(name, hashlib.sha256(np.ascontiguousarray(array[...]).tobytes()).hexdigest())


def rewrite(source, target, how):
    compressor = None
    if how != "none":
        cname, shuffle = how.split(":")
        compressor = numcodecs.Blosc(cname=cname, clevel=5, shuffle=int(shuffle))
    source = zarr.open_group(source, mode="r")
    target = zarr.open_group(target, mode="w")
    target.attrs.update(source.attrs)
    for name, array in arrays(source):
        copy = target.create_dataset(
            name, shape=array.shape, chunks=array.chunks, dtype=array.dtype, compressor=compressor, fill_value=array.fill_value
        )
        copy[...] = array[...]


{"hashes": hashes, "rewrite": rewrite}[sys.argv[1]](*sys.argv[2:])
