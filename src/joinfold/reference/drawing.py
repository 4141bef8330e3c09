"""Which combinations a sample has: those of the keys, or of the rows, whose draws are small enough, or certain.

A draw is a hash, so its definition is the engine's own function, of values that are computed here by the definition.
Which key is sampled, and by which columns a row is drawn, is read from the plan.
"""

from collections.abc import Callable
from datetime import UTC, tzinfo

import pyarrow as pa

from joinfold.operators.packing.draws import draws, row_draws, seed_of
from joinfold.physical.column_names import TIME
from joinfold.physical.plan import PhysicalPlan
from joinfold.physical.shedding import REPLICATES, WHOLE, KeySampling, Sampling
from joinfold.reference.contents import Timed
from joinfold.reference.evaluate import Context, evaluate
from joinfold.reference.rows import to_arrow
from joinfold.reference.shedding import Combination, Drawn, Sample, key_sample
from joinfold.shedding.rates import Sample as Chosen
from joinfold.shedding.rates import threshold
from joinfold.types import Field, Schema


def sample_of(plan: PhysicalPlan, chosen: Chosen, zone: tzinfo = UTC) -> Sample:
    """The combinations of a sample that the engine has chosen: its rate, and the draws of its certain keys."""
    rate = chosen.rate
    shedding = plan.pipeline.shedding
    assert isinstance(shedding, Sampling)
    draw = _drawer(plan, shedding, zone)
    aliases = [plan.timing.names[stream] for stream in shedding.streams]
    if isinstance(shedding, KeySampling):
        first = aliases[0]
        return key_sample(
            rate,
            chosen.certain.__contains__,
            lambda combination: draw(first, combination),
            shedding.groups_are_whole,
            chosen.expected,
        )

    def drawn(combination: Combination) -> Drawn | None:
        found = [draw(alias, combination) for alias in aliases]
        if rate == WHOLE:
            return Drawn(1, (-1,) * len(found))
        if any(own >= threshold(rate) for own in found):
            return None
        return Drawn(round(WHOLE / rate) ** len(found), tuple(own % REPLICATES["row"] for own in found))

    return Sample(rate, drawn, by_key=False, axes=len(aliases))


def _drawer(plan: PhysicalPlan, shedding: Sampling, zone: tzinfo) -> Callable[[str, Combination], int]:
    """The draw of a stream's row in a combination, where it may read rows of relations. Each is computed once."""
    known: dict[tuple[str, tuple[int, ...]], int] = {}

    def draw(alias: str, combination: Combination) -> int:
        stream = plan.timing.names.index(alias)
        relations = (own.alias for attached in plan.frames[stream].attached for own in attached.relations)
        read = {own: combination[own] for own in (alias, *relations)}
        name = alias, tuple(map(id, read.values()))
        if name not in known:
            context = Context({own: item.row for own, item in read.items()}, zone=zone).wide()
            columns = [_column(plan, stream, column, read[alias], context) for column in _drawn_by(plan, stream)]
            hashed = draws if isinstance(shedding, KeySampling) else row_draws
            known[name] = int(hashed(columns, seed_of(shedding, stream))[0])
        return known[name]

    return draw


def _drawn_by(plan: PhysicalPlan, stream: int) -> tuple[str, ...]:
    return plan.pipeline.input_of(stream).drawn_by


def _column(plan: PhysicalPlan, stream: int, name: str, item: Timed, context: Context) -> pa.Array:
    """One value, as a column of a single row."""
    if name == TIME:
        return pa.array([item.ts], pa.int64())
    expression = plan.frames[stream].expressions[name]
    value = {name: evaluate(expression, context)}
    return to_arrow([value], Schema((Field(name, expression.type),))).column(0).combine_chunks()
