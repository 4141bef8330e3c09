"""A trial: rows as its streams say, run slide by slide when its windows are full."""

import pytest

from joinfold.calibration import trial as module
from joinfold.calibration.queries import SETS, plans
from joinfold.calibration.trial import FEWEST_SLIDES, Measured, Slide, Streams, Trial, measure
from joinfold.planner.cost.weights import shipped_weights
from joinfold.planner.planned_query import PlannedQuery
from tests.calibration.tiny import TINY


def test_a_trial_is_measured_when_its_windows_are_full() -> None:
    trial = TINY[0]
    (_, usual), *_ = plans(trial)
    slides = list(trial.slides(usual))
    assert len(slides) == trial.measured and all(slide.fold > 0 and slide.bytes_held > 0 for slide in slides)
    assert trial.tables["a"].num_rows == 40 * (2 + (2 + 2 + 1))
    first, second = trial.statistics.streams
    assert (first.rate, second.keys) == pytest.approx((40, 5), rel=0.3)


def usual(trial: Trial) -> PlannedQuery:
    return next(plans(trial))[1]


def test_rows_are_the_same_whenever_they_are_drawn_and_have_the_keys_of_their_stream() -> None:
    streams = Streams((40, 10), keys=3, groups=2, zipf=2.0, size=2)
    first, again = (Trial("t", SETS, streams, 2).tables for _ in range(2))
    assert first == again and first["a"].num_rows == 4 * first["b"].num_rows
    keys = first["a"].column("k").to_pylist()
    assert set(keys) == {0, 1, 2} and keys.count(0) > keys.count(1) > keys.count(2)
    assert "[2 SECOND SLIDE 1 SECOND]" in Trial("t", SETS, streams, 2).sql


class Told(Trial):
    """A trial whose slides are told."""

    def slides(self, plan):  # type: ignore[no-untyped-def]
        yield from (Slide(pack, fold, held) for pack, fold, held in ((1, 5, 10), (3, 4, 30), (2, 9, 20)))


@pytest.mark.parametrize(
    ("patience", "expected"), [(1e9, Measured("t", "p", 2, 5, 30)), (-1.0, Measured("t", "p", 2, 4.5, 30))]
)
def test_a_run_is_the_median_of_its_slides_of_fewer_where_patience_ends(patience: float, expected: Measured) -> None:
    found = measure(Told("t", SETS, Streams((1, 1))), "p", usual(TINY[0]), patience)
    assert found == expected and found.cpu == expected.pack + expected.fold
    assert FEWEST_SLIDES == 2


def test_what_is_expected_in_process_has_no_rows_that_cross() -> None:
    trial, weights = TINY[0], shipped_weights()
    crossing = {name: 1.0 if "crossed" in name else 0.0 for name in weights.seconds}
    assert trial.expected(usual(trial), module.Weights(crossing)).cpu == 0
    assert trial.expected(usual(trial), weights).cpu > 0
