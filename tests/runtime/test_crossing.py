"""Rows that cross into Python and are only counted there."""

from typing import Any

import pytest

from joinfold.runtime.crossing import counted, crossing_seconds

pytestmark = pytest.mark.spark


def test_all_rows_of_all_streams_are_counted(spark: Any) -> None:
    frames = [spark.range(0, rows, 1, 2) for rows in (7, 0, 5)]
    found = [row.n for row in counted(frames).collect()]
    assert sum(found) == 12 and max(found) < 7, "a stream crosses in batches, each with its number of rows"


def test_crossing_takes_time_whatever_the_columns(spark: Any) -> None:
    assert crossing_seconds(spark, 10, 1) > 0
    assert crossing_seconds(spark, 0, 3) > 0
