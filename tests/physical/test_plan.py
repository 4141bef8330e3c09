"""A plan knows its stages: which reads a stream, which a view, which answers, and what SELECT reads of the answer."""

from dataclasses import replace

import pytest

from joinfold.logical.sql import expression_text
from joinfold.physical.plan import Attachment, Equality
from joinfold.physical.source import StreamRows
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query
from tests.planner.known import JOINED, LAST, ROWS, WINDOW, chain_of, query_of


def test_every_stream_has_the_stage_that_reads_it() -> None:
    text = f"SELECT COUNT(*) AS n FROM a {ROWS}, b {LAST}, c {WINDOW} WHERE a.k = b.k AND b.j = c.j"
    plan = plan_query(query_of(text), Plan(root="c"))
    pipeline = plan.pipeline
    assert [type(stage).__name__ for stage in plan.stages] == [
        *("NumberRows", "LastRowsPerKey", "FoldAtInstants", "FoldAtInstants")
    ]
    assert [pipeline.stage_of(stream) for stream in range(3)] == [2, 1, 3]
    assert [pipeline.input_of(stream).source for stream in range(3)] == [StreamRows(stream) for stream in range(3)]
    assert [pipeline.reader_of(view) for view in (1, 2)] == [2, 3]
    assert pipeline.answering is plan.stages[3] is plan.answering and plan.body is plan.answering.body
    assert plan.choice is plan.choices[3]
    assert pipeline.numbers_rows and not plan_query(query_of(chain_of(3))).pipeline.numbers_rows


def test_there_is_a_choice_for_every_stage() -> None:
    plan = plan_query(query_of(chain_of(3)))
    with pytest.raises(AssertionError):
        replace(plan, choices=plan.choices[1:])


def test_another_zone_changes_nothing_else() -> None:
    pipeline = plan_query(query_of(chain_of(3))).pipeline
    moved = pipeline.in_zone("Asia/Tokyo")
    assert moved.timing.zone == "Asia/Tokyo" != pipeline.timing.zone
    assert moved.in_zone(pipeline.timing.zone) == pipeline


def test_select_and_having_read_the_columns_of_the_answer() -> None:
    query = query_of(
        f"SELECT a.g + 1 AS h, SUM(b.v) / COUNT(*) AS mean {JOINED} GROUP BY a.g, b.g HAVING COUNT(*) > b.g"
    )
    plan = plan_query(query)
    assert query.having is not None
    told = [expression_text(plan.over_answer(output.expression)) for output in query.outputs]
    assert told == ["answer.group_0 + 1", "answer.aggregate_0 / answer.aggregate_1"]
    before = expression_text(plan.over_answer(query.having, before=True))
    assert before == "answer.old_aggregate_1 > answer.group_1"


def test_a_plain_join_reads_the_columns_that_combinations_have() -> None:
    plan = plan_query(query_of(f"SELECT a.v + b.x AS s {JOINED}"))
    (output,) = plan.query.outputs
    assert expression_text(plan.over_answer(output.expression)) == "answer.`a.v` + answer.`b.x`"


def test_what_an_attachment_sees_to_is_what_is_said_of_it_and_its_keys() -> None:
    first, second = query_of(f"SELECT COUNT(*) AS n {JOINED} AND a.v > 1").where
    attachment = Attachment((), (second,), (Equality(first.arguments[0], first.arguments[1], first),))  # type: ignore[union-attr]
    assert attachment.said == (second, first)
