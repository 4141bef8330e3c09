"""An estimate is what its stages take together."""

from hypothesis import given
from hypothesis import strategies as st

from joinfold.planner.cost.estimates import Estimate, StageEstimate

amounts = st.integers(0, 10**6).map(float)
stages = st.builds(
    StageEstimate, st.sampled_from(["PACK", "shuffle", "FOLD", "MERGE"]), st.integers(0, 3), *(amounts,) * 4
)


@given(first=st.lists(stages, max_size=4), more=stages)
def test_a_stage_more_takes_what_it_takes_of_each(first: list[StageEstimate], more: StageEstimate) -> None:
    before, after = Estimate(tuple(first)), Estimate((*first, more))
    assert after.cpu - before.cpu == more.cpu
    assert after.state_bytes - before.state_bytes == more.state_bytes
    assert after.memory_bytes - before.memory_bytes == more.memory_bytes
    assert after.shuffle_bytes - before.shuffle_bytes == more.shuffle_bytes


def test_no_stage_takes_nothing() -> None:
    nothing = Estimate(())
    assert nothing.cpu == nothing.state_bytes == nothing.memory_bytes == nothing.shuffle_bytes == 0
