"""Half a minute of a soak, with a clean stop and a kill. `scripts/soak` runs it for hours."""

from pathlib import Path

import pytest

from tests.soak.check import check
from tests.soak.report import PICTURE, RATIO, flatness, report
from tests.soak.soak import Soak


@pytest.mark.spark
@pytest.mark.slow
def test_a_short_soak_answers_right(tmp_path: Path) -> None:
    soak = Soak(tmp_path / "soak", 30.0, rate=50, period=20, restart_seconds=12.0, sample_seconds=1.0)
    soak.run()
    checked = check(soak.folder)
    assert checked.answers and checked.rows and checked.late_rows and checked.ahead_rows
    assert sum(soak.ended.values()) >= 2
    report(soak.folder)
    assert "</svg>" in (soak.folder / PICTURE).read_text()


@pytest.mark.parametrize(("growth", "expected"), [(1.0, True), (RATIO - 0.01, True), (2.0, False)])
def test_a_curve_is_flat_if_its_last_quarter_is_like_the_second(growth: float, expected: bool) -> None:
    points = [(float(minute), 1000.0 * (growth if minute >= 75 else 1.0)) for minute in range(100)]
    assert flatness("checkpoint_files", points).is_flat == expected


def test_too_few_samples_tell_nothing() -> None:
    found = flatness("state_bytes", [(0.0, 1.0), (1.0, 9.0)])
    assert found.is_flat and str(found) == "state: too few samples"
