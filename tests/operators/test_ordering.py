"""Entries of many blobs in the order of their cells."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators import ordering

blobs = st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(-5, 5), max_size=6)), max_size=8)


def batches_of(cells_by_blob: list[tuple[int, list[int]]]) -> list[tuple[int, pa.RecordBatch]]:
    """Blobs of places; an entry is named by its blob and its place in it."""
    return [
        (place, pa.RecordBatch.from_pydict({"cell": pa.array(cells, pa.int64()), "name": names}))
        for number, (place, cells) in enumerate(cells_by_blob)
        for names in [pa.array([f"{number}.{at}" for at in range(len(cells))], pa.string())]
    ]


def named(batches: list[tuple[int, pa.RecordBatch]]) -> list[tuple[int, int, str]]:
    return sorted((place, row["cell"], row["name"]) for place, batch in batches for row in batch.to_pylist())


@given(blobs)
def test_one_batch_for_each_input_in_the_order_of_cells(cells_by_blob: list[tuple[int, list[int]]]) -> None:
    batches = batches_of(cells_by_blob)
    ordered = ordering.by_cell(batches)
    assert [place for place, _ in ordered] == sorted({place for place, _ in batches})
    for _, batch in ordered:
        cells = ordering.cells_of(batch).tolist()
        assert cells == sorted(cells)
    assert named(ordered) == named(batches)


def test_very_large_batches_are_not_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column of texts has no more than 2 GiB."""
    batches = batches_of([(0, [3, 1]), (1, [5]), (0, [2, 0]), (0, [4])])
    monkeypatch.setattr(ordering, "MOST_BYTES", batches[0][1].nbytes * 7 // 4)
    ordered = ordering.by_cell(batches)
    assert [(place, ordering.cells_of(batch).tolist()) for place, batch in ordered] == [
        (0, [1, 3]),
        (0, [0, 2, 4]),
        (1, [5]),
    ]
    assert named(ordered) == named(batches)
