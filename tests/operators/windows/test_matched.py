"""Windows whose combinations are found one by one: any method and structure comes to what the pairs come to."""

from typing import Any

import pytest
from hypothesis import given

from joinfold.operators.methods import METHODS
from joinfold.operators.windows.live import Live
from joinfold.operators.windows.matched import MatchedWindows
from joinfold.planner.forcing import Plan
from tests.operators.runs import Row, plan_of
from tests.operators.windows.moving import SCHEMA, WINDOW, Moving, Step, by_group, joined, steps

WHERE = "a.k = b.k AND a.v <> b.w"
SELECT = "COUNT(*) AS n, SUM(a.v * b.w) AS s, SUM(a.d) AS d, SUM(GREATEST(a.v, b.v)) AS e"
FORCED = {
    "pc": Plan("pc", (), {"a": "list", "b": "hash"}),
    "ic": Plan("ic", ("a", "b"), {"a": "btree", "b": "ttree"}),
    "ic by rows": Plan("ic", (), {"a": "hash", "b": "list"}),
    "tc": Plan("tc", ("b",), {"a": "ttree", "b": "btree"}),
}
PLANS = {
    name: joined(f"{SELECT}{'' if 'ic' in name else ', MAX(a.v) AS x'}", WHERE, "b.g", forced)
    for name, forced in FORCED.items()
}


def combined(pairs: list[tuple[Row, ...]]) -> tuple[Any, ...]:
    each = [(1, left["v"] * right["w"], left["d"], max(left["v"], right["v"])) for left, right in pairs]
    return (*(sum(column) for column in zip(*each, strict=True)), max(left["v"] for left, _ in pairs))


def matches(left: Row, right: Row) -> bool:
    return bool(left["k"] == right["k"] and left["v"] != right["w"])


@pytest.mark.parametrize("name", FORCED)
@given(steps=steps)
def test_totals_are_those_of_the_pairs_that_match(name: str, steps: list[Step]) -> None:
    moving = Moving(PLANS[name])
    windows = moving.live.windows
    assert isinstance(windows, MatchedWindows) and isinstance(windows.method, METHODS[name[:2]])
    for step in steps:
        found = moving.move(step)
        expected = by_group(moving.inside, matches, lambda left, right: (right["g"],), combined)
        assert found == {group: own[: 4 if "ic" in name else 5] for group, own in expected.items()}
        assert windows.live_entries == sum(len(window.members) for window in windows.windows)
        assert windows.live_entries <= sum(map(len, moving.inside))


def test_entries_that_are_alike_are_one_member_where_they_are_aggregated_early() -> None:
    row = {"ts": 0, "k": 1, "g": "x", "v": 1, "w": 2, "d": 0.5}
    members = {}
    for name in ("ic", "ic by rows"):
        moving = Moving(PLANS[name], (9, 9))
        for _ in range(3):
            moving.move(([row], [row]))
        assert isinstance(moving.live.windows, MatchedWindows)
        members[name] = moving.live.windows.live_entries
        assert moving.live.windows.touched > 0 and moving.live.windows.bytes_held > 0
    assert members == {"ic": 2, "ic by rows": 6}


def test_a_stream_alone_is_joined_with_the_row_that_is_always_there() -> None:
    plan = plan_of(f"SELECT COUNT(*) AS n FROM a {WINDOW} OPTION (method = tc)", SCHEMA)
    moving = Moving(plan, (2,))
    assert isinstance(Live(plan.body, plan.choice).windows, MatchedWindows)
    row = {"ts": 0, "k": 1, "g": "x", "v": 1, "w": 2, "d": 0.5}
    assert moving.live.windows.live_entries == 1
    assert [moving.move(([row] * rows,)) for rows in (2, 1, 0, 0)] == [{(): (2,)}, {(): (3,)}, {(): (1,)}, {}]
