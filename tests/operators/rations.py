"""Plain joins that shed, at rates that a test gives, in process and by the definition."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from joinfold.dialect import bind, parse, read_schema
from joinfold.inprocess import InProcess
from joinfold.inprocess.frames import frame_batch
from joinfold.inprocess.relations import attached_sides
from joinfold.logical.query import Source
from joinfold.logical.sql import query_text
from joinfold.operators.batches import draws_of
from joinfold.operators.codec import decode
from joinfold.operators.packing.routing import pack
from joinfold.operators.stages.rationing import Rationer, probing_draws
from joinfold.physical.shedding import DRAWS, WHOLE
from joinfold.planner.planned_query import PlannedQuery
from joinfold.planner.planning import plan_query
from joinfold.reference.contents import Timed
from joinfold.reference.rationing import Rations
from joinfold.reference.streaming import stream
from joinfold.shedding.allocation import Share
from tests.operators.runs import Data, answer, tables_of
from tests.operators.state.kept import Query
from tests.strategies import assert_same_answers

Shares = tuple[Share, ...]
Run = tuple[PlannedQuery, list[Data], list[Shares]]
"""A plan, its micro-batches, and the shares of the streams in each of them."""

SCHEMA = read_schema("ts TIMESTAMP, k INT, v INT")
IN_TIME = (
    "[3 MICROSECOND]",
    "[12 MICROSECOND]",
    "[TUMBLE 5 MICROSECOND]",
    "[9 MICROSECOND SLIDE 4 MICROSECOND]",
    "[3 MICROSECOND SLIDE 5 MICROSECOND]",
    "[UNBOUNDED]",
)
BY_PARTITION = ("[PARTITION BY k ROWS 1]", "[PARTITION BY v ROWS 2]", "[PARTITION BY k, v ROWS 3]")
BY_ROWS = ("[ROWS 3]", "[ROWS 4 SLIDE 2]", "[ROWS 6 SLIDE 4]", "[RANGE 9 MICROSECOND SLIDE 2 ROWS]")
conditions = st.sampled_from(["{0}.k = {1}.k", "{0}.k = {1}.k AND {0}.v <> {1}.v", "{0}.v < {1}.v"])
parts = st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0])
budgets = st.sampled_from(["HOLD 6 ROWS", "HOLD 200 BYTES", "PROCESS 2 ROWS PER SECOND AND HOLD 8 ROWS"])


@st.composite
def runs(draw: st.DrawFn, windows: tuple[str, ...], first: tuple[str, ...] | None = None) -> Run:
    """Plain joins of two or three streams with windows of these; the first stream may have others.

    Beside the last rows of partitions, all rows are held.
    """
    aliases = "abc"[: draw(st.integers(2, 3))]
    delays = {alias: draw(st.sampled_from([0, 2, 6, 50])) for alias in aliases}
    where = [draw(conditions).format(*pair) for pair in pairwise(aliases)]
    held = [draw(st.sampled_from(windows if number or first is None else first)) for number in range(len(aliases))]
    text = (
        f"SELECT {', '.join(f'{alias}.v AS {alias}v' for alias in aliases)} "
        f"FROM {', '.join(f'{alias} {window}' for alias, window in zip(aliases, held, strict=True))} "
        f"WHERE {' AND '.join(where)}"
    )
    by_partition = "PARTITION" in text
    of_each = st.tuples(*(st.builds(Share, parts, st.just(1.0) if by_partition else parts) for _ in aliases))
    shares = draw(st.lists(of_each, min_size=1, max_size=4))
    budget = "PROCESS 1000 ROWS PER SECOND" if by_partition else "HOLD 1000 ROWS"
    return plan_with(text, budget, delays), draw(batches_of(aliases)), shares


def plan_with(text: str, budget: str, delays: dict[str, int]) -> PlannedQuery:
    sources = {name: Source(name, SCHEMA, True, "ts", delay_us) for name, delay_us in delays.items()}
    return plan_query(bind(parse(f"{text} SHED TO {budget}"), sources))


@st.composite
def batches_of(draw: st.DrawFn, names: str, many: int = 4) -> list[Data]:
    """Rows in micro-batches, about in the order of time."""
    batches: list[Data] = []
    for number in range(many):
        times = st.integers(6 * number - 4, 6 * number + 8)
        rows = st.fixed_dictionaries({"ts": times, "k": st.integers(0, 1), "v": st.integers(0, 3)})
        batches.append({name: draw(st.lists(rows, max_size=12 // len(names))) for name in names})
    return batches


@contextmanager
def at_shares(shares: Sequence[Shares]) -> Iterator[None]:
    """Lets all buckets use these shares in the first micro-batch, the second one, and so on."""

    def decide(self: Rationer, *_: Any) -> None:
        number = getattr(self, "seconds", 0.0)
        self.seconds = number + 1  # kept in the state; nothing else reads it here
        self.shares = shares[int(number) % len(shares)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rationer, "_decide", decide)
        yield


class History:
    """All rates that there have been. Buckets forget those that they no longer need."""

    def __init__(self, names: Sequence[str]) -> None:
        self.probing: dict[str, dict[int, int]] = {name: {} for name in names}
        self.holding: dict[str, dict[int, int]] = {name: {} for name in names}

    def see(self, rationers: Sequence[Rationer]) -> None:
        """Adds the rates of buckets, which agree."""
        assert all(own.facts() == rationers[0].facts() for own in rationers)
        for number, name in enumerate(self.probing):
            for steps, timeline in (
                (self.probing[name], rationers[0].probing[number]),
                (self.holding[name], rationers[0].holding[number]),
            ):
                steps |= dict(zip(timeline.starts, timeline.rates, strict=True))

    def rations(self, plan: PlannedQuery, relations: Data) -> Rations:
        """What the definition needs to know. ``relations`` has the rows of the plan's relations."""
        tables = tables_of(plan, relations)
        probing = {name: sorted(steps.items()) for name, steps in self.probing.items()}
        holding = {name: sorted(steps.items()) for name, steps in self.holding.items()}
        known: dict[tuple[str, int], tuple[int, int]] = {}

        def draws(alias: str, item: Timed) -> tuple[int, int]:
            if (alias, id(item)) not in known:
                drawn = draws_of(_entries(plan, plan.timing.names.index(alias), item, tables))
                known[alias, id(item)] = int(probing_draws(drawn)[0]), int(drawn[0])
            return known[alias, id(item)]

        return Rations(probing, holding, draws, WHOLE, DRAWS)


def _entries(plan: PlannedQuery, number: int, item: Timed, tables: dict[str, pa.Table]) -> pa.RecordBatch:
    """The entries of a row of a stream: one for each match in relations. All of them draw alike."""
    frame = plan.frames[number]
    rows = tables_of(plan, {frame.input.source.name: [item.row]})[frame.input.source.name]
    batch = frame_batch(frame, rows, attached_sides(frame, tables), item.ts)
    reading = plan.pipeline.stage_of(number)
    (blob,) = (blob for stage, _, blob in pack(plan.pipeline, number, (0,), batch) if stage == reading)
    return decode(blob)[0]


def check_run(run: Run, buckets: int) -> InProcess:
    """The combinations at given shares are those of the definition."""
    plan, batches, shares = run
    machine = InProcess(plan, buckets)
    with at_shares(shares):
        _check(machine, batches)
    return machine


def check_budget(run: Run, budget: str) -> None:
    """The same at the rates that follow from a budget, one micro-batch per second."""
    plan, batches, _ = run
    text = query_text(plan.query)
    delays = {input_.alias: input_.source.delay_us for input_ in plan.query.inputs}
    _check(InProcess(plan_with(text[: text.index("SHED")], budget, delays), 2), batches)


def _check(machine: InProcess, batches: Sequence[Data]) -> None:
    plan, history, found = machine.plan, History(machine.plan.timing.names), list[tuple[Any, ...]]()
    for number, batch in enumerate(batches):
        machine.feed(tables_of(plan, batch), clock_us=number * 1_000_000)
        history.see(rationers_of(machine))
        found += answer(machine)
    expected = stream(plan.query, batches, rations=history.rations(plan, batches[0]))
    assert_same_answers(expected.answers, found)
    assert machine.late == expected.late


def check_made_anew(run: Run, fresh_runs: int) -> None:
    """Buckets that are made from their state after every micro-batch answer and count as those that go on."""
    plan, batches, shares = run
    going_on, made_anew = Query(plan), Query(plan)
    with at_shares(shares), pytest.MonkeyPatch.context() as patch:
        patch.setattr("joinfold.operators.state.chunks.FRESH_RUNS", fresh_runs)
        for batch in batches:
            going_on.run(batch)
            made_anew.run(batch)
            made_anew.go_on_as(plan)
    assert_same_answers(going_on.answers, made_anew.answers)
    for one, other in zip(going_on.buckets, made_anew.buckets, strict=True):
        names = plan.timing.names
        assert one.bucket.position.facts(names) == other.bucket.position.facts(names)


def rationers_of(machine: InProcess) -> list[Rationer]:
    found = [bucket.shedder for bucket in machine.buckets]
    return [own for own in found if isinstance(own, Rationer)]
