"""The passes in their order, and which queries have more than one plan."""

import pytest

from joinfold.planner.drafting.draft import draft
from joinfold.planner.planning import PASSES, has_rival
from tests.planner.known import (
    CONDITION,
    LAST,
    SETS,
    WINDOW,
    chain_of,
    query_of,
)


def test_the_passes_read_aloud() -> None:
    assert [change.__name__ for change in PASSES] == ["number_rows", "keep_last_rows", "choose", "follow_data"]


@pytest.mark.parametrize(
    ("text", "rival"),
    [
        (SETS, False),
        (CONDITION, True),
        (chain_of(3), True),
        (f"SELECT MAX(a.v) AS top FROM a {WINDOW}, b {WINDOW} WHERE a.k = b.k", False),
        (f"SELECT MAX(a.v) AS top FROM a {LAST}, b {WINDOW} WHERE a.k = b.k", True),
    ],
)
def test_where_sets_answer_there_is_no_other_plan(text: str, rival: bool) -> None:
    assert has_rival(draft(query_of(text))) == rival
