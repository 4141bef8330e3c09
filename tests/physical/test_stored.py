"""What is stored is found again by its name, whatever its stream is called."""

import json
import pickle

from hypothesis import given
from hypothesis import strategies as st

from joinfold.physical.stored import (
    ArrivalsOf,
    BoundariesOf,
    EntriesOf,
    Inside,
    OrderOf,
    Stored,
    Waiting,
    stored_facts,
    stored_from,
    stored_name,
)

NAMED = (EntriesOf, BoundariesOf, ArrivalsOf, OrderOf)
names = st.sampled_from(["waiting", "inside", "a", "of a", "entries of a", "order of waiting", " a", ""]) | st.text()
kinds: st.SearchStrategy[Stored] = st.one_of(*(st.builds(kind, names) for kind in NAMED)) | st.sampled_from(
    [Waiting(), Inside()]
)


@given(kinds)
def test_a_name_says_what_is_stored(stored: Stored) -> None:
    again = stored_from(json.loads(json.dumps(stored_facts(stored))))
    assert again == stored and type(again) is type(stored)
    assert pickle.loads(pickle.dumps(stored)) == stored


@given(kinds, kinds)
def test_no_two_kinds_have_one_name(first: Stored, second: Stored) -> None:
    assert (stored_facts(first) == stored_facts(second)) == (first == second)
    assert len({first, second}) == 1 + (first != second)


def test_names_stay_what_they_are() -> None:
    """State is found by them: another name would orphan it."""
    stored: list[Stored] = [*(kind("a, b") for kind in NAMED), Waiting(), Inside()]
    assert [stored_facts(own) for own in stored] == [
        ["entries", "a, b"],
        ["boundaries", "a, b"],
        ["arrivals", "a, b"],
        ["order", "a, b"],
        ["waiting"],
        ["inside"],
    ]
    assert [stored_name(own) for own in stored[-3:]] == ["order of a, b", "waiting", "inside"]
