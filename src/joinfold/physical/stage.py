"""The stages behind PACK, in the order in which rows go through them; the last makes answers of what the others give.

    PACK ──▶ NumberRows ──▶ LastRowsPerKey ──▶ folds, each but the last into a view ──▶ Merge
                                          └──▶ JoinAsFound or JoinAtMoves          ──▶ Concatenate

Headers of all streams reach every stage, so all of them find the same watermark and answer at the same instants.
"""

from dataclasses import dataclass
from typing import assert_never

from joinfold.physical.combining import NOTHING_COMBINED, Combining
from joinfold.physical.payload import (
    NO_PAIR,
    AggregateSpec,
    ColumnRef,
    Extreme,
    ExtremeFold,
    InputSpec,
    Sums,
)
from joinfold.physical.source import ConstantRow, InputSource, StreamRows, ViewOf


@dataclass(frozen=True, slots=True)
class Body:
    """What a stage joins and sums; a query over one stream has a second input of one constant row.

    Products have a column of each input and of the pair behind them; the first integer product counts combinations.
    """

    inputs: tuple[InputSpec, ...]
    pair: Sums = NO_PAIR
    combining: Combining = NOTHING_COMBINED
    integer_products: tuple[tuple[int, ...], ...] = ()
    real_products: tuple[tuple[ColumnRef, ...], ...] = ()
    extremes: tuple[ExtremeFold, ...] = ()

    def __post_init__(self) -> None:
        assert len(self.inputs) >= 2
        assert all(len(product) == len(self.inputs) + 1 for product in self.integer_products)
        assert not self.integer_products or not any(self.integer_products[0])

    @property
    def all_sums(self) -> tuple[Sums, ...]:
        """The inputs, and the pair behind them."""
        return (*self.inputs, self.pair)

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns that totals are grouped by."""
        return tuple(name for sums in self.all_sums for name in sums.groups)

    @property
    def is_global(self) -> bool:
        """A query without groups answers at every instant, also where nothing matches."""
        return not self.groups

    @property
    def has_constant_row(self) -> bool:
        """Whether the last input is the constant row."""
        return isinstance(self.inputs[-1].source, ConstantRow)

    @property
    def views(self) -> tuple[int, ...]:
        """The inputs that are views."""
        return tuple(ordinal for ordinal, spec in enumerate(self.inputs) if isinstance(spec.source, ViewOf))

    @property
    def is_open_ended(self) -> bool:
        """Whether there are entries of which nobody knows when they will leave: later rows decide."""
        return any(spec.open_ended for spec in self.inputs)

    @property
    def has_one_key(self) -> bool:
        """Whether all inputs are joined by the same key classes."""
        return len({frozenset(spec.classes) for spec in self.inputs}) == 1

    def extreme(self, fold: ExtremeFold) -> Extreme:
        """The column that an extreme of the query is."""
        return self.all_sums[fold.ordinal].extremes[fold.index]

    @property
    def bucket_classes(self) -> frozenset[int]:
        """The key classes that rows are distributed by: those that every input has, or else the most common one."""
        own = [set(spec.classes) for spec in self.inputs if not isinstance(spec.source, ConstantRow)]
        common = set.intersection(*own)
        if not common and any(own):
            every = sorted({number for classes in own for number in classes})
            common = {max(every, key=lambda number: sum(number in classes for classes in own))}
        return frozenset(common)


@dataclass(frozen=True, slots=True)
class NumberRows:
    """Finds where windows that count rows move: the order of each of these streams goes through one bucket."""

    streams: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LastRowsPerKey:
    """Makes a view of the last rows of a stream for each value of the columns ``by``."""

    input: InputSpec
    by: tuple[str, ...]
    rows: int

    @property
    def stream(self) -> int:
        """The stream whose rows these are."""
        assert isinstance(self.input.source, StreamRows)
        return self.input.source.stream


@dataclass(frozen=True, slots=True)
class View:
    """The groups that changed at an instant, with their totals, for a later stage."""


@dataclass(frozen=True, slots=True)
class ToMerge:
    """The totals of all groups at an instant; for CHANGES, also as they were at the one before."""

    changes: bool = False


@dataclass(frozen=True, slots=True)
class FoldAtInstants:
    """Aggregates the join of its inputs at every instant."""

    body: Body
    output: View | ToMerge


@dataclass(frozen=True, slots=True)
class FoldAtArrivals:
    """Aggregates the join of its inputs at every row that arrives."""

    body: Body
    changes: bool = False


@dataclass(frozen=True, slots=True)
class JoinAsFound:
    """Gives combinations of time windows as soon as their last row is there, before the watermark."""

    body: Body


@dataclass(frozen=True, slots=True)
class JoinAtMoves:
    """Gives combinations of windows that count rows, or that are joined by number, as the windows move."""

    body: Body


@dataclass(frozen=True, slots=True)
class Totals:
    """What a fold gives of each group: so many integer and real products, and these extremes."""

    groups: tuple[str, ...]
    integers: int
    reals: int
    extremes: tuple[Extreme, ...]

    @staticmethod
    def of(body: Body) -> "Totals":
        """The totals of a fold."""
        extremes = tuple(body.extreme(fold) for fold in body.extremes)
        return Totals(body.groups, len(body.integer_products), len(body.real_products), extremes)


@dataclass(frozen=True, slots=True)
class Merge:
    """Adds the parts of a group from all buckets and finishes its aggregates; it has no state.

    ``groups`` are the columns of totals that are the GROUP BY expressions, in their order. ``placed`` are the columns
    that take the place of the instant, where something else says when an answer is. Where the groups of a bucket are
    in no other, ``crosses_buckets`` is false and nothing is shuffled.
    """

    totals: Totals
    groups: tuple[str, ...]
    aggregates: tuple[AggregateSpec, ...]
    changes: bool = False
    placed: tuple[str, ...] = ()
    crosses_buckets: bool = True


@dataclass(frozen=True, slots=True)
class Concatenate:
    """Combinations go out as they come; ``placed`` as in `Merge`."""

    placed: tuple[str, ...] = ()


JoiningStage = FoldAtInstants | FoldAtArrivals | JoinAsFound | JoinAtMoves
StatefulStage = NumberRows | LastRowsPerKey | JoiningStage
LastStage = Merge | Concatenate
Stage = StatefulStage | LastStage


def inputs_of(stage: StatefulStage) -> tuple[InputSpec, ...]:
    """The inputs whose entries a stage keeps; the stage that numbers rows keeps the order of streams instead."""
    match stage:
        case NumberRows():
            return ()
        case LastRowsPerKey(input=spec):
            return (spec,)
        case FoldAtInstants(body=body) | FoldAtArrivals(body=body) | JoinAsFound(body=body) | JoinAtMoves(body=body):
            return body.inputs
        case _:
            assert_never(stage)


def input_from(stage: StatefulStage, source: InputSource) -> int | None:
    """The input of a stage that a source is, if it is one."""
    return next((ordinal for ordinal, spec in enumerate(inputs_of(stage)) if spec.source == source), None)


def makes_view(stage: StatefulStage) -> bool:
    """Whether a later stage reads what this one makes."""
    match stage:
        case LastRowsPerKey() | FoldAtInstants(output=View()):
            return True
        case _:
            return False


def is_plain(stage: StatefulStage) -> bool:
    """Whether a stage gives combinations, not aggregates."""
    return isinstance(stage, JoinAsFound | JoinAtMoves)


def is_distributed(stage: StatefulStage) -> bool:
    """Whether there is use for more than one bucket."""
    match stage:
        case NumberRows() | LastRowsPerKey() | JoinAsFound() | JoinAtMoves():
            return True
        case FoldAtInstants(body=body) | FoldAtArrivals(body=body):
            return bool(body.bucket_classes or body.combining)
        case _:
            assert_never(stage)


def is_replicated(stage: StatefulStage, ordinal: int) -> bool:
    """Whether every bucket gets all entries of an input: it has no key to be distributed by, and is not the first.

    Without any key the first input is distributed by its values, so that every combination is in one bucket.
    """
    if isinstance(stage, NumberRows | LastRowsPerKey):
        return False
    classes = stage.body.bucket_classes
    if classes:
        return not classes <= set(stage.body.inputs[ordinal].classes)
    return ordinal > 0 and is_distributed(stage)
