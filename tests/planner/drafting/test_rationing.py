"""Rows of a plain join that sheds draw by their time and by the values of their own stream."""

import pytest

from joinfold.dialect import bind, parse
from joinfold.errors import QueryError
from joinfold.logical.query import Source
from joinfold.logical.shedding import AllTo, HoldRows
from joinfold.physical.column_names import CELL
from joinfold.physical.shedding import PairRationing
from joinfold.planner.drafting.draft import draft
from tests.planner.known import ROWS, SCHEMA, WINDOW, query_of

PLAIN = f"SELECT a.v, b.v AS w FROM a {WINDOW}, b {{}} WHERE a.k = b.k"


def test_all_columns_of_a_row_that_the_join_needs() -> None:
    plan = draft(query_of(f"{PLAIN.format(WINDOW)} SHED TO HOLD 9 ROWS FAVOUR ALL TO b AT LEAST 2 ROWS OF EACH SEED 7"))
    assert [spec.drawn_by for spec in plan.body.inputs] == [(CELL, "a.k", "a.v"), (CELL, "b.k", "b.v")]
    assert plan.pipeline.shedding == PairRationing((HoldRows(9),), 7, AllTo("b"), 2, 0)
    assert [spec.drawn_by for spec in draft(query_of(PLAIN.format(WINDOW))).body.inputs] == [(), ()]


def test_values_of_a_relation_do_not_count() -> None:
    """So all matches of a row in the relation are kept or shed together."""
    text = f"SELECT a.v, r.v AS u, a.v + r.v AS s FROM a {WINDOW}, b {WINDOW}, r WHERE a.k = b.k AND r.k = a.k"
    sources = {name: Source(name, SCHEMA, name != "r", None if name == "r" else "ts") for name in "abr"}
    plan = draft(bind(parse(f"{text} SHED TO HOLD 9 ROWS"), sources))
    first, second = plan.body.inputs
    assert "r.v" in first.identity and first.drawn_by == (CELL, "a.k", "a.v")
    assert second.drawn_by == (CELL, "b.k")


def test_what_no_engine_rations_yet() -> None:
    text = f"{PLAIN.format(WINDOW)} SYNC ON WINDOW ID"
    with pytest.raises(QueryError, match="SHED for a plain join with SYNC ON WINDOW ID"):
        draft(query_of(f"{text} SHED TO HOLD 9 ROWS"))
    draft(query_of(text))
    draft(query_of(f"{PLAIN.format(ROWS)} SHED TO HOLD 9 ROWS"))
