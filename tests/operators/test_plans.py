"""Every plan gives the answers of the definition: cells of the matrix, and random queries with random plans."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.errors import QueryError, UsageError
from joinfold.inprocess import InProcess
from joinfold.operators.windows import live
from joinfold.physical.choice import SUMS
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query
from joinfold.reference import naive
from tests import refusals
from tests.operators.matrix import Combination, check, combinations
from tests.operators.runs import answer, check_batches, feed, plan_of
from tests.operators.test_machine import RUNS, planned, scattered
from tests.strategies import Case, assert_same_answers, cases

CELLS = list(combinations())
ANY_JOIN = cases(modes=RUNS, plain=False, inputs=(1, 3))
COMMON_KEY = cases(
    modes=RUNS, plain=False, inputs=(3, 5), most_rows=5, connection=lambda left, right: st.just(f"{left}.k = {right}.k")
)
PLAIN = cases(modes=("default",), plain=True, inputs=(1, 3))
STRUCTURES = ("list", "hash", "hash(buckets=4)", "btree", "btree(order=4)", "ttree", "ttree(node_size=4)")


@given(cell=st.sampled_from(CELLS), seed=st.integers(0, 10**6))
def test_cells_of_the_matrix(cell: Combination, seed: int) -> None:
    check(cell, seed)


@st.composite
def plans(draw: st.DrawFn, aliases: list[str]) -> Plan:
    """Any plan, whether it can be or not."""
    early = st.lists(st.sampled_from(aliases), unique=True).map(tuple)
    return Plan(
        draw(st.sampled_from([None, "pc", "ic", "tc"])),
        draw(st.one_of(st.none(), early)),
        {alias: draw(st.sampled_from(STRUCTURES)) for alias in aliases if draw(st.booleans())},
        draw(st.one_of(st.none(), st.permutations(aliases).map(tuple))),
    )


@given(case=ANY_JOIN, buckets=st.integers(1, 3), data=st.data())
def test_random_queries_with_random_plans(case: Case, buckets: int, data: st.DataObject) -> None:
    query = case.bind()
    usual = planned(case)
    if usual is None:
        return
    plan = refusals.planned(query, case.text, data.draw(plans([input_.alias for input_ in query.inputs])))
    assert plan is not None
    if plan.root == usual.root:
        assert plan.pipeline == usual.pipeline  # whatever else the plan, the stored state is the same
    check_batches(InProcess(plan, buckets), scattered(case, data))


@given(case=PLAIN, buckets=st.integers(1, 3), data=st.data())
def test_plain_joins_give_each_combination_once(case: Case, buckets: int, data: st.DataObject) -> None:
    plan = planned(case)
    if plan is None:
        return
    machine = InProcess(plan, buckets)
    feed(machine, case.data)
    assert_same_answers(naive.answers(plan.query, case.data), answer(machine, to_the_end=True))
    check_batches(InProcess(plan, buckets), scattered(case, data))


@given(case=COMMON_KEY, buckets=st.integers(1, 3), data=st.data())
def test_many_streams_with_one_key(case: Case, buckets: int, data: st.DataObject) -> None:
    plan = planned(case)
    if plan is None:
        return
    check_batches(InProcess(plan, buckets), scattered(case, data))


def test_more_than_a_million_combinations_of_three_streams() -> None:
    window = "[100 MICROSECOND SLIDE 50 MICROSECOND]"
    inputs = f"a {window}, b {window}, a c {window}"
    text = f"SELECT b.g, COUNT(*) AS n, SUM(c.v) AS s FROM {inputs} WHERE a.k = b.k AND b.k = c.k GROUP BY b.g"
    plan = plan_of(text, "k INT, g INT, v INT")
    assert plan.choice.windows == "sets"
    data = {name: [{"ts": ts % 40, "k": 1, "g": ts % 3, "v": ts} for ts in range(120)] for name in ("a", "b")}
    machine = InProcess(plan, 1)
    feed(machine, data)
    total = 120 * sum(range(120)) * 40
    assert [row[1:] for row in answer(machine, to_the_end=True)[:3]] == [(group, 576_000, total) for group in range(3)]


WINDOW = "[10 MICROSECOND SLIDE 5 MICROSECOND]"
JOINED = f"FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k"
COUNTED = f"FROM a [ROWS 5], b {WINDOW} WHERE a.k = b.k"
BAND = f"FROM a {WINDOW}, b {WINDOW} WHERE a.v BETWEEN b.v - 1 AND b.v + 1"


@pytest.mark.parametrize(
    ("text", "plan", "message"),
    [
        (f"SELECT MAX(a.v) AS m {JOINED}", Plan("ic"), "IC cannot maintain a MIN or MAX"),
        (f"SELECT COUNT(*) AS n {BAND}", Plan(index={"a": "hash"}), "hash finds equal keys only"),
        (f"SELECT COUNT(*) AS n {JOINED}", Plan(index={"a": "sums"}), "sums over ranges need"),
        (f"SELECT COUNT(*) AS n {BAND}", Plan("tc", index={"a": "sums", "b": "sums"}), "sums over ranges need"),
        (f"SELECT COUNT(*) AS n {JOINED}", Plan(early=("c",)), "the plan names an unknown input 'c'"),
        (f"SELECT a.v, b.v AS w {JOINED}", Plan("tc"), "a plain join has nothing to aggregate"),
        (f"SELECT COUNT(*) AS n {COUNTED}", Plan("tc"), "TC must know when rows leave"),
        (f"SELECT COUNT(*) AS n {COUNTED}", Plan("pc"), "PC must know when rows leave"),
        (f"SELECT MAX(a.v) AS m {COUNTED}", Plan(early=("a",)), "MIN and MAX need every row"),
    ],
)
def test_what_a_method_or_structure_cannot_do_is_refused(text: str, plan: Plan, message: str) -> None:
    with pytest.raises(QueryError, match=message) as refused:
        plan_query(plan_of(text, "k INT, v INT").query, plan)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("method=xc", "unknown method 'xc'"),
        ("methode=tc", "unknown option 'methode'"),
        ("index=a skiplist", "unknown index 'skiplist'"),
        ("index=a hash(order=9)", "hash has no parameter order=9"),
        ("index=a btree(order=2)", "btree has no parameter order=2"),
        ("index=a", "'a' is not an input and an index"),
        ("tc", "'tc' is not of the form name=value"),
        ("method=tc; method=pc", "option 'method' is given twice"),
        ("index=a hash, a list", "input 'a' is given two indexes"),
        ("index=a btree(order=²)", "'order=²' is not a parameter of btree"),
        ("index=a hash(buckets=99999999999999999999)", "hash has no parameter buckets=99999999999999999999"),
    ],
)
def test_plans_that_are_no_plans(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Plan.parse(text)


def test_inputs_are_a_tuple_and_not_a_text() -> None:
    with pytest.raises(UsageError, match="early must be a tuple of inputs, not a string"):
        Plan(early="ab")  # type: ignore[arg-type]


def test_the_text_of_a_plan() -> None:
    plan = Plan.parse("method=TC; early=a, b; index=a hash(bucket_size=5, buckets=20), b btree; order=b,a")
    assert plan == Plan("tc", ("a", "b"), {"a": "hash(bucket_size=5, buckets=20)", "b": "btree"}, ("b", "a"))
    assert Plan.parse("early=none") == Plan(early=())


def test_option_says_the_same_and_is_overruled() -> None:
    text = f"SELECT COUNT(*) AS n {JOINED} OPTION (method = tc, index = 'a list')"
    query = plan_of(text, "k INT, v INT").query
    assert plan_query(query).choice == plan_query(query, Plan("tc", index={"a": "list"})).choice
    assert plan_query(query, Plan("pc")).choice.method == "pc"


def test_the_usual_plan_is_one_of_those_that_can_be_forced() -> None:
    equality, band = (
        plan_of(f"SELECT COUNT(*) AS n {JOINED}", "k INT, v INT"),
        plan_of(f"SELECT COUNT(*) AS n {BAND}", "k INT, v INT"),
    )
    assert equality.choice.windows == "sets"
    forced = Plan("ic", ("a", "b"), {"a": "hash", "b": "hash"})
    assert plan_query(equality.query, forced).choice == equality.choice
    assert set(band.choice.indexes) == {SUMS}
    forced = Plan("ic", ("a", "b"), {"a": "sums", "b": "sums"})
    assert plan_query(band.query, forced).choice == band.choice


def test_memory_of_enumeration_is_bounded_by_a_chunk() -> None:
    """Two thousand entries on each side, all of which match: four million combinations, a few of them at a time."""
    text = f"SELECT COUNT(*) AS n, SUM(a.v + b.v) AS s {JOINED}"
    plan = plan_of(text, "k INT, v INT")
    data = {name: [{"ts": 0, "k": 1, "v": value} for value in range(2000)] for name in ("a", "b")}
    machine = InProcess(plan, 1)
    feed(machine, data)
    assert answer(machine, to_the_end=True)[0][1:] == (4_000_000, 2 * 2000 * sum(range(2000)))
    assert machine.measures.most_bytes_held < 4_000_000


MOVING = "[20 MICROSECOND SLIDE 1 MICROSECOND]"


@pytest.mark.parametrize("plan", [Plan("tc", ("a", "b")), Plan("pc", ("a", "b")), Plan("tc", ())])
def test_memory_does_not_grow_with_time(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and values stay the same, but leaving times are always new."""
    monkeypatch.setattr(live, "MANY", 500)
    text = f"SELECT COUNT(*) AS n FROM a {MOVING}, b {MOVING} WHERE a.k = b.k"
    machine, held = InProcess(plan_query(plan_of(text, "k INT").query, plan)), []
    for start in range(0, 3000, 100):
        feed(machine, {name: [{"ts": ts, "k": ts % 3} for ts in range(start, start + 100)] for name in ("a", "b")})
        answer(machine)
        held.append(machine.measures.bytes_held)
    assert max(held[15:]) <= max(held[:15])
