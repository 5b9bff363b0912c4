"""Flips bytes of a table and demands that the reference reader refuses each of the results, with a reason.

    python flip_bytes.py TABLE --count N --seed S

The first half of the flips is anywhere in any object that the version needs; hashes find them. The other half is in chunks whose
names are not checked, as by a reader of a part of a chunk; checksums find them.
"""

import argparse
import random
import sys

from read_table import finish
from tetrys_reader import Refused
from tetrys_reader._blocks import Chunk
from tetrys_reader._objects import MAX_MANIFEST, Folder
from tetrys_reader._whole import Whole


class Remembered(Folder):
    """The objects of a directory, in memory, one of which may be another."""

    def __init__(self, root):
        super().__init__(root)
        self.objects, self.names = {}, super().manifests()

    def manifests(self):
        return self.names

    def get(self, name, most=MAX_MANIFEST):
        if name not in self.objects:
            self.objects[name] = super().get(name, most)
        return self.objects[name]


def flipped(data, dice):
    place = dice.randrange(len(data))
    return data[:place] + bytes([data[place] ^ dice.randrange(1, 256)]) + data[place + 1 :], place


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("table")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    dice, objects = random.Random(arguments.seed), Remembered(arguments.table)
    version = Whole(objects).version
    names = sorted(objects.objects)
    chunks = [name for name in names if name.startswith("chunks/")]
    found = 0
    for number in range(arguments.count):
        whole = number < arguments.count // 2
        name = dice.choice(names if whole else chunks)
        kept = objects.objects[name]
        objects.objects[name], place = flipped(kept, dice)
        try:
            Whole(objects, version) if whole else Chunk(objects.objects[name], name)
            sys.exit(f"{name}: byte {place} of {len(kept)} is another, and nothing was said")
        except Refused:
            found += 1
        objects.objects[name] = kept
    Whole(objects)
    print(f"{found} flipped bytes of {len(names)} objects, all of them found")


if __name__ == "__main__":
    finish(main)
