"""Live windows whose rows enter and leave, beside lists of the rows that are inside.

What windows emit at an instant is what these rows come to:

    instant         1         2         3         4
    a  stays 2      [---------+---------)                 enters at 1, leaves at 3
    b  stays 3      [---------+---------+---------)
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from joinfold.operators.entries import Entries
from joinfold.operators.merging.merge import merge
from joinfold.operators.windows.live import Live
from joinfold.physical.choice import FoldChoice
from joinfold.physical.column_names import INSTANT, aggregate_column, group_column
from joinfold.physical.stage import Merge
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from tests.operators.runs import Row, packed_entries, plan_of

WINDOW = "[9 MICROSECOND SLIDE 1 MICROSECOND]"
SCHEMA = "k INT, g STRING, v BIGINT, w BIGINT, d DOUBLE"
Step = tuple[list[Row], ...]  # what enters each window
Answer = dict[Any, tuple[Any, ...]]  # the aggregates of each group
Inside = Sequence[list[Row]]

rows = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.just(0),
            "k": st.integers(0, 2),
            "g": st.none() | st.sampled_from("xy"),
            "v": st.integers(-3, 3),
            "w": st.integers(0, 2),
            "d": st.sampled_from([0.5, -2.0, 0.0]),
        }
    ),
    max_size=4,
)
steps = st.lists(st.tuples(rows, rows), max_size=7)


def joined(select: str, where: str, group: str = "a.g", forced: Plan | None = None, inputs: str = "ab") -> PlannedQuery:
    """The plan of a query over windows; with more inputs than two they are `a` again, under other names."""
    named = ", ".join(f"{alias if alias in 'ab' else f'a {alias}'} {WINDOW}" for alias in inputs)
    shown, grouped = (f"{group}, ", f" GROUP BY {group}") if group else ("", "")
    query = plan_of(f"SELECT {shown}{select} FROM {named} WHERE {where}{grouped}", SCHEMA).query
    return plan_query(query, forced)


class Moving:
    """Windows, and the rows that each holds with the instant at which they leave."""

    def __init__(self, plan: PlannedQuery, stays: Sequence[int] = (2, 3), choice: FoldChoice | None = None) -> None:
        self.plan = plan
        self.live = Live(plan.body, plan.choice if choice is None else choice)
        self.stays = stays
        self.held: list[list[tuple[int, list[Row], Entries]]] = [[] for _ in plan.frames]
        self.now = 0

    @property
    def inside(self) -> list[list[Row]]:
        """The rows that each window holds."""
        return [[row for _, rows, _ in held for row in rows] for held in self.held]

    def move(self, step: Step) -> Answer:
        """One instant on: what has to leave leaves, rows enter, and the groups are noted."""
        self.now += 1
        windows = self.live.windows
        for ordinal, held in enumerate(self.held):
            for leave, _, entries in held:
                if leave == self.now:
                    windows.leave(ordinal, entries, self.now)
            self.held[ordinal] = [own for own in held if own[0] > self.now]
        for ordinal, come in enumerate(step):
            if come:
                entries = self.live.vocabulary.entries_of(ordinal, packed_entries(self.plan, ordinal, come))
                leave = self.now + self.stays[ordinal]
                windows.expect(ordinal, entries)
                windows.enter(ordinal, entries, np.full(len(entries), leave), self.now)
                self.held[ordinal].append((leave, come, entries))
        windows.advance(self.now)
        self.live.emit(self.now, self.now, always=False)
        windows.expire(self.now)
        return self.emitted()

    def emitted(self) -> Answer:
        """What was noted at this instant, finished."""
        batch, last = self.live.emitted(), self.plan.pipeline.last
        if batch is None:
            return {}
        assert isinstance(last, Merge) and set(batch.column(INSTANT).to_pylist()) == {self.now}
        groups = [group_column(number) for number in range(len(last.groups))]
        aggregates = [aggregate_column(number) for number in range(len(last.aggregates))]
        found = merge(last, [batch]).to_pylist()
        return {tuple(row[name] for name in groups): tuple(row[name] for name in aggregates) for row in found}


Combine = Callable[[list[tuple[Row, ...]]], tuple[Any, ...]]


def by_group(
    inside: Inside, matches: Callable[..., bool], group: Callable[..., tuple[Any, ...]], combine: Combine
) -> Answer:
    """What combinations of two windows come to, by the definition."""
    found: dict[Any, list[tuple[Row, ...]]] = {}
    for left in inside[0]:
        for right in inside[1]:
            if matches(left, right):
                found.setdefault(group(left, right), []).append((left, right))
    return {own: combine(pairs) for own, pairs in found.items()}
