"""Machine code belongs to the sources that it was made from, and importing makes nothing.

Each test runs a copy of the kernels in a process of its own.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import joinfold
from joinfold.kernels import caching

PACKAGE = Path(joinfold.__file__).parent
CALLEE = """from joinfold.kernels.compiling import part


@part
def answer() -> int:
    return 41
"""
CALLER = """from joinfold.kernels.callee import answer
from joinfold.kernels.compiling import kernel


@kernel
def asked() -> int:
    return answer()
"""
CALL = """
import joinfold.kernels.caller
from joinfold.kernels.caching import folder
print(joinfold.kernels.caller.asked(), sum(joinfold.kernels.caller.asked.stats.cache_hits.values()), folder())
"""

GROUPED_CALLEE = """from collections.abc import Callable
from typing import NamedTuple

from joinfold.kernels.compiling import Arrays, Integers, part


class Pair(NamedTuple):
    left: Integers
    right: Integers


@part
def first(pair: Pair) -> int:
    return pair.left[0]


@part
def answer(arrays: Arrays, which: Callable[[Pair], int]) -> int:
    return which(Pair(*arrays))
"""
GROUPED_CALLER = """import numpy as np

from joinfold.kernels.callee import answer, first
from joinfold.kernels.compiling import Arrays, kernel


@kernel
def grouped(arrays: Arrays) -> int:
    return answer(arrays, first)


def asked() -> int:
    return grouped((np.full(1, 41), np.zeros(1, np.int64)))


asked.stats = grouped.stats
"""


class Copy:
    """joinfold with kernels that may be edited, and a cache directory that is empty at first."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.kernels = place / "joinfold" / "kernels"
        self.home = place / "home"
        shutil.copytree(PACKAGE / "kernels", self.kernels, ignore=shutil.ignore_patterns("__pycache__"))
        (place / "joinfold" / "__init__.py").write_text("")
        (self.kernels / "callee.py").write_text(CALLEE)
        (self.kernels / "caller.py").write_text(CALLER)

    def edit(self, answer: int) -> None:
        (self.kernels / "callee.py").write_text(CALLEE.replace("41", str(answer)))

    def ask(self, **environment: Path) -> tuple[int, bool, Path | None]:
        """The answer, whether its machine code was there already, and the folder of machine code."""
        usual = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        given = {"PYTHONPATH": self.place, "XDG_CACHE_HOME": self.home, "PYTHONDONTWRITEBYTECODE": "1", **environment}
        done = subprocess.run(
            [sys.executable, "-c", CALL],
            env=usual | {name: str(value) for name, value in given.items()},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answer, hits, folder = done.stdout.split()
        return int(answer), hits == "1", None if folder == "None" else Path(folder)


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_an_edited_callee_is_noticed(copy: Copy) -> None:
    answer, was_there, first = copy.ask()
    assert (answer, was_there) == (41, False) and first is not None
    assert copy.ask() == (41, True, first)
    copy.edit(42)
    answer, was_there, second = copy.ask()
    assert (answer, was_there) == (42, False), "stale machine code"
    assert second != first and not first.exists(), "machine code of earlier sources is removed"
    assert copy.ask() == (42, True, second)


def test_kernels_of_tuples_and_of_functions_are_kept_too(copy: Copy) -> None:
    """numba refuses to keep a kernel that passes a function on, unless that call is inlined as in a ``part``."""
    (copy.kernels / "callee.py").write_text(GROUPED_CALLEE)
    (copy.kernels / "caller.py").write_text(GROUPED_CALLER)
    assert [copy.ask()[:2] for _ in range(2)] == [(41, False), (41, True)]


def test_machine_code_is_kept_beside_the_kernels(copy: Copy) -> None:
    _, _, folder = copy.ask()
    assert folder is not None and folder.parent == copy.kernels / "__pycache__"
    assert not copy.home.exists()


def test_a_folder_that_is_asked_for_is_taken_and_shared(copy: Copy, tmp_path: Path) -> None:
    other = Copy(tmp_path / "other")
    wanted = tmp_path / "wanted"
    found = [one.ask(NUMBA_CACHE_DIR=wanted)[2] for one in (copy, other)]
    assert all(folder is not None and folder.is_dir() and wanted in folder.parents for folder in found)
    other.edit(42)
    other.ask(NUMBA_CACHE_DIR=wanted)
    assert copy.ask(NUMBA_CACHE_DIR=wanted) == (41, True, found[0]), "a copy removes only what is its own"


def test_a_read_only_package_is_cached_in_the_home_of_its_user(copy: Copy) -> None:
    (copy.kernels / "__pycache__").write_text("in the way")  # nobody can make a folder there, not even root
    _, _, folder = copy.ask()
    assert folder is not None and copy.home in folder.parents
    assert copy.ask() == (41, True, folder)


def test_where_nothing_can_be_written_each_process_compiles(copy: Copy) -> None:
    for place in (copy.kernels / "__pycache__", copy.home):
        place.write_text("in the way")
    assert copy.ask() == (41, False, None)


def test_every_source_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def edited(path: Path) -> str:
        copied = tmp_path / "kernels"
        shutil.copytree(PACKAGE / "kernels", copied, ignore=shutil.ignore_patterns("__pycache__"))
        (copied / path).write_text((copied / path).read_text() + "\n")
        with monkeypatch.context() as patch:
            patch.setattr(caching, "files", lambda package: copied)
            found = caching.hash_of_sources()
        shutil.rmtree(copied)
        return found

    sources = [path.relative_to(PACKAGE / "kernels") for path in (PACKAGE / "kernels").rglob("*.py")]
    assert len({caching.SOURCES, *map(edited, sources)}) == 1 + len(sources)
