"""How good the intervals of estimates are: how often they hold the exact value, how wide they are, and the mean error.

Estimates of one case have errors in common, since they come from the same sample. So standard errors are those of
cases, not of single estimates.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, product
from math import sqrt
from statistics import median

from joinfold.logical.shedding import Sampler
from joinfold_bench.environment import Say
from joinfold_bench.shedding.cases import AGGREGATES, Aggregate, Case, Estimated, draw_case, run_case

COVERED_BAR = (0.92, 0.98)
"""How often intervals of 95 % should hold the exact value."""
SURE = 2.0
"""By how many standard errors the share has to be outside before it is."""
BIAS_BAR = 3.0
"""By how many standard errors the mean error of COUNT and SUM may differ from 0."""
FEWEST = 20
"""From how many cases on a share of intervals says something."""
KEPT_STEPS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
REPORTED = 200


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over estimates, with its standard error, and the number of cases that the estimates are from."""

    value: float
    error: float
    cases: int

    @property
    def in_errors(self) -> float:
        """The mean in standard errors; 0 if there is no error."""
        return self.value / self.error if self.error else 0.0

    @classmethod
    def by_case(cls, estimates: Iterable[Estimated], measure: Callable[[Estimated], float]) -> "Mean | None":
        """The mean over estimates in order of cases; None if there are none. The cases are independent."""
        sums = []
        for _, own in groupby(estimates, key=lambda estimate: estimate.case.number):
            values = [measure(estimate) for estimate in own]
            sums.append((sum(values), len(values)))
        count = sum(number for _, number in sums)
        if not count:
            return None
        mean = sum(total for total, _ in sums) / count
        return cls(mean, sqrt(sum((total - mean * number) ** 2 for total, number in sums)) / count, len(sums))


@dataclass(frozen=True, slots=True)
class Coverage:
    """Some estimates of one aggregate: the share that has bounds, how often these hold the exact value, the mean error.

    ``error`` is None for AVG, which is a ratio, and None without estimates, as is ``covered`` without bounds.
    ``width`` is the median of the relative widths.
    """

    aggregate: Aggregate
    cases: int
    estimates: int
    bounded: float
    covered: Mean | None
    width: float | None
    error: Mean | None

    @classmethod
    def of(cls, aggregate: Aggregate, estimates: Sequence[Estimated]) -> "Coverage":
        """The coverage of estimates, which are in order of cases."""
        own = [estimate for estimate in estimates if estimate.aggregate == aggregate]
        bounded = [estimate for estimate in own if estimate.is_bounded]
        return cls(
            aggregate,
            len({estimate.case.number for estimate in own}),
            len(own),
            len(bounded) / max(len(own), 1),
            Mean.by_case(bounded, lambda estimate: float(estimate.is_covered)),
            median(estimate.width for estimate in bounded) if bounded else None,
            None if aggregate == "AVG" else Mean.by_case(own, lambda estimate: estimate.error),
        )

    @property
    def is_covered(self) -> bool | None:
        """Whether the intervals hold the exact value as often as they should; None if there are too few to say."""
        if self.covered is None or self.covered.cases < FEWEST:
            return None
        low, high = COVERED_BAR
        if low <= self.covered.value <= high:
            return True
        outside = max(low - self.covered.value, self.covered.value - high)
        return False if outside > SURE * self.covered.error > 0 else None

    @property
    def is_unbiased(self) -> bool | None:
        """Whether the mean error is 0 within its standard error; None for AVG."""
        return None if self.error is None else abs(self.error.in_errors) <= BIAS_BAR


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of case: sampler, distribution of keys, whether there are groups, whether the load changes. None: any."""

    sampler: Sampler | None = None
    distribution: str | None = None
    is_grouped: bool | None = None
    changes: bool | None = None

    def __str__(self) -> str:
        named = (
            f"by {self.sampler}" if self.sampler else "",
            self.distribution or "",
            {True: "groups", False: "no groups", None: ""}[self.is_grouped],
            {True: "load changes", False: "load stays", None: ""}[self.changes],
        )
        return ", ".join(filter(None, named)) or "all"

    def has(self, case: Case) -> bool:
        """Whether a case is of this kind."""
        own = Kind(case.sampler, case.distribution, case.groups > 1, case.changes)
        wanted = ((self.sampler, own.sampler), (self.distribution, own.distribution))
        flags = ((self.is_grouped, own.is_grouped), (self.changes, own.changes))
        return all(want is None or want == is_ for want, is_ in (*wanted, *flags))


SAMPLERS: tuple[Sampler, ...] = ("key", "row")
DISTRIBUTIONS = ("uniform", "zipf")


def coverage_by_kind(estimates: Sequence[Estimated]) -> list[tuple[Kind, Coverage]]:
    """The coverage of each aggregate by sampler, distribution and grouping."""
    kinds = [Kind(*own) for own in product(SAMPLERS, DISTRIBUTIONS, (False, True))]
    return _by_kind(estimates, kinds)


def coverage_by_change(estimates: Sequence[Estimated]) -> list[tuple[Kind, Coverage]]:
    """The coverage of each aggregate by sampler, with a load that stays and with one that changes; then over all."""
    kinds = [Kind(sampler, changes=changes) for sampler, changes in product(SAMPLERS, (False, True))]
    return _by_kind(estimates, [*kinds, Kind()])


def _by_kind(estimates: Sequence[Estimated], kinds: Iterable[Kind]) -> list[tuple[Kind, Coverage]]:
    parts = [(kind, [estimate for estimate in estimates if kind.has(estimate.case)]) for kind in kinds]
    return [(kind, Coverage.of(aggregate, own)) for kind, own in parts for aggregate in AGGREGATES]


def coverage_by_kept(
    estimates: Sequence[Estimated], sampler: Sampler, aggregate: Aggregate
) -> list[tuple[float, Mean]]:
    """How often intervals hold the exact value, by the probability with which combinations were kept."""
    own = [
        estimate
        for estimate in estimates
        if estimate.is_bounded and estimate.aggregate == aggregate and estimate.case.sampler == sampler
    ]
    found = []
    for low, high in pairwise(KEPT_STEPS):
        within = [estimate for estimate in own if low <= estimate.kept < high]
        mean = Mean.by_case(within, lambda estimate: float(estimate.is_covered))
        if mean is not None and mean.cases >= FEWEST:
            found.append(((low + high) / 2, mean))
    return found


def run_cases(numbers: range, differences: list[str], say: Say) -> list[Estimated]:
    """The estimates of all cases, in order. ``differences`` gets the answers that are not exact and should be."""
    estimates: list[Estimated] = []
    for done, number in enumerate(numbers, 1):
        run = run_case(draw_case(number))
        estimates += run.estimates
        differences += run.differences
        if done % REPORTED == 0:
            say(f"{done:,} of {len(numbers):,} cases")
    return estimates
