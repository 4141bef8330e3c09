"""Some damage, of all that `scripts/damage-grid` tries. `make crashes` kills queries (`tests.crashes.matrix`)."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import joinfold as jf
from tests.crashes.damage import RIGHT, SETTINGS, Grid, is_named, run_grid

DAMAGES = 8


@pytest.fixture
def settings(spark: Any) -> Iterator[None]:
    """Undoes the settings of the grid."""
    before = {name: spark.conf.get(name) for name in SETTINGS}
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.spark
@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize("is_bare", [False, True], ids=["with checksums", "without"])
def test_a_damaged_checkpoint_goes_on_right_or_is_refused(spark: Any, tmp_path: Path, is_bare: bool) -> None:
    grid = Grid(jf.Session(spark), tmp_path, int(time.time()), is_bare)
    assert [own for own in run_grid(grid, DAMAGES) if own.what not in RIGHT] == []


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("checkpoint/commits/4", "the file 'commits/4' is damaged", True),
        ("checkpoint/commits/.4.crc", "the file 'commits/4' is damaged", True),
        ("checkpoint/commits/4", "the file 'offsets/4' is damaged", False),
        ("checkpoint/_joinfold/1/manifest.txt", "the file '_joinfold/1' is empty", True),
        ("checkpoint/state/0/1/7.zip", "Error reading file:/x/state/0/1/7.zip", True),
    ],
)
def test_a_message_names_the_file_or_that_of_its_checksum(name: str, text: str, expected: bool) -> None:
    assert is_named(name, text) == expected
