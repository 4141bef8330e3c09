"""Laws of all workloads: the seed decides every byte, rows are exact, a longer run extends a shorter one."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joinfold.workloads import PRESETS, WORKLOADS, batches, generate

INT, TEXT, REAL, TIME = pa.int64(), pa.string(), pa.float64(), pa.timestamp("us", tz="UTC")
SCHEMAS = {
    "synthetic": {
        "a": [("ts", TIME), ("key", INT), ("g", INT), ("v", INT)],
        "b": [("ts", TIME), ("key", INT), ("g", INT), ("v", INT)],
    },
    "sensors": {
        "temperature": [("location", TEXT), ("ts", TIME), ("celsius", REAL)],
        "smoke": [("location", TEXT), ("ts", TIME), ("strength", REAL)],
    },
    "packets": {
        "backbone": [("src", TEXT), ("dest", TEXT), ("ts", TIME), ("bytes", INT)],
        "branch": [("src", TEXT), ("dest", TEXT), ("ts", TIME), ("bytes", INT)],
    },
    "auctions": {
        "person": [("id", INT), ("name", TEXT), ("state", TEXT), ("city", TEXT), ("ts", TIME)],
        "auction": [
            ("id", INT),
            ("seller", INT),
            ("category", INT),
            ("initial_bid", INT),
            ("expires", TIME),
            ("ts", TIME),
        ],
        "bid": [("auction", INT), ("bidder", INT), ("price", INT), ("ts", TIME)],
    },
}
START = pa.scalar(1_735_689_600_000_000, INT).cast(TIME)
every_workload = pytest.mark.parametrize("name", WORKLOADS)


def whole(name: str, **arguments: object) -> dict[str, pa.Table]:
    """All batches of a workload, one table per stream."""
    steps = list(batches(name, **arguments))
    return {stream: pa.concat_tables([step[stream] for step in steps]).combine_chunks() for stream in steps[0]}


def digests(directory: Path) -> dict[str, str]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def read(folder: Path) -> pa.Table:
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob("part-*.parquet"))])


@every_workload
def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_data(name: str, tmp_path: Path) -> None:
    for run, seed in (("first", 7), ("again", 7), ("other", 8)):
        generate(name, rows=5_000, seed=seed, directory=tmp_path / run)
    first, again, other = (digests(tmp_path / run) for run in ("first", "again", "other"))
    assert first == again
    assert set(first) == set(other)
    assert all(first[path] != other[path] for path in first)


@every_workload
def test_schemas_are_exact_and_files_hold_what_batches_hold(name: str, tmp_path: Path) -> None:
    schemas = generate(name, rows=150_001, seed=3, directory=tmp_path, rows_per_file=40_000)
    expected = {stream: pa.schema(columns) for stream, columns in SCHEMAS[name].items()}
    tables = whole(name, rows=150_001, seed=3)
    assert schemas == expected
    assert sum(table.num_rows for table in tables.values()) == 150_001
    for stream, table in tables.items():
        stored = read(tmp_path / stream)
        assert stored.schema.remove_metadata() == expected[stream] == table.schema
        assert stored.equals(table)
        assert min(table["ts"].to_pylist()[:10]) >= START.as_py()


@every_workload
def test_the_time_column_ascends(name: str) -> None:
    for table in whole(name, rows=150_000, seed=5).values():
        times = table["ts"].cast(INT).to_numpy()
        assert (times[1:] >= times[:-1]).all()


@every_workload
@settings(max_examples=10, deadline=None)
@given(rows=st.integers(1, 70_000), more=st.integers(0, 70_000), seed=st.integers(0, 2**40))
def test_asking_for_more_rows_extends_the_streams(name: str, rows: int, more: int, seed: int) -> None:
    short, long = whole(name, rows=rows, seed=seed), whole(name, rows=rows + more, seed=seed)
    assert sum(table.num_rows for table in short.values()) == rows
    for stream, table in short.items():
        assert table.equals(long[stream].slice(0, table.num_rows).combine_chunks())


@every_workload
def test_a_seed_is_not_its_neighbour_shifted(name: str) -> None:
    """Columns and streams have generators of their own: no two numeric columns are equal."""
    seen = set()
    for seed in (1, 2):
        for table in whole(name, rows=2_000, seed=seed).values():
            for column in {"key", "g", "v", "price", "celsius", "strength", "initial_bid"} & set(table.column_names):
                values = tuple(table[column].to_pylist())
                assert values not in seen
                seen.add(values)
    assert seen or name == "packets"


def test_progress_adds_up_to_the_rows(tmp_path: Path) -> None:
    heard: list[int] = []
    generate("auctions", rows=200_000, seed=1, directory=tmp_path, progress=heard.append)
    assert sum(heard) == 200_000
    assert len(heard) > 1


def test_presets_are_the_runs_of_the_design() -> None:
    assert list(PRESETS) == ["R1", "R0"]
    slow = whole("R0")
    assert {stream: table.num_rows for stream, table in slow.items()} == {"a": 200_000, "b": 200_000}
    assert slow == whole("synthetic", rows=400_000, seed=7, rows_per_second=1_000, keys=1_000)
    fast = whole("R1", rows=40_000)
    assert fast == whole("synthetic", rows=40_000, seed=7)
    second = fast["a"].slice(0, 10_000)
    assert len(set(zip(second["key"].to_pylist(), second["g"].to_pylist(), strict=True))) > 9_900
