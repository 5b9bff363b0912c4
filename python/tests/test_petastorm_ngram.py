"""N-grams equal a slow implementation of Petastorm's rules, for random timestamps, groups, gaps, thresholds and predicates."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tetrys as tt
from hypothesis import given
from hypothesis import strategies as st
from tetrys.petastorm import TransformSpec, make_batch_reader, make_reader
from tetrys.petastorm.ngram import NGram, form
from tetrys.petastorm.predicates import in_lambda
from tetrys.petastorm.unischema import Unischema, UnischemaField


def slow(times: list[Any], groups: list[int], length: int, threshold: Any, overlap: bool, stride: int) -> list[list[int]]:
    """The rules as they are written: runs of consecutive rows of a group, each step within the threshold; greedy without overlap."""
    found = []
    for group in dict.fromkeys(groups):
        rows = [row for row, one in enumerate(groups) if one == group]
        last = None
        for start in range(0, len(rows) - length + 1, 1):
            run = rows[start : start + length]
            if any(times[b] < times[a] for a, b in zip(run, run[1:], strict=False)):
                raise NotImplementedError
            if start % stride or not overlap and last is not None and times[run[0]] <= last:
                continue
            if all(times[b] - times[a] <= threshold for a, b in zip(run, run[1:], strict=False)):
                found.append(run)
                last = times[run[-1]]
    return sorted(found)


def slow_padded(times: list[Any], groups: list[int], offsets: range, threshold: Any, stride: int) -> list[list[int]]:
    """One n-gram around each row, which stops at the ends of the group and at larger steps."""
    anchor = min(max(0, offsets.start), offsets.stop - 1)
    found = []
    for group in dict.fromkeys(groups):
        rows = [row for row, one in enumerate(groups) if one == group]
        for place in range(0, len(rows), stride):
            ngram = {anchor: rows[place]}
            for step in (1, -1):
                at, offset = place, anchor
                while offset + step in offsets and 0 <= at + step < len(rows):
                    a, b = sorted((at, at + step))
                    if not times[rows[b]] - times[rows[a]] <= threshold:
                        break
                    at, offset = at + step, offset + step
                    ngram[offset] = rows[at]
            found.append((rows[place], [ngram.get(offset, -1) for offset in offsets]))
    return [ngram for _, ngram in sorted(found)]


@st.composite
def lines(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Times and groups of rows. Times rise in each group, mostly; groups need not be neighbours."""
    groups = draw(st.lists(st.integers(0, 2), max_size=30))
    if draw(st.booleans()):
        groups.sort()
    clocks: dict[int, int] = {}
    times = []
    for group in groups:
        clocks[group] = clocks.get(group, draw(st.integers(-5, 5))) + draw(st.sampled_from([0, 0, 1, 1, 1, 2, 3, 7] + [-1] * draw(st.integers(0, 1))))
        times.append(clocks[group])
    return times, groups


@given(
    line=lines(), length=st.integers(1, 5), threshold=st.sampled_from([0, 1, 2, 3, 10, 0.5, 1.5, float("inf"), -1]), overlap=st.booleans(),
    stride=st.integers(1, 4), kind=st.sampled_from(["int8", "int32", "int64", "uint64", "float32", "float64", "decimal"]), base=st.integers(-9, 3),
)  # fmt: skip
def test_ngrams_equal_the_slow_rules(
    line: tuple[list[int], list[int]], length: int, threshold: float, overlap: bool, stride: int, kind: str, base: int
) -> None:
    times, groups = line
    if kind == "uint64":
        times = [time + 2**63 for time in times]
    values: Any = np.array([Decimal(time) for time in times] if kind == "decimal" else times, object if kind == "decimal" else kind)
    wanted = Decimal(str(threshold)) if kind == "decimal" else threshold
    options = dict(offsets=range(base, base + length), threshold=wanted, overlap=overlap, stride=stride)
    try:
        expected = slow(times, groups, length, threshold, overlap, stride)
    except NotImplementedError:
        with pytest.raises(NotImplementedError, match="in the order of `timestamp`"):
            form(values, np.array(groups, np.int64), **options)  # type: ignore[arg-type]
        return
    found = form(values, np.array(groups, np.int64), **options)  # type: ignore[arg-type]
    assert found.tolist() == expected and found.shape == (len(expected), length)


@given(line=lines(), length=st.integers(1, 5), threshold=st.sampled_from([0, 1, 2, 10, 0.5]), stride=st.integers(1, 3), base=st.integers(-6, 2))
def test_padded_ngrams_have_each_row_once_at_offset_0(line: tuple[list[int], list[int]], length: int, threshold: float, stride: int, base: int) -> None:
    times, groups = line
    offsets = range(base, base + length)
    arrays = np.array(times, np.int64), np.array(groups, np.int64)
    try:
        expected = slow_padded(times, groups, offsets, threshold, stride)
        found = form(*arrays, offsets=offsets, threshold=threshold, stride=stride, padding="null")
    except NotImplementedError:
        assert any(times[row] < times[before] for row in range(len(times)) for before in range(row) if groups[row] == groups[before])
        return
    assert found.tolist() == expected
    repeated = form(*arrays, offsets=offsets, threshold=threshold, stride=stride, padding="repeat")
    for ngram, whole in zip(expected, repeated.tolist(), strict=True):
        there = [row for row in ngram if row >= 0]
        first = next(place for place, row in enumerate(ngram) if row >= 0)
        assert whole == [there[min(max(place - first, 0), len(there) - 1)] for place in range(length)]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tt.Table:
    """Three logs of 20 rows, 100 ms apart, with a gap before row 10 of each."""
    rows = 60
    time = np.array([row % 20 * 100 + (1000 if row % 20 >= 10 else 0) for row in range(rows)])
    data = {"log": [f"log {row // 20}" for row in range(rows)], "time": time, "group": np.arange(rows) // 5, "image": np.arange(rows * 4).reshape(rows, 2, 2), "label": np.arange(rows)}
    url = str(tmp_path_factory.mktemp("ngrams") / "logs")
    return tt.write_table(url, data, index=["log", "time", "group"], groups={"image": ["image"], "label": ["label"]}, sequence_by=["log"], order_by=["time"])


def labels(table: tt.Table, ngram: NGram, **options: Any) -> list[list[int | None]]:
    with make_reader(table, schema_fields=ngram, shuffle_row_groups=False, **options) as reader:
        found = list(reader)
        assert len(found) == len(reader)
    return [[None if row is None else int(row.label) for row in ngram.values()] for ngram in found]


def pairs(**options: Any) -> NGram:
    return NGram({0: ["time", "label"], 1: ["label", "image"]}, 100, "time", **options)


def test_by_default_ngrams_stay_inside_the_sequences_of_the_table(table: tt.Table) -> None:
    expected = [[row, row + 1] for row in range(59) if row % 20 not in (9, 19)]
    assert labels(table, pairs()) == expected
    assert labels(table, pairs(group_by="group")) == [pair for pair in expected if pair[0] // 5 == pair[1] // 5]
    assert labels(table, pairs(group_by=["log", "group"])) == labels(table, pairs(group_by="group"))
    assert labels(table, pairs(stride=4)) == [[row, row + 1] for row in range(60) if row % 20 in (0, 4, 8, 12, 16)]
    assert labels(table, pairs(timestamp_overlap=False)) == [[row, row + 1] for row in range(60) if row % 2 == 0]


def test_ngrams_run_over_the_rows_that_survive_the_predicate(table: tt.Table) -> None:
    odd = in_lambda(["label"], lambda label: label % 2 == 1)
    assert labels(table, pairs(), predicate=odd) == []
    far = NGram({0: ["time", "label"], 1: ["label"]}, 200, "time")
    assert labels(table, far, predicate=odd) == [[row, row + 2] for row in range(1, 58, 2) if row % 20 not in (9, 19)]


def test_padding_fills_places_beyond_a_run(table: tt.Table) -> None:
    around = {-1: ["label"], 0: ["label", "time"], 1: ["label"]}
    null = labels(table, NGram(around, 100, "time", padding="null"))
    assert len(null) == 60 and null[0] == [None, 0, 1] and null[9] == [8, 9, None] and null[10] == [None, 10, 11] and null[5] == [4, 5, 6]
    repeat = labels(table, NGram(around, 100, "time", padding="repeat"))
    assert repeat[0] == [0, 0, 1] and repeat[9] == [8, 9, 9] and repeat[5] == [4, 5, 6]


def test_fields_belong_to_their_offsets_and_unused_payload_is_not_read(table: tt.Table) -> None:
    with make_reader(table, schema_fields=pairs(), shuffle_row_groups=False) as reader:
        first = next(reader)
        assert first[0]._fields == ("time", "label") and first[1]._fields == ("image", "label")
        assert first[1].image.tolist() == [[4, 5], [6, 7]]
    gap = NGram({-2: ["time", "label"], 1: ["label"]}, 100, "time")
    with make_reader(table, schema_fields=gap) as reader:
        ngram = next(reader)
        assert list(ngram) == [-2, -1, 0, 1] and ngram[-1] == () == ngram[0] and ngram[1].label == ngram[-2].label + 3


@given(count=st.integers(1, 9), epochs=st.integers(1, 2), seed=st.integers(0, 2**32))
def test_shards_have_each_ngram_once(table: tt.Table, count: int, epochs: int, seed: int) -> None:
    found = []
    for shard in range(count):
        with make_reader(table, schema_fields=pairs(), cur_shard=shard, shard_count=count, num_epochs=epochs, seed=seed) as reader:
            found.append([int(ngram[0].label) for ngram in reader])
    assert sorted(row for rows in found for row in rows) == sorted([row for row in range(60) if row % 20 not in (9, 19)] * epochs)
    assert max(map(len, found)) - min(map(len, found)) <= epochs


def test_ngrams_have_a_state_and_another_order_every_epoch(table: tt.Table) -> None:
    reader = make_reader(table, schema_fields=pairs(), num_epochs=2, seed=0)
    epochs = [int(ngram[0].label) for ngram in reader]
    assert epochs[:54] != epochs[54:] and sorted(epochs[:54]) == sorted(epochs[54:])
    reader = make_reader(table, schema_fields=pairs(), num_epochs=2, seed=0)
    for _ in range(31):
        next(reader)
    again = make_reader(table, schema_fields=pairs())
    again.load_state_dict(reader.state_dict())
    assert [int(ngram[0].label) for ngram in again] == epochs[31:]


def test_a_transform_changes_the_rows_of_ngrams(table: tt.Table) -> None:
    spec = TransformSpec(lambda row: {**row, "label": row["label"] + 1000}, removed_fields=["image"])
    with make_reader(table, schema_fields=pairs(), transform_spec=spec, shuffle_row_groups=False) as reader:
        first = next(reader)
    assert (int(first[0].label), first[1]._fields) == (1000, ("label",))
    edits = TransformSpec(lambda row: row, edit_fields=[("time", np.int64, (), False)])
    with pytest.raises(NotImplementedError, match="the transform edits `time`"):
        make_reader(table, schema_fields=pairs(), transform_spec=edits)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (({}, 1, "time"), "fields: expected a dict"), (([["time"]], 1, "time"), "fields: expected a dict"), (({0.5: ["time"]}, 1, "time"), "an offset is an integer"),
        (({0: "time"}, 1, "time"), "offset 0: expected a list"), (({0: [3]}, 1, "time"), "offset 0: expected a list"), (({0: ["time"]}, None, "time"), "delta_threshold"),
        (({0: ["time"]}, "1", "time"), "delta_threshold"), (({0: ["time"]}, float("nan"), "time"), "delta_threshold"), (({0: ["time"]}, 1, None), "timestamp_field"),
        (({0: ["time"]}, 1, "time", 1), "timestamp_overlap"), (({0: ["time"], 10**12: ["time"]}, 1, "time"), "offsets from 0 to 1000000000000: expected at most 65536"),
        (({np.timedelta64(1, "s"): ["time"]}, 1, "time"), "an offset is an integer"),
    ],
)  # fmt: skip
def test_a_silly_ngram_is_an_error(arguments: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        NGram(*arguments)
    with pytest.raises(TypeError, match="group_by: expected a list"):
        NGram({0: ["time"]}, 1, "time", group_by=5)  # type: ignore[arg-type]


def test_ngrams_that_do_not_fit_the_table_are_errors(table: tt.Table, tmp_path: Path) -> None:
    fields: dict[int, list[Any]] = {0: ["time", "label"], 1: ["label"]}
    for options, reason in (({"padding": "zero"}, "padding"), ({"padding": "null", "timestamp_overlap": False}, "exclude each other")):
        with pytest.raises(ValueError, match=reason):
            NGram(fields, 100, "time", **options)
    with pytest.raises(tt.Invalid, match="stride: 0"):
        NGram(fields, 100, "time", stride=0)
    with pytest.raises(KeyError, match="group_by: no field `nope`"):
        make_reader(table, schema_fields=NGram(fields, 100, "time", group_by="nope"))
    with pytest.raises(ValueError, match="`nope` matches 0 fields"):
        make_reader(table, schema_fields=NGram(fields, 100, "nope"))
    with pytest.raises(ValueError, match="group_by: an array of shape"):
        make_reader(table, schema_fields=NGram(fields, 100, "time", group_by="image"))
    with pytest.raises(TypeError, match="timestamps of `log`"):
        make_reader(table, schema_fields=NGram({0: ["log"], 1: ["log"]}, 100, "log"))
    with pytest.raises(NotImplementedError, match="use make_reader"):
        make_batch_reader(table, schema_fields=NGram(fields, 100, "time"))
    with pytest.raises(NotImplementedError, match="row 20 of the selected rows has 0, the one before it in its group"):
        make_reader(table.edit(properties={"x": 1}), schema_fields=NGram(fields, 100, "time", group_by=[]))
    holes = tt.write_table(str(tmp_path / "t"), {"time": [1, None, 3]}, index=["time"])
    with pytest.raises(ValueError, match="field `time` is null in row 1"):
        make_reader(holes, schema_fields=NGram({0: ["time"]}, 1, "time"))


def test_an_ngram_of_a_schema_keeps_the_order_of_the_schema() -> None:
    schema = Unischema("S", [UnischemaField(name, np.int64, ()) for name in ("a", "b", "c")])
    ngram = NGram({0: [schema.c, schema.a], 2: ["b|c"]}, 1, schema.a)
    ngram.resolve_regex_field_names(schema)
    assert list(ngram.get_schema_at_timestep(schema, 0).fields) == ["a", "c"] and list(ngram.get_schema_at_timestep(schema, 1).fields) == []
    assert ngram.length == 3 and ngram == NGram({0: [schema.a, schema.c], 2: [schema.b, schema.c]}, 9, schema.b)
