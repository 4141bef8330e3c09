"""Hypothesis profiles, one Spark session per process, and an empty cache, so that plans never depend on a calibration.

The profiles `ci` and `deep` draw new examples in every run. All processes of a run share one seed, which is printed at
the beginning.

Processes that run tests side by side compile kernels into separate folders, because numba does not lock its files.
"""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from random import SystemRandom

import pytest
from hypothesis import HealthCheck, settings

if "PYTEST_XDIST_WORKER" in os.environ:  # before anything imports numba
    kernels = Path(__file__).parent.parent / ".pytest_cache" / "numba" / os.environ["PYTEST_XDIST_WORKER"]
    os.environ.setdefault("NUMBA_CACHE_DIR", str(kernels))

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "dev")
SEEDED = ("ci", "deep")

settings.register_profile(
    "dev", max_examples=30, deadline=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fast", parent=settings.get_profile("dev"), max_examples=8)
settings.register_profile("ci", parent=settings.get_profile("dev"), max_examples=50, database=None, print_blob=True)
settings.register_profile("deep", parent=settings.get_profile("ci"), max_examples=2000)
settings.load_profile(PROFILE)


@pytest.hookimpl(tryfirst=True)  # before hypothesis reads the option
def pytest_configure(config: pytest.Config) -> None:
    if PROFILE in SEEDED and config.getoption("--hypothesis-seed") is None:
        seed = os.environ.setdefault("JOINFOLD_SEED", str(SystemRandom().randrange(2**32)))  # workers inherit it
        config.option.hypothesis_seed = seed


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption("--hypothesis-seed")
    if seed is None:
        return None
    again = f"HYPOTHESIS_PROFILE={PROFILE} .venv/bin/python -m pytest --hypothesis-seed={seed}"
    return f"examples are drawn from seed {seed}; to draw the same again: {again}"


SLOW = (
    "bench/plans/test_on_spark.py",
    "bench/shedding/test_cases.py",
    "bench/suites/test_joins.py",
    "bench/suites/test_joins_on_spark.py",
    "bench/suites/test_methods.py",
    "bench/suites/test_planner.py",
    "bench/suites/test_shedding.py",
    "calibration/test_fitting.py",
    "calibration/test_pricing.py",
    "columnar/test_functions.py",
    "inprocess/test_clocks.py",
    "inprocess/test_following.py",
    "inprocess/test_relations.py",
    "kernels/structures/test_structures.py",
    "kernels/test_caching.py",
    "kernels/test_charging.py",
    "mutants/test_mutate.py",
    "operators/merging/test_estimating.py",
    "operators/state/test_bucket_state.py",
    "operators/state/test_chunks.py",
    "operators/state/test_chunks_of_views.py",
    "operators/state/test_chunks_of_windows.py",
    "operators/state/test_golden_states.py",
    "operators/state/test_rescaling.py",
    "operators/test_aggregates.py",
    "operators/test_arguments.py",
    "operators/test_chain.py",
    "operators/test_compaction.py",
    "operators/test_edges.py",
    "operators/test_kang_figures.py",
    "operators/test_numbers.py",
    "operators/test_plans.py",
    "operators/test_shedding.py",
    "operators/test_views.py",
    "planner/test_adapting.py",
    "planner/test_decision_laws.py",
    "reference/test_duck.py",
    "shedding/test_intervals.py",
    "simulation/test_it_finds_faults.py",
    "statistics/test_analysis.py",
    "tests/test_seeds.py",
    "tests/test_strategies.py",
    "tests/test_tables.py",
    "workloads/test_generated_bytes.py",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks slow tests, so that `make test-fast` stays under a minute.

    Tests marked `deep` run only with the profile `deep`.
    """
    for item in items:
        if item.path.as_posix().endswith(SLOW):
            item.add_marker(pytest.mark.slow)
    if PROFILE != "deep":
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("deep")])
        items[:] = [item for item in items if not item.get_closest_marker("deep")]


@pytest.fixture(scope="session", autouse=True)
def thawed() -> Iterator[None]:
    """Undoes `gc.freeze()` at the end: stages that a test calls freeze its process as if it were a Spark worker."""
    yield
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def empty_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Makes all plans use the shipped prices, also in the processes that tests start."""
    from joinfold.planner.cost.weights import usual_weights

    usual_weights.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    from joinfold.runtime.sessions.local import start_local_spark

    session = start_local_spark()
    yield session
    session.stop()
