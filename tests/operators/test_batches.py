"""Entries of many blobs in the order of their cells."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators import batches as module
from joinfold.physical.column_names import CELL
from joinfold.physical.stored import ArrivalsOf, BoundariesOf, EntriesOf, Inside, OrderOf, Stored, Waiting

blobs = st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(-5, 5), max_size=6)), max_size=8)


def batches_of(cells_by_blob: list[tuple[int, list[int]]]) -> list[tuple[int, pa.RecordBatch]]:
    """Blobs of places; an entry is named by its blob and its place in it."""
    return [
        (ordinal, pa.RecordBatch.from_pydict({CELL: pa.array(cells, pa.int64()), "name": names}))
        for number, (ordinal, cells) in enumerate(cells_by_blob)
        for names in [pa.array([f"{number}.{at}" for at in range(len(cells))], pa.string())]
    ]


def named(batches: list[tuple[int, pa.RecordBatch]]) -> list[tuple[int, int, str]]:
    return sorted((ordinal, row[CELL], row["name"]) for ordinal, batch in batches for row in batch.to_pylist())


@given(blobs)
def test_one_batch_for_each_input_in_the_order_of_cells(cells_by_blob: list[tuple[int, list[int]]]) -> None:
    batches = batches_of(cells_by_blob)
    ordered = module.by_cell(batches)
    assert [ordinal for ordinal, _ in ordered] == list(dict.fromkeys(ordinal for ordinal, _ in batches))
    for _, batch in ordered:
        cells = module.cells_of(batch).tolist()
        assert cells == sorted(cells)
    assert named(ordered) == named(batches)


def test_very_large_batches_are_not_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column of texts has no more than 2 GiB."""
    batches = batches_of([(0, [3, 1]), (1, [5]), (0, [2, 0]), (0, [4])])
    monkeypatch.setattr(module, "MOST_BYTES", batches[0][1].nbytes * 7 // 4)
    ordered = module.by_cell(batches)
    assert [(ordinal, module.cells_of(batch).tolist()) for ordinal, batch in ordered] == [
        (0, [1, 3]),
        (1, [5]),
        (0, [0, 2, 4]),
    ]
    assert named(ordered) == named(batches)


def test_whatever_is_stored_is_put_together_by_its_kind() -> None:
    kinds: list[Stored] = [EntriesOf("a"), BoundariesOf("a"), ArrivalsOf("a"), OrderOf("a"), Waiting(), Inside()]
    ((_, batch),) = batches_of([(0, [2, 1])])
    ordered = module.by_cell([(kind, batch) for kind in (*kinds, *reversed(kinds))])
    assert [kind for kind, _ in ordered] == kinds
    assert all(module.cells_of(own).tolist() == [1, 1, 2, 2] for _, own in ordered)


def test_parts_go_together_where_one_knows_no_type() -> None:
    """A column that is NULL in all rows of a part, and parts without rows."""
    parts = [
        pa.RecordBatch.from_pydict({"x": column}) for column in (pa.nulls(2), pa.array(["a"]), pa.array([], "str"))
    ]
    assert module.together(parts).column("x").to_pylist() == [None, None, "a"]
    empty = module.together([parts[2], parts[2]])
    assert empty.num_rows == 0 and empty.schema.names == ["x"]
