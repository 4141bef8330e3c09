"""The last rows of each key are a view; beside them the nearest windows that are none."""

import pytest

from joinfold.physical.choice import usual_choice
from joinfold.physical.column_names import ORIGIN
from joinfold.physical.source import StreamRows, ViewOf
from joinfold.physical.stage import LastRowsPerKey, makes_view
from joinfold.planner.drafting.draft import draft
from joinfold.planner.passes.keep_last_rows import keep_last_rows
from joinfold.planner.planning import plan_query
from tests.planner.known import BY_ROWS, LAST, ROWS, WINDOW, context, joined, query_of


def test_the_last_rows_of_each_key_are_a_view() -> None:
    plan = joined(LAST)
    first, stage = keep_last_rows(plan, context()).stages
    assert first == LastRowsPerKey(plan.body.inputs[0], ("order a.g", "order a.j"), 3) and makes_view(first)
    reader = stage.body.inputs[0]  # type: ignore[union-attr]
    assert (reader.name, reader.source, reader.open_ended) == ("a", ViewOf(0), True)
    assert (reader.carried, reader.order) == ((ORIGIN,), ())
    assert stage.body.inputs[1] == plan.body.inputs[1]  # type: ignore[union-attr]


def test_views_are_numbered_by_their_stage() -> None:
    plan = plan_query(query_of(f"SELECT COUNT(*) AS n FROM a {ROWS}, b {LAST}, c {LAST} WHERE a.k = b.k AND b.k = c.k"))
    assert [type(stage).__name__ for stage in plan.stages] == [
        *("NumberRows", "LastRowsPerKey", "LastRowsPerKey", "FoldAtInstants")
    ]
    assert [spec.source for spec in plan.body.inputs] == [StreamRows(0), ViewOf(1), ViewOf(2)]
    assert plan.pipeline.reader_of(1) == plan.pipeline.reader_of(2) == 3
    second = keep_last_rows(joined(WINDOW, LAST), context())
    assert [spec.source for spec in second.body.inputs] == [StreamRows(0), ViewOf(0)]


def test_extremes_of_rows_whose_leaving_nobody_knows_are_counted() -> None:
    """The choice that was usual for the stream is not usual for its view."""
    plan = draft(query_of(f"SELECT MAX(a.v) AS top FROM a {LAST}, b {WINDOW} WHERE a.k = b.k"))
    after = keep_last_rows(plan, context())
    assert (plan.choice.windows, after.choice.windows) == ("sets", "structures")
    assert after.choice == usual_choice(after.answering)


@pytest.mark.parametrize("window", [ROWS, BY_ROWS, WINDOW])
def test_rows_of_all_keys_together_are_no_view(window: str) -> None:
    plan = joined(window)
    assert keep_last_rows(plan, context()) is plan
