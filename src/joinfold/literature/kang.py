"""Kang, Naughton and Viglas 2003: what a window join costs per second, and which structures make it cheapest.

The engine does not use this model (see `literature`). It does use what the paper says about too little CPU or memory:
`shedding.allocation`.

A row that arrives on A probes window B, enters window A, and the oldest row of A leaves. Grouped by the window that is
accessed, the cost has two *directions*. Each depends only on the structure of its own window:

    C(A⋈B) = [λa·probe(B) + 2·λb·update(B)]      A→B, by the structure on window B
           + [λb·probe(A) + 2·λa·update(A)]      B→A, by the structure on window A

So the best pair of structures has the best one for each window. There are four structures for a window of W rows, with
buckets of b rows and nodes of n rows:

                  rows accessed by a probe                  by an update (one insertion or one removal)
    N  list       W                                         1
    H  hash       b                                         1, as buckets keep the order of arrival
    B  B+tree     (⌈log_{n+1}⌈W/n⌉⌉ + 1)·⌈log2 n⌉             the same
    T  T-tree     1.5·(⌈log2⌈W/n⌉⌉ − 1) + ⌈log2 n⌉            the same; a single node: ⌈log2 n⌉

Accessing a row costs the weight of its structure, which differs for probes and updates. All costs are linear in the
rates, so two structures cost the same at one *crossover* ratio of probes to updates. The printed equations 6, 9 and 10
lack the factor 2 before ⌈log2 n⌉ in the update of a T-tree. With it, the model reproduces the printed table of costs to
the last digit.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Literal, assert_never

Structure = Literal["list", "hash", "btree", "ttree"]

LETTERS: Mapping[Structure, str] = {"list": "N", "hash": "H", "btree": "B", "ttree": "T"}
COMPARED_BY_KANG: tuple[Structure, ...] = ("list", "hash", "ttree")
FOR_EQUALITY: tuple[Structure, ...] = ("list", "hash", "btree", "ttree")
FOR_INEQUALITY: tuple[Structure, ...] = ("list", "btree", "ttree")


@dataclass(frozen=True, slots=True)
class KangWeights:
    """What accessing one row costs in each structure, and the sizes of buckets and nodes. Defaults: Kang's machine."""

    list_probe: float = 3e-4
    list_update: float = 1e-4
    hash_probe: float = 5.5e-4
    hash_update: float = 7.8e-4
    btree_probe: float = 2.6e-4
    btree_update: float = 2.6e-4
    ttree_probe: float = 2.6e-4
    ttree_update: float = 2.7e-4
    bucket_rows: float = 10
    node_rows: int = 100

    def __post_init__(self) -> None:
        assert self.bucket_rows > 0 and self.node_rows >= 2


MEASURED = KangWeights()


@dataclass(frozen=True, slots=True)
class Workload:
    """Windows A and B in rows, and the rates λa and λb in rows per second."""

    rows_a: float
    rows_b: float
    rate_a: float
    rate_b: float

    def __post_init__(self) -> None:
        assert min(self.rows_a, self.rows_b, self.rate_a, self.rate_b) >= 0


@dataclass(frozen=True, slots=True)
class Combination:
    """A structure for each window. The name `TN` stands for a T-tree on A and a list on B."""

    on_a: Structure
    on_b: Structure

    @classmethod
    def of(cls, name: str) -> "Combination":
        """The combination with this name."""
        by_letter = {letter: structure for structure, letter in LETTERS.items()}
        return cls(by_letter[name[0]], by_letter[name[1]])

    @property
    def name(self) -> str:
        """The letter of the structure on A, then of the structure on B."""
        return LETTERS[self.on_a] + LETTERS[self.on_b]


def probe_cost(structure: Structure, window_rows: float, weights: KangWeights) -> float:
    """The cost of one probe of a window."""
    match structure:
        case "list":
            return window_rows * weights.list_probe
        case "hash":
            return weights.bucket_rows * weights.hash_probe
        case "btree":
            return _btree_rows(window_rows, weights.node_rows) * weights.btree_probe
        case "ttree":
            return _ttree_rows(window_rows, weights.node_rows) * weights.ttree_probe
        case _:
            assert_never(structure)


def update_cost(structure: Structure, window_rows: float, weights: KangWeights) -> float:
    """The cost of one insertion into a window, or one removal from it."""
    match structure:
        case "list":
            return weights.list_update
        case "hash":
            return weights.hash_update
        case "btree":
            return _btree_rows(window_rows, weights.node_rows) * weights.btree_update
        case "ttree":
            return _ttree_rows(window_rows, weights.node_rows) * weights.ttree_update
        case _:
            assert_never(structure)


def direction_cost(
    structure: Structure, window_rows: float, probe_rate: float, update_rate: float, weights: KangWeights = MEASURED
) -> float:
    """The cost of one direction per second. Every row that enters the window also leaves it: two updates per row."""
    probes = probe_rate * probe_cost(structure, window_rows, weights)
    return probes + 2 * update_rate * update_cost(structure, window_rows, weights)


def join_cost(combination: Combination, load: Workload, weights: KangWeights = MEASURED) -> float:
    """The cost of both directions per second."""
    a_to_b = direction_cost(combination.on_b, load.rows_b, load.rate_a, load.rate_b, weights)
    b_to_a = direction_cost(combination.on_a, load.rows_a, load.rate_b, load.rate_a, weights)
    return a_to_b + b_to_a


def best_combination(
    load: Workload, structures: Sequence[Structure] = FOR_EQUALITY, weights: KangWeights = MEASURED
) -> Combination:
    """The cheapest structure for each window. If several cost the same, the first in ``structures``."""
    return Combination(
        min(structures, key=lambda on_a: direction_cost(on_a, load.rows_a, load.rate_b, load.rate_a, weights)),
        min(structures, key=lambda on_b: direction_cost(on_b, load.rows_b, load.rate_a, load.rate_b, weights)),
    )


def crossover(first: Structure, second: Structure, window_rows: float, weights: KangWeights = MEASURED) -> float | None:
    """The ratio of probes of a window to its own arrivals at which two structures cost the same.

    The ratio is λa/λb on window B, and λb/λa on window A. For list and hash with Kang's weights it is 13.6/(3W−55).
    None if one structure is cheaper at every ratio.
    """
    probes_save = probe_cost(first, window_rows, weights) - probe_cost(second, window_rows, weights)
    updates_add = 2 * (update_cost(second, window_rows, weights) - update_cost(first, window_rows, weights))
    return updates_add / probes_save if updates_add * probes_save > 0 else None


@dataclass(frozen=True, slots=True)
class WinningRange:
    """A combination, and the range of λa/(λa+λb) in which it is the cheapest ("winning" in the paper)."""

    combination: Combination
    from_share: float
    to_share: float


def winning_ranges(
    rows_a: float, rows_b: float, structures: Sequence[Structure] = FOR_EQUALITY, weights: KangWeights = MEASURED
) -> tuple[WinningRange, ...]:
    """The cheapest combinations, in order, as λa/(λa+λb) goes from 0 to 1. The windows keep their sizes."""
    crossovers = {0.0, 1.0}
    for first, second in product(structures, repeat=2):
        if (ratio_on_a := crossover(first, second, rows_a, weights)) is not None:
            crossovers.add(1 / (1 + ratio_on_a))
        if (ratio_on_b := crossover(first, second, rows_b, weights)) is not None:
            crossovers.add(ratio_on_b / (1 + ratio_on_b))
    ranges: list[WinningRange] = []
    for low, high in pairwise(sorted(crossovers)):
        middle = (low + high) / 2
        winner = best_combination(Workload(rows_a, rows_b, middle, 1 - middle), structures, weights)
        if ranges and ranges[-1].combination == winner:
            ranges[-1] = replace(ranges[-1], to_share=high)
        else:
            ranges.append(WinningRange(winner, low, high))
    return tuple(ranges)


def crossover_share(
    first: Combination,
    second: Combination,
    load_at: Callable[[float], Workload],
    weights: KangWeights = MEASURED,
    low: float = 0.0,
    high: float = 1.0,
) -> float | None:
    """The share between ``low`` and ``high`` at which two combinations cost the same, by bisection; None without one.

    ``load_at`` gives the workload at a share. So windows may grow with the rates, as windows in time do.
    """

    def difference(share: float) -> float:
        return join_cost(first, load_at(share), weights) - join_cost(second, load_at(share), weights)

    first_is_cheaper = difference(low) < 0
    if difference(low) * difference(high) >= 0:
        return None
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if (difference(middle) < 0) == first_is_cheaper else (low, middle)
    return high


def _btree_rows(window_rows: float, node_rows: int) -> float:
    """The rows accessed in a B+tree: a binary search in each node from the root to a leaf."""
    leaves = math.ceil(window_rows / node_rows)
    return (_levels(leaves, node_rows + 1) + 1) * _levels(node_rows, 2)


def _ttree_rows(window_rows: float, node_rows: int) -> float:
    """The rows accessed in a T-tree: one or two comparisons in each node on the path, a binary search in the last.

    A tree of a single node has no path.
    """
    nodes = math.ceil(window_rows / node_rows)
    return 1.5 * max(_levels(nodes, 2) - 1, 0) + _levels(node_rows, 2)


def _levels(count: int, base: int) -> int:
    """⌈log_base count⌉ in integer arithmetic. With floating logarithms ⌈log_5 125⌉ would be 4."""
    levels, reach = 0, 1
    while reach < count:
        levels, reach = levels + 1, reach * base
    return levels
