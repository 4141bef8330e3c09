"""Tran and Lee 2009: what it costs to aggregate inputs of a join before the join, and for which inputs it pays off.

The engine does not use this model (see `literature`).

An *early* input keeps an aggregation set: one entry per group and join key, with its partial aggregates. Rows of the
other inputs are then joined with its entries, which may be far fewer than its rows. But each of its own rows has to
update the set. The aggregation after the join always stays. With m inputs there are 2^m plans: LAP has no early input,
EAP10 has the first of two, EAP11 both. A row that arrives on input k costs

    update window k
    + Σ over the other inputs j, in the order they are probed, of (product of the matches so far)·find matches in j
    + (product of all matches)·update the output set
    + update set k, if k is early

An early input j is probed in its set and matches nⱼ entries. Any other is probed in its window and matches mⱼ rows. For
two inputs these are the generic formulas of the paper (15 to 18). The probing order for more inputs is our addition.
For an input with a window of w rows, g groups and join selectivity σ:

    entries of its set   αᵢ = min(w, g/σ)           matches in its window   mᵢ = σ·w
    buckets              Bᵢ = min(1/σ, B)           matches in its set      nᵢ = min(σ·w, g)

The output has α = Πᵢ min(wᵢ, gᵢ) entries in Bg = min(g₁, B) buckets. The operations depend on how inputs are joined (19
to 26). Each counts twice, once for a row that arrives and once for a row that leaves:

                      update window   find in window   find in set    update set     update output
    nested loop       Un              wᵢ·Pn            αᵢ·Pn          (αᵢ/Bᵢ)·Ug      (α/Bg)·Ug
    hash              Uh              (wᵢ/Bᵢ)·Ph       (αᵢ/Bᵢ)·Ph     (αᵢ/Bᵢ)·Ug      (α/Bg)·Ug

Three misprints of the paper are corrected: m₁ is σ₁·w₁, not α₁·w₁, and in equation 20 the entries of the first input's
set and of the output are divided by B₁ and Bg, not by Bg and B₂.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, prod
from typing import Literal, assert_never

Join = Literal["nested loop", "hash"]
Early = tuple[bool, ...]  # for each input, whether it is aggregated before the join


@dataclass(frozen=True, slots=True)
class Stream:
    """An input: rows per second λ, window w in rows, groups g, and the share σ of its window that an arrival joins."""

    rate: float
    window_rows: float
    groups: float
    selectivity: float

    def __post_init__(self) -> None:
        assert min(self.rate, self.window_rows) >= 0 and self.groups >= 1 and 0 < self.selectivity <= 1

    @property
    def set_entries(self) -> float:
        """αᵢ, the entries of its set: at most as many as rows, and as groups times join keys."""
        return min(self.window_rows, self.groups / self.selectivity)

    @property
    def window_matches(self) -> float:
        """mᵢ: the rows of the window that an arrival matches."""
        return self.selectivity * self.window_rows

    @property
    def set_matches(self) -> float:
        """nᵢ: the entries of the set that an arrival matches, at most one per group."""
        return min(self.window_matches, self.groups)

    def buckets(self, most: int) -> float:
        """Bᵢ: as many buckets as there are join keys, but at most ``most``."""
        return min(1 / self.selectivity, most)


@dataclass(frozen=True, slots=True)
class TranWeights:
    """What one row costs in each operation, and B, the maximum number of buckets of a hash table.

    The paper tunes the weights for each experiment and prints none. By default all are equal.
    """

    list_probe: float = 1.0
    list_update: float = 1.0
    hash_probe: float = 1.0
    hash_update: float = 1.0
    group_update: float = 1.0
    most_buckets: int = 1021

    def __post_init__(self) -> None:
        assert min(self.list_probe, self.list_update, self.hash_probe, self.hash_update, self.group_update) > 0
        assert self.most_buckets >= 1


EQUAL = TranWeights()


@dataclass(frozen=True, slots=True)
class Operations:
    """What the operations on one input cost, each for a row that arrives and a row that leaves together."""

    update_window: float
    find_in_window: float
    find_in_set: float
    update_set: float


def output_entries(streams: Sequence[Stream]) -> float:
    """α: the number of groups in the output."""
    return prod(min(stream.window_rows, stream.groups) for stream in streams)


def operations(stream: Stream, join: Join, weights: TranWeights = EQUAL) -> Operations:
    """What the operations on one input cost."""
    rows, entries, buckets = stream.window_rows, stream.set_entries, stream.buckets(weights.most_buckets)
    update_set = 2 * entries / buckets * weights.group_update
    match join:
        case "nested loop":
            probe = 2 * weights.list_probe
            return Operations(2 * weights.list_update, rows * probe, entries * probe, update_set)
        case "hash":
            probe = 2 * weights.hash_probe / buckets
            return Operations(2 * weights.hash_update, rows * probe, entries * probe, update_set)
        case _:
            assert_never(join)


def update_output_cost(streams: Sequence[Stream], weights: TranWeights = EQUAL) -> float:
    """The cost of adding one match to the output and removing it. The groups of the first input are its buckets."""
    buckets = min(streams[0].groups, weights.most_buckets)
    return 2 * output_entries(streams) / buckets * weights.group_update


def plan_cost(early: Early, streams: Sequence[Stream], join: Join = "hash", weights: TranWeights = EQUAL) -> float:
    """The cost of a plan per second."""
    each = [operations(stream, join, weights) for stream in streams]
    return generic_cost(early, streams, each, update_output_cost(streams, weights))


def generic_cost(early: Early, streams: Sequence[Stream], each: Sequence[Operations], update_output: float) -> float:
    """The cost of a plan per second, given what its operations cost."""
    probed = [
        (stream.set_matches, own.find_in_set) if is_early else (stream.window_matches, own.find_in_window)
        for is_early, stream, own in zip(early, streams, each, strict=True)
    ]
    total = 0.0
    for number, (stream, own) in enumerate(zip(streams, each, strict=True)):
        others = probed[:number] + probed[number + 1 :]
        all_matches = prod(matches for matches, _ in others)
        update_set = own.update_set if early[number] else 0.0
        total += stream.rate * (own.update_window + _probing_cost(others) + all_matches * update_output + update_set)
    return total


def all_plans(inputs: int) -> tuple[Early, ...]:
    """The 2^m plans, LAP first."""
    return tuple(product((False, True), repeat=inputs))


def plan_name(early: Early) -> str:
    """LAP, or EAP with a digit for each input: 1 if it is early."""
    return "EAP" + "".join("1" if is_early else "0" for is_early in early) if any(early) else "LAP"


def exhaustive_choice(streams: Sequence[Stream], join: Join = "hash", weights: TranWeights = EQUAL) -> Early:
    """The cheapest of all plans; among equal costs, the one with the fewest sets. Computes 2^m costs."""
    plans = sorted(all_plans(len(streams)), key=sum)
    return min(plans, key=lambda early: plan_cost(early, streams, join, weights))


def greedy_choice(streams: Sequence[Stream], join: Join = "hash", weights: TranWeights = EQUAL) -> Early:
    """Starts with LAP and adds the set that saves most, as long as one saves anything. Computes at most m² costs.

    With two inputs the saving of one set does not depend on the other, so the result is the best plan. With more inputs
    the savings depend on each other, and there is no proof. Random tests have found no worse choice.
    """
    chosen: Early = (False,) * len(streams)
    while not all(chosen):
        steps = [
            (*chosen[:number], True, *chosen[number + 1 :]) for number in range(len(streams)) if not chosen[number]
        ]
        best = min(steps, key=lambda early: plan_cost(early, streams, join, weights))
        if plan_cost(best, streams, join, weights) >= plan_cost(chosen, streams, join, weights):
            break
        chosen = best
    return chosen


def _probing_cost(inputs: Sequence[tuple[float, float]]) -> float:
    """The cost of probing inputs, each (matches, cost of finding them), in the cheapest order.

    Of two neighbours the one with the smaller (matches − 1)/cost comes first: exchanging them turns c₁ + m₁·c₂ into c₂
    + m₂·c₁ and changes nothing else. An empty window costs nothing and ends the probing.
    """
    total, rows = 0.0, 1.0
    for matches, cost in sorted(inputs, key=lambda probed: (probed[0] - 1) / probed[1] if probed[1] else -inf):
        total += rows * cost
        rows *= matches
    return total
