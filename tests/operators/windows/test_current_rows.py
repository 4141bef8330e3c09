"""The current rows of a view against a dictionary."""

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators.entries import Entries, Payload
from joinfold.operators.stages.fold import Fold
from joinfold.operators.stages.intake import ViewIntake
from joinfold.operators.windows import live
from joinfold.operators.windows.current_rows import CurrentRows
from tests.operators.chains import chain_of
from tests.operators.runs import check_batches

Identity = tuple[int, int, int, int, int]
Row = tuple[Identity, int, float, int]


def entries(rows: list[Row]) -> Entries:
    """Rows of a view: what tells them apart (key, group, origin, two parts), count, real, extreme."""
    ids = np.array([row[0] for row in rows], np.int32).reshape(-1, 5)
    counts = np.array([row[1] for row in rows], np.int64)
    codes = np.array([row[3] for row in rows], np.int64)
    reals = np.array([row[2] for row in rows])
    return Entries(
        np.arange(len(rows)),
        ids[:, 0].copy(),
        ids[:, 3:].copy(),
        ids[:, 1].copy(),
        ids[:, 2].copy(),
        Payload(counts[:, None], reals.repeat(2).reshape(-1, 2), None, codes[:, None], codes[:, None] > 0),
    )


def rows_of(some: Entries | None) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for at in range(len(some) if some is not None else 0):
        assert some is not None
        identity = (some.key[at], some.group[at], some.carried[at], *some.parts[at])
        own = some.payload.take(slice(at, at + 1))
        assert own.has[0, 0] == (own.codes[0, 0] > 0)
        found[tuple(map(int, identity)), int(own.ints[0, 0]), float(own.reals[0, 1]), int(own.codes[0, 0])] += 1
    return found


few = st.integers(0, 2)
identities = st.tuples(few, few, few, few, few)
view_rows = st.tuples(identities, st.integers(0, 3), st.sampled_from([-1.5, 0.0, 2.25]), few)
steps = st.lists(st.lists(view_rows, min_size=1, max_size=12), max_size=12)


@given(steps=steps, taken=st.integers(0, 12))
def test_rows_take_the_places_of_earlier_ones(steps: list[list[Row]], taken: int) -> None:
    current, expected = CurrentRows(), dict[Identity, Row]()
    for number, come in enumerate(steps):
        last = {row[0]: row for row in come}
        left = Counter(expected[identity] for identity in last if identity in expected)
        replaced, entered = current.replace(entries(come))
        assert rows_of(replaced) == left
        assert rows_of(entered) == Counter(row for row in last.values() if row[1] > 0)
        expected = {identity: row for identity, row in (expected | last).items() if row[1] > 0}
        assert len(current) == len(expected)
        if number == taken:  # as when what is live is made anew
            taken_out = current.take()
            assert len(current) == 0 and rows_of(taken_out) == Counter(expected.values())
            if taken_out is not None:
                current.replace(taken_out)
    assert rows_of(current.take()) == Counter(expected.values())


def test_memory_does_not_grow_with_pairs_of_values_that_have_gone(monkeypatch: Any) -> None:
    """Few keys and few groups, but at every instant another pair of them: 144 in all, of which four stand at a time."""
    monkeypatch.setattr(live, "MANY", 16)
    text = (
        "SELECT a.s, COUNT(*) AS n FROM a [TUMBLE 1 MICROSECOND], b [TUMBLE 1 MICROSECOND], c [TUMBLE 1 MICROSECOND] "
        "WHERE a.k = b.k AND b.j = c.j GROUP BY a.s OPTION (root = c)"
    )
    machine = InProcess(chain_of(text, "k INT, j INT, s INT"))
    batches = []
    for ts in range(144):
        row = {"ts": ts, "k": 1, "j": ts % 12, "s": ts // 12}
        batches.append({name: [row] for name in "abc"})
    found = check_batches(machine, batches)
    assert len(found) == 143
    (last,) = machine.buckets[1:]
    assert isinstance(last, Fold)
    intake = last.intakes[1]
    assert isinstance(intake, ViewIntake) and intake.given <= 64
