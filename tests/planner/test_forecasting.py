"""What SHED is expected to keep and how far off it will be, beside samples that are really drawn."""

import numpy as np
import pytest

from joinfold.physical.shedding import Sampling
from joinfold.planner.cost.estimates import Estimate, StageEstimate
from joinfold.planner.drafting.draft import draft
from joinfold.planner.forecasting import LEAST_RATE, USED, Forecast, forecast
from joinfold.planner.stream_statistics import Statistics
from tests.planner.known import JOINED, query_of, stream

COST = Estimate((StageEstimate("PACK", 0, 1.0), StageEstimate("FOLD", 0, 3.0)))
STREAMS = Statistics((stream(1_000, keys=500), stream(2_000, keys=500)))


def expected(shed: str, statistics: Statistics = STREAMS, cores: float = 100, cost: Estimate = COST) -> Forecast:
    query = query_of(f"SELECT COUNT(*) AS n {JOINED} {shed}")
    pipelines = [draft(query, sampler).pipeline for sampler in ("key", "row")]
    assert all(isinstance(pipeline.shedding, Sampling) for pipeline in pipelines)
    return forecast(pipelines, statistics, cost, cores)


def rates(shed: str, cores: float = 100) -> dict[str, float]:
    return {own.sampler: own.rate for own in expected(shed, cores=cores).samplers}


def test_a_budget_that_is_not_exceeded_costs_nothing() -> None:
    for shed in ("SHED TO HOLD 1000000 ROWS", "SHED TO PROCESS 3000 ROWS PER SECOND", "SHED TO KEEP UP"):
        assert {(own.rate, own.error) for own in expected(shed).samplers} == {(1.0, 0.0)}


def test_rates_that_keep_a_budget() -> None:
    assert rates("SHED TO PROCESS 750 ROWS PER SECOND") == {"key": 0.25, "row": 0.25}
    held = rates("SHED TO HOLD 5000 ROWS")  # 500 keys in nearly every one of ten cells, of 30,000 rows
    assert held["key"] == pytest.approx(0.5, rel=0.2) and held["row"] == pytest.approx(1 / 6, rel=0.01)
    assert rates("SHED TO HOLD 1 ROWS")["key"] == pytest.approx(LEAST_RATE, rel=0.01)
    smaller = rates("SHED TO HOLD 100 KILOBYTES")
    assert smaller["key"] < rates("SHED TO HOLD 200 KILOBYTES")["key"] < 1


def test_reading_cannot_be_shed() -> None:
    assert expected("SHED TO KEEP UP").sheddable == 0.75
    assert rates("SHED TO KEEP UP", cores=2)["key"] == pytest.approx((2 * USED - 1) / 3)
    assert not expected("SHED TO KEEP UP", cores=2).at_floor
    assert expected("SHED TO KEEP UP", cores=1).at_floor


def test_the_sample_with_the_smaller_error_comes_first() -> None:
    few_rows = Statistics((stream(50, keys=500), stream(50, keys=500)))
    many_rows = Statistics((stream(5_000, keys=50), stream(5_000, keys=50)))
    shed = "SHED TO PROCESS 25 ROWS PER SECOND"
    assert expected(shed, few_rows).samplers[0].sampler == "key"
    assert expected("SHED TO PROCESS 1000 ROWS PER SECOND", many_rows).samplers[0].sampler == "row"


def test_a_sample_without_anything_has_no_error() -> None:
    one_key = Statistics((stream(1_000, keys=1), stream(1_000, keys=1)))
    by_sampler = {own.sampler: own.error for own in expected("SHED TO PROCESS 200 ROWS PER SECOND", one_key).samplers}
    assert by_sampler["key"] is None and by_sampler["row"] is not None


@pytest.mark.parametrize("keys", [40, 400])
def test_errors_of_samples_that_are_drawn(keys: int) -> None:
    """Keys with 30 and 60 rows each, of which a quarter is kept."""
    random, kept, truth = np.random.default_rng(1), 0.25, keys * 30 * 60
    statistics = Statistics((stream(3 * keys, keys=keys), stream(6 * keys, keys=keys)))
    by_sampler = {
        own.sampler: own for own in expected(f"SHED TO PROCESS {9 * keys // 4} ROWS PER SECOND", statistics).samplers
    }
    assert by_sampler["key"].rate == kept
    by_key = random.binomial(keys, kept, 4_000) * 30 * 60 / kept
    rows = random.binomial(30, kept, (4_000, keys)) * random.binomial(60, kept, (4_000, keys))
    by_row = rows.sum(axis=1) / kept**2
    for sampler, estimates in {"key": by_key, "row": by_row}.items():
        error = float(np.sqrt(((estimates / truth - 1) ** 2).mean()))
        assert by_sampler[sampler].error == pytest.approx(error, rel=0.1)  # type: ignore[index]
