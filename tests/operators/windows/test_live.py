"""What a bucket holds: windows of the kind that was chosen, what was noted, and ids that are not held for ever."""

import pyarrow as pa
import pytest

from joinfold.inprocess import InProcess
from joinfold.operators.stages.fold import Fold
from joinfold.operators.windows import live as module
from joinfold.operators.windows.fused import FusedWindows
from joinfold.operators.windows.live import Live
from joinfold.operators.windows.matched import MatchedWindows
from joinfold.operators.windows.summed import SummedWindows
from joinfold.physical.column_names import INSTANT, extreme_column, integer_column, real_columns
from joinfold.planner.forcing import Plan
from tests.operators.runs import answer, check_stream, feed, plan_of
from tests.operators.windows.moving import Moving, joined

ROW = {"ts": 0, "k": 1, "g": "x", "v": 5, "w": 2, "d": 0.5}
EQUAL = joined("COUNT(*) AS n, SUM(a.d) AS s, MAX(b.v) AS x", "a.k = b.k")


@pytest.mark.parametrize(
    ("where", "forced", "kind"),
    [
        ("a.k = b.k", None, FusedWindows),
        ("a.v < b.v", None, SummedWindows),
        ("a.v + b.v > 0", None, MatchedWindows),
        ("a.k = b.k", Plan("tc"), MatchedWindows),
    ],
)
def test_windows_are_of_the_kind_that_is_chosen(where: str, forced: Plan | None, kind: type) -> None:
    plan = joined("COUNT(*) AS n", where, "a.g", forced)
    live = Live(plan.body, plan.choice)
    assert type(live.windows) is kind
    assert live.vocabulary.by_class == (kind is not FusedWindows)  # sets are by all keys together


def test_what_is_noted_has_a_row_for_each_instant_and_group() -> None:
    moving = Moving(EQUAL, (9, 9))
    assert moving.live.emitted() is None
    moving.move(([ROW], [ROW]))
    moving.move(([ROW | {"g": None}], []))
    for instant in (8, 9):
        moving.live.emit(instant, moving.now, always=False)
    found = moving.live.emitted()
    assert found is not None and moving.live.emitted() is None
    group = EQUAL.body.groups[0]
    high, _ = real_columns(0)
    shown = sorted(
        (row[INSTANT], row[group] or "", row[integer_column(0)], row[high], row[extreme_column(0)])
        for row in found.to_pylist()
    )
    assert shown == [(8, "", 1, 0.5, 5), (8, "x", 1, 0.5, 5), (9, "", 1, 0.5, 5), (9, "x", 1, 0.5, 5)]


def test_what_was_noted_before_windows_are_rebuilt_comes_first() -> None:
    moving = Moving(EQUAL, (9, 9))
    moving.move(([ROW], [ROW]))
    moving.live.emit(7, moving.now, always=False)
    earlier = moving.live.emitted_so_far()
    again = Moving(EQUAL, (9, 9))
    again.live = Live(EQUAL.body, EQUAL.choice, earlier=earlier)
    again.live.windows.advance(0)
    assert sum(batch.num_rows for batch in again.live.emitted_so_far()) == 1
    found = again.live.emitted()
    assert isinstance(found, pa.RecordBatch) and found.column(INSTANT).to_pylist() == [7]
    assert again.live.emitted() is None


def test_ids_are_many_against_what_is_left_or_against_what_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few are kept in any case."""
    moving = Moving(EQUAL, (9, 9))
    live = moving.live
    moving.move(([ROW | {"k": key} for key in range(20)], []))
    assert live.given == 20 and not live.is_outgrown(0)
    monkeypatch.setattr(module, "MANY", 8)
    assert live.is_outgrown(4) and not live.is_outgrown(5)
    assert live.is_outgrown(5, given_elsewhere=21) and not live.is_outgrown(5, given_elsewhere=20)
    live.remember_given()
    assert not live.is_outgrown(0) and live.is_outgrown(0, given_elsewhere=41)


def test_a_bucket_does_not_remember_keys_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """New keys, groups and strings in every batch: what is kept follows the window, not the history."""
    monkeypatch.setattr("joinfold.operators.windows.live.MANY", 100)
    window = "[20 MICROSECOND SLIDE 10 MICROSECOND]"
    text = (
        f"SELECT a.g, b.g AS h, COUNT(*) AS n, MAX(a.g) AS m, SUM(b.v) AS s FROM a {window}, b {window} "
        "WHERE a.k = b.k GROUP BY a.g, b.g"
    )
    rows = [{"ts": ts, "k": ts // 3, "g": f"g{ts}", "v": ts} for ts in range(1500)]
    batches = [dict.fromkeys(("a", "b"), rows[start : start + 30]) for start in range(0, 1500, 30)]
    plan = plan_of(text, "k BIGINT, g STRING, v INT")
    machine = InProcess(plan)
    for batch in batches:
        feed(machine, batch)
        answer(machine)
    (bucket,) = machine.buckets
    assert isinstance(bucket, Fold)
    live = bucket.live
    assert max(live.vocabulary.given, live.windows.totals.given, live.windows.totals.totals.groups) < 800
    check_stream(text, "k BIGINT, g STRING, v INT", batches[:8])


def test_windows_with_more_groups_than_entries_are_not_made_anew_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty entries on each side are in 1600 groups, all of them in use."""
    monkeypatch.setattr(module, "MANY", 100)
    times: list[int | None] = []
    rebuild = Fold.rebuild
    monkeypatch.setattr(Fold, "rebuild", lambda fold: (times.append(fold.position.applied), rebuild(fold)))
    text = "SELECT a.v, b.v AS w, COUNT(*) AS n FROM a [UNBOUNDED], b [UNBOUNDED] WHERE a.k = b.k GROUP BY a.v, b.v"
    machine = InProcess(plan_of(f"{text} EMIT EVERY 10 MICROSECONDS", "k INT, v INT"))
    for start in range(0, 400, 10):
        feed(machine, {name: [{"ts": start, "k": 1, "v": start % 400}] for name in ("a", "b")})
        answer(machine)
    assert len(times) < 10
