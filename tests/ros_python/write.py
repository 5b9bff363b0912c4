"""Writes recordings with the packages of MCAP and ROS, and what their decoders read back, as JSON.

`write.py FOLDER SEED` makes `ros1.mcap`, `ros2.mcap`, `idl.mcap`, `proto.mcap`, `json.mcap`, bags of ROS 1, `bag1-COMPRESSION.bag`, and folders of
rosbag2, `bag-STORAGE-MODE`, each with a file `NAME.json`: for each topic the values of its messages by column. A number with a fraction is the
hexadecimal of its 64 bits.
"""

import json
import random
import struct
import sys
from pathlib import Path

import mcap_ros1.decoder
import mcap_ros2.decoder
import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from mcap.writer import Writer as McapWriter
from mcap_protobuf.decoder import DecoderFactory as ProtobufDecoder
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

SCALARS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
BOUNDS = {"int8": 7, "uint8": 8, "int16": 15, "uint16": 16, "int32": 31, "uint32": 32, "int64": 63, "uint64": 64}


def definitions(version: int) -> dict[str, str]:
    """Types with every primitive, alone, in arrays and in messages inside messages."""
    stamp, span = ("time", "duration") if version == 1 else ("builtin_interfaces/Time", "builtin_interfaces/Duration")
    scalars = "".join(f"{name} a_{name}\n" for name in SCALARS)
    arrays = "".join(f"{name}[3] f_{name}\n{name}[] v_{name}\n" for name in SCALARS)
    return {
        "here/msg/Nothing": "",
        "here/msg/Small": f"uint8 flag\nfloat64 x\nstring name\n{stamp} when\nfloat32[2] pair\nint16[] many\n",
        "here/msg/All": f"uint8 LIMIT=7\nuint8 first\n{scalars}string text\n{stamp} at\n{span} length\n{arrays}string[] texts\nSmall one\nSmall[] some\n"
        f"Small[2] two\nNothing nothing\n{stamp}[] times\nuint8 last\n",
    }


def number(rng: random.Random, name: str):
    if name == "bool":
        return rng.random() < 0.5
    if name.startswith("float"):
        value = rng.choice([0.0, -0.0, 1.5, float("inf"), rng.uniform(-1e6, 1e6), float("nan")])
        return struct.unpack("<f", struct.pack("<f", value))[0] if name == "float32" else value
    low = 0 if name.startswith("u") else -(2 ** BOUNDS[name])
    return rng.choice([low, 2 ** BOUNDS[name] - 1, rng.randrange(low, 2 ** BOUNDS[name])])


def value(rng: random.Random, store, kind):
    """Makes a random value of a type."""
    what, of = kind
    if what == Nodetype.BASE:
        return rng.choice(["", "a", "Grüße", "x" * 40]) if of[0] == "string" else number(rng, of[0])
    if what == Nodetype.NAME:
        if of == "builtin_interfaces/msg/Time":
            return store.types[of](rng.randrange(2**31), rng.randrange(10**9))
        if of == "builtin_interfaces/msg/Duration":
            return store.types[of](rng.randrange(1000), rng.randrange(10**9))
        return store.types[of](**{name: value(rng, store, inner) for name, inner in store.fielddefs[of][1]})
    item, length = of
    count = length if what == Nodetype.ARRAY else rng.choice([0, 1, 5])
    items = [value(rng, store, item) for _ in range(count)]
    return np.array(items, dtype=item[1][0]) if item[0] == Nodetype.BASE and item[1][0] != "string" else items


def plain(value):
    """A scalar as JSON."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (float, np.floating)):
        return struct.pack(">d", float(value)).hex() if value == value else "nan"
    if isinstance(value, (int, np.integer)):
        return int(value)
    if hasattr(value, "nanosec"):
        return value.sec * 10**9 + value.nanosec
    if hasattr(value, "nsecs"):
        return value.secs * 10**9 + value.nsecs
    return value


TIMES = ("builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration")


def columns(store, value, kind, name: str) -> dict:
    """The columns of a value: name to (form, value). Numbers and arrays of a fixed length stack to one flat array."""
    what, of = kind
    if what == Nodetype.BASE:
        return {name: ("text" if of[0] == "string" else "number", plain(value))}
    if what == Nodetype.NAME and of in TIMES:
        return {name: ("text", plain(value))}
    if what == Nodetype.NAME:
        found = {}
        for inner, kind in store.fielddefs[of][1]:
            if inner != "structure_needs_at_least_one_member":
                found.update(columns(store, getattr(value, inner), kind, f"{name}.{inner}" if name else inner))
        return found
    item, length = of
    # Bytes are iterated as numbers.
    each = [columns(store, inner, item, name) for inner in value]
    empty = columns(store, zero(store, item), item, name)
    found = {}
    for column, (form, _) in empty.items():
        values = [one[column][1] for one in each]
        if form == "number":
            found[column] = ("fixed" if what == Nodetype.ARRAY else "any", values)
        elif form == "fixed":
            found[column] = ("fixed" if what == Nodetype.ARRAY else "any", [number for value in values for number in value])
        else:
            found[column] = ("any", values)
    return found


def zero(store, kind):
    return value(random.Random(0), store, kind)


def ros(folder: Path, version: int, rng: random.Random) -> None:
    store = get_typestore(Stores.ROS1_NOETIC if version == 1 else Stores.ROS2_HUMBLE)
    for name, text in definitions(version).items():
        store.register(get_types_from_msg(text, name))
    kind = (Nodetype.NAME, "here/msg/All")
    compression = rng.choice([CompressionType.NONE, CompressionType.LZ4, CompressionType.ZSTD])
    path = folder / f"ros{version}.mcap"
    with open(path, "wb") as file:
        writer = Writer(file, chunk_size=rng.choice([1000, 100000]), compression=compression)
        writer.start()
        text = "\n".join(definition_text(version))
        name = "here/All" if version == 1 else "here/msg/All"
        schema = writer.register_schema(name, f"ros{version}msg", text.encode())
        channel = writer.register_channel("/all", "ros1" if version == 1 else "cdr", schema)
        for at in range(20):
            message = value(rng, store, kind)
            data = store.serialize_ros1(message, kind[1]) if version == 1 else store.serialize_cdr(message, kind[1], little_endian=rng.random() < 0.7)
            writer.add_message(channel, log_time=1000 + at, publish_time=1000 + at, data=bytes(data))
        writer.finish()
    factory = mcap_ros1.decoder.DecoderFactory() if version == 1 else mcap_ros2.decoder.DecoderFactory()
    with open(path, "rb") as file:
        decoded = [message for *_, message in make_reader(file, decoder_factories=[factory]).iter_decoded_messages()]
    rows = [{name: found for name, (_, found) in columns(store, message, kind, "").items()} for message in decoded]
    (folder / f"ros{version}.json").write_text(json.dumps({"/all": rows}))


def bags(folder: Path, rng: random.Random) -> None:
    """Folders of rosbag2, as its reader in Python reads them back: `bag-STORAGE-MODE`, and the version of the bag behind it."""
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer

    store = get_typestore(Stores.ROS2_HUMBLE)
    for name, text in definitions(2).items():
        store.register(get_types_from_msg(text, name))
    kind = (Nodetype.NAME, "here/msg/All")
    for storage in ("sqlite3", "mcap"):
        for mode in ("none", "message", "file"):
            path = folder / f"bag-{storage}-{mode}"
            writer = Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
            if mode != "none":
                writer.set_compression(CompressionMode[mode.upper()], CompressionFormat.ZSTD)
            with writer:
                connection = writer.add_connection("/all", kind[1], typestore=store)
                other = writer.add_connection("/other", kind[1], typestore=store)
                for at in range(20):
                    for to in (connection, other):
                        writer.write(to, 1000 + at, bytes(store.serialize_cdr(value(rng, store, kind), kind[1])))
            with Reader(path) as reader:
                messages = [store.deserialize_cdr(data, kind[1]) for to, _, data in reader.messages() if to.topic == "/all"]
            rows = [{name: found for name, (_, found) in columns(store, message, kind, "").items()} for message in messages]
            (folder / f"{path.name}.json").write_text(json.dumps({"/all": rows}))


def old_bags(folder: Path, rng: random.Random) -> None:
    """Bags of ROS 1, as their reader in Python reads them back: `bag1-COMPRESSION.bag`."""
    from rosbags.rosbag1 import Reader, Writer

    store = get_typestore(Stores.ROS1_NOETIC)
    for name, text in definitions(1).items():
        store.register(get_types_from_msg(text, name))
    kind = (Nodetype.NAME, "here/msg/All")
    for compression in ("none", "bz2", "lz4"):
        path = folder / f"bag1-{compression}.bag"
        writer = Writer(path)
        writer.chunk_threshold = rng.choice([1000, 1 << 20])
        if compression != "none":
            writer.set_compression(Writer.CompressionFormat[compression.upper()])
        with writer:
            connection = writer.add_connection("/all", kind[1], typestore=store)
            other = writer.add_connection("/other", kind[1], typestore=store)
            for at in range(20):
                for to in (connection, other):
                    writer.write(to, 1000 + at, bytes(store.serialize_ros1(value(rng, store, kind), kind[1])))
        with Reader(path) as reader:
            messages = [store.deserialize_ros1(data, kind[1]) for to, _, data in reader.messages() if to.topic == "/all"]
        rows = [{name: found for name, (_, found) in columns(store, message, kind, "").items()} for message in messages]
        (folder / f"{path.stem}.json").write_text(json.dumps({"/all": rows}))


def idl_text() -> str:
    """The types of ROS 2 in IDL, as ROS writes it of `.msg` files, each behind a heading."""
    words = {"bool": "boolean", "float32": "float", "float64": "double", "int32": "long", "uint64": "unsigned long long"}
    texts = []
    for name, text in definitions(2).items():
        package, _, short = name.split("/")
        typedefs, members = "", ""
        for line in text.splitlines():
            if "=" in line:
                continue
            kind, field = line.split()
            item, _, length = kind.partition("[")
            if item == "Small" or item == "Nothing":
                item = f"here::msg::{item}"
            item = words.get(item, item.replace("/", "::msg::"))
            comment = f'@verbatim (language="comment", text="{field} // of }} " "\\n" "/* ; {{")\n'
            if length == "]":
                members += f"{comment}sequence<{item}> {field};\n"
            elif length:
                typedefs += f"typedef {item} {short}__{field}[{length[:-1]}];\n"
                members += f"{comment}{short}__{field} {field};\n"
            else:
                members += f"{comment}{item} {field};\n"
        members = members or "uint8 structure_needs_at_least_one_member;\n"
        constants = f"module {short}_Constants {{\n@unit (value=\"m\") const uint8 LIMIT = 7;\n}};\n"
        body = f"module {package} {{\nmodule msg {{\n{typedefs}{constants}struct {short} {{\n{members}}};\n}};\n}};\n"
        texts.append(f"{'=' * 80}\nIDL: {name}\n// A file\n{body}")
    return "\n".join(reversed(texts))


def idl(folder: Path, rng: random.Random) -> None:
    """Types in IDL, by the parser of rosbags: `idl.mcap`, and a folder of rosbag2, `bag-sqlite3-idl`."""
    from rosbags.rosbag2 import Reader, StoragePlugin, Writer

    store, text = get_typestore(Stores.ROS2_HUMBLE), idl_text()
    # Its parser knows no headings, and needs the types before those that use them.
    files = ["".join(part.partition("\n")[2]) for part in text.split("=" * 80 + "\n") if part]
    store.register(get_types_from_idl("\n".join(reversed(files))))
    kind = (Nodetype.NAME, "here/msg/All")
    path, bag = folder / "idl.mcap", folder / "bag-sqlite3-idl"
    with open(path, "wb") as file, Writer(bag, version=9, storage_plugin=StoragePlugin.SQLITE3) as other:
        writer = McapWriter(file)
        writer.start()
        connection = other.add_connection("/all", kind[1], msgdef=text, rihs01="RIHS01_" + "0" * 64)
        schema = writer.register_schema(kind[1], "ros2idl", text.encode())
        channel = writer.register_channel("/all", "cdr", schema)
        for at in range(20):
            data = bytes(store.serialize_cdr(value(rng, store, kind), kind[1], little_endian=rng.random() < 0.7))
            writer.add_message(channel, log_time=1000 + at, publish_time=1000 + at, data=data)
            other.write(connection, 1000 + at, data)
        writer.finish()
    with open(path, "rb") as file:
        payloads = [message.data for *_, message in make_reader(file).iter_messages()]
    with Reader(bag) as reader:
        again = [bytes(data) for *_, data in reader.messages()]
    assert payloads == again
    messages = [store.deserialize_cdr(data, kind[1]) for data in payloads]
    rows = [{name: found for name, (_, found) in columns(store, message, kind, "").items()} for message in messages]
    for name in (path.stem, bag.name):
        (folder / f"{name}.json").write_text(json.dumps({"/all": rows}))


def definition_text(version: int) -> list[str]:
    texts = definitions(version)
    lines = [texts.pop("here/msg/All")]
    if version == 2:
        texts["builtin_interfaces/msg/Time"] = "int32 sec\nuint32 nanosec\n"
        texts["builtin_interfaces/msg/Duration"] = "int32 sec\nuint32 nanosec\n"
    for name, text in texts.items():
        lines += ["=" * 80, f"MSG: {name.replace('/msg/', '/')}", text]
    return lines


def proto(folder: Path, rng: random.Random) -> None:
    """Every scalar of protobuf, alone and repeated, and messages inside messages."""
    kinds = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32", 8: "bool", 9: "string", 12: "bytes"}
    kinds |= {13: "uint32", 15: "sfixed32", 16: "sfixed64", 17: "sint32", 18: "sint64"}
    file = descriptor_pb2.FileDescriptorProto(name="here.proto", package="here", syntax="proto3")
    small = file.message_type.add(name="Small")
    small.field.add(name="x", number=1, type=1, label=1)
    small.field.add(name="name", number=2, type=9, label=1)
    every = file.message_type.add(name="All")
    number = 0
    for kind, name in kinds.items():
        for label, prefix in ((1, "a"), (3, "v")):
            number += 1
            every.field.add(name=f"{prefix}_{name}", number=number, type=kind, label=label)
    every.field.add(name="one", number=100, type=11, label=1, type_name=".here.Small")
    every.field.add(name="some", number=101, type=11, label=3, type_name=".here.Small")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    of = message_factory.GetMessageClass(pool.FindMessageTypeByName("here.All"))
    bounds = {"int64": "int64", "sfixed64": "int64", "sint64": "int64", "int32": "int32", "sfixed32": "int32", "sint32": "int32"}
    bounds |= {"uint64": "uint64", "fixed64": "uint64", "uint32": "uint32", "fixed32": "uint32", "double": "float64", "float": "float32", "bool": "bool"}

    def one(name: str):
        if name == "string":
            return rng.choice(["", "a", "Grüße"])
        if name == "bytes":
            return rng.randbytes(rng.randrange(5))
        return globals()["number"](rng, bounds[name])

    path = folder / "proto.mcap"
    with open(path, "wb") as out:
        writer = Writer(out, compression=CompressionType.ZSTD)
        writer.start()
        schema = writer.register_schema("here.All", "protobuf", descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
        channel = writer.register_channel("/all", "protobuf", schema)
        for at in range(20):
            message = of()
            for name in kinds.values():
                setattr(message, f"a_{name}", one(name))
                getattr(message, f"v_{name}").extend(one(name) for _ in range(rng.choice([0, 1, 4])))
            message.one.x, message.one.name = one("double"), one("string")
            for _ in range(rng.randrange(3)):
                message.some.add(x=one("double"), name=one("string"))
            writer.add_message(channel, log_time=1000 + at, publish_time=1000 + at, data=message.SerializeToString())
        writer.finish()

    def shown(value):
        return value.hex() if isinstance(value, bytes) else plain(value)

    rows = []
    with open(path, "rb") as read:
        for *_, message in make_reader(read, decoder_factories=[ProtobufDecoder()]).iter_decoded_messages():
            row = {}
            for name in kinds.values():
                row[f"a_{name}"] = shown(getattr(message, f"a_{name}"))
                row[f"v_{name}"] = [shown(value) for value in getattr(message, f"v_{name}")]
            row |= {"one.x": plain(message.one.x), "one.name": message.one.name}
            row |= {"some.x": [plain(item.x) for item in message.some], "some.name": [item.name for item in message.some]}
            rows.append(row)
    (folder / "proto.json").write_text(json.dumps({"/all": rows}))


def plain_json(folder: Path, rng: random.Random) -> None:
    """JSON by a JSON Schema."""
    import base64

    properties = {
        "x": {"type": "number"},
        "n": {"type": "integer"},
        "b": {"type": "boolean"},
        "text": {"type": "string"},
        "data": {"type": "string", "contentEncoding": "base64"},
        "at": {"type": "object", "title": "time", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}},
        "xs": {"type": "array", "items": {"type": "number"}},
        "some": {"type": "array", "items": {"type": "object", "properties": {"y": {"type": "number"}, "name": {"type": "string"}}}},
    }
    rows = []
    with open(folder / "json.mcap", "wb") as out:
        writer = Writer(out, compression=CompressionType.LZ4)
        writer.start()
        schema = writer.register_schema("Here", "jsonschema", json.dumps({"type": "object", "properties": properties}).encode())
        channel = writer.register_channel("/all", "json", schema)
        for at in range(20):
            data = rng.randbytes(rng.randrange(9))
            some = [{"y": rng.choice([rng.uniform(-1, 1), None]), "name": rng.choice(["", "ä", None])} for _ in range(rng.randrange(3))]
            message = {"x": rng.uniform(-1e9, 1e9), "n": rng.randrange(-(2**63), 2**63), "b": rng.random() < 0.5, "text": "Grüße" * rng.randrange(3)}
            message |= {"data": base64.b64encode(data).decode(), "at": {"sec": rng.randrange(2**31), "nsec": rng.randrange(10**9)}}
            message |= {"xs": [rng.choice([rng.uniform(-1, 1), None]) for _ in range(rng.randrange(4))], "some": some}
            writer.add_message(channel, log_time=1000 + at, publish_time=1000 + at, data=json.dumps(message).encode())
            row = {"x": plain(message["x"]), "n": message["n"], "b": message["b"], "text": message["text"], "data": data.hex()}
            row |= {"at": message["at"]["sec"] * 10**9 + message["at"]["nsec"], "xs": [plain(x) for x in message["xs"]]}
            row |= {"some.y": [plain(item["y"]) for item in some], "some.name": [item["name"] for item in some]}
            rows.append(row)
        writer.finish()
    (folder / "json.json").write_text(json.dumps({"/all": rows}))


if __name__ == "__main__":
    target, seed = Path(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    ros(target, 1, rng)
    ros(target, 2, rng)
    proto(target, rng)
    plain_json(target, rng)
    bags(target, rng)
    old_bags(target, rng)
    idl(target, rng)
