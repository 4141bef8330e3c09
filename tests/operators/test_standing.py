"""What stands of a view, and the extremes that are counted over it, against a dictionary and a multiset."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.inprocess import InProcess
from joinfold.operators import live
from joinfold.operators.entries import Entries
from joinfold.operators.fold import Fold
from joinfold.operators.methods.extremes import CountedExtremes
from joinfold.operators.standing import Standing
from joinfold.operators.worth import Worth
from tests.operators.chains import chain_of
from tests.operators.runs import check_batches

Identity = tuple[int, int, int, int, int]
Row = tuple[Identity, int, float, int]


def entries(rows: list[Row]) -> Entries:
    """Rows of a view: what tells them apart (key, group, origin, two parts), count, real, extreme."""
    ids = np.array([row[0] for row in rows], np.int32).reshape(-1, 5)
    counts = np.array([row[1] for row in rows], np.int64)
    codes = np.array([row[3] for row in rows], np.int64)
    return Entries(
        np.arange(len(rows)),
        ids[:, 0].copy(),
        ids[:, 3:].copy(),
        ids[:, 1].copy(),
        ids[:, 2].copy(),
        counts[:, None],
        np.array([row[2] for row in rows]).repeat(2).reshape(-1, 2),
        [(codes, codes > 0)],
    )


def rows_of(some: Entries | None) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for at in range(len(some) if some is not None else 0):
        assert some is not None
        identity = (some.key[at], some.group[at], some.carried[at], *some.parts[at])
        codes, has = some.extremes[0]
        assert has[at] == (codes[at] > 0)
        found[tuple(map(int, identity)), int(some.integers[at, 0]), float(some.reals[at, 1]), int(codes[at])] += 1
    return found


few = st.integers(0, 2)
identities = st.tuples(few, few, few, few, few)
view_rows = st.tuples(identities, st.integers(0, 3), st.sampled_from([-1.5, 0.0, 2.25]), few)
steps = st.lists(st.lists(view_rows, min_size=1, max_size=12), max_size=12)


@given(steps=steps, taken=st.integers(0, 12))
def test_rows_take_the_places_of_earlier_ones(steps: list[list[Row]], taken: int) -> None:
    standing, expected = Standing(), dict[Identity, Row]()
    for number, come in enumerate(steps):
        last = {row[0]: row for row in come}
        left = Counter(expected[identity] for identity in last if identity in expected)
        replaced, entered = standing.replace(entries(come))
        assert rows_of(replaced) == left
        assert rows_of(entered) == Counter(row for row in last.values() if row[1] > 0)
        expected = {identity: row for identity, row in (expected | last).items() if row[1] > 0}
        assert len(standing) == len(expected)
        if number == taken:  # as when what is live is made anew
            stood = standing.take()
            assert len(standing) == 0 and rows_of(stood) == Counter(expected.values())
            if stood is not None:
                standing.replace(stood)
    assert rows_of(standing.take()) == Counter(expected.values())


@dataclass(frozen=True)
class Extremes:
    """As much of a layout as counting asks for."""

    extremes: tuple[str, ...] = ("first", "second")


combinations = st.lists(st.tuples(few, st.tuples(st.integers(-3, 3), st.integers(-3, 3)), st.booleans()), max_size=8)


def worth(rows: list[tuple[int, tuple[int, int], bool]]) -> Worth:
    """Combinations of a group with two extremes, of which the second may be missing."""
    nothing = np.zeros((len(rows), 0))
    return Worth(
        np.array([group for group, _, _ in rows], np.int64),
        np.zeros(len(rows), np.int64),
        np.ones((len(rows), 1), np.int64),
        nothing,
        nothing,
        np.array([codes for _, codes, _ in rows], np.int64).reshape(-1, 2),
        np.array([(True, has) for _, _, has in rows], np.bool_).reshape(-1, 2),
    )


@given(steps=st.lists(st.tuples(combinations, st.integers(0, 8), st.booleans()), max_size=10))
def test_counted_extremes_are_those_of_a_multiset(steps: list[tuple[list[Any], int, bool]]) -> None:
    counted, there = CountedExtremes(Extremes()), list[Any]()  # type: ignore[arg-type]
    for come, leaving, is_asked in steps:
        gone, there = there[:leaving], there[leaving:] + come
        counted.subtract(worth(gone))
        counted.add(worth(come), 0)
        if not is_asked:
            continue
        for number, (codes, has) in enumerate(counted.heads(0)):
            expected: dict[int, int] = {}
            for group, own, has_second in there:
                if number == 0 or has_second:
                    expected[group] = max(own[number], expected.get(group, own[number]))
            assert {group: int(codes[group]) for group in np.flatnonzero(has).tolist()} == expected
    counted.subtract(worth(there))
    assert not any(has.any() for _, has in counted.heads(0))
    assert counted.bytes_held == 0  # what is subtracted leaves nothing behind


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
    (last,) = machine.folds[1:]
    assert isinstance(last, Fold)
    assert len(last.standing[1].there) <= 64
