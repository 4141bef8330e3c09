"""What looks at combinations: a range has a bound, of another input, and nothing combined is false."""

import pytest

from joinfold.logical.expressions import Column
from joinfold.physical.combining import NOTHING_COMBINED, Bound, Combining, PairCondition, RangeJoin
from joinfold.types import BOOLEAN

BOUND = Bound("b.x", inclusive=True)
RANGE = RangeJoin(0, "a.x", 1, BOUND, None)
VALUE = Column("0", "a.p", BOOLEAN)


@pytest.mark.parametrize(("other", "low", "high"), [(1, None, None), (0, BOUND, None), (0, BOUND, BOUND)])
def test_a_range_without_a_bound_of_another_input_is_refused(other: int, low: Bound | None, high: Bound | None) -> None:
    with pytest.raises(AssertionError):
        RangeJoin(0, "a.x", other, low, high)


@pytest.mark.parametrize(
    "something",
    [
        Combining(ranges=(RANGE,)),
        Combining(conditions=(PairCondition(VALUE, (0, 1)),)),
        Combining(values=(("v", VALUE),)),
    ],
)
def test_it_is_true_where_anything_looks_at_combinations(something: Combining) -> None:
    assert something and not NOTHING_COMBINED
