"""Sums over very many combinations: an answer that fits is exact, and one that does not is named in the error."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import EvaluationError
from joinfold.inprocess import InProcess
from joinfold.operators.stages.fold import Fold
from joinfold.operators.stages.intake import TimedIntake
from joinfold.operators.stages.live_bucket import LiveBucket
from joinfold.operators.wide_totals import alike, is_wide, narrowed, whole_numbers
from joinfold.physical.column_names import integer_column, real_columns
from joinfold.physical.stage import Totals
from tests.operators.chains import chain_of
from tests.operators.runs import Answers, answer, feed, plan_of, rows

LARGEST = 2**63 - 1
WINDOW = "[4 MICROSECOND SLIDE 1 MICROSECOND]"
BIGINTS = "k INT, v BIGINT"
PLANS = (
    *("", "method = ic, early = none", "method = tc", "method = tc, early = none", "method = pc", "early = a"),
    *("index = 'a list'", "index = 'a btree, b btree'"),
)


def joined(select: str, option: str = "", tail: str = "") -> str:
    text = f"SELECT {select} FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k{tail}"
    return f"{text} OPTION ({option})" if option else text


def machine_of(text: str, left: Sequence[int], right: Sequence[int], counts: tuple[int, int]) -> InProcess:
    """Two streams in which every row stands for many equal ones."""
    machine = InProcess(plan_of(text, BIGINTS))
    feed(machine, {"a": rows(left, k=1), "b": rows(right, k=1)})
    multiplied(machine, dict(enumerate(counts)))
    return machine


def multiplied(machine: InProcess, counts: Mapping[int, int]) -> None:
    """Makes every live entry of an input one of so many rows of the same value."""
    for fold in machine.buckets:
        if isinstance(fold, Fold):
            for ordinal, intake in fold.intakes.items():
                for entries in intake.cells.all() if ordinal in counts else ():
                    own = entries.payload
                    reals = own.reals * counts[ordinal]
                    entries.payload = own._replace(ints=own.ints * counts[ordinal], reals=reals)


def exact_answers(left: Sequence[int], right: Sequence[int], counts: tuple[int, int]) -> dict[int, dict[str, Any]]:
    """COUNT, SUM(a.v), SUM(b.v), SUM(a.v * b.v) at every instant, by their definition."""
    found = {}
    for instant in range(1, max(len(left), len(right)) + 5):
        held = [own[max(0, instant - 4) : instant] for own in (left, right)]
        pairs = counts[0] * counts[1]
        found[instant] = {
            "COUNT(*)": pairs * len(held[0]) * len(held[1]),
            "SUM(a.v)": pairs * sum(held[0]) * len(held[1]),
            "SUM(b.v)": pairs * sum(held[1]) * len(held[0]),
            "SUM(a.v * b.v)": pairs * sum(held[0]) * sum(held[1]),
        }
    return found


def averages(exact: Mapping[int, Mapping[str, int]]) -> dict[int, tuple[float | None, ...]]:
    names = ("SUM(a.v)", "SUM(b.v)", "SUM(a.v * b.v)")
    return {
        instant: tuple(float(Fraction(own[name], own["COUNT(*)"])) if own["COUNT(*)"] else None for name in names)
        for instant, own in exact.items()
    }


AVERAGES = "AVG(a.v) AS x, AVG(b.v) AS y, AVG(a.v * b.v) AS z"
values = st.lists(
    st.sampled_from([0, 1, -1, 2**31 - 1, -(2**31), 2**40 + 2**31 - 1, LARGEST, -LARGEST - 1]), min_size=1, max_size=6
)
many = st.sampled_from([1, 10**5, 2**24, 2**28])


@pytest.mark.parametrize("option", PLANS)
def test_averages_over_very_many_combinations(option: str) -> None:
    """MAX beside them; nothing is left of what is wide when the rows have left."""

    @given(left=values, right=values, counts=st.tuples(many, many))
    def hold(left: list[int], right: list[int], counts: tuple[int, int]) -> None:
        select = AVERAGES if "ic" in option else f"{AVERAGES}, MAX(a.v) AS m"  # IC has no extremes
        found = answer(machine_of(joined(select, option), left, right, counts), to_the_end=True)
        expected = averages(exact_answers(left, right, counts))
        assert {row[0]: row[1:4] for row in found} == {row[0]: expected[row[0]] for row in found}
        for instant, average, _, _, *largest in found:
            held = left[max(0, instant - 4) : instant] if average is not None else []
            assert largest in ([], [max(held, default=None)])

    hold()


@given(
    left=values,
    right=values,
    counts=st.tuples(many, many),
    name=st.sampled_from(["COUNT(*)", "SUM(b.v)", "SUM(a.v * b.v)"]),
)
def test_what_fits_is_exact_and_what_does_not_is_named(
    name: str, left: list[int], right: list[int], counts: tuple[int, int]
) -> None:
    exact = {instant: own[name] for instant, own in exact_answers(left, right, counts).items()}
    machine = machine_of(joined(f"{name} AS s"), left, right, counts)
    wrong = [value for value in exact.values() if not -(2**63) <= value < 2**63]
    if wrong:
        with pytest.raises(EvaluationError, match=r"^-?[0-9]+ does not fit BIGINT$") as caught:
            answer(machine, to_the_end=True)
        assert int(str(caught.value).split()[0]) in wrong
    else:
        assert all((row[1] or 0) == exact[row[0]] for row in answer(machine, to_the_end=True))


def test_a_billion_over_ten_billion_pairs() -> None:
    found = answer(machine_of(joined("AVG(a.v) AS m"), [10**9], [1], (10**5, 10**5)), to_the_end=True)
    assert found[0] == (1, 1e9)
    found = answer(machine_of(joined("AVG(a.v) AS m"), [LARGEST], [1], (2**17, 2**17)), to_the_end=True)
    assert found[0] == (1, float(LARGEST))


@pytest.mark.parametrize("option", PLANS)
def test_a_number_of_combinations_that_is_0_modulo_2_to_the_64(option: str) -> None:
    counts = (2**32, 2**32)
    found = answer(machine_of(joined("AVG(a.v) AS m", option), [7], [1], counts), to_the_end=True)
    assert [row[1] for row in found] == [7.0] * 4 + [None]
    with pytest.raises(EvaluationError, match=f"^{2**64} does not fit BIGINT$"):
        answer(machine_of(joined("COUNT(*) AS n", option), [7], [1], counts), to_the_end=True)


def test_only_a_bucket_that_needs_it_is_widened() -> None:
    for value, is_wide_then in ((7, False), (2**31 - 1, True)):
        machine = machine_of(joined("SUM(a.v) AS s, AVG(b.v) AS m"), [value], [value], (10**6, 10**6 // 2))
        if is_wide_then:
            with pytest.raises(EvaluationError, match="does not fit"):
                answer(machine, to_the_end=True)
        else:
            answer(machine, to_the_end=True)
        assert [bucket.is_wide for bucket in machine.buckets if isinstance(bucket, LiveBucket)] == [is_wide_then]


@pytest.mark.parametrize("option", PLANS)
def test_changes_beyond_64_bits(option: str) -> None:
    """Sums of 2^64 and −2^64 are the same modulo 2^64, and so is 0."""
    left, counts = [2**30, 2**30, -(2**30), -(2**30), 5, 5, 2**30], (2**17, 2**17)
    text = "SELECT AVG(a.v) AS m FROM a [TUMBLE 1 MICROSECOND], b [9 MICROSECOND SLIDE 1 MICROSECOND] WHERE a.k = b.k"
    options = f" OPTION ({option})" if option else ""
    found = answer(machine_of(f"{text} CHANGES{options}", left, [1], counts), to_the_end=True)
    expected = [float(2**30), float(-(2**30)), 5.0, float(2**30), None]
    assert [row[2] for row in found] == expected and [row[0] for row in found] == [1, 3, 5, 7, 8]


def test_parts_of_a_group_that_are_wide_together() -> None:
    """Each bucket's part fits into an int64, their sum does not. Its average does."""
    machine = InProcess(plan_of(joined("AVG(a.v) AS m"), BIGINTS), 16)
    feed(machine, {name: [{"ts": 0, "k": k, "v": 10**9} for k in range(7)] for name in ("a", "b")})
    multiplied(machine, {0: 6 * 10**4, 1: 6 * 10**4})
    assert answer(machine, to_the_end=True)[0] == (1, 1e9)
    assert not any(bucket.is_wide for bucket in machine.buckets if isinstance(bucket, LiveBucket))
    counting = InProcess(plan_of(joined("COUNT(*) AS n"), BIGINTS), 16)
    feed(counting, {name: [{"ts": 0, "k": k, "v": 1} for k in range(7)] for name in ("a", "b")})
    multiplied(counting, {0: 12 * 10**8, 1: 12 * 10**8})
    with pytest.raises(EvaluationError, match=f"^{7 * 144 * 10**16} does not fit BIGINT$"):
        answer(counting, to_the_end=True)


def by_bucket(text: str, counts: Sequence[int]) -> Answers:
    """Eight keys, in buckets in which every row stands for so many."""
    machine = InProcess(plan_of(text, BIGINTS), len(counts))
    feed(machine, {name: [{"ts": 0, "k": k, "v": 2**31 - 1 - k} for k in range(8)] for name in ("a", "b")})
    for bucket in machine.buckets:
        assert isinstance(bucket, Fold)
        for intake in bucket.intakes.values():
            for entries in intake.cells.all():
                entries.payload = entries.payload._replace(ints=entries.payload.ints * counts[bucket.number])
    return [row[1:] for row in answer(machine, to_the_end=True) if row[0] == 1]


@given(counts=st.lists(st.sampled_from([1, 10**5, 2**22]), min_size=3, max_size=3))
def test_wide_buckets_beside_narrow_ones(counts: list[int]) -> None:
    pairs = by_bucket(joined("a.v, COUNT(*) AS n", tail=" GROUP BY a.v"), counts)
    total = sum(number for _, number in pairs)
    exact = [Fraction(sum(number * value**power for value, number in pairs), total) for power in (1, 2)]
    assert by_bucket(joined("AVG(a.v) AS m, AVG(a.v * b.v) AS p"), counts) == [tuple(map(float, exact))]


def test_three_streams_over_one_key() -> None:
    text = f"SELECT AVG(a.v) AS m, AVG(c.v) AS n FROM a {WINDOW}, b {WINDOW}, a AS c {WINDOW}"
    machine = InProcess(plan_of(f"{text} WHERE a.k = b.k AND b.k = c.k", BIGINTS), 1)
    feed(machine, {"a": rows([10**9, 3 * 10**9], k=1), "b": rows([1], k=1)})
    multiplied(machine, {0: 10**6, 1: 10**6, 2: 10**6})
    assert answer(machine, to_the_end=True)[:2] == [(1, 1e9, 1e9), (2, 2e9, 2e9)]


CHAIN = f"FROM a {WINDOW}, b {WINDOW}, c {WINDOW} WHERE a.k = b.k AND b.j = c.j"


def chained(select: str, count: int) -> Answers:
    """Every row of every stream stands for ``count`` rows."""
    machine = InProcess(chain_of(f"SELECT {select} {CHAIN}", "k INT, j INT, v BIGINT", "abc"), 2)
    feed(machine, {name: rows([10**9], k=1, j=2) for name in "abc"})
    for fold in machine.buckets:
        for intake in fold.intakes.values() if isinstance(fold, Fold) else ():
            for entries in intake.cells.all() if isinstance(intake, TimedIntake) else ():
                entries.payload = entries.payload._replace(ints=entries.payload.ints * count)
    return answer(machine, to_the_end=True)


def test_a_chain() -> None:
    """Rows of the view fit, the totals over them do not. If rows of the view do not fit, the query is refused."""
    found = chained("AVG(a.v) AS m, AVG(c.v) AS n, AVG(b.v * c.v) AS p", 30_000)
    assert found[0] == (1, 1e9, 1e9, 1e18)
    with pytest.raises(EvaluationError, match=f"^{30_000**3 * 10**9} does not fit BIGINT$"):
        chained("SUM(a.v) AS s", 30_000)
    with pytest.raises(EvaluationError, match="too many combinations"):
        chained("AVG(a.v) AS m, AVG(c.v) AS n", 10**6)


def test_a_group_that_having_removes_must_fit_too() -> None:
    text = joined("COUNT(*) AS n", tail=" GROUP BY a.v HAVING SUM(a.v) > 0")
    with pytest.raises(EvaluationError, match=f"^{-(2**40) * 10**12} does not fit BIGINT$"):
        answer(machine_of(text, [-(2**40)], [1], (10**6, 10**6)), to_the_end=True)


# --- two halves of a number ---------------------------------------------------------------------------------------


@given(st.lists(st.integers(-(2**120), 2**120), max_size=5), st.integers(-(2**61), 2**61))
def test_a_number_is_known_from_its_residue_and_its_size(exact: list[int], error: int) -> None:
    residues = np.array([(value + 2**63) % 2**64 - 2**63 for value in exact], np.int64)
    about = [value + error for value in exact]
    high = np.array([float(value) for value in about])
    low = np.array([float(value - int(near)) for value, near in zip(about, high.tolist(), strict=True)])
    near_enough = all(abs(value) >= 2**63 or error == 0 for value in exact)
    if near_enough:
        assert whole_numbers(residues, high, low).tolist() == exact


TOTALS = Totals((), 1, 1, (), (0,))


def totals_of(count: int, product: int, wide: bool) -> pa.RecordBatch:
    high, low = real_columns(0)
    columns = {integer_column(0): pa.array([count]), high: pa.array([float(product)]), low: pa.array([0.0])}
    if wide:
        columns |= {integer_column(1): pa.array([product]), real_columns(1)[0]: pa.array([float(count)])}
        columns[real_columns(1)[1]] = pa.array([0.0])
    return pa.RecordBatch.from_pydict(columns)


def test_narrow_parts_are_widened_beside_wide_ones() -> None:
    narrow, wide = totals_of(3, 5, False), totals_of(4, 6, True)
    assert alike(TOTALS, [narrow, narrow]) == [narrow, narrow]
    parts = alike(TOTALS, [narrow, wide])
    assert all(is_wide(TOTALS, part) for part in parts)
    assert [part.select(sorted(part.schema.names)).to_pylist() for part in parts] == [
        part.select(sorted(part.schema.names)).to_pylist() for part in (totals_of(3, 5, True), wide)
    ]
    assert narrowed(TOTALS, wide) == totals_of(4, 6, False)


def test_a_view_has_no_room_for_wide_totals() -> None:
    wide = totals_of(4, 6, True)
    too_large = wide.set_column(
        wide.schema.get_field_index(real_columns(1)[0]), real_columns(1)[0], pa.array([2.0**64])
    )
    with pytest.raises(EvaluationError, match="too many combinations"):
        narrowed(TOTALS, too_large)
