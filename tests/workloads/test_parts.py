"""Files are complete when they appear, are divided by row count alone, and are never overwritten."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joinfold.errors import UsageError
from joinfold.workloads import generate
from joinfold.workloads.tables import TIMESTAMP, PartWriter, stream_schema, write_streams

SCHEMA = stream_schema(ts=TIMESTAMP, v=pa.int64())


def rows(first: int, count: int) -> pa.Table:
    numbers = pa.array(range(first, first + count), pa.int64())
    return pa.table([numbers.cast(TIMESTAMP), numbers], schema=SCHEMA)


def ignore(rows: int) -> None:
    pass


def test_parts_have_the_rows_asked_for(tmp_path: Path) -> None:
    generate("synthetic", rows=5_000, seed=1, directory=tmp_path, rows_per_file=1_000)
    counts = {str(path.relative_to(tmp_path)): pq.read_metadata(path).num_rows for path in tmp_path.rglob("*.*")}
    assert counts == {
        f"{stream}/part-0000{part}.parquet": 1_000 if part < 2 else 500 for stream in "ab" for part in range(3)
    }


@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.integers(0, 40), max_size=12), rows_per_file=st.integers(1, 50))
def test_how_rows_are_handed_over_leaves_no_trace(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], rows_per_file: int
) -> None:
    total = sum(sizes)
    contents = []
    for cut in (sizes, [total]):
        folder = tmp_path_factory.mktemp("parts")
        writer = PartWriter(folder, SCHEMA, rows_per_file)
        first = 0
        for size in cut:
            writer.write(rows(first, size))
            first += size
        writer.close()
        contents.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert contents[0] == contents[1]
    assert len(contents[0]) == max(1, -(-total // rows_per_file))


def test_an_interrupted_run_leaves_whole_parts_only(tmp_path: Path) -> None:
    def interrupted() -> Iterator[dict[str, pa.Table]]:
        yield {"s": rows(0, 25)}
        yield {"s": rows(25, 330_000)}
        assert list((tmp_path / "s").glob(".part-*.tmp")), "the part under way is on disk, under a hidden name"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_streams(interrupted(), {"s": SCHEMA}, tmp_path, rows_per_file=200_000, progress=ignore)
    assert [path.name for path in (tmp_path / "s").iterdir()] == ["part-00000.parquet"]
    assert pq.read_table(tmp_path / "s" / "part-00000.parquet").num_rows == 200_000


def test_a_stream_without_rows_still_has_a_schema(tmp_path: Path) -> None:
    generate("auctions", rows=1, seed=1, directory=tmp_path)
    assert pq.read_table(tmp_path / "person").num_rows == 1
    assert pq.read_table(tmp_path / "bid").column_names == ["auction", "bidder", "price", "ts"]
    assert pq.read_table(tmp_path / "bid").num_rows == 0


def test_metadata_tells_nothing_of_time_or_place(tmp_path: Path) -> None:
    generate("synthetic", rows=10, seed=1, directory=tmp_path)
    metadata = pq.read_metadata(tmp_path / "a" / "part-00000.parquet")
    assert set(metadata.metadata) == {b"ARROW:schema"}
    assert str(tmp_path).encode() not in (tmp_path / "a" / "part-00000.parquet").read_bytes()


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError) as caught:
        generate("synthetic", rows=10, seed=1, directory=tmp_path)
    assert str(caught.value) == (
        f"folder '{tmp_path}' is not empty\nHint: choose a new folder, or empty this one first."
    )
    with pytest.raises(UsageError, match="is a file, not a folder"):
        generate("synthetic", rows=10, seed=1, directory=tmp_path / "notes.txt")
    with pytest.raises(UsageError, match="cannot write to"):
        generate("synthetic", rows=10, seed=1, directory=tmp_path / "notes.txt" / "below")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_empty_folder_is_welcome(tmp_path: Path) -> None:
    generate("synthetic", rows=10, seed=1, directory=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
