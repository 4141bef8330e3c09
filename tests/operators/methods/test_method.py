"""All methods come to the same totals and extremes, which are those of the live combinations."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.operators.methods import METHODS
from joinfold.operators.methods.method import Method
from tests.operators.methods.combined import TIMED, Combination, combinations, defined, heads_of, totals_of, values_of


@pytest.mark.parametrize("name", METHODS)
@given(steps=st.lists(combinations, max_size=8), pauses=st.lists(st.integers(1, 4), min_size=8, max_size=8))
def test_whatever_the_method_totals_and_extremes_are_those_of_what_is_live(
    name: str, steps: list[list[Combination]], pauses: list[int]
) -> None:
    """Combinations stay for a while after the instant at which they come; some instants are far from the last."""
    method, live = METHODS[name](TIMED, False), list[Combination]()
    for now, come in zip(accumulate(pauses), steps, strict=False):
        if method.joins_leaving:
            method.subtract(values_of(TIMED, [own for own in live if own.leave <= now]))
        come = [own._replace(leave=now + own.leave) for own in come]
        live = [*(own for own in live if own.leave > now), *come]
        if come:
            method.add(values_of(TIMED, come), now)
        method.advance(now)
        assert (totals_of(method), heads_of(method, now)) == defined(live)
        assert method.bytes_held >= method.totals.totals.bytes_held


@pytest.mark.parametrize("name", METHODS)
def test_what_is_not_joined_when_it_leaves_is_not_subtracted(name: str) -> None:
    method = METHODS[name](TIMED, False)
    values = values_of(TIMED, [Combination(0, 3, 1, 1, True)])
    method.add(values, 0)
    if method.joins_leaving:
        method.subtract(values)
        assert totals_of(method) == {}
    else:
        with pytest.raises(AssertionError, match="does not join what leaves"):
            method.subtract(values)


def test_a_method_is_called_what_the_papers_call_it() -> None:
    flags = {name: (method.joins_leaving, method.by_leave) for name, method in METHODS.items()}
    assert flags == {"pc": (False, True), "ic": (True, False), "tc": (False, True)}
    assert all(issubclass(method, Method) for method in METHODS.values())
