"""A list: every probe looks at every member, in the order of arrival."""

from joinfold.kernels.structures.listed import Listed
from joinfold.kernels.structures.operations import INSERT, PROBE, REMOVE

from .model import operations


def test_matches_come_in_the_order_of_arrival() -> None:
    rows = [(INSERT, 0, code, 0, member) for member, code in [(4, 1), (2, 9), (3, 0), (0, 5), (1, 5)]]
    matches = Listed().apply(operations([*rows, (REMOVE, 0, 0, 0, 3), (PROBE, 0, 1, 9, 0)]))
    assert matches.probe.tolist() == [6] * 4
    assert matches.member.tolist() == [4, 2, 0, 1]


def test_a_probe_looks_at_every_member_also_in_chunks() -> None:
    for chunk in (1, 7, 100):
        listed = Listed()
        listed.apply(operations([(INSERT, member % 3, 0, 0, member) for member in range(30)]))
        before = listed.touched
        chunks = list(listed.matches(operations([(PROBE, 1, 0, 0, 0), (PROBE, 9, 0, 0, 0)]), chunk))
        assert [member for matches in chunks for member in matches.member.tolist()] == list(range(1, 30, 3))
        assert listed.touched - before == 60


def test_a_list_has_nothing_to_set_and_needs_no_key() -> None:
    assert Listed.parameters == () and not Listed.needs_key
