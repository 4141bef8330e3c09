"""The two independent references agree on random queries and rows."""

import pytest
from hypothesis import given, settings
from tests.strategies import MODES, Case, assert_same_answers, cases

from joinfold.reference import duck, naive


@pytest.mark.parametrize("mode", list(MODES))
def test_naive_and_duckdb_agree(mode: str) -> None:
    @settings(settings.get_profile(settings.get_current_profile_name()))
    @given(case=cases(modes=(mode,)))
    def agree(case: Case) -> None:
        query = case.bind()
        assert_same_answers(naive.answers(query, case.data), duck.answers(query, case.data))

    agree()


@given(case=cases(modes=("default", "window id", "mod"), plain=True))
def test_naive_and_duckdb_agree_on_plain_joins(case: Case) -> None:
    query = case.bind()
    assert_same_answers(naive.answers(query, case.data), duck.answers(query, case.data))
