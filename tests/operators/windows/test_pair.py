"""The pair: what is computed of combinations, each of which is one row of its own frame."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.calendars.calendar import END
from joinfold.operators.vocabulary import Vocabulary
from joinfold.operators.windows.pair import pair_side
from joinfold.physical.column_names import pair_column
from tests.operators.runs import plan_of

W = "[TUMBLE 9 MICROSECOND]"
PLAN = plan_of(
    "SELECT ABS(a.v - b.v) AS apart, SUM(GREATEST(a.v, b.v)) AS s, MAX(a.v - b.v) AS x, "
    f"COUNT(*) FILTER (WHERE a.v < b.v) AS n FROM a {W}, b {W} WHERE a.k = b.k GROUP BY ABS(a.v - b.v)",
    "k INT, v INT",
)
pairs = st.lists(st.tuples(st.integers(-4, 4), st.none() | st.integers(-4, 4)), max_size=6)


@given(pairs)
def test_a_pair_is_computed_of_each_combination(rows: list[tuple[int, int | None]]) -> None:
    body, vocabulary = PLAN.body, Vocabulary(PLAN.body, by_class=True)
    carried = [body.inputs[ordinal].carried for ordinal in range(2)]
    assert all(map(len, carried))
    columns = {
        (pair_column(ordinal), name): pa.array([row[ordinal] for row in rows], pa.int32())
        for ordinal in range(2)
        for name in carried[ordinal]
    }
    side = pair_side(vocabulary, columns, len(rows), "UTC")
    assert len(side) == len(rows) and side.leaves.tolist() == [END] * len(rows)  # it goes with what it is a pair of
    assert side.payload.ints[:, 0].tolist() == [1] * len(rows)
    (groups,) = vocabulary.group_columns({2: side.group})
    assert groups.to_pylist() == [None if right is None else abs(left - right) for left, right in rows]
    sums = dict(zip(body.pair.integer_names, side.payload.ints.T.tolist(), strict=True))
    conditions = [own for name, own in sums.items() if name.startswith("count") and "<" in name]
    assert conditions == [[int(right is not None and left < right) for left, right in rows]]
    limbs = [own for name, own in sums.items() if name.endswith("limb 0")]
    assert limbs == [[max(left, left if right is None else right) for left, right in rows]]
    codes, has = side.payload.codes[:, 0], side.payload.has[:, 0]
    assert vocabulary.extremes[0].values(codes, has).to_pylist() == [
        None if right is None else left - right for left, right in rows
    ]


def test_where_nothing_is_computed_a_pair_counts_one() -> None:
    plan = plan_of(f"SELECT COUNT(*) AS n FROM a {W}, b {W} WHERE a.v < b.v", "k INT, v INT")
    side = pair_side(Vocabulary(plan.body, by_class=True), {}, 3, "UTC")
    assert side.payload.ints.tolist() == [[1]] * 3 and side.group.tolist() == [0] * 3
