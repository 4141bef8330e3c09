"""What is forced is done, and what is left open fits it."""

import pytest

from joinfold.dialect import bind, parse, read_schema
from joinfold.logical.query import Source
from joinfold.physical.choice import HASH, TREE
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query

CATALOG = {name: Source(name, read_schema("ts TIMESTAMP, k INT, w INT"), True, "ts") for name in "abc"}
WINDOW = "[5 MICROSECOND]"
TEXT = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW}, c {WINDOW} WHERE a.k = b.k AND b.w + c.w = 1 EMIT ON TRIGGER"


@pytest.mark.parametrize("method", ["ic", "tc", "pc"])
def test_a_window_without_a_key_is_not_given_a_hash(method: str) -> None:
    """Only the method is forced: c shares no key with the others, so a hash cannot find it."""
    plan = plan_query(bind(parse(TEXT), CATALOG), Plan(method))
    assert plan.choice.indexes[2] == TREE


def test_a_window_with_a_key_is() -> None:
    text = TEXT.replace("b.w + c.w = 1", "b.k = c.k")
    assert plan_query(bind(parse(text), CATALOG), Plan("tc")).choice.indexes == (HASH,) * 3
