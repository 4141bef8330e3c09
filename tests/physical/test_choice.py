"""The usual choice: where sets by key or sums over ranges answer, and the nearest stages where they do not."""

import pytest

from joinfold.physical.choice import (
    HASH,
    NO_CHOICE,
    SUMS,
    TREE,
    Index,
    can_follow,
    can_fuse,
    can_sum,
    finding_index,
    usual_choice,
)
from joinfold.physical.stage import NumberRows
from tests.planner.known import CONDITION, JOINED, WINDOW, chain_of, common_key, stage_of

BELOW, NEAR = "a.x < b.x", "a.x BETWEEN b.x - 1 AND b.x + 1"


def test_an_index_says_what_is_not_usual_of_it() -> None:
    assert str(HASH) == "hash"
    assert str(Index("btree", (("order", 9), ("fill", 2)))) == "btree(order=9, fill=2)"


@pytest.mark.parametrize(
    ("text", "fuses"),
    [
        (common_key(2), True),
        (common_key(2, "MAX(a.v) AS top"), True),
        (CONDITION, False),
        (common_key(3), True),
        (common_key(3, "MAX(a.v) AS top"), False),
        (common_key(3, "SUM(a.d) AS s"), False),
        (common_key(3, tail=" GROUP BY a.g, b.g"), True),
        (common_key(3, tail=" GROUP BY a.g, b.g, c.g"), False),
        (chain_of(3), False),
        (f"SELECT a.v, b.v AS w {JOINED}", False),
        (f"SELECT COUNT(*) AS n FROM a [ROWS 3], b {WINDOW} WHERE a.k = b.k", True),
        (f"SELECT MAX(a.v) AS m FROM a [ROWS 3], b {WINDOW} WHERE a.k = b.k", False),
    ],
)
def test_sets_by_key_answer_where_equal_keys_are_all_that_joins(text: str, fuses: bool) -> None:
    assert can_fuse(stage_of(text)) == fuses
    assert (usual_choice(stage_of(text)).windows == "sets") == fuses


@pytest.mark.parametrize(
    ("select", "where", "sums"),
    [
        ("COUNT(*) AS n", BELOW, True),
        ("COUNT(*) AS n", f"{BELOW} AND a.v <> b.v", False),
        ("COUNT(*) AS n", f"{BELOW} AND a.v < b.v", False),
        ("MAX(a.v) AS top", BELOW, False),
        ("SUM(a.x + b.x) AS s", BELOW, False),
        ("SUM(b.d) AS s", BELOW, True),
        ("SUM(b.d) AS s", NEAR, False),  # a difference of floating sums, of the input with the bounds
        ("SUM(a.d) AS s", NEAR, True),
        ("a.v, b.v AS w", BELOW, False),
    ],
)
def test_sums_over_ranges_answer_where_one_range_is_all_that_joins(select: str, where: str, sums: bool) -> None:
    stage = stage_of(f"SELECT {select} {JOINED} AND {where}")
    assert can_sum(stage) == sums
    assert (usual_choice(stage).indexes == (SUMS, SUMS)) == sums


def test_combinations_are_found_by_hash_where_there_is_a_key_and_no_range() -> None:
    assert finding_index(stage_of(CONDITION).body) == HASH
    assert finding_index(stage_of(f"{CONDITION} AND a.x < b.x").body) == TREE
    keyless = f"SELECT COUNT(*) AS n FROM a {WINDOW}, b {WINDOW} WHERE a.v <> b.v"
    assert finding_index(stage_of(keyless).body) == TREE


def test_the_usual_choice_merges_all_inputs_unless_extremes_are_counted() -> None:
    assert usual_choice(stage_of(CONDITION)).early == {0, 1}
    counted = f"SELECT MAX(a.v) AS top FROM a [ROWS 3], b {WINDOW} WHERE a.k = b.k"
    assert usual_choice(stage_of(counted)).early == frozenset()
    assert usual_choice(stage_of(common_key(3))).order == (0, 1, 2)
    assert usual_choice(NumberRows((0,))) is NO_CHOICE


def test_there_is_nothing_to_follow_where_sets_answer() -> None:
    assert can_follow(stage_of(CONDITION)) and not can_follow(stage_of(common_key(2)))
    assert not can_follow(NumberRows((0,)))
