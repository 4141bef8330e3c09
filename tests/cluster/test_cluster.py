"""A few faults of a real cluster. `scripts/cluster-faults` tries more."""

from pathlib import Path

import pytest

from tests.cluster.faults import FAULTS, run_kinds

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_query_survives_the_faults_of_a_cluster(tmp_path: Path) -> None:
    counts = run_kinds(tmp_path, ["changes"], seed=1, files=6)
    assert counts["queries"] == 1 and counts["answers"] > 0
    assert all(counts[fault] for fault in FAULTS), counts
