"""PC keeps all combinations that are live, and sums them for each answer."""

from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.methods.pc import Pipelined
from tests.operators.methods.combined import TIMED, Combination, combinations, defined, heads_of, totals_of, values_of


@given(steps=st.lists(combinations, max_size=6), skipped=st.integers(1, 3))
def test_the_queue_has_what_is_live_and_nothing_else(steps: list[list[Combination]], skipped: int) -> None:
    method, live = Pipelined(TIMED, False), list[Combination]()
    empty = method.bytes_held
    for now, come in enumerate(steps):
        come = [own._replace(leave=now + own.leave) for own in come]
        live += come
        method.add(values_of(TIMED, come), now)
        if now % skipped == 0:
            method.advance(now)
            live = [own for own in live if own.leave > now]
            assert sum(map(len, method.queue)) == len(live)
            assert (totals_of(method), heads_of(method, now)) == defined(live)
    method.advance(len(steps) + 6)
    assert method.queue == [] and totals_of(method) == {}
    assert heads_of(method, len(steps) + 6) == {} and method.bytes_held == empty


def test_memory_grows_with_combinations() -> None:
    """That is what the other methods are for."""
    method, held = Pipelined(TIMED, False), []
    for _ in range(3):
        method.add(values_of(TIMED, [Combination(0, 9, 1, 1, True)] * 100), 0)
        method.advance(0)
        held.append(method.bytes_held)
    assert held[2] - held[1] == held[1] - held[0] > 100 * 8


def test_totals_are_those_of_the_last_advance() -> None:
    method = Pipelined(TIMED, False)
    method.add(values_of(TIMED, [Combination(1, 3, 2, 5, False)]), 0)
    assert totals_of(method) == {}
    for now, expected in ((0, {1: (2, 2.5)}), (2, {1: (2, 2.5)}), (3, {})):
        method.advance(now)
        assert totals_of(method) == expected
