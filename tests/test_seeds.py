"""CI draws new examples in every run and prints how to repeat them; all its processes share one seed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests import conftest

DRAWING = """
from pathlib import Path
from hypothesis import given, strategies as st
import pytest

@pytest.mark.parametrize("process", range(2))
def test_drawn(process):
    drawn = []

    @given(st.integers(0, 10**9))
    def draw(number):
        drawn.append(number)

    draw()
    Path(__file__).with_name(f"drawn{process}").write_text(str(drawn))
"""


def run(place: Path, *options: str, profile: str = "ci") -> tuple[str, list[str]]:
    """The header, and the examples that each of two tests has drawn."""
    shutil.copy(conftest.__file__, place / "conftest.py")
    (place / "test_drawing.py").write_text(DRAWING)
    ours = ("PYTEST", "JOINFOLD_SEED")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(place)],
        env=environment | {"HYPOTHESIS_PROFILE": profile, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, [(place / f"drawn{process}").read_text() for process in range(2)]


def test_examples_are_new_in_every_run_and_can_be_drawn_again(tmp_path: Path) -> None:
    header, first = run(tmp_path, "-n", "2", "--dist", "load")
    assert first[0] == first[1], "each process has a seed of its own"
    (again,) = re.findall(r"to draw the same again: HYPOTHESIS_PROFILE=ci .* (--hypothesis-seed=\d+)", header)
    assert run(tmp_path, again)[1] == first
    assert run(tmp_path)[1] != first


def test_elsewhere_hypothesis_draws_as_it_likes(tmp_path: Path) -> None:
    header, _ = run(tmp_path, profile="fast")
    assert "seed" not in header
