"""What a plan cannot do with its machine is said, with what would help."""

from joinfold.explain.costs_chart import STAGES
from joinfold.planner.cost.estimates import Estimate, StageEstimate
from joinfold.planner.warnings import decision_warnings


def estimate(**cpu: float) -> Estimate:
    stages = [StageEstimate(kind, 0, seconds, memory_bytes=4e9) for kind, seconds in cpu.items()]  # type: ignore[arg-type]
    return Estimate(tuple(stages))


def test_what_can_be_done_needs_no_warning() -> None:
    assert decision_warnings(estimate(PACK=1, FOLD=3), 4, 8e9) == ()


def test_a_stream_that_is_too_fast() -> None:
    (warning,) = decision_warnings(estimate(PACK=1.5, FOLD=3.5), 4, 8e9)
    assert warning == (
        "the query cannot keep up with its streams: one second of stream takes 5.0 s of CPU, 1.2 × what 4 cores give. "
        "70 % of it is FOLD. A larger slide, fewer groups or fewer keys reduce it. Otherwise use more cores."
    )
    for kind in STAGES:
        (warning,) = decision_warnings(estimate(**{kind: 2.0, "FOLD" if kind == "PACK" else "PACK": 0.5}), 1, 1e10)
        assert f"what 1 core gives. 80 % of it is {kind}. " in warning


def test_windows_that_are_too_large() -> None:
    fast, large = decision_warnings(estimate(PACK=2, FOLD=3), 4, 7e9)
    assert fast.startswith("the query cannot keep up")
    assert large == (
        "the windows do not fit into memory: they need 8.0 GB, and the machine has 7.0 GB. Shorter windows, filters, "
        "fewer keys or fewer groups reduce it."
    )
