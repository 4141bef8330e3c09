"""The estimated cost of a plan as text: the tree with its costs, the streams, the other plans, the reason.

All costs are per second of stream, so they do not depend on how often Spark starts a micro-batch:

    SELECT in Spark: …
    └─ FOLD per bucket of … ‹0.12 s CPU, 3.1 MB state, 9.0 MB memory, 1.2 MB/s shuffled in 0.01 s›

If a plan takes more seconds of CPU than there are cores, it cannot keep up.
"""

from joinfold.amounts import NOTHING, bytes_text, number_text, seconds_text, share_text, times_text
from joinfold.explain.physical_tree import plan_tree
from joinfold.explain.tables import Table
from joinfold.logical.query import Input
from joinfold.logical.shedding import HoldAvailable, KeepUp
from joinfold.physical.shedding import PairRationing
from joinfold.planner.cost.estimates import Alternative, Decision, Estimate, StageEstimate, StageKind
from joinfold.planner.cost.windows import flows_of
from joinfold.planner.forecasting import Forecast
from joinfold.planner.planned_query import PlannedQuery

MOST_SHOWN = 12


def cost_text(plan: PlannedQuery) -> str:
    """The tree with its costs, then how the plan was chosen; the tree alone if nothing was estimated."""
    tree = cost_tree_text(plan)
    if plan.decision is None:
        return tree
    tables = (statistics_table(plan, plan.decision), alternatives_table(plan.decision))
    shed = [] if plan.forecast is None else [str(forecast_table(plan.forecast))]
    if isinstance(plan.pipeline.shedding, PairRationing):
        shed.append(str(rations_table(plan, plan.decision)))
    return "\n\n".join([tree, *map(str, tables), *shed, reason_text(plan.decision)])


def cost_tree_text(plan: PlannedQuery) -> str:
    """The physical tree, with an estimate at the end of the line of each stage."""
    if plan.decision is None:
        return str(plan_tree(plan))
    estimate = plan.decision.chosen.estimate
    return str(plan_tree(plan, lambda kind, number: _note(estimate, kind, number)))


def statistics_table(plan: PlannedQuery, decision: Decision) -> Table:
    """What is known about each stream, and how it is known."""
    header = ("stream", "numbers", "rows/s", "passing", "keys", "groups", "skew")
    rows = []
    for number, known in enumerate(decision.statistics.streams):
        spec = plan.pipeline.input_of(number)
        rows.append(
            (
                stream_text(plan.frames[number].input),
                known.origin,
                number_text(known.rate),
                share_text(known.passes),
                number_text(known.keys) if spec.keys else NOTHING,
                number_text(known.groups) if spec.stored_groups else NOTHING,
                number_text(known.skew) if spec.keys else NOTHING,
            )
        )
    notes = []
    if plan.body.combining:
        share = share_text(decision.statistics.selectivity)
        notes.append(f"{share} of the combinations with equal keys satisfy the other conditions.")
    if not decision.statistics.is_known:
        notes.append("Nothing is known about the streams: give session.stream(…, rate=…, keys=…), or data.")
    return Table("Streams, their keys and groups in a window", header, tuple(rows), words=2, notes=tuple(notes))


def alternatives_table(decision: Decision) -> Table:
    """The possible plans, cheapest first, with the chosen one marked."""
    chosen, shown = decision.chosen, shown_alternatives(decision)
    rows = tuple(
        (
            alternative.title,
            seconds_text(alternative.estimate.cpu),
            times_text(alternative.estimate.cpu, chosen.estimate.cpu),
            bytes_text(alternative.estimate.state_bytes),
            bytes_text(alternative.estimate.memory_bytes),
            f"{bytes_text(alternative.estimate.shuffle_bytes)}/s",
        )
        for alternative in shown
    )
    more = [alternative for alternative in decision.alternatives if alternative not in shown]
    notes = []
    if more:
        most = max(alternative.estimate.cpu for alternative in more)
        notes.append(f"and {len(more)} more, with up to {times_text(most, chosen.estimate.cpu)} the CPU")
    header = ("plan", "CPU", "times", "state", "memory", "shuffled")
    title = "Plans, cheapest first, with their CPU per second of stream"
    return Table(title, header, rows, marked=shown.index(chosen), notes=tuple(notes))


def shown_alternatives(decision: Decision) -> tuple[Alternative, ...]:
    """The cheapest plans, at most `MOST_SHOWN`; the chosen one is always among them."""
    first = decision.alternatives[:MOST_SHOWN]
    if decision.chosen in first:
        return first
    kept = (*first[: MOST_SHOWN - 1], decision.chosen)
    return tuple(sorted(kept, key=lambda alternative: alternative.estimate.cpu))


def forecast_table(forecast: Forecast) -> Table:
    """What SHED is expected to keep, and how far off its estimates will be, for each way of sampling."""
    rows = tuple(
        (
            f"by {own.sampler}",
            share_text(own.rate),
            "no estimate" if own.error is None else "exact" if own.error == 0 else f"± {share_text(own.error)}",
        )
        for own in forecast.samplers
    )
    notes = ["Memory is saved, but hardly any CPU: every row has its answer."]
    if forecast.sheddable is not None:
        notes = [f"{share_text(forecast.sheddable)} of the CPU can be shed. Reading the streams cannot."]
    if forecast.at_floor:
        notes.append("The budget is below what reading the streams takes: the query will fall behind.")
    header = ("sample", "kept", "error of a count")
    return Table("SHED, with the standard error of a count over all keys", header, rows, marked=0, notes=tuple(notes))


def rations_table(plan: PlannedQuery, decision: Decision) -> Table:
    """How a plain join is expected to divide its budgets among its streams."""
    *_, flows = flows_of(plan.pipeline, decision.statistics)
    streams = zip(plan.frames, flows, strict=True)
    rows = tuple((stream_text(own.input), share_text(flow.probing), share_text(flow.held)) for own, flow in streams)
    notes = []
    shedding = plan.pipeline.shedding
    if shedding is not None and any(isinstance(budget, KeepUp | HoldAvailable) for budget in shedding.budgets):
        notes.append("What KEEP UP and the memory of the workers allow is known when the query runs.")
    return Table("SHED, as divided among the streams", ("stream", "rows that probe", "held"), rows, notes=tuple(notes))


def reason_text(decision: Decision) -> str:
    """Why the plan was chosen, as a sentence."""
    return f"Why this plan: {decision.reason.rstrip('.')}."


def stream_text(input_: Input) -> str:
    """The name of a stream, with its alias if that differs."""
    name = input_.source.name
    return name if name == input_.alias else f"{name} AS {input_.alias}"


def _note(estimate: Estimate, kind: StageKind, number: int) -> str:
    """The estimate of a stage for the end of its line. A fold includes the shuffle before it."""
    kinds = ("FOLD", "shuffle") if kind == "FOLD" else (kind,)
    stages = [stage for stage in estimate.stages if stage.kind in kinds and stage.number == number]
    return f" ‹{_amounts_text(stages)}›" if stages else ""


def _amounts_text(stages: list[StageEstimate]) -> str:
    parts = []
    for stage in stages:
        if stage.kind == "shuffle":
            continue
        parts.append(f"{seconds_text(stage.cpu)} CPU")
        parts += [f"{bytes_text(stage.state_bytes)} state"] if stage.state_bytes else []
        parts += [f"{bytes_text(stage.memory_bytes)} memory"] if stage.memory_bytes else []
        parts += [f"{bytes_text(stage.shuffle_bytes)}/s shuffled"] if stage.shuffle_bytes else []
    for stage in stages:
        if stage.kind == "shuffle":
            parts.append(f"{bytes_text(stage.shuffle_bytes)}/s shuffled in {seconds_text(stage.cpu)}")
    return ", ".join(parts)
