"""What SHED is expected to do: at which rate each way of sampling fits the budgets, and how far off answers will be.

Of the counts of a group that has all keys, with K keys and a and b rows per key in two windows, at rate p:

    by key     relative variance  (1 − p)/p · 1/K           whatever the number of rows
    by row     relative variance  (1 − p)/p · (1/a + 1/b)/K + ((1 − p)/p)² · 1/(a·b·K)

So rows are the better sample where keys have many rows. But rows of one cell, key and group are one entry only if no
rows are sampled: otherwise the windows hold single rows, and the same budget may need a much smaller rate.

Reading a row and bringing it into Python cannot be shed, as time comes from all rows. That is the floor of a budget in
CPU.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod, sqrt

from joinfold.amounts import number_text
from joinfold.errors import QueryError
from joinfold.logical.shedding import Budget, HoldBytes, HoldRows, KeepUp, Process, Sampler
from joinfold.physical.payload import InputSpec
from joinfold.physical.plan import Pipeline
from joinfold.physical.shedding import KeySampling, RowSampling, Sampling
from joinfold.physical.source import StreamRows
from joinfold.physical.stage import FoldAtArrivals, inputs_of
from joinfold.planner.cost.estimates import Estimate
from joinfold.planner.cost.windows import Flow, entry_bytes_alike, flows_of
from joinfold.planner.stream_statistics import Statistics

LEAST_RATE = 1 / 1024
USED = 0.85  # of the CPU, at which a query keeps up


@dataclass(frozen=True, slots=True)
class SamplerForecast:
    """A way of sampling: its expected rate, and the relative standard error of a count; None if nothing is left."""

    sampler: Sampler
    rate: float
    error: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What SHED is expected to do.

    ``samplers`` are the possible ones, the best first. ``sheddable`` is the share of the CPU that can be shed; None if
    every row has its answer, so that SHED is about memory only. ``at_floor``: a budget in CPU is below what reading the
    streams takes.
    """

    samplers: tuple[SamplerForecast, ...]
    sheddable: float | None
    at_floor: bool


def forecast(pipelines: Sequence[Pipeline], statistics: Statistics, estimate: Estimate, cores: float) -> Forecast:
    """The forecast for the pipelines of all possible samplers; ``estimate`` is the cost without shedding."""
    fold = sum(stage.cpu for stage in estimate.stages if stage.kind == "FOLD")
    found = []
    at_floor = False
    for pipeline in pipelines:
        shedding = pipeline.shedding
        assert isinstance(shedding, Sampling)
        rates = [1.0]
        for budget in shedding.budgets:
            if isinstance(budget, KeepUp):
                spare = USED * cores - (estimate.cpu - fold)
                at_floor |= spare <= 0
                rates.append(max(spare / fold, LEAST_RATE) if fold else 1.0)
            else:
                rates.append(_rate(budget, pipeline, statistics))
        rate = min(rates)
        sampler: Sampler = "key" if isinstance(shedding, KeySampling) else "row"
        found.append(SamplerForecast(sampler, rate, _error(pipeline, statistics, rate)))
    ranked = sorted(found, key=lambda own: (own.error is None, own.error or 0.0, own.sampler))
    answers_rows = any(isinstance(stage, FoldAtArrivals) for pipeline in pipelines for stage in pipeline.stages)
    sheddable = None if answers_rows else fold / estimate.cpu if estimate.cpu else 0.0
    return Forecast(tuple(ranked), sheddable, at_floor)


def refuse_whole(pipeline: Pipeline, statistics: Statistics) -> None:
    """Raises `QueryError` if a stream that is not sampled holds more than the budget all by itself."""
    assert isinstance(pipeline.shedding, Sampling)
    for spec, flow in _inputs(pipeline, statistics):
        for budget in pipeline.shedding.budgets:
            if isinstance(budget, HoldRows) and not spec.drawn_by and flow.apart > budget.rows:
                raise QueryError(
                    f"the window of '{spec.name}' alone holds about {number_text(flow.apart)} entries, more than "
                    f"{budget.to_sql()}, and no key of '{spec.name}' is sampled",
                    hint=f"raise the budget, shorten the window, or join '{spec.name}' by the key of other streams.",
                )


def _rate(budget: Budget, pipeline: Pipeline, statistics: Statistics) -> float:
    """The rate at which a budget is kept, as far as statistics tell."""
    match budget:
        case HoldRows(rows=most):
            return _largest(lambda rate: _entries(pipeline, statistics, rate)[0] <= most)
        case HoldBytes(size_bytes=most):
            return _largest(lambda rate: _entries(pipeline, statistics, rate)[1] <= most)
        case Process(rows_per_second=most):
            rows = sum(stream.passing_rate for stream in statistics.streams)
            return min(most / rows, 1.0) if rows else 1.0
        case _:  # the memory of the workers is known when the query starts
            return 1.0


def _largest(fits: Callable[[float], bool]) -> float:
    """The largest rate that fits, by bisection."""
    if fits(1.0):
        return 1.0
    low, high = LEAST_RATE, 1.0
    while high / low > 1.001:
        middle = sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _entries(pipeline: Pipeline, statistics: Statistics, rate: float) -> tuple[float, float]:
    """The entries that all windows hold at a rate, and their bytes."""
    entries = size = 0.0
    for spec, flow in _inputs(pipeline, statistics):
        held = flow.rows if isinstance(pipeline.shedding, RowSampling) else flow.apart
        held *= rate if spec.drawn_by else 1.0
        entries, size = entries + held, size + held * entry_bytes_alike(spec)
    return entries, size


def _error(pipeline: Pipeline, statistics: Statistics, rate: float) -> float | None:
    """The relative standard error of a count over all keys; None if the sample is expected to have nothing."""
    drawn = [flow for spec, flow in _inputs(pipeline, statistics) if spec.drawn_by]
    keys = max((flow.keys for flow in drawn), default=1.0)
    shed = (1 - rate) / rate
    if isinstance(pipeline.shedding, KeySampling):
        return sqrt(shed / keys) if keys * rate >= 1 else None
    each = [max(flow.rows / keys, 1e-9) for flow in drawn]
    if min(own * keys for own in each) * rate < 1:
        return None
    return sqrt((shed * sum(1 / own for own in each) + shed ** len(each) / prod(each)) / keys)


def _inputs(pipeline: Pipeline, statistics: Statistics) -> list[tuple[InputSpec, Flow]]:
    """The inputs that read streams, with their flows."""
    return [
        (spec, flow)
        for stage, flows in zip(pipeline.stages, flows_of(pipeline, statistics), strict=True)
        for spec, flow in zip(inputs_of(stage), flows, strict=False)
        if isinstance(spec.source, StreamRows)
    ]
