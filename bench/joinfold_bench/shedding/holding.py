"""R1 with SHED TO HOLD some part of what it holds: how much is held then, and how far off the answers are.

A run stores what Spark would store, in a map in memory, so that the size of the state is known without Spark.
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from statistics import fmean
from typing import Any, Literal

import pyarrow as pa

from joinfold.inprocess import InProcess
from joinfold.logical.shedding import Sampler
from joinfold.operators.state.chunks import Chunks
from joinfold.operators.state.key_draws import KeyDraws
from joinfold.session import Session
from joinfold.workloads import batches
from joinfold.workloads.arrival import SECOND_US
from joinfold_bench.data import R1, SEED, STREAMS, Dataset
from joinfold_bench.engines.streaming import query_text
from joinfold_bench.environment import Say

QUARTER, HELD_BAR = 0.25, 0.35
"""With a budget of a quarter, state and windows should have at most this part of what they have without SHED."""
COLUMNS = "ts timestamp, key bigint, g bigint, v bigint"
SIZE_US, SLIDE_US = 60 * SECOND_US, SECOND_US
OUTPUTS = {"COUNT": "n", "SUM": "s"}


@dataclass(frozen=True, slots=True)
class PartialBudget:
    """A budget: the part of what is held without SHED, of entries or of their bytes, and the sampler."""

    share: float
    unit: Literal["ROWS", "BYTES"] = "ROWS"
    sampler: Sampler = "key"

    def text(self, full: "Held") -> str:
        """The clause SHED."""
        most = full.entries if self.unit == "ROWS" else full.entry_bytes
        return f"SHED TO HOLD {round(self.share * most)} {self.unit} SAMPLE BY {self.sampler.upper()}"


@dataclass(frozen=True, slots=True)
class HoldingSettings:
    """The streams, and the budgets."""

    data: Dataset = R1
    budgets: tuple[PartialBudget, ...] = (
        PartialBudget(0.5),
        PartialBudget(QUARTER),
        PartialBudget(QUARTER, "BYTES"),
        PartialBudget(QUARTER, sampler="row"),
        PartialBudget(0.1),
    )


@dataclass(frozen=True, slots=True)
class Held:
    """What a run held when it held the most: live entries, their bytes in memory and in the state, and the windows."""

    entries: int
    entry_bytes: int
    state_bytes: int
    window_bytes: int

    def most(self, other: "Held") -> "Held":
        """The larger of each."""
        return Held(*map(max, astuple(self), astuple(other)))


@dataclass(frozen=True, slots=True)
class Error:
    """The estimates of one aggregate over all groups at the last instant: mean absolute error, and mean half width.

    Both are relative to the exact values. ``bounded`` groups have bounds, ``covered`` of them hold the exact value.
    """

    aggregate: str
    groups: int
    bounded: int
    covered: int
    error: float
    half_width: float | None


@dataclass(frozen=True, slots=True)
class CountAt:
    """The count of one group at an instant, in seconds from the first: the exact one, the estimate and its bounds."""

    second: float
    exact: int
    value: int
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class HoldingRun:
    """A run with a budget, beside the run without one."""

    budget: PartialBudget
    text: str
    held: Held
    state_part: float
    window_part: float
    kept: float
    errors: tuple[Error, ...]
    counts: tuple[CountAt, ...]

    @property
    def is_met(self) -> bool | None:
        """Whether state and windows are below the bar; None for budgets other than a quarter."""
        return max(self.state_part, self.window_part) <= HELD_BAR if self.budget.share == QUARTER else None


class _Store:
    """A map with the methods of Spark's."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}

    def getValue(self, key: Any) -> Any:  # noqa: N802
        """The value of a key, or None."""
        return self.values.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        """Sets the value of a key."""
        self.values[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        """Removes a key."""
        del self.values[key]


def run_holding(settings: HoldingSettings, say: Say) -> tuple[Held, list[HoldingRun]]:
    """Runs R1 without SHED, and with every budget. Returns what was held without SHED, and the runs with it."""
    full, exact = _run(settings.data, "", say)
    runs = []
    for budget in settings.budgets:
        held, answers = _run(settings.data, budget.text(full), say)
        state_part, window_part = held.state_bytes / full.state_bytes, held.window_bytes / full.window_bytes
        compared = _compared(exact, answers)
        runs.append(HoldingRun(budget, budget.text(full), held, state_part, window_part, *compared))
    return full, runs


def _run(data: Dataset, shed: str, say: Say) -> tuple[Held, pa.Table]:
    """Runs the query over all rows."""
    session = Session()
    for name in STREAMS:
        session.stream(name, COLUMNS, time="ts")
    plan = session.sql(f"{query_text(SIZE_US, SLIDE_US)} {shed}").plan
    machine = InProcess(plan)
    (bucket,) = machine.buckets
    chunks, answers, most = Chunks(_Store(), draws=KeyDraws.of(plan.pipeline, 0)), [], Held(0, 0, 0, 0)
    size_bytes = rows = 0
    for batch in _batches(data):
        (accepted,) = machine.feed(batch)
        size_bytes += sum(entries.nbytes for _, entries in accepted)
        rows += sum(entries.num_rows for _, entries in accepted)
        chunks.add(accepted)
        answers.append(machine.answer())
        chunks.forget(bucket.is_done)
        if bucket.has_shed_more:
            chunks.thin(bucket)
        chunks.merge(bucket)
        entries = sum(run.entries for run in chunks.runs)
        entry_bytes = entries * size_bytes // max(rows, 1)
        most = most.most(Held(entries, entry_bytes, chunks.size_bytes, machine.measures.bytes_held))
    held = f"state {most.state_bytes / 1e6:,.1f} MB, windows {most.window_bytes / 1e6:,.1f} MB"
    say(f"R1 {shed or 'without SHED'}: {most.entries:,} entries, {held}")
    return most, pa.concat_tables(answers)


def _batches(data: Dataset) -> Iterator[dict[str, pa.Table]]:
    """The rows of both streams, some seconds at a time."""
    return batches(
        "synthetic",
        seed=SEED,
        rows_per_second=data.rows_per_second,
        seconds=data.seconds,
        keys=data.keys,
        groups=data.groups,
    )


def _compared(exact: pa.Table, answers: pa.Table) -> tuple[float, tuple[Error, ...], tuple[CountAt, ...]]:
    """What was kept at last, the errors of all groups at the last instant, and the counts of one group over time."""
    truths = {(row["instant"], row["g"]): row for row in exact.to_pylist()}
    estimates = {(row["instant"], row["g"]): row for row in answers.to_pylist()}
    first, last = (pick(instant for instant, _ in truths) for pick in (min, max))
    pairs = [(row, estimates[at]) for at, row in truths.items() if at[0] == last and at in estimates]
    group = min(group for _, group in truths)
    counts = tuple(
        CountAt((at[0] - first).total_seconds(), row["n"], estimates[at]["n"], *_bounds(estimates[at], "n"))
        for at, row in truths.items()
        if at[1] == group and at in estimates
    )
    return pairs[0][1]["kept"], tuple(_error(name, pairs) for name in OUTPUTS), counts


def _error(aggregate: str, pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> Error:
    name = OUTPUTS[aggregate]
    bounds = [(truth[name], *_bounds(row, name)) for truth, row in pairs]
    bounded = [(value, low, high) for value, low, high in bounds if low is not None and high is not None]
    return Error(
        aggregate,
        len(pairs),
        len(bounded),
        sum(low <= value <= high for value, low, high in bounded),
        fmean(abs(row[name] - truth[name]) / truth[name] for truth, row in pairs),
        fmean((high - low) / 2 / value for value, low, high in bounded) if bounded else None,
    )


def _bounds(row: dict[str, Any], name: str) -> tuple[int | None, int | None]:
    return row[f"{name}_low"], row[f"{name}_high"]
