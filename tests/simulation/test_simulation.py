"""Random queries, data and faults: whatever fails, and however often, the answers are those of the definition.

One seed chooses everything (`tests.simulation.scenarios`): the query, its rows and their micro-batches, lateness, rows
that lie ahead, streams that fall silent, the clock, how rows are divided into tasks, which worker gets a bucket, where
a task or an attempt dies, what is forgotten or damaged, and how the query is planned again. Hypothesis shrinks what
fails and prints it with its seed. What has failed is kept (`tests.simulation.kept`). `make test-deep` tries ten
thousand.
"""

import itertools
import os
from random import SystemRandom

import pytest

from tests.simulation.checking import check
from tests.simulation.kept import KEPT
from tests.simulation.seeds import run_seed, seeds_from

SEEDS = {"fast": 20, "ci": 200, "deep": 10_000}.get(os.environ.get("HYPOTHESIS_PROFILE", ""), 60)


@pytest.mark.parametrize("name", KEPT)
def test_what_has_failed_does_not_fail_again(name: str) -> None:
    check(KEPT[name])


@pytest.mark.hypothesis
def test_whatever_fails_the_answers_are_those_of_the_definition(request: pytest.FixtureRequest) -> None:
    base = request.config.getoption("--hypothesis-seed")
    for number in itertools.islice(seeds_from(SystemRandom().randrange(2**32) if base is None else base), SEEDS):
        run_seed(number, check)
