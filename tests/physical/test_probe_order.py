"""Steps from any entry: every input is bound once, and everything that WHERE says is decided once."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinfold.physical.probe_order import steps_from
from tests.planner.known import chain_of, common_key, stage_of

TEXTS = (
    common_key(4) + " AND a.v < b.v AND c.v <> d.v",
    chain_of(4) + " AND a.v < d.v",
    chain_of(3) + " AND a.v + b.v + c.v > 1 AND a.x BETWEEN c.x AND c.x + 2",
    "SELECT COUNT(*) AS n FROM a [9 SECOND SLIDE 1 SECOND], b [9 SECOND SLIDE 1 SECOND], c [9 SECOND SLIDE 1 SECOND] "
    "WHERE a.x < b.x AND b.v <> c.v AND a.v = 1",
)


@given(text=st.sampled_from(TEXTS), data=st.data())
def test_every_input_is_bound_once_and_every_condition_checked_when_it_can_be(text: str, data: st.DataObject) -> None:
    body = stage_of(text).body
    ordinals = range(len(body.inputs))
    order, first = data.draw(st.sampled_from(list(permutations(ordinals)))), data.draw(st.sampled_from(ordinals))
    steps = steps_from(body, order, first)
    assert sorted(step.ordinal for step in steps) == [ordinal for ordinal in ordinals if ordinal != first]
    assert sorted(number for step in steps for number in step.checked) == list(range(len(body.combining.ranges)))
    assert {condition for step in steps for condition in step.conditions} == set(body.combining.conditions)
    bound = {first}
    for step in steps:
        keys = {number for other in bound for number in body.inputs[other].classes}
        assert set(step.classes) == keys & set(body.inputs[step.ordinal].classes)
        if not step.classes:
            waiting = set(ordinals) - bound
            assert not any(keys & set(body.inputs[other].classes) for other in waiting), "one with a key comes first"
        bound.add(step.ordinal)
        assert all(set(condition.ordinals) <= bound for condition in step.conditions)
        assert step.range is None or step.range in step.checked
        assert step.index == (step.classes, step.range)


@pytest.mark.parametrize(("order", "expected"), [((0, 1, 2), [1, 2]), ((0, 2, 1), [2, 1]), ((2, 1, 0), [2, 1])])
def test_inputs_of_one_key_are_probed_in_the_order_that_is_asked_for(
    order: tuple[int, ...], expected: list[int]
) -> None:
    assert [step.ordinal for step in steps_from(stage_of(common_key(3)).body, order, 0)] == expected


def test_a_range_comes_before_what_nothing_joins() -> None:
    body = stage_of(TEXTS[-1]).body
    assert [step.ordinal for step in steps_from(body, (2, 1, 0), 0)] == [1, 2]
