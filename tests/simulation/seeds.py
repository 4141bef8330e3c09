"""Draws scenarios one by one, each from a seed of its own.

Within one run, hypothesis varies what it has drawn before, so that many examples are nearly the same. Here each seed is
a run of its own, with a single example. If it fails, hypothesis shrinks it.
"""

from collections.abc import Callable, Iterator
from random import Random

import hypothesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from tests.simulation.scenario import Scenario
from tests.simulation.scenarios import scenarios

ONE = settings(
    max_examples=1,
    database=None,
    deadline=None,
    derandomize=False,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
    report_multiple_bugs=False,
)


def run_seed(number: int, check: Callable[[Scenario], None], shrinks: bool = True) -> None:
    """Checks the scenario of a seed. What fails is shrunk, and printed with the error."""

    @hypothesis.seed(number)
    @settings(ONE, phases=[Phase.generate, Phase.shrink] if shrinks else [Phase.generate])
    @given(st.integers(0, 2**32), scenarios())
    def run(not_least: int, scenario: Scenario) -> None:
        assume(not_least)  # otherwise the one example would be the least of all, whatever the seed
        check(scenario)

    try:
        run()
    except Exception as error:
        error.add_note(f"seed {number} of the simulator")
        raise


def seeds_from(base: int | str) -> Iterator[int]:
    """Seeds without end."""
    draw = Random(base)
    while True:
        yield draw.randrange(2**32)
