"""The streams of the benchmark: their keys, and the order of their files."""

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from joinfold.workloads.synthetic import R0 as PRESET_R0
from joinfold.workloads.synthetic import R1 as PRESET_R1
from joinfold_bench.data import R0, R1, Dataset

SMALL = Dataset("small", rows_per_second=1_000, seconds=3, keys=50, groups=5, rows_per_file=1_000)


@pytest.mark.parametrize(("dataset", "preset"), [(R0, PRESET_R0), (R1, PRESET_R1)])
def test_r0_and_r1_are_the_presets_of_the_workload(dataset: Dataset, preset: object) -> None:
    for name in ("rows_per_second", "seconds", "keys", "groups"):
        assert getattr(dataset, name) == getattr(preset, name)


def test_files_are_modified_in_their_order(tmp_path: Path) -> None:
    SMALL.write(tmp_path / "x")
    files = sorted((tmp_path / "x" / "a").glob("*.parquet"))
    times = [file.stat().st_mtime for file in files]
    assert len(files) == 3 and times == sorted(set(times))


def test_half_of_the_rows_on_one_key(tmp_path: Path) -> None:
    replace(SMALL, hot_share=0.5).write(tmp_path / "x")
    for stream in "ab":
        keys = parquet.read_table(tmp_path / "x" / stream).column("key").to_numpy()
        assert 0.47 < (keys == 0).mean() < 0.55


def test_shared_keys(tmp_path: Path) -> None:
    data = replace(SMALL, shared_keys=3)
    data.write(tmp_path / "x")
    a, b = (set(parquet.read_table(tmp_path / "x" / stream).column("key").to_pylist()) for stream in "ab")
    assert (len(a), len(b), len(a & b)) == (50, 50, 3)
    assert data.pairs(1_000_000) == 3 * 20**2


def test_the_number_of_keys_for_a_number_of_pairs() -> None:
    data = replace(R1, keys=R1.keys_for(1e9, 60_000_000))
    assert data.pairs(60_000_000) == pytest.approx(1e9)
