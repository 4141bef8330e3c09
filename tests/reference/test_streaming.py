"""Laws of streaming runs: how rows were batched decides what is late, and nothing else."""

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import Case, assert_same_answers, cases

from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import OnArrival, OnTrigger, OnWindowId, Source
from joinfold.reference import naive
from joinfold.reference.streaming import StreamingRun, stream
from joinfold.window import Continuous, Landmark, Sliding

Batch = dict[str, list[dict[str, Any]]]


def relations_first(case: Case, batches: list[Batch]) -> list[Batch]:
    """The batches with all rows of relations in the first one."""
    static = {name: case.data[name] for name, source in case.catalog.items() if not source.is_stream}
    return [{**batch, **static} if place == 0 else batch for place, batch in enumerate(batches)]


def cut_by_time(case: Case, cuts: list[int]) -> list[Batch]:
    edges = [-(10**9), *sorted(cuts), 10**9]
    batches = []
    for low, high in itertools.pairwise(edges):
        batches.append(
            {
                name: [row for row in rows if row["ts"] is not None and low <= row["ts"] < high]
                for name, rows in case.data.items()
                if case.catalog[name].is_stream
            }
        )
    return relations_first(case, batches)


@given(case=cases(), cuts=st.lists(st.integers(-30, 60), max_size=4))
def test_cutting_batches_elsewhere_changes_nothing(case: Case, cuts: list[int]) -> None:
    query = case.bind()
    if isinstance(query.emit, OnTrigger):
        return
    whole, cut = stream(query, cut_by_time(case, [])), stream(query, cut_by_time(case, cuts))
    assert sum(cut.late.values()) == 0
    assert_same_answers(whole.answers, cut.answers)


@given(case=cases())
def test_a_run_in_one_batch_is_a_bounded_run_up_to_its_watermark(case: Case) -> None:
    query = case.bind()
    if isinstance(query.emit, OnTrigger) or isinstance(query.sync, OnWindowId):
        return
    batches = cut_by_time(case, [])
    reached = [max((row["ts"] for row in batches[0][input_.source.name]), default=None) for input_ in query.streams]
    if None in reached:
        assert stream(query, batches).answers == []
        return
    watermark = min(
        ts - input_.source.delay_us for ts, input_ in zip(reached, query.streams, strict=True) if ts is not None
    )
    final = watermark - 1 if isinstance(query.emit, OnArrival) else watermark
    if query.is_plain_join and all(isinstance(i.window, Sliding | Continuous | Landmark) for i in query.streams):
        final = 2**62  # a combination exists as soon as its rows have arrived
    expected = [row for row in naive.answers(query, case.data) if row[0] <= final]
    assert_same_answers(stream(query, batches).answers, expected)


@given(case=cases(), data=st.data())
def test_late_rows_change_only_the_late_counter(case: Case, data: st.DataObject) -> None:
    query = case.bind()
    streams = [name for name, source in case.catalog.items() if source.is_stream]
    rows = [(name, row) for name in streams for row in case.data[name]]
    places = [data.draw(st.integers(0, 2)) for _ in rows]
    batches: list[Batch] = [{name: [] for name in streams} for _ in range(3)]
    for (name, row), place in zip(rows, places, strict=True):
        batches[place][name].append(row)
    batches = relations_first(case, batches)
    run = stream(query, batches)
    without = [{name: on_time(query, batches, place, name) for name in batch} for place, batch in enumerate(batches)]
    again = stream(query, without)
    if len({input_.source.name for input_ in query.inputs}) == len(query.inputs):
        assert_same_answers(run.answers, again.answers)
        assert sum(again.late.values()) == 0


def on_time(query: Any, batches: list[Batch], place: int, name: str) -> list[dict[str, Any]]:
    from joinfold.reference.streaming import _is_late, watermark_history

    history = watermark_history(query, batches, [1, 2, 3])
    readers = [input_ for input_ in query.streams if input_.source.name == name]
    return [
        row for row in batches[place][name] if not readers or not _is_late(query, readers[0], row["ts"], history[place])
    ]


CATALOG = {
    name: Source(name, read_schema("ts TIMESTAMP, k INT, v BIGINT"), True, "ts", delay_us=2) for name in ("s", "r")
}


def run(text: str, *batches: Batch) -> StreamingRun:
    return stream(bind(parse(text), CATALOG), batches)


def rows(*times: int, v: int = 1) -> list[dict[str, Any]]:
    return [{"ts": ts, "k": 1, "v": v} for ts in times]


def test_all_rows_of_a_subwindow_are_late_together() -> None:
    r"""
    0    5    10   15   20     windows end at 10, 15, 20; the watermark of batch 1 is 17 - 2 = 15
    |----|----|----|----|
               b   a  ^W      11 and 14 enter at 15 ≤ W: late; 16 enters at 20
    """
    answered = run(
        "SELECT COUNT(*) FROM s [10 MICROSECOND SLIDE 5 MICROSECOND]", {"s": rows(17)}, {"s": rows(11, 14, 16)}
    )
    assert answered.late == {"s": 2}


def test_late_rows_that_the_filter_removes_are_not_counted() -> None:
    text = "SELECT COUNT(*) FROM s [5 MICROSECOND SLIDE 5 MICROSECOND] WHERE s.v > 0"
    assert run(text, {"s": rows(20)}, {"s": rows(3, v=0) + rows(4, v=1)}).late == {"s": 1}


def test_a_filter_that_lets_nothing_through_does_not_stop_time() -> None:
    text = "SELECT COUNT(*) AS n FROM s [5 MICROSECOND SLIDE 5 MICROSECOND] WHERE s.v > 0 CHANGES"
    answered = run(text, {"s": rows(1)}, {"s": rows(8, 13, v=0)}, {"s": rows(19, v=0)})
    assert answered.answers == [(5, "insert", 1), (10, "update", 0)]


def test_with_emit_every_a_row_may_come_until_its_first_answer() -> None:
    """The window moves at 5, but the first answer is at 10: with W = 8 the row at 3 is still in time."""
    text = "SELECT COUNT(*) AS n FROM s [10 MICROSECOND SLIDE 5 MICROSECOND] EMIT EVERY 10 MICROSECONDS"
    answered = run(text, {"s": rows(10)}, {"s": rows(3)}, {"s": rows(12)})
    assert answered.late == {"s": 0}
    assert answered.answers == [(10, 1)]


def test_a_stream_without_rows_holds_everything_back() -> None:
    text = "SELECT COUNT(*) AS n FROM s [5 MICROSECOND SLIDE 5 MICROSECOND], r [UNBOUNDED] WHERE s.k = r.k"
    assert run(text, {"s": rows(1, 50)}, {"s": rows(99)}).answers == []
    assert run(text, {"s": rows(1, 50)}, {"r": rows(7)}).answers == [(5, 0)]


def test_triggers_answer_at_each_advance_of_the_watermark() -> None:
    text = "SELECT COUNT(*) AS n FROM s [5 MICROSECOND] EMIT ON TRIGGER"
    assert run(text, {"s": rows(4)}, {"s": rows(3)}, {"s": rows(9)}).answers == [(2, 0), (7, 2)]


def test_a_row_without_a_time_is_late() -> None:
    text = "SELECT COUNT(*) AS n FROM s [5 MICROSECOND SLIDE 5 MICROSECOND]"
    answered = run(text, {"s": [{"ts": None, "k": 1, "v": 1}, *rows(7)]})
    assert answered.late == {"s": 1}
    assert answered.answers == []


def test_windows_before_start_have_no_number_and_make_no_row_late() -> None:
    r"""
    4   8   12  16  20         [6 SLIDE 4 START 8]: window 0 is [8, 14); [4, 10) would hold the row at 9, too
        |-----)                the watermark of batch 1 is 13 - 2 = 11
         x  ^W
    """
    text = """SELECT COUNT(*) AS n FROM s [6 MICROSECOND SLIDE 4 MICROSECOND START TIMESTAMP
              '1970-01-01 00:00:00.000008'] SYNC ON WINDOW ID"""
    answered = run(text, {"s": rows(13)}, {"s": rows(9)}, {"s": rows(16)}, {"s": rows(10)})
    assert answered.late == {"s": 1}
    assert answered.answers == [(0, 8, 14, 2)]
