"""Mutants are other programs, and each differs from the original in one place."""

import ast
from pathlib import Path

import pytest

from tests.mutants.mutate import mutants_of
from tests.mutants.run import ROOMS, ROOT, chosen

SOURCE = '''
"""A docstring with 1 < 2."""

def f(a: int, b: int = 1) -> int:
    assert a > 0
    if a < b and not b:
        print(a)
    return max(a + b, 3) if a is None else -1
'''
WANTED = {
    "1 to 2", "if not", "< to <=", "and to or", "without not", "without the call", "max to min", "+ to -", "3 to 4",
    "is to is not",
}  # fmt: skip


def test_every_kind_of_fault_in_a_small_program(tmp_path: Path) -> None:
    path = tmp_path / "small.py"
    path.write_text(SOURCE)
    mutants = list(mutants_of(path))
    assert {mutant.what for mutant in mutants} == WANTED
    assert len({mutant.applied() for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        ast.parse(mutant.applied())
        assert "assert a > 0" in mutant.applied() and "with 1 < 2" in mutant.applied()


@pytest.mark.parametrize("room", ROOMS)
def test_every_mutant_of_a_room_is_a_program(room: str) -> None:
    paths = sorted((ROOT / "src/joinfold" / room).rglob("*.py"))
    path = max(paths, key=lambda own: own.stat().st_size)
    for mutant in mutants_of(path):
        ast.parse(mutant.applied())


def test_a_seed_chooses_the_same_mutants_again() -> None:
    first = chosen(7, 10)
    assert [mutant.name for mutant in first] == [mutant.name for mutant in chosen(7, 10)]
    assert len(first) == 10
