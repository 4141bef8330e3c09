"""The simulator finds faults: the engine is broken on purpose, in one way after another.

Each fault is one that a crash, a replay or a restart would bring to light. The seeds are fixed, and as many as
`.ci/run` tries. Files that are damaged are rarely read here; `tests/runtime/test_warm.py` damages every part of one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from joinfold.inprocess import frames
from joinfold.operators.calendars.position import Position
from joinfold.operators.packing.header import Header
from joinfold.operators.stages.bucket import Bucket
from joinfold.operators.stages.fold import Fold
from joinfold.operators.stages.sampling import Sampler
from joinfold.operators.state.bucket_state import BucketState
from joinfold.operators.state.chunks import Chunks
from joinfold.operators.state.state_id import StateId
from joinfold.runtime.warm import WarmBucket, WarmBuckets
from joinfold.shedding.control import Steps
from joinfold.shedding.rates import EVERYTHING, Rates
from tests.simulation.checking import check
from tests.simulation.seeds import run_seed

SEEDS = 200
Fault = Callable[[pytest.MonkeyPatch], None]


def take_whatever_is_warm(patch: pytest.MonkeyPatch) -> None:
    """A stale bucket goes on: the token is not compared."""

    def take(own: WarmBuckets, name: str, token: str) -> WarmBucket | None:
        return own.here.pop(name, (token, None))[1]

    patch.setattr(WarmBuckets, "take", take)


def count_late_rows_of_every_attempt(patch: pytest.MonkeyPatch) -> None:
    """Late rows are counted in memory that outlives an attempt."""
    counts: dict[tuple[str | None, int, int], list[int]] = {}
    opened, saved = BucketState.open, BucketState.save

    def place(state: BucketState) -> tuple[str | None, int, int]:
        return state.state_id.checkpoint, state.state_id.stage, state.state_id.bucket

    def open_(state: BucketState, choice: Any) -> Bucket:
        bucket = opened(state, choice)
        if state.facts is None:
            counts.pop(place(state), None)
        for stream, late in zip(bucket.position.streams, counts.get(place(state), ()), strict=False):
            stream.late = late
        return bucket

    def save(state: BucketState, bucket: Bucket) -> str:
        counts[place(state)] = [stream.late for stream in bucket.position.streams]
        return saved(state, bucket)

    patch.setattr(BucketState, "open", open_)
    patch.setattr(BucketState, "save", save)


def _after_restart(patch: pytest.MonkeyPatch, change: Callable[[Position], None]) -> None:
    """Changes positions that are read from the state."""
    read = Position.from_facts

    def from_facts(facts: Any, names: Sequence[str]) -> Position:
        position = read(facts, names)
        change(position)
        return position

    patch.setattr(Position, "from_facts", from_facts)


def forget_silence_at_restart(patch: pytest.MonkeyPatch) -> None:
    """When a stream was last heard is not stored."""

    def forget(position: Position) -> None:
        position.began_us = position.clock_us
        for stream in position.streams:
            stream.heard_us = None

    _after_restart(patch, forget)


def let_the_watermark_fall_at_restart(patch: pytest.MonkeyPatch) -> None:
    """The largest watermark so far is not stored."""
    _after_restart(patch, lambda position: setattr(position, "reached", None))


def answer_again_at_restart(patch: pytest.MonkeyPatch) -> None:
    """The last instant is not stored."""

    def forget(position: Position) -> None:
        position.answered = position.applied = None

    _after_restart(patch, forget)


def mark_no_rows_ahead(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(frames, "marked_ahead", lambda times, last_us: times)


def skip_a_header(patch: pytest.MonkeyPatch) -> None:
    """One bucket does not learn of the last rows of a micro-batch."""
    taken = Bucket.take_headers

    def take_headers(bucket: Bucket, headers: Sequence[tuple[int, Header]]) -> None:
        taken(bucket, headers[:-1] if bucket.number == 1 and len(headers) > 1 else headers)

    patch.setattr(Bucket, "take_headers", take_headers)


def run_committed_batches_again(patch: pytest.MonkeyPatch) -> None:
    """The id of the state is not compared."""
    patch.setattr(StateId, "refuse_to_follow", lambda own, position: None)


def forget_chunks_early(patch: pytest.MonkeyPatch) -> None:
    """Entries are deleted a cell too early. Memory has them until the next restart."""
    forgotten = Chunks.forget

    def forget(own: Chunks, is_done: Callable[[Any, int], bool]) -> None:
        forgotten(own, lambda stored, cell: is_done(stored, cell - 1))

    patch.setattr(Chunks, "forget", forget)


def store_new_rows_twice(patch: pytest.MonkeyPatch) -> None:
    added = Chunks.add

    def add(own: Chunks, accepted: Iterable[Any]) -> None:
        added(own, [*accepted, *accepted])

    patch.setattr(Chunks, "add", add)


def change_the_plan_without_a_rebuild(patch: pytest.MonkeyPatch) -> None:
    """Another choice begins with empty windows."""

    def go_on_with(bucket: Fold, choice: Any) -> None:
        bucket.choice = choice
        bucket.live = bucket.open_live([])

    patch.setattr(Fold, "go_on_with", go_on_with)


def forget_rates_at_restart(patch: pytest.MonkeyPatch) -> None:
    """Neither the rates of SHED are stored, nor what they were derived from: stored steps would restore them."""
    restored = Sampler.restore

    def restore(own: Sampler, facts: Any) -> None:
        restored(own, facts)
        own.rates, own.steps, own.used = Rates.whole(tuple(own.rates.segments)), Steps(), EVERYTHING

    patch.setattr(Sampler, "restore", restore)


def lose_a_row_of_a_task(patch: pytest.MonkeyPatch) -> None:
    """PACK counts one row less where a task has several."""
    facts_of = Header.facts

    def facts(own: Header) -> dict[str, Any]:
        late = own.keyless_counts - 1 if own.rows > 1 else own.keyless_counts
        return facts_of(replace(own, keyless_counts=late))

    patch.setattr(Header, "facts", facts)


FAULTS: tuple[Fault, ...] = (
    take_whatever_is_warm,
    count_late_rows_of_every_attempt,
    forget_silence_at_restart,
    let_the_watermark_fall_at_restart,
    answer_again_at_restart,
    mark_no_rows_ahead,
    skip_a_header,
    run_committed_batches_again,
    forget_chunks_early,
    store_new_rows_twice,
    change_the_plan_without_a_rebuild,
    forget_rates_at_restart,
    lose_a_row_of_a_task,
)


RARE: dict[Fault, int] = {change_the_plan_without_a_rebuild: 100}
"""The seeds from which on faults are found that few scenarios show."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    first = RARE.get(fault, 0)
    assert any(map(finds, range(first, first + SEEDS)))


def finds(number: int) -> bool:
    """Whether the scenario of a seed fails, in whatever way."""
    try:
        run_seed(number, check, shrinks=False)
    except Exception:  # noqa: BLE001
        return True
    return False
