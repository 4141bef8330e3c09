"""Runs a scenario and compares everything that a user could see with the references."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from joinfold.errors import EvaluationError, QueryError
from joinfold.logical.query import LogicalQuery, OnWindowId
from joinfold.operators.stages.rationing import Rationer
from joinfold.operators.state import chunks
from joinfold.physical.timing import AtArrivals
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.reference.drawing import sample_of
from joinfold.reference.shedding import EVERYTHING
from joinfold.reference.streaming import StreamingRun, stream, watermark_history
from joinfold.runtime import warm
from tests import refusals
from tests.inprocess.test_following import always_asked
from tests.operators.rations import History
from tests.operators.runs import Answers, Data, in_pieces
from tests.planner.known import unknown
from tests.planner.shifting import with_any_choice
from tests.simulation.cluster import Cluster, Outcome, refusal
from tests.simulation.scenario import Planning, Scenario
from tests.strategies import same_value

TOLERANCE = 1e-6


@dataclass(slots=True)
class Found:
    """What a run has shown: its answers, and what it has counted."""

    answers: Answers = field(default_factory=list)
    late: dict[str, int] = field(default_factory=dict)
    ahead: dict[str, int] = field(default_factory=dict)
    samples: dict[int, Any] = field(default_factory=dict)
    history: History | None = None


def check(scenario: Scenario) -> None:
    """Fails unless the scenario runs as defined."""
    query = scenario.bind()
    first = refusals.planned(query, scenario.text)
    if first is None:
        return
    plans = planned(scenario, first)
    accepted, watermarks = _accepted(query, scenario)
    with _folder() as folder, _limits(scenario):
        found = _run(scenario, Cluster(plans, scenario.buckets, folder), accepted, watermarks)
    expected = _expected(plans[0], scenario.rows[:accepted], scenario.clocks[:accepted], found)
    assert_same(plans[0].query, expected.answers, found.answers)
    if accepted:
        assert (found.late, found.ahead) == (expected.late, expected.ahead)


def planned(scenario: Scenario, first: PlannedQuery) -> list[PlannedQuery]:
    """The plans of a scenario. Where one cannot be had, or stores something else, it is the first one."""
    plans = [_plan(planning, first) for planning in scenario.plans] or [first]
    most = scenario.instants_per_piece if first.pipeline.shedding is None else first.timing.instants_per_piece
    return [in_pieces(plan if plan.pipeline == first.pipeline else first, most) for plan in plans]


def _plan(planning: Planning, first: PlannedQuery) -> PlannedQuery:
    statistics = None if planning.follows is None else unknown(len(first.query.streams))
    try:
        plan = plan_query(first.query, planning.forced, statistics)
    except QueryError:
        return first
    if planning.follows is not None and plan.following is not None:
        return with_any_choice(plan, planning.follows)
    return plan


def _accepted(query: LogicalQuery, scenario: Scenario) -> tuple[int, list[int | None]]:
    """How many micro-batches run before one is refused, and the watermarks before and after each of them."""
    rows, clocks = scenario.rows, scenario.clocks
    watermarks: list[int | None] = [None]
    for number in range(1, len(rows) + 1):
        try:
            watermarks = watermark_history(query, rows[:number], clocks[:number], clocks[:number])
        except EvaluationError:
            return number - 1, watermarks
    return len(rows), watermarks


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder for what workers share, in shared memory if there is any. Its parent is empty otherwise."""
    memory = warm.MEMORY if warm.MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="joinfold-simulation-", dir=memory) as parent:
        folder = Path(parent) / "executor"
        folder.mkdir()
        yield folder


@contextmanager
def _limits(scenario: Scenario) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(patch.object(chunks, "FRESH_RUNS", scenario.fresh_runs))
        stack.enter_context(patch.object(chunks, "ENTRIES_PER_CHUNK", scenario.entries_per_chunk))
        if any(planning.follows is not None for planning in scenario.plans):
            stack.enter_context(always_asked())
        yield


def _run(scenario: Scenario, cluster: Cluster, accepted: int, watermarks: Sequence[int | None]) -> Found:
    found, plan, rows = Found(), cluster.plan, scenario.rows
    for number in range(accepted):
        outcome = cluster.run(scenario.batches[number], rows[number])
        found.answers += outcome.answers
        _check_watermark(plan, outcome, *watermarks[number : number + 2])
        _look_at_samples(plan, outcome, found)
    if accepted:
        found.late, found.ahead = cluster.counted("late"), cluster.known("ahead")
    if accepted < len(scenario.batches):
        reason = refusal(lambda: cluster.run(scenario.batches[accepted], rows[accepted]))
        assert reason and "all lie in the future" in reason, f"micro-batch {accepted} begins a stream ahead, and runs"
    return found


def _check_watermark(plan: PlannedQuery, outcome: Outcome, before: int | None, after: int | None) -> None:
    """All buckets have the watermark of the definition. Answers come as soon as it lets them, and not earlier."""
    for place, metrics in outcome.metrics.items():
        assert metrics["watermark"] == after, f"the watermark of bucket {place} is not {after}"
    if plan.query.is_plain_join or isinstance(plan.query.sync, OnWindowId):
        return
    for instant, *_ in outcome.answers:
        assert after is not None and instant <= after, f"the answer at {instant} is too early"
        assert before is None or instant >= before, f"the answer at {instant} is too late"


def _look_at_samples(plan: PlannedQuery, outcome: Outcome, found: Found) -> None:
    """All buckets have decided alike. Arrivals are numbered anew in every micro-batch."""
    before = len(found.samples) if isinstance(plan.timing.rule, AtArrivals) else 0
    for samples in outcome.samples:
        assert samples == outcome.samples[0], "buckets have different samples"
        found.samples |= {before + number: sample for number, sample in samples.items()}
    rationers = [own for own in outcome.shedders if isinstance(own, Rationer)]
    if rationers:
        found.history = found.history or History(plan.timing.names)
        found.history.see(rationers)


def _expected(plan: PlannedQuery, rows: Sequence[Data], clocks: Sequence[int], found: Found) -> StreamingRun:
    samples, rations = None, None
    if found.samples:
        known = {(own, own.expected): sample_of(plan, own) for own in found.samples.values()}

        def samples(at: int) -> Any:
            own = found.samples.get(at)
            return EVERYTHING if own is None else known[own, own.expected]

    if found.history is not None:
        rations = found.history.rations(plan, rows[0])
    return stream(plan.query, rows, arrivals=clocks, samples=samples, rations=rations, clocks=clocks)


def assert_same(query: LogicalQuery, left: Answers, right: Answers) -> None:
    """Fails unless both have the same multiset of rows. Bounds of estimates are equal to about three digits."""
    bounds = [name.endswith(("_low", "_high")) and query.shed is not None for name in query.schema.names]
    remaining, missing = list(right), []
    for row in left:
        match = next((number for number, other in enumerate(remaining) if _are_same(row, other, bounds)), None)
        if match is None:
            missing.append(row)
        else:
            del remaining[match]
    assert not missing and not remaining, f"only defined: {missing[:5]}; only found: {remaining[:5]}"


def _are_same(left: tuple[Any, ...], right: tuple[Any, ...], bounds: Sequence[bool]) -> bool:
    for one, other, is_bound in zip(left, right, bounds, strict=True):
        if is_bound and one is not None and other is not None:
            if abs(float(one) - float(other)) > 1 + 1e-3 * max(abs(float(one)), abs(float(other))):
                return False
        elif not same_value(one, other, TOLERANCE):
            return False
    return True
