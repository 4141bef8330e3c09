"""A workload written step by step."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

from joinfold.workloads import batches
from joinfold.workloads.feed import Feed

ROOMS = {"rooms": 5, "report_seconds": 1.0}


def test_the_files_are_the_workload_cut_by_time(tmp_path: Path) -> None:
    feed = Feed("sensors", tmp_path, rows=70_000, seed=3, **ROOMS)
    written = [feed.advance(seconds) for seconds in (10, 10, 20, 6_900, 1e6)]
    assert written[0] in range(90, 110) and written[1] == 0
    assert sum(written) == 70_000
    for stream in ("temperature", "smoke"):
        expected = pa.concat_tables(step[stream] for step in batches("sensors", rows=70_000, seed=3, **ROOMS))
        found = [parquet.read_table(path) for path in sorted((tmp_path / stream).iterdir())]
        assert pa.concat_tables(found).equals(expected)
        assert len(found) == 4


def test_a_feed_without_end_makes_only_what_is_asked_for(tmp_path: Path) -> None:
    assert Feed("sensors", tmp_path, **ROOMS).advance(5) in range(40, 60)
