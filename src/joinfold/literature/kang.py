"""Kang, Naughton and Viglas 2003: what a window join costs per second, and what to give up when that is too much.

A row that arrives on A probes window B, enters window A, and the oldest row of A leaves. Put in order by the window
that is touched, the cost has two *directions*, and neither knows which structure the other uses:

    C(A⋈B) = [λa·probe(B) + 2·λb·update(B)]      A→B, by the structure on window B
           + [λb·probe(A) + 2·λa·update(A)]      B→A, by the structure on window A

So the best pair of structures is the best one for each window. A window of W rows has, for a bucket of b rows and a
node of n, one of four:

                  rows touched by a probe                   by an update (one insertion or one removal)
    N  list       W                                         1
    H  hash       b                                         1, as buckets keep the order of arrival
    B  B+tree     (⌈log_{n+1}⌈W/n⌉⌉ + 1)·⌈log2 n⌉             the same
    T  T-tree     1.5·(⌈log2⌈W/n⌉⌉ − 1) + ⌈log2 n⌉            the same; a single node: ⌈log2 n⌉

A touched row costs the weight of its structure, for probes P and for updates I. Everything is linear in the rates, so
two structures change places at one ratio of probes to updates. The printed equations 6, 9 and 10 lose the factor 2
before ⌈log2 n⌉ in the update of a T-tree; here it is kept, and the printed table of costs comes out to the last digit.

Where CPU (μ probes per second) or memory (M rows) is short, rows are left out at random and r = σ(λa'·B + λb'·A)
rows per second come out. Since r is linear in each split, the largest is where the splits are as unequal as allowed.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Literal, assert_never

from joinfold.errors import UsageError

Structure = Literal["list", "hash", "btree", "ttree"]

LETTERS: Mapping[Structure, str] = {"list": "N", "hash": "H", "btree": "B", "ttree": "T"}
COMPARED_BY_KANG: tuple[Structure, ...] = ("list", "hash", "ttree")
FOR_EQUALITY: tuple[Structure, ...] = ("list", "hash", "btree", "ttree")
FOR_INEQUALITY: tuple[Structure, ...] = ("list", "btree", "ttree")


@dataclass(frozen=True, slots=True)
class KangWeights:
    """What touching one row costs in each structure, with the sizes of buckets and nodes. Defaults: Kang's machine."""

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
    """A structure for each window; `TN` is a T-tree on A and a list on B."""

    on_a: Structure
    on_b: Structure

    @classmethod
    def of(cls, name: str) -> "Combination":
        """The combination with this name."""
        by_letter = {letter: structure for structure, letter in LETTERS.items()}
        return cls(by_letter[name[0]], by_letter[name[1]])

    @property
    def name(self) -> str:
        """The letter of A's structure, then that of B's."""
        return LETTERS[self.on_a] + LETTERS[self.on_b]


def probe_cost(structure: Structure, window_rows: float, weights: KangWeights) -> float:
    """One probe of a window."""
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
    """One insertion into a window, or one removal from it."""
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
    """One direction per second; every row that enters the window also leaves it, hence twice the updates."""
    probes = probe_rate * probe_cost(structure, window_rows, weights)
    return probes + 2 * update_rate * update_cost(structure, window_rows, weights)


def join_cost(combination: Combination, load: Workload, weights: KangWeights = MEASURED) -> float:
    """Both directions per second."""
    a_to_b = direction_cost(combination.on_b, load.rows_b, load.rate_a, load.rate_b, weights)
    b_to_a = direction_cost(combination.on_a, load.rows_a, load.rate_b, load.rate_a, weights)
    return a_to_b + b_to_a


def best_combination(
    load: Workload, structures: Sequence[Structure] = FOR_EQUALITY, weights: KangWeights = MEASURED
) -> Combination:
    """The cheapest structure for each window; of equals the one named first."""
    return Combination(
        min(structures, key=lambda on_a: direction_cost(on_a, load.rows_a, load.rate_b, load.rate_a, weights)),
        min(structures, key=lambda on_b: direction_cost(on_b, load.rows_b, load.rate_a, load.rate_b, weights)),
    )


def crossover(first: Structure, second: Structure, window_rows: float, weights: KangWeights = MEASURED) -> float | None:
    """The number of probes per arrival of the window's own at which two structures cost the same.

    On window B it is λa/λb and on window A λb/λa. For list and hash with Kang's weights it is 13.6/(3W−55). None where
    one structure is the cheaper at every ratio.
    """
    probes_save = probe_cost(first, window_rows, weights) - probe_cost(second, window_rows, weights)
    updates_add = 2 * (update_cost(second, window_rows, weights) - update_cost(first, window_rows, weights))
    return updates_add / probes_save if updates_add * probes_save > 0 else None


@dataclass(frozen=True, slots=True)
class Reign:
    """A combination that is the cheapest while λa/(λa+λb) is between two shares."""

    combination: Combination
    from_share: float
    to_share: float


def reigns(
    rows_a: float, rows_b: float, structures: Sequence[Structure] = FOR_EQUALITY, weights: KangWeights = MEASURED
) -> tuple[Reign, ...]:
    """Which combinations win, in order, as λa/(λa+λb) goes from 0 to 1 over windows that stay as they are."""
    cuts = {0.0, 1.0}
    for first, second in product(structures, repeat=2):
        if (ratio_on_a := crossover(first, second, rows_a, weights)) is not None:
            cuts.add(1 / (1 + ratio_on_a))
        if (ratio_on_b := crossover(first, second, rows_b, weights)) is not None:
            cuts.add(ratio_on_b / (1 + ratio_on_b))
    found: list[Reign] = []
    for low, high in pairwise(sorted(cuts)):
        middle = (low + high) / 2
        winner = best_combination(Workload(rows_a, rows_b, middle, 1 - middle), structures, weights)
        if found and found[-1].combination == winner:
            found[-1] = replace(found[-1], to_share=high)
        else:
            found.append(Reign(winner, low, high))
    return tuple(found)


def crossover_share(
    first: Combination,
    second: Combination,
    load_at: Callable[[float], Workload],
    weights: KangWeights = MEASURED,
    low: float = 0.0,
    high: float = 1.0,
) -> float | None:
    """The share between ``low`` and ``high`` at which two combinations change places, by halving; None if they do not.

    It needs no closed form, so the windows may grow with the rates, as windows in time do.
    """

    def difference(share: float) -> float:
        return join_cost(first, load_at(share), weights) - join_cost(second, load_at(share), weights)

    first_is_cheaper = difference(low) < 0
    if difference(low) * difference(high) >= 0:
        return None
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if (difference(middle) < 0) == first_is_cheaper else (low, middle)
    return high


def output_rate(load: Workload, selectivity: float) -> float:
    """The rows per second that come out when these rates probe these windows."""
    return selectivity * (load.rate_a * load.rows_b + load.rate_b * load.rows_a)


@dataclass(frozen=True, slots=True)
class Floors:
    """What A and B get whatever it costs the output, in rows or rows per second; never more than they ask for."""

    a: float = 0.0
    b: float = 0.0

    def __post_init__(self) -> None:
        assert min(self.a, self.b) >= 0


NO_FLOORS = Floors()


def split_rates(load: Workload, service_rate: float, share_a: float, floors: Floors = NO_FLOORS) -> Workload:
    """The service rate μ split by a share for A; the rates are those of probes, insertions go on as rows arrive."""
    rate_a, rate_b = _split(service_rate, share_a, (load.rate_a, load.rate_b), floors, "rows per second")
    return replace(load, rate_a=rate_a, rate_b=rate_b)


def split_memory(load: Workload, memory_rows: float, share_a: float, floors: Floors = NO_FLOORS) -> Workload:
    """The memory M split by a share for A; the workload's windows are as large as the query asks for."""
    rows_a, rows_b = _split(memory_rows, share_a, (load.rows_a, load.rows_b), floors, "rows")
    return replace(load, rows_a=rows_a, rows_b=rows_b)


# Shares for A that Kang compares with the best one, by name: of the rate in figure 5, of the memory in figure 6.
RATE_SHARES: Mapping[str, Callable[[Workload], float]] = {
    "all to A": lambda load: 1.0,
    "by rates": lambda load: load.rate_a / (load.rate_a + load.rate_b),
    "equal": lambda load: 0.5,
    "by windows": lambda load: load.rows_a / (load.rows_a + load.rows_b),
    "all to B": lambda load: 0.0,
}
MEMORY_SHARES: Mapping[str, Callable[[Workload], float]] = {
    "all to A": lambda load: 1.0,
    "inverse to rates": lambda load: load.rate_b / (load.rate_a + load.rate_b),
    "equal": lambda load: 0.5,
    "by rates": lambda load: load.rate_a / (load.rate_a + load.rate_b),
    "all to B": lambda load: 0.0,
}


def allocate_rates(load: Workload, service_rate: float, floors: Floors = NO_FLOORS) -> Workload:
    """Short of CPU: as many probes as possible go to the stream that probes the larger window."""
    return _richest(split_rates(load, service_rate, share, floors) for share in (1.0, 0.0))


def allocate_memory(load: Workload, memory_rows: float, floors: Floors = NO_FLOORS) -> Workload:
    """Short of memory: as many rows as possible go to the window of the slower stream."""
    return _richest(split_memory(load, memory_rows, share, floors) for share in (1.0, 0.0))


def allocate_both(
    load: Workload,
    service_rate: float,
    memory_rows: float,
    rate_floors: Floors = NO_FLOORS,
    memory_floors: Floors = NO_FLOORS,
) -> Workload:
    """Short of both: one window gets the memory, the other stream the probes; r = σ·μ·M where both can be had."""
    return _richest(
        split_memory(split_rates(load, service_rate, rate_share, rate_floors), memory_rows, memory_share, memory_floors)
        for rate_share, memory_share in product((1.0, 0.0), repeat=2)
    )


def _richest(loads: Iterable[Workload]) -> Workload:
    """The one with the largest output; the selectivity is a factor of all and decides nothing."""
    return max(loads, key=lambda load: output_rate(load, selectivity=1.0))


def _split(total: float, share_a: float, asked: tuple[float, float], floors: Floors, unit: str) -> tuple[float, float]:
    """The part of A as near to its share as what is asked for and the floors allow, and the rest for B."""
    asked_a, asked_b = asked
    floor_a, floor_b = min(floors.a, asked_a), min(floors.b, asked_b)
    if floor_a + floor_b > total:
        raise UsageError(
            f"the floors of A and B are {floor_a:g} and {floor_b:g} {unit}, but there are {total:g} for both",
            hint="lower a floor.",
        )
    shared = min(total, asked_a + asked_b)
    least, most = max(floor_a, shared - asked_b), min(asked_a, shared - floor_b)
    part_a = min(max(share_a * shared, least), most)
    return part_a, shared - part_a


def _btree_rows(window_rows: float, node_rows: int) -> float:
    """A binary search in each node from the root to a leaf."""
    leaves = math.ceil(window_rows / node_rows)
    return (_levels(leaves, node_rows + 1) + 1) * _levels(node_rows, 2)


def _ttree_rows(window_rows: float, node_rows: int) -> float:
    """One or two comparisons in each node on the way, a binary search in the last; a single node has no way to it."""
    nodes = math.ceil(window_rows / node_rows)
    return 1.5 * max(_levels(nodes, 2) - 1, 0) + _levels(node_rows, 2)


def _levels(count: int, base: int) -> int:
    """⌈log_base count⌉ in whole numbers: by logarithms ⌈log_5 125⌉ would be 4."""
    levels, reach = 0, 1
    while reach < count:
        levels, reach = levels + 1, reach * base
    return levels
