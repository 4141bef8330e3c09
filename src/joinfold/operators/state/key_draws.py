"""Draws of keys are not stored. They follow from the keys, and would take more room than the rest of an entry."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from joinfold.operators.packing.draws import with_draws
from joinfold.physical.column_names import DRAW
from joinfold.physical.plan import Pipeline
from joinfold.physical.shedding import KeySampling
from joinfold.physical.stage import inputs_of
from joinfold.physical.stored import EntriesOf, Stored


@dataclass(frozen=True, slots=True)
class KeyDraws:
    """The columns from which the draws of what a stage stores are derived, and the seed."""

    columns: Mapping[Stored, tuple[str, ...]] = field(default_factory=dict)
    seed: int = 0

    @classmethod
    def of(cls, pipeline: Pipeline, stage: int) -> "KeyDraws":
        """The draws of a stage's inputs, if keys are sampled."""
        if not isinstance(pipeline.shedding, KeySampling):
            return cls()
        inputs = inputs_of(pipeline.stages[stage])
        drawn: dict[Stored, tuple[str, ...]] = {EntriesOf(own.name): own.drawn_by for own in inputs if own.drawn_by}
        return cls(drawn, pipeline.shedding.seed)

    def left_out(self, stored: Stored, entries: pa.RecordBatch) -> pa.RecordBatch:
        """Entries as they are stored."""
        return entries.drop_columns([DRAW]) if stored in self.columns else entries

    def derived(self, stored: Stored, entries: pa.RecordBatch) -> pa.RecordBatch:
        """Entries as they were before. Older versions stored the draws."""
        if stored not in self.columns or DRAW in entries.schema.names:
            return entries
        return with_draws(entries, self.columns[stored], self.seed)


NO_DRAWS = KeyDraws()
"""Everything is stored as it is."""
