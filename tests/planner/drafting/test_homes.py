"""Where relations are joined, and what is left for the join of streams."""

import pytest

from joinfold import Session
from joinfold.logical.query import LogicalQuery
from joinfold.logical.sql import expression_text
from joinfold.physical.plan import Frame
from joinfold.planner.drafting.draft import draft
from joinfold.planner.drafting.homes import homes_are_open
from joinfold.planner.planned_query import PlannedQuery

A, B = "s a [TUMBLE 1 MINUTE]", "s b [TUMBLE 1 MINUTE]"


def plan_of(inputs: str, where: str, select: str = "COUNT(*) AS n") -> PlannedQuery:
    session = Session()
    session.stream("s", "ts TIMESTAMP, k INT, v INT, t STRING", time="ts")
    session.table("r", "k INT, v INT, t STRING")
    return session.sql(f"SELECT {select} FROM {inputs} WHERE {where}").plan


def attached(frame: Frame) -> list[tuple[str, list[str], list[str]]]:
    """The relations of each attachment, what they are joined on, and what is said of them alone."""
    return [
        (
            " ".join(relation.alias for relation in attachment.relations),
            [expression_text(key.condition) for key in attachment.keys],
            [expression_text(part) for part in attachment.conditions],
        )
        for attachment in frame.attached
    ]


def key_texts(plan: PlannedQuery) -> list[list[str]]:
    return [[expression_text(member) for member in members] for members in plan.keys]


def test_a_relation_goes_to_the_first_stream_that_has_an_equal_value() -> None:
    plan = plan_of(f"{A}, {B}, r", "a.v < r.v AND b.k = r.k AND a.k = b.k")
    assert [attached(frame) for frame in plan.frames] == [[], [("r", ["b.k = r.k"], [])]]
    both = plan_of(f"r, {A}, {B}", "b.k = r.k AND a.k = r.k")
    assert [attached(frame) for frame in both.frames] == [[("r", ["a.k = r.k"], [])], []]
    assert key_texts(both) == [["b.k", "r.k"]], "what is said of another stream stays a key of the join"


def test_without_an_equal_value_it_goes_to_the_first_stream_of_any_condition() -> None:
    plan = plan_of(f"{A}, {B}, r", "a.k = b.k AND b.v + r.v > 3 AND a.v <> r.v")
    assert attached(plan.frames[0]) == [("r", [], [])] and not plan.frames[1].attached
    assert [expression_text(part) for part in plan.frames[0].matching] == ["a.v <> r.v"]
    (condition,) = plan.body.combining.conditions
    assert condition.ordinals == (0, 1)


def test_relations_that_are_connected_go_together_and_others_apart() -> None:
    plan = plan_of(f"{A}, r p, r q, r o", "a.k = p.k AND p.v = q.v AND q.t = 'x' AND a.v = o.v AND o.v + p.v > a.v")
    (frame,) = plan.frames
    assert sorted(attached(frame)) == [
        ("o", ["a.v = o.v"], []),
        ("p q", ["a.k = p.k"], ["p.v = q.v", "q.t = 'x'"]),
    ]
    assert [expression_text(part) for part in frame.matching] == ["o.v + p.v > a.v"]


def test_each_stream_has_its_own_relations() -> None:
    linked = plan_of(f"{A}, r p, {B}, r q", "a.k = p.k AND b.k = q.k AND p.v = q.v AND a.t = b.t AND a.v > 0")
    assert [attached(frame) for frame in linked.frames] == [[("p", ["a.k = p.k"], [])], [("q", ["b.k = q.k"], [])]]
    assert linked.homes == {"p": "a", "q": "b"}
    assert key_texts(linked) == [["p.v", "q.v"], ["a.t", "b.t"]], "what links them is a key of the streams"
    apart = plan_of(f"{A}, r p, {B}, r q", "a.k = p.k AND b.k = q.k AND p.v + a.v = q.v AND a.v > 0")
    assert [attached(frame)[0][0] for frame in apart.frames] == ["p", "q"]
    assert key_texts(apart) == [["p.v + a.v", "q.v"]], (
        "an expression over a stream and its relation is one of the stream"
    )
    keep = apart.frames[0].keep
    assert keep is not None and expression_text(keep) == "a.v > 0"


def test_relations_of_one_home_with_their_own_equality_are_joined_one_after_another() -> None:
    plan = plan_of(f"{A}, r p, r q", "a.k = p.k AND a.v = q.v AND p.t = q.t AND q.k > 3")
    (frame,) = plan.frames
    assert attached(frame) == [("p", ["a.k = p.k"], []), ("q", ["a.v = q.v"], ["q.k > 3"])]
    assert [expression_text(part) for part in frame.matching] == ["p.t = q.t"]


def test_a_relation_without_an_equal_stream_goes_where_its_equal_relation_is() -> None:
    plan = plan_of(f"{A}, {B}, r q, r p", "a.k = b.k AND p.v = q.v AND b.t = p.t AND a.v < q.k")
    assert [attached(frame) for frame in plan.frames] == [[], [("q p", ["b.t = p.t"], ["p.v = q.v"])]]
    (condition,) = plan.body.combining.ranges
    assert condition.value_input != condition.bound_input


EQUAL_TO_BOTH = f"SELECT COUNT(*) AS n FROM {A}, {B}, r WHERE a.k = b.k AND a.k = r.k AND b.v = r.v"


def bound(text: str) -> LogicalQuery:
    session = Session()
    session.stream("s", "ts TIMESTAMP, k INT, v INT, t STRING", time="ts")
    session.table("r", "k INT, v INT, t STRING")
    return session.sql(text).logical


@pytest.mark.parametrize(
    ("matches", "home"),
    [({}, "a"), ({("r", "a"): 5000.0, ("r", "b"): 1.0}, "b"), ({("r", "a"): 1.0, ("r", "b"): 1.0}, "a")],
)
def test_the_fewest_matches_decide_between_equal_streams(matches: dict[tuple[str, str], float], home: str) -> None:
    drafted = draft(bound(EQUAL_TO_BOTH), matches=matches)
    assert drafted.homes == {"r": home} and homes_are_open(drafted.query)
    assert drafted.matches == ({("r", home): matches["r", home]} if matches else {})


def test_more_equalities_decide_where_nothing_is_known() -> None:
    assert draft(bound(f"{EQUAL_TO_BOTH} AND b.t = r.t")).homes == {"r": "b"}
    assert not homes_are_open(bound(EQUAL_TO_BOTH.replace("b.v = r.v", "b.v < r.v")))


def test_the_homes_of_a_checkpoint_stay() -> None:
    matches = {("r", "a"): 1.0, ("r", "b"): 9.0}
    assert draft(bound(EQUAL_TO_BOTH), matches=matches, homes_of={"r": "b"}).homes == {"r": "b"}


def test_if_rows_may_be_sampled_linked_relations_stay_together() -> None:
    """Otherwise not every pair of a key would match."""
    text = (
        f"SELECT COUNT(*) AS n FROM {A}, {B}, r p, r q WHERE a.k = b.k AND a.k = p.k AND b.k = q.k AND p.v < q.v "
        "SHED TO HOLD 100 ROWS"
    )
    assert draft(bound(text)).homes == {"p": "a", "q": "a"}
    assert draft(bound(text.replace("a.k = b.k", "a.t = b.t"))).homes == {"p": "a", "q": "b"}


def test_values_of_a_stream_and_its_relation_are_multiplied_where_they_are() -> None:
    plan = plan_of(f"{A}, r, {B}", "a.k = r.k AND a.k = b.k", "SUM(a.v * r.v * b.v) AS s")
    assert not plan.body.combining
    columns = [[expression_text(column.expression) for column in frame.columns] for frame in plan.frames]
    assert columns[0][1] == "CAST(a.v AS BIGINT) * r.v" and columns[1] == ["b.k", "b.v"]


def test_rows_of_one_time_are_ordered_by_the_columns_of_their_stream() -> None:
    plan = plan_of("s a [1 MINUTE], r", "a.k = r.k AND r.v > a.v", "COUNT(*) AS n, MAX(r.t) AS t")
    assert not [column for column in plan.frames[0].columns if column.role == "order"]
    arrival = plan_of("s a [1 MINUTE], r", "a.k = r.k AND r.v > a.v EMIT ON ARRIVAL", "COUNT(*) AS n, MAX(r.t) AS t")
    ordered = [expression_text(column.expression) for column in arrival.frames[0].columns if column.role == "order"]
    assert ordered == ["a.k", "a.v"]
