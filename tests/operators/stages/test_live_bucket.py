"""Live windows are rebuilt now and then, and nobody notices."""

from collections.abc import Callable

import pytest

from joinfold.inprocess import InProcess
from joinfold.operators.labels import GapUsedUp
from joinfold.operators.stages.fold import Fold
from joinfold.operators.stages.live_bucket import LiveBucket
from joinfold.operators.vocabulary import Vocabulary
from joinfold.operators.windows.fused import FusedWindows
from joinfold.operators.windows.live import Live
from joinfold.physical.column_names import INSTANT
from tests.operators.chains import chain_of
from tests.operators.runs import Data, answer, check_stream, feed, packed_entries, plan_of

W = "[9 MICROSECOND SLIDE 2 MICROSECOND]"
SCHEMA = "k BIGINT, g STRING, d DOUBLE"
MATCHED = plan_of(f"SELECT COUNT(*) AS n, MAX(CONCAT(a.g, b.g)) AS x FROM a {W}, b {W} WHERE a.k = b.k", SCHEMA)
ROW = {"ts": 1, "k": 1, "g": "x", "d": 0.5}


def fed(ts: int = 9) -> LiveBucket:
    """A bucket of a query that looks at combinations, after a row of each stream."""
    machine = InProcess(MATCHED)
    feed(machine, {name: [ROW, ROW | {"ts": ts, "k": 2}] for name in "ab"})
    answer(machine)
    (bucket,) = machine.buckets
    assert isinstance(bucket, LiveBucket) and bucket.entries_held > 0
    return bucket


def test_what_is_put_aside_is_given_back_and_what_it_has_noted_stays() -> None:
    bucket = fed()
    bucket.emit(77, bucket.position.applied or 0)
    old, touched = bucket.live, bucket.touched
    assert touched > 0
    assert bucket.put_aside(keep_labels=False) is old
    assert bucket.live is not old and bucket.entries_held == 0
    assert bucket.touched == touched  # what structures have looked at counts on
    (noted,) = bucket.live.emitted_so_far()
    assert noted.column(INSTANT).to_pylist() == [77] and old.emitted_so_far() == []


@pytest.mark.parametrize("keep_labels", [False, True])
def test_values_of_combinations_are_labelled_first_where_that_is_asked_for(keep_labels: bool) -> None:
    bucket = fed()
    assert [len(labels) for labels in bucket.live.vocabulary.extremes] == [1]
    bucket.put_aside(keep_labels)
    assert [len(labels) for labels in bucket.live.vocabulary.extremes] == [int(keep_labels)]


def test_entries_for_which_no_label_is_left_are_read_after_a_rebuild(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket, old = fed(), list[Vocabulary]()
    read: Callable[..., object] = Vocabulary.entries_of

    def used_up(vocabulary: Vocabulary, *arguments: object) -> object:
        if not old:
            old.append(vocabulary)
            raise GapUsedUp
        return read(vocabulary, *arguments)

    monkeypatch.setattr(Vocabulary, "entries_of", used_up)
    found = bucket.read(0, packed_entries(MATCHED, 0, [ROW]))
    assert len(found) == 1 and bucket.live.vocabulary is not old[0]


def test_a_sum_that_has_drifted_is_made_anew_before_it_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket, rebuilt = fed(), list[Live]()
    monkeypatch.setattr(type(bucket.live.windows), "has_drifted", property(lambda windows: not rebuilt))
    monkeypatch.setattr(bucket, "rebuild", lambda: rebuilt.append(bucket.live))
    bucket.emit(5, bucket.position.applied or 0)
    bucket.emit(6, bucket.position.applied or 0)
    assert rebuilt == [bucket.live]
    assert {own for batch in bucket.live.emitted_so_far() for own in batch.column(INSTANT).to_pylist()} == {5, 6}


def test_the_first_bucket_speaks_for_the_group_that_always_is() -> None:
    """Of a query without groups, also where it has no combination."""
    machine = InProcess(MATCHED, 2)
    for bucket in machine.buckets:
        assert isinstance(bucket, LiveBucket)
        bucket.emit(5, 5)
    noted = [bucket.live.emitted_so_far() for bucket in machine.buckets if isinstance(bucket, LiveBucket)]
    assert list(map(len, noted)) == [1, 0]


def test_a_fold_that_is_not_the_last_makes_a_view() -> None:
    text = f"SELECT COUNT(*) AS n FROM a {W}, b {W}, c {W} WHERE a.k = b.k AND b.g = c.g OPTION (root = c)"
    views = [bucket.is_view for bucket in InProcess(chain_of(text, SCHEMA, "abc")).buckets if isinstance(bucket, Fold)]
    assert views == [True, False]


@pytest.mark.parametrize("emit", ["", "EMIT ON ARRIVAL"])
def test_a_bucket_that_is_made_anew_all_the_time_answers_the_same(emit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FusedWindows, "has_drifted", True)
    monkeypatch.setattr(Live, "is_outgrown", lambda live, *held: True)
    window = "[9 MICROSECOND]" if emit else "[9 MICROSECOND SLIDE 2 MICROSECOND]"
    text = (
        f"SELECT a.g, COUNT(*) AS n, MIN(b.g) AS m, SUM(a.d * b.d) AS s FROM a {window}, b {window} "
        f"WHERE a.k = b.k GROUP BY a.g {emit} CHANGES"
    )
    rows = [{"ts": ts, "k": ts % 3, "g": None if ts % 5 == 0 else f"g{ts % 7}", "d": ts / 4} for ts in range(30)]
    batches: list[Data] = [dict.fromkeys(("a", "b"), rows[start : start + 10]) for start in range(0, 30, 10)]
    check_stream(text, SCHEMA, batches)
