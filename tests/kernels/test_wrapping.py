"""Sums that wrap around against Python's integers, which do not."""

from hypothesis import example, given
from hypothesis import strategies as st

from joinfold.kernels.wrapping import LARGEST, added

LEAST = -LARGEST - 1
int64s = st.integers(-3, 3) | st.sampled_from([LEAST, LEAST + 1, LARGEST - 1, LARGEST]) | st.integers(LEAST, LARGEST)


@given(int64s, int64s, st.sampled_from([1, -1]))
@example(LEAST, 0, 1)  # has no positive counterpart
@example(0, LEAST, -1)
@example(-1, LEAST, -1)
def test_a_sum_is_taken_modulo_2_to_the_64_and_its_magnitude_says_if_it_was(value: int, change: int, sign: int) -> None:
    truth = value + sign * change
    wrapped = (truth - LEAST) % 2**64 + LEAST
    assert added(value, change, sign) == (wrapped, min(abs(truth), LARGEST))
