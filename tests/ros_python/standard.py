"""Prints the definitions of the standard packages of ROS 2, as `logs/src/standard/ros2.txt` has them: each type that has the same fields in
every release since Dashing. A SQLite bag does not say which release wrote it, so types that have changed are left out, with all that use them.
"""

from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_typestore

HEADER = """\
# Definitions of the standard packages of ROS 2, without their comments, for recordings that have none.
#
# Made by tests/ros_python/standard.py with the package rosbags (https://gitlab.com/ternaris/rosbags), which has them under this licence:
#
# Copyright 2020-2026 Ternaris
# SPDX-License-Identifier: Apache-2.0
#
# The definitions are those of the packages of ROS 2 (https://github.com/ros2/common_interfaces and others), under Apache-2.0 and BSD-3-Clause.
"""

stores = [get_typestore(store) for store in Stores if store.name.startswith("ROS2_")]


def used(kind) -> set[str]:
    """The types that a field has."""
    what, of = kind
    if what == Nodetype.NAME:
        return {of}
    return used(of[0]) if what in (Nodetype.ARRAY, Nodetype.SEQUENCE) else set()


def fields(store, name: str) -> list:
    return [(field, kind) for field, kind in store.fielddefs[name][1]]


having = {}
for store in stores:
    for name in store.fielddefs:
        having.setdefault(name, []).append(store)
left = {name for name, stores in having.items() if all(fields(store, name) == fields(stores[0], name) for store in stores)}
while True:
    kept = {name for name in left if all(used(kind) <= left for _, kind in fields(having[name][0], name))}
    if kept == left:
        break
    left = kept
print(HEADER, end="")
for name in sorted(left):
    text = having[name][-1].generate_msgdef(name, ros_version=2)[0].split("=" * 80)[0]
    lines = [line for line in text.splitlines() if "structure_needs_at_least_one_member" not in line]
    print("\n".join([f"MSG: {name.replace('/msg/', '/')}", *lines]))
