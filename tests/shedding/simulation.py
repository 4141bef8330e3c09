"""Samples of known data, again and again: how often bounds hold the truth, and whether estimates are right on average.

PYTHONPATH=src python -m tests.shedding.simulation 400        prints a table; the argument is the samples per case
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from joinfold.physical.shedding import REPLICATES
from joinfold.shedding.intervals import (
    ENOUGH_KEYS,
    ENOUGH_ROWS,
    ENOUGH_TO_COUNT,
    Bounds,
    bounds_about,
    count_bounds,
    effective_number,
    total_bounds,
)

Doubles = NDArray[np.float64]
Random = np.random.Generator
CONFIDENCE, CERTAIN = 0.95, 256


@dataclass
class Tally:
    """How often bounds were given and held the truth; the errors of samples, in true standard deviations."""

    given: int = 0
    held: int = 0
    answers: int = 0
    deviations: list[float] = field(default_factory=list)

    def see(self, bounds: Bounds, truth: Doubles) -> None:
        given = ~np.isnan(bounds.high)
        self.given += int(given.sum())
        self.answers += len(given)
        self.held += int(((bounds.low <= truth) & (truth <= bounds.high))[given].sum())

    @property
    def coverage(self) -> float:
        return self.held / self.given

    @property
    def bias(self) -> float:
        """The mean error of all samples, in standard errors."""
        return float(np.sum(self.deviations) / np.sqrt(len(self.deviations)))


@dataclass(frozen=True)
class Data:
    """A window of two streams: the key of each row, and the group and the value of each row of the first."""

    keys: int
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    group: NDArray[np.int64]
    groups: int
    value: Doubles


def data(random: Random, keys: int, skew: float, rows: int, groups: int, by_key: bool) -> Data:
    """Rows whose keys have zipf frequencies, in groups that are drawn for each row or for each key."""
    weights = np.arange(1, keys + 1.0) ** -skew
    left, right = random.choice(keys, (2, rows), p=weights / weights.sum())
    group = random.integers(0, groups, keys)[left] if by_key else random.integers(0, groups, rows)
    value = random.normal(1, 2, rows) + random.normal(0, 1, keys)[left]
    return Data(keys, left, right, group, groups, value)


def cases(random: Random) -> Iterator[tuple[str, Data]]:
    for keys, skew in ((10_000, 1.0), (3_000, 0.0)):
        for rows in (4_000, 20_000):
            for groups, by_key in ((1, False), (5, True), (30, False)):
                name = f"{'zipf' if skew else 'uniform'} {groups} groups"
                yield name, data(random, keys, skew, rows, groups, by_key)


# --- keys are sampled ---------------------------------------------------------------------------------------------


def sample_keys(given: Data, rate: float, samples: int, random: Random) -> Iterator[tuple[Doubles, Doubles]]:
    """The cells [groups, R + 1] of COUNT(*) and of SUM(value), for each sample. The heaviest keys are certain."""
    replicates, heaviest = REPLICATES["key"], heaviest_keys(given)
    counts, sums = of_keys(given)
    for _ in range(samples):
        slot = np.where(random.random(given.keys) < rate, random.integers(0, replicates, given.keys), -1)
        slot[heaviest] = replicates
        scale = np.full((replicates + 1, 1), 1 / rate)
        scale[-1] = 1
        kept = np.equal(slot[np.newaxis], np.arange(replicates + 1)[:, np.newaxis]) * scale
        yield (kept @ counts).T, (kept @ sums).T


def heaviest_keys(given: Data) -> NDArray[np.int64]:
    return np.argsort(-np.bincount(np.concatenate([given.left, given.right]), minlength=given.keys), kind="stable")[
        :CERTAIN
    ]


def of_keys(given: Data) -> Doubles:
    """COUNT(*) and SUM(value) of each key and group."""
    partners, found = (
        np.bincount(given.right, minlength=given.keys)[given.left],
        np.zeros((2, given.keys, given.groups)),
    )
    for own, value in zip(found, (1.0, given.value), strict=True):
        np.add.at(own, (given.left, given.group), partners * value)
    return found


def see_keys(tallies: dict[str, Tally], name: str, given: Data, rate: float, samples: int, random: Random) -> None:
    replicates, rates = REPLICATES["key"], np.full(given.groups, rate)
    counts, sums = truth(given)
    errors: list[tuple[float, float]] = []
    for counted, summed in sample_keys(given, rate, samples, random):
        number = effective_number(counted)
        seen = counted[:, :-1].sum(axis=1) * rate + counted[:, -1]
        found = count_bounds(counted, rates, seen, number, CONFIDENCE, ENOUGH_TO_COUNT)
        tally(tallies, f"key COUNT {name}").see(found, counts)
        found = total_bounds(summed, rates, number, CONFIDENCE, ENOUGH_KEYS)
        tally(tallies, f"key SUM {name}").see(found, sums)
        more = replicates / (replicates - 1)
        rest, over = (
            (own[:, -1:] + (own[:, :-1].sum(axis=1, keepdims=True) - own) * more) for own in (summed, counted)
        )
        found = bounds_about(*averaged(summed, counted, rest, over, more), rates, number, CONFIDENCE, ENOUGH_KEYS)
        tally(tallies, f"key AVG {name}").see(found, average(sums, counts))
        errors.append((float(counted.sum() - counts.sum()), float(summed.sum() - sums.sum())))
    sampled = np.delete(of_keys(given).sum(axis=2), heaviest_keys(given), axis=1)
    see_errors(tallies, f"key {{}} {name}", errors, list((sampled**2).sum(axis=1) * (1 - rate) / rate))


# --- rows are sampled ---------------------------------------------------------------------------------------------


def sample_rows(
    given: Data, rates: tuple[float, float], samples: int, random: Random
) -> Iterator[tuple[Doubles, Doubles]]:
    """The cells [groups, R + 1, R + 1] of COUNT(*) and of SUM(value), for each sample. Rows of few keys count most."""
    replicates = REPLICATES["row"]
    for _ in range(samples):
        left, right = (
            random.random(len(rows)) < rate for rows, rate in zip((given.left, given.right), rates, strict=True)
        )
        slot, other = (random.integers(0, replicates, int(own.sum())) for own in (left, right))
        partners = np.zeros((given.keys, replicates + 1))
        np.add.at(partners, (given.right[right], other), 1 / rates[1])
        cells = np.zeros((2, given.groups, replicates + 1, replicates + 1))
        for own, value in zip(cells, (np.ones(len(given.left)), given.value), strict=True):
            weighted = partners[given.left[left]] * value[left, np.newaxis] / rates[0]
            np.add.at(own, (given.group[left], slot), weighted)
        yield cells[0], cells[1]


def see_rows(tallies: dict[str, Tally], name: str, given: Data, rate: float, samples: int, random: Random) -> None:
    rates, ones = np.full(given.groups, rate), np.ones(len(given.left))
    counts, sums = truth(given)
    errors: list[tuple[float, float]] = []
    for counted, summed in sample_rows(given, (rate, rate), samples, random):
        number = effective_number(counted)
        found = count_bounds(counted, rates, np.zeros(given.groups), number, CONFIDENCE, ENOUGH_ROWS)
        tally(tallies, f"row COUNT {name}").see(found, counts)
        found = total_bounds(summed, rates, number, CONFIDENCE, ENOUGH_ROWS)
        tally(tallies, f"row SUM {name}").see(found, sums)
        rest, over = (own.sum(axis=(1, 2), keepdims=True) - own for own in (summed, counted))
        found = bounds_about(*averaged(summed, counted, rest, over, 1.0), rates, number, CONFIDENCE, ENOUGH_ROWS)
        tally(tallies, f"row AVG {name}").see(found, average(sums, counts))
        errors.append((float(counted.sum() - counts.sum()), float(summed.sum() - sums.sum())))
    see_errors(
        tallies, f"row {{}} {name}", errors, [true_variance(given, value, rate) for value in (ones, given.value)]
    )


def true_variance(given: Data, value: Doubles, rate: float) -> float:
    """Of a sum over combinations: for each key, the mean square of the product less the square of the mean."""
    sides = [(given.left, value), (given.right, np.ones(len(given.right)))]
    totals, squares = ([np.bincount(at, own**power, given.keys) for at, own in sides] for power in (1, 2))
    means = [total**2 + square * (1 - rate) / rate for total, square in zip(totals, squares, strict=True)]
    return float((means[0] * means[1] - totals[0] ** 2 * totals[1] ** 2).sum())


# --- both ---------------------------------------------------------------------------------------------------------


def truth(given: Data) -> tuple[Doubles, Doubles]:
    """COUNT(*) and SUM(value) of each group."""
    counts, sums = of_keys(given).sum(axis=1)
    return counts, sums


def average(sums: Doubles, counts: Doubles) -> Doubles:
    with np.errstate(all="ignore"):
        return sums / counts


def averaged(summed: Doubles, counted: Doubles, rest: Doubles, over: Doubles, more: float) -> tuple[Doubles, Doubles]:
    """AVG(value) of each group, and the averages without each cell as what cells add."""
    axes = tuple(range(1, summed.ndim))
    return average(summed.sum(axis=axes), counted.sum(axis=axes)), -average(rest, over) / more


def tally(tallies: dict[str, Tally], name: str) -> Tally:
    return tallies.setdefault(name, Tally())


def see_errors(tallies: dict[str, Tally], name: str, errors: list[tuple[float, float]], squares: list[float]) -> None:
    """Notes the errors of one case; ``squares`` are the true variances of COUNT and SUM."""
    for what, own, variance in zip(("COUNT", "SUM"), zip(*errors, strict=True), squares, strict=True):
        tally(tallies, name.format(what)).deviations += [error / np.sqrt(variance) for error in own]


def simulate(samples: int, seed: int = 1) -> dict[str, Tally]:
    """All cases at several rates, with so many samples of each."""
    random = np.random.default_rng(seed)
    tallies: dict[str, Tally] = {}
    for name, given in cases(random):
        for rate in (0.05, 0.2, 0.5, 0.8):
            see_keys(tallies, name, given, rate, samples, random)
            see_rows(tallies, name, given, rate, max(samples // 2, 4), random)
    return tallies


def pooled(tallies: dict[str, Tally], word: str) -> Tally:
    """All tallies whose name contains a word."""
    chosen = [own for name, own in tallies.items() if word in name]
    return Tally(
        sum(own.given for own in chosen),
        sum(own.held for own in chosen),
        sum(own.answers for own in chosen),
        [deviation for own in chosen for deviation in own.deviations],
    )


def main() -> None:
    tallies = simulate(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
    names = [f"{sampler} {what}" for sampler in ("key", "row") for what in ("COUNT", "SUM", "AVG")]
    for name in [*sorted(tallies), *names]:
        own = pooled(tallies, name)
        coverage = f"{own.coverage:.3f}" if own.given else "    –"
        bias = f"{own.bias:+.2f}" if own.deviations else ""
        sys.stdout.write(f"{name:32s} held {coverage} of {own.given:7d}, {own.answers:7d} answers {bias}\n")


if __name__ == "__main__":
    main()
