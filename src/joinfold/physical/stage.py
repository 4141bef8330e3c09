"""The stages after PACK, in the order in which rows go through them. The last one makes the answers.

    PACK ──▶ NumberRows ──▶ LastRowsPerKey ──▶ folds, each but the last into a view ──▶ Merge
                                          └──▶ JoinAsFound or JoinAtMoves          ──▶ Concatenate

Every stage gets the headers of all streams, so all stages find the same watermark and answer at the same instants.
"""

from dataclasses import dataclass, field, replace
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
from joinfold.physical.shedding import Estimates
from joinfold.physical.source import ConstantRow, InputSource, StreamRows, ViewOf


@dataclass(frozen=True, slots=True)
class Body:
    """What a stage joins and sums. A query over one stream has a second input, the constant row.

    A product has a column of each input, and one of the pair. The first integer product counts combinations.
    ``replicates`` are the columns of ``groups`` that hold the replicate of a sample. ``narrow`` is the body that this
    one was widened from.
    """

    inputs: tuple[InputSpec, ...]
    pair: Sums = NO_PAIR
    combining: Combining = NOTHING_COMBINED
    integer_products: tuple[tuple[int, ...], ...] = ()
    real_products: tuple[tuple[ColumnRef, ...], ...] = ()
    extremes: tuple[ExtremeFold, ...] = ()
    replicates: tuple[str, ...] = ()
    narrow: "Body | None" = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        assert len(self.inputs) >= 2
        assert all(len(product) == len(self.inputs) + 1 for product in self.integer_products)
        assert not self.integer_products or not any(self.integer_products[0])

    @property
    def all_sums(self) -> tuple[Sums, ...]:
        """The sums of the inputs, then of the pair."""
        return (*self.inputs, self.pair)

    @property
    def whole_reals(self) -> tuple[int, ...]:
        """The numbers of the real products that are products of integers alone."""
        return tuple(number for number, refs in enumerate(self.real_products) if all(ref.is_integer for ref in refs))

    @property
    def widened(self) -> "Body":
        """The same with every product of integers twice, modulo 2^64 and in double-double: see `operators.wide_totals`.

        What is added comes after the products that were there, in their order.
        """
        residues = tuple(tuple(ref.index for ref in self.real_products[number]) for number in self.whole_reals)
        sizes = tuple(tuple(ColumnRef(True, column) for column in product) for product in self.integer_products)
        return replace(
            self,
            integer_products=(*self.integer_products, *residues),
            real_products=(*self.real_products, *sizes),
            narrow=self,
        )

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns that totals are grouped by."""
        return tuple(name for sums in self.all_sums for name in sums.groups)

    @property
    def is_global(self) -> bool:
        """Whether the query has no groups. Then there is an answer at every instant, even if nothing matches."""
        return set(self.groups) <= set(self.replicates)

    @property
    def has_constant_row(self) -> bool:
        """Whether the last input is the constant row."""
        return isinstance(self.inputs[-1].source, ConstantRow)

    @property
    def views(self) -> tuple[int, ...]:
        """The ordinals of the inputs that are views."""
        return tuple(ordinal for ordinal, spec in enumerate(self.inputs) if isinstance(spec.source, ViewOf))

    @property
    def is_open_ended(self) -> bool:
        """Whether later rows decide when entries of some input leave."""
        return any(spec.open_ended for spec in self.inputs)

    @property
    def has_one_key(self) -> bool:
        """Whether all inputs are joined by the same key classes."""
        return len({frozenset(spec.classes) for spec in self.inputs}) == 1

    def extreme(self, fold: ExtremeFold) -> Extreme:
        """The column of an extreme of the query."""
        return self.all_sums[fold.ordinal].extremes[fold.index]

    @property
    def bucket_classes(self) -> frozenset[int]:
        """The key classes by which rows are distributed: those of every input, or else the most common one."""
        own = [set(spec.classes) for spec in self.inputs if not isinstance(spec.source, ConstantRow)]
        common = set.intersection(*own)
        if not common and any(own):
            every = sorted({number for classes in own for number in classes})
            common = {max(every, key=lambda number: sum(number in classes for classes in own))}
        return frozenset(common)


@dataclass(frozen=True, slots=True)
class NumberRows:
    """Finds where windows that count rows move. The order of each of these streams goes through one bucket."""

    streams: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LastRowsPerKey:
    """Makes a view of the last rows of a stream for each value of the columns ``by``."""

    input: InputSpec
    by: tuple[str, ...]
    rows: int

    @property
    def stream(self) -> int:
        """The stream whose rows are kept."""
        assert isinstance(self.input.source, StreamRows)
        return self.input.source.stream


@dataclass(frozen=True, slots=True)
class View:
    """Emits the groups that changed at an instant, with their totals, to a later stage."""


@dataclass(frozen=True, slots=True)
class ToMerge:
    """Emits the totals of all groups at an instant; under CHANGES, also those of the instant before."""

    changes: bool = False


@dataclass(frozen=True, slots=True)
class FoldAtInstants:
    """Aggregates the join of its inputs at every instant."""

    body: Body
    output: View | ToMerge


@dataclass(frozen=True, slots=True)
class FoldAtArrivals:
    """Aggregates the join of its inputs for every row that arrives."""

    body: Body
    changes: bool = False


@dataclass(frozen=True, slots=True)
class JoinAsFound:
    """Emits combinations of windows in time as soon as their last row is there, before the watermark."""

    body: Body


@dataclass(frozen=True, slots=True)
class JoinAtMoves:
    """Emits combinations as windows move: where windows count rows, or are joined by window ids."""

    body: Body


@dataclass(frozen=True, slots=True)
class Totals:
    """What a fold emits for each group: how many integer and real products, and which extremes.

    ``whole_reals`` are the numbers of the real products that are products of integers alone.
    """

    groups: tuple[str, ...]
    integers: int
    reals: int
    extremes: tuple[Extreme, ...]
    whole_reals: tuple[int, ...] = ()

    @staticmethod
    def of(body: Body) -> "Totals":
        """The totals of a fold; those of a bucket that was widened have more products after these."""
        own = body if body.narrow is None else body.narrow
        extremes = tuple(own.extreme(fold) for fold in own.extremes)
        return Totals(own.groups, len(own.integer_products), len(own.real_products), extremes, own.whole_reals)


@dataclass(frozen=True, slots=True)
class Merge:
    """Adds the parts of a group from all buckets and finishes its aggregates. It has no state.

    ``groups`` has the columns of totals for the GROUP BY expressions, in their order. ``placed`` has the leading output
    columns under SYNC ON WINDOW ID and EMIT ON ARRIVAL. It is empty otherwise: then the instant leads. If every group
    is in one bucket, ``crosses_buckets`` is False and nothing is shuffled. ``estimates`` is None without SHED.
    """

    totals: Totals
    groups: tuple[str, ...]
    aggregates: tuple[AggregateSpec, ...]
    changes: bool = False
    placed: tuple[str, ...] = ()
    crosses_buckets: bool = True
    estimates: Estimates | None = None

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns of totals that tell groups of the answer apart; replicates of a sample do not."""
        replicates = () if self.estimates is None else self.estimates.replicates
        return tuple(name for name in self.totals.groups if name not in replicates)


@dataclass(frozen=True, slots=True)
class Concatenate:
    """Emits combinations as they come. ``placed`` is as in `Merge`."""

    placed: tuple[str, ...] = ()


JoiningStage = FoldAtInstants | FoldAtArrivals | JoinAsFound | JoinAtMoves
StatefulStage = NumberRows | LastRowsPerKey | JoiningStage
LastStage = Merge | Concatenate
Stage = StatefulStage | LastStage


def inputs_of(stage: StatefulStage) -> tuple[InputSpec, ...]:
    """The inputs whose entries a stage keeps. `NumberRows` has none: it keeps the order of streams."""
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
    """The ordinal of the input that reads this source, None if the stage does not read it."""
    return next((ordinal for ordinal, spec in enumerate(inputs_of(stage)) if spec.source == source), None)


def makes_view(stage: StatefulStage) -> bool:
    """Whether a later stage reads the output of this one."""
    match stage:
        case LastRowsPerKey() | FoldAtInstants(output=View()):
            return True
        case _:
            return False


def is_plain(stage: StatefulStage) -> bool:
    """Whether a stage emits combinations, not aggregates."""
    return isinstance(stage, JoinAsFound | JoinAtMoves)


def is_distributed(stage: StatefulStage) -> bool:
    """Whether a stage can use more than one bucket."""
    match stage:
        case NumberRows() | LastRowsPerKey() | JoinAsFound() | JoinAtMoves():
            return True
        case FoldAtInstants(body=body) | FoldAtArrivals(body=body):
            return bool(body.bucket_classes or body.combining)
        case _:
            assert_never(stage)


def is_replicated(stage: StatefulStage, ordinal: int) -> bool:
    """Whether every bucket gets all entries of an input, because it lacks the keys that rows are distributed by.

    If there are no such keys, the first input is distributed by its values and the others are replicated. So every
    combination is found in one bucket.
    """
    if isinstance(stage, NumberRows | LastRowsPerKey):
        return False
    classes = stage.body.bucket_classes
    if classes:
        return not classes <= set(stage.body.inputs[ordinal].classes)
    return ordinal > 0 and is_distributed(stage)
