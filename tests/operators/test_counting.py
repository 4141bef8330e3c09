"""Windows that count rows, without Spark, against the definition."""

import random
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from joinfold.dialect import bind, parse, read_schema
from joinfold.inprocess import InProcess
from joinfold.logical.query import LogicalQuery, Source
from joinfold.planner.planning import plan_query
from joinfold.reference import naive
from joinfold.reference.streaming import stream
from tests.operators.runs import answer, answers_when_made_anew, feed
from tests.strategies import assert_same_answers

COUNTING = (
    "[ROWS 3]",
    "[ROWS 4 SLIDE 2]",
    "[ROWS 2 SLIDE 3]",
    "[ROWS 6 SLIDE 4]",
    "[RANGE 4 MICROSECOND SLIDE 3 ROWS]",
    "[RANGE 9 MICROSECOND SLIDE 2 ROWS]",
)
KEYED = ("[PARTITION BY j ROWS 2]", "[PARTITION BY s ROWS 1]", "[PARTITION BY k, s ROWS 3]")
TIMED = ("[6 MICROSECOND SLIDE 2 MICROSECOND]", "[TUMBLE 3 MICROSECOND]", "[5 MICROSECOND]", "[UNBOUNDED]")
NUMBERED = (
    "[6 MICROSECOND SLIDE 2 MICROSECOND]",
    "[TUMBLE 3 MICROSECOND]",
    "[4 MICROSECOND SLIDE 3 MICROSECOND]",
    "[2 MICROSECOND SLIDE 3 MICROSECOND]",
    "[4 MICROSECOND SLIDE 2 MICROSECOND START TIMESTAMP '1970-01-01 00:00:00.000003']",
)
MEASURES = (
    "COUNT(*)",
    "SUM({x}.v)",
    "SUM({x}.v * {y}.v)",
    "AVG({x}.d)",
    "MAX({x}.v)",
    "MIN({y}.s)",
    "COUNT(*) FILTER (WHERE {x}.v > 0)",
)
RULES = ("", "", "", " EMIT ON SLIDE", " EMIT EVERY 2 MICROSECOND", " EMIT ON TRIGGER")
Batches = list[dict[str, list[dict[str, Any]]]]


def counted(draws: random.Random) -> tuple[LogicalQuery, Batches]:
    """A query with a window that counts rows, or over window ids; three micro-batches with many rows of one time."""
    aliases = "abc"[: draws.choice((1, 2, 2, 2, 3))]
    by_number, by_arrival = draws.random() < 0.4, draws.random() < 0.3
    windows = [draws.choice((*COUNTING, *KEYED)), *(draws.choice((*COUNTING, *KEYED, *TIMED)) for _ in aliases[1:])]
    if by_number:
        windows = [draws.choice((*COUNTING, *NUMBERED)) for _ in aliases]
    elif by_arrival:
        windows = [draws.choice(("[ROWS 3]", "[ROWS 1]", "[4 MICROSECOND]", "[UNBOUNDED]")) for _ in aliases]
    draws.shuffle(windows)
    keys = [("k", "k"), ("k", "k"), ("k", "j")] if len(aliases) < 3 else [("k", "k"), ("j", "j")]
    where = []
    for ordinal, two in enumerate(aliases[1:]):
        own, other = draws.choice(keys)
        where.append(f"{aliases[ordinal]}.{own} = {two}.{other}")
    where += [f"{draws.choice(aliases)}.v {draws.choice(('>', '<>'))} 0"] if draws.random() < 0.3 else []
    groups = [f"{alias}.s" for alias in aliases if draws.random() < 0.3]
    measures = [
        draws.choice(MEASURES).format(x=draws.choice(aliases), y=draws.choice(aliases))
        for _ in range(draws.randint(1, 2))
    ]
    is_plain = draws.random() < 0.3 and not (by_arrival and not by_number)
    if is_plain:
        groups, measures = [], [f"{alias}.{draws.choice('vs')}" for alias in aliases]
    shown = ", ".join(f"{part} AS o{number}" for number, part in enumerate([*groups, *measures]))
    text = f"SELECT {shown} FROM {', '.join(map(' '.join, zip(aliases, windows, strict=True)))}"
    text += f" WHERE {' AND '.join(where)}" if where else ""
    text += f" GROUP BY {', '.join(groups)}" if groups else ""
    changes = "" if is_plain else draws.choice(("", "", " CHANGES"))
    sync = " SYNC ON WINDOW ID" + (draws.choice(("", " MOD 1", " MOD 2", " MOD 3")) if len(aliases) == 2 else "")
    rule = "" if is_plain else " EMIT ON ARRIVAL" if by_arrival else draws.choice(RULES)
    text += changes + sync if by_number else rule + changes
    schema = read_schema("ts TIMESTAMP, k INT, j INT, v BIGINT, d DOUBLE, s STRING")
    query = bind(parse(text), {alias: Source(alias, schema, True, "ts", draws.choice((0, 2))) for alias in aliases})

    def row(batch: int) -> dict[str, Any]:
        return {
            "ts": 4 * batch + draws.randint(0, 5),
            "k": draws.choice((1, 1, 2, None)),
            "j": draws.choice((1, 2)),
            "v": draws.choice((-1, 0, 1, 2, None)),
            "d": draws.choice((0.5, -1.25, float("nan"), None)) if "AVG" not in text else draws.choice((0.5, -1.25)),
            "s": draws.choice(("x", "y", "ä", None)),
        }

    return query, [{alias: [row(batch) for _ in range(draws.randint(0, 8))] for alias in aliases} for batch in range(3)]


@given(draws=st.integers(0, 2**32).map(random.Random), buckets=st.integers(1, 3))
def test_bounded_runs_answer_as_defined(draws: random.Random, buckets: int) -> None:
    query, batches = counted(draws)
    data = {name: [row for batch in batches for row in batch[name]] for name in batches[0]}
    machine = InProcess(plan_query(query), buckets)
    feed(machine, data)
    assert_same_answers(naive.answers(query, data), answer(machine, to_the_end=True))


@given(draws=st.integers(0, 2**32).map(random.Random), buckets=st.integers(1, 3))
@example(draws=random.Random(7656214), buckets=1)  # late rows of a plain join by window ids, with START
def test_streaming_runs_answer_as_defined_and_count_late_rows(draws: random.Random, buckets: int) -> None:
    query, batches = counted(draws)
    machine, answered = InProcess(plan_query(query), buckets), []
    for batch in batches:
        feed(machine, batch)
        answered += answer(machine)
    expected = stream(query, batches)
    assert_same_answers(expected.answers, answered)
    assert machine.late == expected.late


@given(draws=st.integers(0, 2**32).map(random.Random))
def test_buckets_made_anew_from_their_entries_go_on_as_before(draws: random.Random) -> None:
    query, batches = counted(draws)
    made_anew = answers_when_made_anew(plan_query(query), batches)
    assert_same_answers(stream(query, batches).answers, made_anew)
