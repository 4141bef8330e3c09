"""The load of all cells that are still needed is never counted too low, and not much too high."""

from hypothesis import given
from hypothesis import strategies as st

from joinfold.shedding.live_load import MOST_PARTS, LiveLoad, LoadPart


@given(st.lists(st.integers(0, 50), max_size=200), st.integers(1, 60))
def test_the_load_of_a_window(entries: list[int], window: int) -> None:
    load = LiveLoad()
    for cell, count in enumerate(entries):
        load.forget({0: cell - window, 1: 0})
        load.see(0, LoadPart(cell, 2 * count, count, 8 * count))
        needed = entries[max(cell - window, 0) : cell + 1]
        assert sum(needed) <= load.total.entries
        if window < MOST_PARTS:
            assert load.total.entries == sum(needed)
        assert load.total.rows == 2 * load.total.entries and load.of(1).entries == 0
        assert load.last_cells() == {0: cell}
    assert LiveLoad.from_facts(load.facts(("a", "b")), ("a", "b")) == load


def test_a_load_of_fewer_rows() -> None:
    load = LoadPart(9, 40, 20, 800)
    assert load.at_most(40) == load and load.at_most(10.0) == LoadPart(9, 10, 5, 200)


def test_old_parts_are_merged() -> None:
    load = LiveLoad()
    for cell in range(1_000):
        load.see(0, LoadPart(cell, 1, 1, 1))
    assert len(load.parts[0]) <= MOST_PARTS and load.total.entries == 1_000
