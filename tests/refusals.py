"""The complete list of refusals that are allowed: each message, the page that announces it, and when it applies.

Tests that draw random queries or plans meet refusals. A refusal that is not in this list fails the test. Otherwise a
planner that refuses queries which the pages promise would pass all of these tests.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from joinfold.algebra import AGGREGATES
from joinfold.dialect import parse
from joinfold.errors import QueryError
from joinfold.logical.query import LogicalQuery, OnArrival
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics
from joinfold.window import PartitionedRows, RangeByRows, Rows, Sliding, common

METHODS, WINDOWS, SEMANTICS = "concepts/methods.md", "concepts/windows.md", "reference/semantics.md"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was refused: the text, the query if the text could be bound, and the forced plan."""

    text: str
    query: LogicalQuery | None = None
    forced: Plan = field(default_factory=Plan)

    @property
    def windows(self) -> list[str]:
        return re.findall(r"\[[^]]*\]", self.text)

    @property
    def slides_meet(self) -> bool:
        windows = [input_.window for input_ in parse(self.text).inputs]
        return common(window.moves for window in windows if isinstance(window, Sliding)) is not None

    def has_window(self, *kinds: type) -> bool:
        return self.query is not None and any(isinstance(input_.window, kinds) for input_ in self.query.streams)

    @property
    def counts_rows(self) -> bool:
        return self.has_window(Rows, RangeByRows, PartitionedRows)

    @property
    def has_extremes(self) -> bool:
        aggregates = () if self.query is None else self.query.aggregates
        return any(AGGREGATES[aggregate.function].extremum is not None for aggregate in aggregates)

    @property
    def has_inputs_without_common_key(self) -> bool:
        """Only keys that all streams share count. Relations are joined earlier, so keys with relations do not."""
        assert self.query is not None
        aliases = {input_.alias for input_ in self.query.streams}
        keys = self.query.graph.keys
        return len(aliases) < 2 or not any(aliases <= {alias for alias in aliases if key.of(alias)} for key in keys)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A pattern for the message, the page of docs/ and its words that announce it, and when it applies."""

    message: str
    page: str
    words: str
    applies: Callable[[Asked], bool]


def _moves(window: str) -> bool:
    return any(word in window for word in ("SLIDE", "TUMBLE", "ROWS"))


def _has_slide(window: str) -> bool:
    return "SLIDE" in window or "TUMBLE" in window


def _slides_in_time(window: str) -> bool:
    return "TUMBLE" in window or bool(re.search(r"SLIDE \d+ [A-Z]*SECOND", window))


REFUSALS = (
    # --- by the dialect: texts without a meaning
    Refusal(
        "EMIT ON SLIDE needs a window that moves, and this query has none$",
        SEMANTICS,
        "the default when some window moves",
        lambda asked: "EMIT ON SLIDE" in asked.text and not any(map(_moves, asked.windows)),
    ),
    Refusal(
        "EMIT ON ARRIVAL answers at every row, but the window of '.*' has a SLIDE$",
        SEMANTICS,
        "Windows with a SLIDE are refused",
        lambda asked: "EMIT ON ARRIVAL" in asked.text and any(map(_has_slide, asked.windows)),
    ),
    Refusal(
        "SYNC ON FULL needs a window with a slide in time, and this query has none$",
        SEMANTICS,
        "the common moves of all windows with a slide in time",
        lambda asked: "SYNC ON FULL" in asked.text and not any(map(_slides_in_time, asked.windows)),
    ),
    Refusal(
        "SYNC ON FULL needs windows that move in time, but the window of '.*' moves by rows$",
        SEMANTICS,
        "ROWS windows are refused, and so are slides that never meet",
        lambda asked: "SYNC ON FULL" in asked.text and any("ROWS" in window for window in asked.windows),
    ),
    Refusal(
        "the windows of '.*' and '.*' never move at the same instant$",
        SEMANTICS,
        "slides that never meet",
        lambda asked: "SYNC ON FULL" in asked.text and not asked.slides_meet,
    ),
    Refusal(
        "SYNC ON WINDOW ID needs windows with a number, but .* (never ends|has no slide|moves separately)",
        SEMANTICS,
        "Landmark, continuous and PARTITION BY windows have no numbers and are refused",
        lambda asked: (
            "SYNC ON WINDOW ID" in asked.text
            and any("PARTITION BY" in window or not _moves(window) for window in asked.windows)
        ),
    ),
    # --- by the planner: queries that no engine runs
    Refusal(
        "no engine runs PARTITION BY windows with EMIT ON ARRIVAL yet$",
        WINDOWS,
        "`[PARTITION BY k ROWS n]` with EMIT ON ARRIVAL is refused by the engine",
        lambda asked: (
            asked.query is not None and isinstance(asked.query.emit, OnArrival) and asked.has_window(PartitionedRows)
        ),
    ),
    # --- by the planner: plans that are impossible
    Refusal(
        "IC cannot maintain a MIN or MAX$",
        METHODS,
        "IC cannot be forced on MIN and MAX",
        lambda asked: asked.forced.method == "ic" and asked.has_extremes,
    ),
    Refusal(
        "(TC|PC) must know when rows leave, and windows that count rows cannot tell$",
        METHODS,
        "TC and PC cannot be forced where windows count rows",
        lambda asked: asked.forced.method in ("tc", "pc") and asked.counts_rows,
    ),
    Refusal(
        "where windows count rows, MIN and MAX need every row, so nothing can be aggregated early$",
        METHODS,
        "MIN and MAX cannot be aggregated early there",
        lambda asked: bool(asked.forced.early) and asked.counts_rows and asked.has_extremes,
    ),
    Refusal(
        "a plain join has nothing to aggregate$",
        METHODS,
        "A plain join has neither a method nor early aggregation",
        lambda asked: (
            asked.query is not None
            and asked.query.is_plain_join
            and (asked.forced.method is not None or asked.forced.early is not None)
        ),
    ),
    Refusal(
        "hash finds equal keys only, and '.*' is probed without a key$",
        METHODS,
        "A hash cannot be forced on an input that is looked for without an equality",
        lambda asked: (
            any(index.startswith("hash") for index in asked.forced.index.values())
            and asked.has_inputs_without_common_key
        ),
    ),
    Refusal(
        "the plan names '.*', which is a relation$",
        METHODS,
        "Nothing can be forced on a relation",
        lambda asked: (
            asked.query is not None
            and any(
                input_.alias in asked.forced.inputs_named
                for input_ in asked.query.inputs
                if input_ not in asked.query.streams
            )
        ),
    ),
)


def check_refusal(error: QueryError, asked: Asked) -> None:
    """Fails if a refusal is not in the list, or does not apply."""
    known = [refusal for refusal in REFUSALS if re.match(refusal.message, error.message)]
    where = f"\n  {asked.text}\n  {asked.forced}"
    assert known, f"no page announces the refusal: {error.message}{where}"
    assert any(refusal.applies(asked) for refusal in known), f"refused without need: {error.message}{where}"


def planned(
    query: LogicalQuery, text: str, *choices: Plan, statistics: Statistics | None = None
) -> PlannedQuery | None:
    """The plan with the first of the choices that is not refused, or without any; None if no engine runs the query."""
    for choice in (*choices, Plan()):
        try:
            return plan_query(query, choice, statistics)
        except QueryError as error:
            check_refusal(error, Asked(text, query, choice))
    return None
