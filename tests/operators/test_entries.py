"""Entries and payloads are columns that are taken from, and put together, as one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.entries import Entries, Payload, Rows, constant_entries, joined, joined_payloads
from tests.operators.made import payload, pieces
from tests.operators.runs import plan_of

counts = st.integers(0, 2)
choices = st.sampled_from(["slice", "numbers", "flags"])


def chosen(kind: str, rows: int, seed: int) -> Rows:
    """Some rows in each way in which they may be named."""
    chance = np.random.default_rng(seed)
    match kind:
        case "slice":
            return slice(rows // 3, rows)
        case "numbers":
            return chance.integers(0, rows, rows + 1) if rows else np.zeros(0, np.int64)
        case _:
            return chance.integers(0, 2, rows).astype(np.bool_)


def entries_of(seed: int, rows: int, keys: int, own: Payload) -> Entries:
    chance = np.random.default_rng(seed)
    cells, key, group, carried = chance.integers(0, 9, (4, rows))
    parts = chance.integers(0, 9, (rows, keys)).astype(np.int32)
    return Entries(cells, key.astype(np.int32), parts, group.astype(np.int32), carried.astype(np.int32), own)


def columns_of(some: Entries | Payload) -> list[list[object] | None]:
    """All columns, as lists."""
    if isinstance(some, Payload):
        return [None if column is None else column.tolist() for column in some]
    own = [column.tolist() for column in (some.cells, some.key, some.parts, some.group, some.carried)]
    return [*own, *columns_of(some.payload)]


@given(st.integers(0, 99), st.integers(0, 5), counts, counts, counts, st.booleans(), choices)
def test_taking_rows_takes_them_of_every_column(
    seed: int, rows: int, integers: int, reals: int, extremes: int, with_drift: bool, kind: str
) -> None:
    """Also of columns that a plan has none of: there NumPy would not know how many rows are meant."""
    whole, wanted = payload(seed, rows, integers, reals, extremes, with_drift), chosen(kind, rows, seed)
    taken = whole.take(wanted)
    assert columns_of(taken) == [None if column is None else column[wanted].tolist() for column in whole]
    left = len(np.arange(rows)[wanted])
    assert [len(column) for column in taken if column is not None] == [left] * (4 + with_drift)
    several = entries_of(seed, rows, integers, whole)
    found = several.take(wanted)
    assert len(found) == left and found.parts.shape == (left, integers)
    assert columns_of(found.payload) == columns_of(taken)
    for name in ("cells", "key", "group", "carried"):
        assert getattr(found, name).tolist() == getattr(several, name)[wanted].tolist()


@given(st.integers(0, 99), st.lists(st.integers(1, 3), min_size=1, max_size=4), st.booleans())
def test_pieces_that_are_joined_are_the_whole(seed: int, lengths: list[int], with_drift: bool) -> None:
    own = payload(seed, sum(lengths), 2, 1, 1, with_drift)
    whole = entries_of(seed, sum(lengths), 2, own)
    parts = pieces(whole, lengths)
    assert columns_of(joined(parts)) == columns_of(whole)
    assert columns_of(joined_payloads([part.payload for part in parts])) == columns_of(own)


def test_single_rows_drift_by_their_size_and_sums_by_what_was_noted() -> None:
    own = Payload.zeros(2, 1, 2, 0)
    own.reals[:] = [[-3.0, 0.5, 2.0, 9.0], [0.0, 0.0, -1.0, -1.0]]
    assert own.sizes().tolist() == [[3.0, 3.0, 2.0, 2.0], [0.0, 0.0, 1.0, 1.0]]
    noted = np.full((2, 4), 7.0)
    assert own._replace(drift=noted).sizes() is noted


@pytest.mark.parametrize("with_drift", [False, True])
def test_nothing_is_zero_in_every_column_and_known_by_its_bytes(with_drift: bool) -> None:
    own = Payload.zeros(3, 2, 1, 4, with_drift)
    assert [None if column is None else column.shape for column in own] == [
        *((3, 2), (3, 2)),
        (3, 2) if with_drift else None,
        *((3, 4), (3, 4)),
    ]
    assert not any(column.any() for column in own if column is not None)
    assert own.nbytes == 3 * (2 * 8 + 2 * 8 + 2 * 8 * with_drift + 4 * 8 + 4)


def test_a_stream_alone_is_joined_with_one_row_that_counts_once() -> None:
    body = plan_of("SELECT SUM(a.v) AS s, MAX(a.v) AS m FROM a [TUMBLE 5 MICROSECOND]", "v INT").body
    (row,) = columns_of(constant_entries(body).payload)[0] or []
    assert row == [1] * len(body.inputs[-1].integers)
    assert len(constant_entries(body)) == 1 and constant_entries(body).payload.codes.shape == (1, 1)
