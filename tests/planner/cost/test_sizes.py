"""How large entries and windows are: by hand for small ones, and more for more."""

from dataclasses import replace

import pytest

from joinfold.physical.source import ViewOf
from joinfold.planner.cost.engine import FoldAmounts
from joinfold.planner.cost.estimating import Setting, fold_amounts
from joinfold.planner.cost.sizes import (
    BIGINT_BYTES,
    CELL_BYTES,
    COUNT_BYTES,
    REAL_BYTES,
    SUM_BYTES,
    column_bytes,
    entry_bytes,
    frame_bytes,
    memory_bytes,
    state_entries,
)
from joinfold.planner.cost.weights import shipped_weights
from joinfold.planner.cost.windows import flows_of
from joinfold.planner.forcing import Plan
from joinfold.planner.planning import plan_query
from joinfold.planner.stream_statistics import Statistics, StreamStatistics
from joinfold.types import DataType, decimal
from tests.planner.known import CONDITION, JOINED, SETS, SLOW, WINDOW, query_of, stream


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("BOOLEAN", "TINYINT"),
        ("TINYINT", "SMALLINT"),
        ("INT", "DOUBLE"),
        ("DOUBLE", "STRING"),
        ("STRING", "ARRAY<INT>"),
    ],
)
def test_wider_types_take_more(narrow: str, wide: str) -> None:
    assert 0 < column_bytes(DataType(narrow)) < column_bytes(DataType(wide))


def test_large_integers_are_written_as_narrow_as_they_are() -> None:
    assert column_bytes(DataType("BIGINT")) == BIGINT_BYTES < column_bytes(DataType("INT"))
    assert column_bytes(decimal(38, 2)) == column_bytes(decimal(3, 0)) == 16


@pytest.mark.parametrize(
    ("select", "sums"),
    [
        ("COUNT(*) AS n", 0.0),
        ("SUM(a.v) AS s", COUNT_BYTES + SUM_BYTES + COUNT_BYTES),  # values, and two limbs of their sum
        ("AVG(a.d) AS m", COUNT_BYTES * 4 + REAL_BYTES),  # values, nan, inf and -inf
        ("MAX(a.v) AS top", 1 + BIGINT_BYTES),
        ("MAX_BY(a.v, a.d) AS top", 2 + BIGINT_BYTES + 8),
        ("MAX(b.v) AS top", 0.0),  # of the other input
    ],
)
def test_an_entry_by_hand(select: str, sums: float) -> None:
    plan = plan_query(query_of(f"SELECT {select} {JOINED}"))
    widths = frame_bytes(plan.frames[0]) | frame_bytes(plan.frames[1])
    key = column_bytes(DataType("INT"))
    assert entry_bytes(plan.body.inputs[0], widths) == pytest.approx(CELL_BYTES + key + COUNT_BYTES + sums)


def fold_of(text: str, *streams: StreamStatistics, plan: Plan | None = None) -> FoldAmounts:
    forced, statistics = plan_query(query_of(text), plan), Statistics(streams, 0.5)
    setting = Setting((), statistics, shipped_weights())
    return fold_amounts(setting, forced.answering, forced.choice, flows_of(forced.pipeline, statistics)[-1], 1.0)


def test_pc_keeps_all_combinations_and_tc_a_charge_of_each_leaving_time_and_group() -> None:
    pc, tc, ic = (fold_of(CONDITION, *SLOW, plan=Plan(method, ())) for method in ("pc", "tc", "ic"))
    value = 8 * (2 + 1)  # a total of one column, with its place
    assert memory_bytes(pc) - memory_bytes(ic) == pytest.approx(pc.live_combinations * value)
    assert memory_bytes(tc) - memory_bytes(ic) == pytest.approx(10 * 1 * value)  # ten cells, one group
    assert pc.live_combinations > 100


@pytest.mark.parametrize("text", [SETS, CONDITION, f"SELECT COUNT(*) AS n {JOINED} AND a.x < b.x"])
def test_more_rows_in_the_windows_take_more_memory(text: str) -> None:
    sizes = [memory_bytes(fold_of(text, stream(rate, 10, 5), stream(rate, 10))) for rate in (1, 10, 1_000)]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]


def test_a_hashed_window_takes_more_than_a_list() -> None:
    sizes = [memory_bytes(fold_of(CONDITION, *SLOW, plan=Plan(index={"a": own, "b": own}))) for own in ("list", "hash")]
    assert sizes[0] < sizes[1]


def test_state_is_kept_by_cell_until_the_cell_leaves_and_what_never_leaves_is_added_up() -> None:
    pipeline = plan_query(query_of(f"SELECT COUNT(*) AS n FROM a {WINDOW}, b [UNBOUNDED] WHERE a.k = b.k")).pipeline
    ((leaving, staying),) = flows_of(pipeline, Statistics((stream(8, 2), stream(8, 2))))
    timed, landmark = pipeline.answering.body.inputs
    assert state_entries(timed, leaving) == leaving.apart > leaving.merged
    assert state_entries(landmark, staying) == staying.merged < staying.apart
    assert state_entries(replace(timed, source=ViewOf(0)), leaving) == leaving.merged
