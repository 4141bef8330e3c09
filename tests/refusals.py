"""The complete list of refusals that are allowed: each message, the page that announces it, and when it applies.

Tests that draw random queries or plans meet refusals. A refusal that is not in this list fails the test. Otherwise a
planner that refuses queries which the pages promise would pass all of these tests.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from joinfold.algebra import AGGREGATES
from joinfold.dialect import ParsedShed, bind, parse
from joinfold.errors import QueryError
from joinfold.logical.expressions import Column, walk
from joinfold.logical.graph import KeyClass
from joinfold.logical.query import LogicalQuery, OnArrival, Source
from joinfold.logical.shedding import HoldRows, KeepUp, Process
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics
from joinfold.window import PartitionedRows, RangeByRows, Rows, Sliding, common

METHODS, WINDOWS, SEMANTICS = "concepts/methods.md", "concepts/windows.md", "reference/semantics.md"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was refused: the text, the query that `understood` finds in it, and the forced plan."""

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

    @property
    def shed(self) -> ParsedShed | None:
        return parse(self.text).shed

    @property
    def is_estimate(self) -> bool:
        return self.shed is not None and self.query is not None and not self.query.is_plain_join

    @property
    def reads_clock(self) -> bool:
        return self.shed is not None and any(isinstance(budget, KeepUp | Process) for budget in self.shed.budgets)

    @property
    def holds(self) -> bool:
        return self.shed is not None and any(budget.kind == "HOLD" for budget in self.shed.budgets)

    @property
    def samples_rows(self) -> bool:
        return self.is_estimate and self.shed is not None and self.shed.sampler == "row"

    @property
    def floors_exceed_budgets(self) -> bool:
        """Whether AT LEAST, for all streams, is more than HOLD or PROCESS."""
        assert self.shed is not None
        rows, rate = (
            len(self.streams) * (least or 0) for least in (self.shed.least_rows, self.shed.least_rows_per_second)
        )
        return any(
            (isinstance(budget, HoldRows) and rows > budget.rows)
            or (isinstance(budget, Process) and rate > budget.rows_per_second)
            for budget in self.shed.budgets
        )

    @property
    def is_answered_on_arrival(self) -> bool:
        return self.query is not None and isinstance(self.query.emit, OnArrival)

    @property
    def shared_keys(self) -> list[KeyClass]:
        """The key classes that two streams have."""
        assert self.query is not None
        return [key for key in self.query.graph.keys if sum(bool(key.of(alias)) for alias in self.streams) > 1]

    @property
    def streams(self) -> list[str]:
        return [] if self.query is None else [input_.alias for input_ in self.query.streams]

    @property
    def has_other_conditions(self) -> bool:
        """Whether something else than an equality connects inputs, or a relation does."""
        assert self.query is not None
        graph = self.query.graph
        return bool(graph.bands or graph.inequalities or graph.residual) or len(self.streams) < len(graph.inputs)

    @property
    def divides_partitions(self) -> bool:
        """Whether for every key that two streams have, some PARTITION BY lacks a column of it."""
        assert self.query is not None
        windows = {input_.alias: input_.window for input_ in self.query.streams}
        return all(
            any(
                isinstance(node, Column) and isinstance(window, PartitionedRows) and node.name not in window.by
                for alias, window in windows.items()
                for member in key.of(alias)
                for node in walk(member)
            )
            for key in self.shared_keys
        )

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
    # --- by the dialect: queries that cannot have SHED
    Refusal(
        "(FAVOUR|AT LEAST) divides pairs; this query aggregates$",
        SEMANTICS,
        "SAMPLE and CONFIDENCE in a plain join, and FAVOUR and AT LEAST in a query with aggregates",
        lambda asked: asked.is_estimate and bool(re.search("FAVOUR|AT LEAST", asked.text)),
    ),
    Refusal(
        "(SAMPLE|CONFIDENCE) is about estimates; this query has no aggregates$",
        SEMANTICS,
        "SAMPLE and CONFIDENCE in a plain join",
        lambda asked: not asked.is_estimate and bool(re.search("SAMPLE|CONFIDENCE", asked.text)),
    ),
    Refusal(
        "SHED TO (KEEP UP|PROCESS) cannot be kept under EMIT ON ARRIVAL, which answers every row$",
        SEMANTICS,
        "KEEP UP and PROCESS in estimates under EMIT ON ARRIVAL",
        lambda asked: asked.is_estimate and asked.is_answered_on_arrival and asked.reads_clock,
    ),
    Refusal(
        "(BIT_|BOOL_|MIN_BY|MAX_BY).* cannot be estimated: the sample says nothing about the rows that were shed$",
        SEMANTICS,
        "BIT_AND, BIT_OR, BIT_XOR, BOOL_AND, BOOL_OR, MIN_BY and MAX_BY in estimates",
        lambda asked: asked.is_estimate and bool(re.search(r"(BIT_\w+|BOOL_\w+|M.._BY)\(", asked.text)),
    ),
    Refusal(
        "there is no key to sample by: the query reads one stream$",
        SEMANTICS,
        "Aggregates over one stream",
        lambda asked: asked.is_estimate and len(asked.streams) == 1,
    ),
    Refusal(
        "there is no key to sample by: no equality joins two streams$",
        SEMANTICS,
        "joins of streams without an equality, because there is no key to sample by",
        lambda asked: asked.is_estimate and not asked.shared_keys,
    ),
    Refusal(
        "a partition must be kept or shed as a whole, but one of '.*' may have several keys$",
        SEMANTICS,
        "unless all columns of a join key of this input are in its PARTITION BY",
        lambda asked: asked.is_estimate and asked.divides_partitions,
    ),
    Refusal(
        "a partition must be kept or shed as a whole, but BY ROW divides those of '.*'$",
        SEMANTICS,
        "SAMPLE BY ROW with such a window",
        lambda asked: asked.samples_rows and asked.has_window(PartitionedRows),
    ),
    Refusal(
        "BY ROW needs every pair of a key to match, but other conditions also join the streams$",
        SEMANTICS,
        "SAMPLE BY ROW, unless every pair of a key matches",
        lambda asked: asked.samples_rows and asked.has_other_conditions,
    ),
    Refusal(
        "BY ROW needs every pair of a key to match, but the streams are joined over several keys$",
        SEMANTICS,
        "equalities alone join the streams, and all streams have these keys",
        lambda asked: (
            asked.samples_rows and any(not key.of(alias) for key in asked.shared_keys for alias in asked.streams)
        ),
    ),
    Refusal(
        "SHED divides pairs of streams, but the query reads one stream$",
        SEMANTICS,
        "A plain query over one stream has no pairs to shed",
        lambda asked: not asked.is_estimate and len(asked.streams) == 1,
    ),
    Refusal(
        "AT LEAST needs .* rows for .* streams, more than (HOLD|PROCESS)",
        SEMANTICS,
        "AT LEAST for all streams together more than the budget",
        lambda asked: not asked.is_estimate and asked.floors_exceed_budgets,
    ),
    Refusal(
        "SHED TO HOLD cannot be kept: the last rows of each partition of '.*' are all needed$",
        SEMANTICS,
        "HOLD in a plain join with a `[PARTITION BY … ROWS n]` window",
        lambda asked: not asked.is_estimate and asked.holds and asked.has_window(PartitionedRows),
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
    Refusal(
        "no engine runs SHED for a plain join with SYNC ON WINDOW ID yet$",
        SEMANTICS,
        "No engine runs SHED yet for a plain join with SYNC ON WINDOW ID",
        lambda asked: asked.shed is not None and not asked.is_estimate and "SYNC ON WINDOW ID" in asked.text,
    ),
    Refusal(
        "no engine runs SHED over PARTITION BY windows beside other ROWS windows yet$",
        SEMANTICS,
        "window that stands beside another window by rows",
        lambda asked: asked.is_estimate and asked.has_window(PartitionedRows) and asked.has_window(Rows, RangeByRows),
    ),
    Refusal(
        "no engine runs SHED over PARTITION BY windows with a filter yet$",
        SEMANTICS,
        "or whose input has a filter",
        lambda asked: (
            asked.is_estimate
            and asked.query is not None
            and any(
                isinstance(input_.window, PartitionedRows) and asked.query.filters(input_.alias)
                for input_ in asked.query.streams
            )
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


def understood(text: str, catalog: Mapping[str, Source]) -> LogicalQuery | None:
    """The query that a text means, without SHED if it cannot have SHED; None if it means nothing."""
    parsed = parse(text)
    for clauses in (parsed, replace(parsed, shed=None)):
        with suppress(QueryError):
            return bind(clauses, catalog)
    return None


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
