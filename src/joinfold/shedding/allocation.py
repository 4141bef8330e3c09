"""How the streams of a join share probes and room when there is not enough for all.

This is section 5.2 of Kang, Naughton and Viglas 2003, for any number of streams. A row that arrives probes the windows
of all other streams. If q_i rows of stream i probe per second and its window holds h_i rows, the join gives

    r = σ · Σ_i q_i · Π_{j≠i} h_j

combinations per second, where σ is the share of them that match. Rows that do not probe still enter their window. The
favour 'most pairs' makes r as large as it can be:

    probes   r is linear in q. The stream that meets the larger windows gets as many probes as it can use, then the
             next one.
    room     For two streams r is linear in h: the window of the slower stream gets the room. For n streams the (n−1)th
             root of r is concave in h, as r is the derivative of Π h_j in the direction q. So the best division is
             one from which no transfer of room between two windows gains anything.
    both     For two streams one window gets all the room, and the other stream all probes. For more, probes and room
             are divided in turn until r no longer grows, from one start per stream, and the best result is taken.

The other favours divide in proportion to a weight of each stream. A stream gets neither less than its floor nor more
than it needs. What it cannot use goes to the others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, assert_never

from joinfold.errors import UsageError
from joinfold.logical.shedding import Favour

GAIN_TO_CHANGE = 1.05
"""How many times the combinations another division must give, before it replaces the division of the batch before."""

_SWEEPS = 60
_SETTLED = 1 + 1e-12  # a sweep that gains less is the last one

Amounts = list[float]


@dataclass(frozen=True, slots=True)
class Demand:
    """What a stream can use, and the least of it that it must get: probes per second, and rows in its window.

    ``row_size`` is how much room a row takes.
    """

    probes: float
    rows: float
    least_probes: float = 0.0
    least_rows: float = 0.0
    row_size: float = 1.0

    def __post_init__(self) -> None:
        assert min(self.probes, self.rows, self.least_probes, self.least_rows) >= 0 and self.row_size > 0


@dataclass(frozen=True, slots=True)
class Share:
    """What a stream gets, as shares between 0 and 1 of the probes and of the rows that it can use."""

    probes: float = 1.0
    rows: float = 1.0


@dataclass(frozen=True, slots=True)
class AllToOne:
    """One stream gets as much as it can use. The others share the rest equally."""

    stream: int


def allocate(
    demands: Sequence[Demand],
    probes: float | None,
    room: float | None,
    favour: Favour | AllToOne,
    before: Sequence[Share] | None = None,
) -> tuple[Share, ...]:
    """The share of each stream in a budget of probes per second and of room for rows; None: no budget.

    ``before`` are the shares up to now. 'most pairs' keeps their proportions until another division gives
    `GAIN_TO_CHANGE` times as much: where two divisions are nearly as good, small changes of the rates would otherwise
    empty one window and fill another.
    """
    cpu = _Resource.of(probes, [d.probes for d in demands], [d.least_probes for d in demands], "probes per second")
    sizes = [d.row_size for d in demands]
    memory = _Resource.of(
        room, [d.rows * d.row_size for d in demands], [d.least_rows * d.row_size for d in demands], "rows"
    )
    if not (cpu.is_short or memory.is_short):
        return tuple(Share() for _ in demands)
    match favour:
        case "most pairs":
            granted = _most_pairs(cpu, memory, sizes)
            if before is not None and any(share != Share() for share in before):
                kept = (
                    cpu.by_weight([share.probes * need for share, need in zip(before, cpu.needs, strict=True)]),
                    memory.by_weight([share.rows * need for share, need in zip(before, memory.needs, strict=True)]),
                )
                gains = _weighed(*granted, sizes) > GAIN_TO_CHANGE * _weighed(*kept, sizes)
                granted = granted if gains else kept
        case AllToOne(stream=stream):
            first = [float(number == stream) for number in range(len(demands))]
            granted = cpu.by_weight(first), memory.by_weight(first)
        case "rates" | "inverse rates" | "windows" | "equal":
            weights = _weights(favour, demands)
            granted = (
                cpu.by_weight(weights),
                memory.by_weight([w * size for w, size in zip(weights, sizes, strict=True)]),
            )
        case _:
            assert_never(favour)
    return tuple(map(Share, cpu.shares(granted[0]), memory.shares(granted[1])))


def output_rate(demands: Sequence[Demand], shares: Sequence[Share], selectivity: float) -> float:
    """The combinations per second that a join gives with these shares, of which ``selectivity`` match."""
    probes = [share.probes * demand.probes for share, demand in zip(shares, demands, strict=True)]
    rows = [share.rows * demand.rows for share, demand in zip(shares, demands, strict=True)]
    return selectivity * combined(probes, rows)


def combined(probes: Sequence[float], rows: Sequence[float]) -> float:
    """Σ_i q_i · Π_{j≠i} h_j: how many combinations are formed per second."""
    return sum(count * _product_without(rows, i) for i, count in enumerate(probes))


@dataclass(frozen=True, slots=True)
class _Resource:
    """Probes or room: how much there is, at most what all streams need together; what each needs, and its floor."""

    total: float
    needs: Amounts
    floors: Amounts
    is_short: bool

    @staticmethod
    def of(
        budget: float | None, needs: Amounts, floors: Amounts, unit: Literal["probes per second", "rows"]
    ) -> "_Resource":
        """A resource with a budget. A floor above what a stream needs is lowered to that."""
        floors = [min(floor, need) for floor, need in zip(floors, needs, strict=True)]
        if budget is None or budget >= sum(needs):
            return _Resource(sum(needs), needs, floors, is_short=False)
        if sum(floors) > budget:
            least = ", ".join(f"{floor:g}" for floor in floors)
            raise UsageError(
                f"the streams get at least {least} {unit}, together more than the budget of {budget:g}",
                hint="lower what each stream gets AT LEAST, or raise the budget.",
            )
        return _Resource(budget, needs, floors, is_short=True)

    def in_order(self, order: Sequence[int]) -> Amounts:
        """Every stream gets its floor; then each, in this order, as much as it can use of the rest."""
        granted, rest = list(self.floors), self.total - sum(self.floors)
        for i in order:
            more = min(rest, self.needs[i] - granted[i])
            granted[i], rest = granted[i] + more, rest - more
        return granted

    def by_weight(self, weights: Sequence[float]) -> Amounts:
        """In proportion to the weights, within floors and needs; what is then left, in equal parts."""
        return self._filled(self._filled(self.floors, weights), [1.0] * len(weights))

    def _filled(self, least: Sequence[float], weights: Sequence[float]) -> Amounts:
        """The amounts min(max(t·weight, least), need) with the t for which they add up to all that there is.

        A stream of weight 0 keeps its least amount.
        """
        if not self.is_short:
            return list(self.needs)

        def amounts(level: float) -> Amounts:
            return [
                min(max(level * weight, low), need) if weight else low
                for weight, low, need in zip(weights, least, self.needs, strict=True)
            ]

        # between the levels at which a stream leaves its least amount or needs no more, amounts grow in straight lines
        bends = {
            bend / weight
            for weight, low, need in zip(weights, least, self.needs, strict=True)
            for bend in (low, need)
            if weight
        }
        below, above = list(least), list(least)
        for level in sorted(bends):
            below, above = above, amounts(level)
            if sum(above) >= self.total:
                break
        missing, step = self.total - sum(below), sum(above) - sum(below)
        part = min(max(missing / step, 0.0), 1.0) if step > 0 else 0.0
        return [low + part * (high - low) for low, high in zip(below, above, strict=True)]

    def shares(self, granted: Amounts) -> Amounts:
        """The granted amounts as shares of what each stream needs; all of it, if it needs nothing."""
        return [min(amount / need, 1.0) if need else 1.0 for amount, need in zip(granted, self.needs, strict=True)]


def _weights(favour: Literal["rates", "inverse rates", "windows", "equal"], demands: Sequence[Demand]) -> Amounts:
    match favour:
        case "rates":
            return [demand.probes for demand in demands]
        case "inverse rates":  # a stream that brings nothing has an infinite weight
            if any(demand.probes == 0 for demand in demands):
                return [float(demand.probes == 0) for demand in demands]
            return [1 / demand.probes for demand in demands]
        case "windows":
            return [demand.rows for demand in demands]
        case "equal":
            return [1.0] * len(demands)
        case _:
            assert_never(favour)


def _most_pairs(cpu: _Resource, room: _Resource, sizes: Amounts) -> tuple[Amounts, Amounts]:
    """The probes and the room of each stream that give the most combinations."""
    if not room.is_short:
        return _best_probes(cpu, room.needs, sizes), room.needs
    if not cpu.is_short:
        return cpu.needs, _best_room(room, cpu.needs, sizes)
    streams = range(len(room.needs))
    by_window = sorted(streams, key=lambda i: room.needs[i] / sizes[i])
    divisions = []
    for first in streams:
        probes = cpu.in_order([first, *(i for i in by_window if i != first)])
        rooms = _best_room(room, probes, sizes)
        for _ in range(_SWEEPS):
            other_probes = _best_probes(cpu, rooms, sizes)
            other_rooms = _best_room(room, other_probes, sizes)
            if _weighed(other_probes, other_rooms, sizes) <= _SETTLED * _weighed(probes, rooms, sizes):
                break
            probes, rooms = other_probes, other_rooms
        divisions.append((probes, rooms))
    return max(divisions, key=lambda division: _weighed(division[0], division[1], sizes))


def _weighed(probes: Sequence[float], rooms: Sequence[float], sizes: Sequence[float]) -> float:
    """How many combinations are formed, times the product of all sizes.

    Π_{j≠i} of the rows room_j/size_j is size_i · Π_{j≠i} room_j, but for that factor, which is the same for all.
    """
    return combined([count * size for count, size in zip(probes, sizes, strict=True)], rooms)


def _best_probes(cpu: _Resource, rooms: Amounts, sizes: Amounts) -> Amounts:
    """The probes of each stream: those that meet the most combinations of rows first."""
    return cpu.in_order(sorted(range(len(rooms)), key=lambda i: -sizes[i] * _product_without(rooms, i)))


def _best_room(room: _Resource, probes: Amounts, sizes: Amounts) -> Amounts:
    """The room of each window: transfers between two windows, each as far as it gains, until none gains anything."""
    probes = [count * size for count, size in zip(probes, sizes, strict=True)]
    rooms = room.by_weight([1.0] * len(probes))
    reached = combined(probes, rooms)
    for _ in range(_SWEEPS):
        for i, j in combinations(range(len(rooms)), 2):
            _transfer(room, probes, rooms, i, j)
        before, reached = reached, combined(probes, rooms)
        if reached <= _SETTLED * before:
            break
    return rooms


def _transfer(room: _Resource, probes: Amounts, rows: Amounts, i: int, j: int) -> None:
    """Divides the room of two windows anew. With the others as they are, r = a + b·h_i + c·h_j + d·h_i·h_j."""
    others = [rows[k] for k in range(len(rows)) if k not in (i, j)]
    rates = [probes[k] for k in range(len(rows)) if k not in (i, j)]
    gain = (probes[j] - probes[i]) * math.prod(others)  # b − c
    curve = combined(rates, others)  # d
    both = rows[i] + rows[j]
    low = max(room.floors[i], both - room.needs[j])
    high = min(room.needs[i], both - room.floors[j])
    if curve > 0:
        best = (both + gain / curve) / 2
    elif gain:
        best = high if gain > 0 else low
    else:
        return
    rows[i] = min(max(best, low), high)
    rows[j] = both - rows[i]


def _product_without(rows: Sequence[float], i: int) -> float:
    return math.prod(count for j, count in enumerate(rows) if j != i)
