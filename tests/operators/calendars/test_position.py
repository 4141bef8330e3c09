"""The watermark is that of the definition, and a position is known by the names of its streams."""

import json
import pickle
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joinfold.dialect import bind, parse
from joinfold.logical.query import Source
from joinfold.operators.calendars.position import Position, StreamPosition
from joinfold.reference import streaming
from tests.physical.timings import SCHEMA

NAMES = ("a", "b")
int64 = st.integers(-(2**63), 2**63 - 1)
stream_positions = st.builds(
    StreamPosition,
    st.none() | int64,
    st.lists(int64, max_size=4).map(lambda cells: np.array(sorted(cells), np.int64)),
    st.none() | int64,
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 9),
)


def resumed(position: Position, names: tuple[str, ...] = NAMES) -> Position:
    """The position as it comes back from a state store, to streams in any order."""
    return Position.from_facts(json.loads(json.dumps(position.facts(NAMES))), names)


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(-9, 9)), max_size=6),
    st.tuples(st.integers(0, 5), st.integers(0, 5)),
)
def test_the_watermark_is_that_of_the_definition(seen: list[tuple[int, int]], delays: tuple[int, int]) -> None:
    catalog = {name: Source(name, SCHEMA, True, "ts", delay) for name, delay in zip("st", delays, strict=True)}
    query = bind(parse("SELECT a.k FROM s a [1 SECOND], t b [1 SECOND] WHERE a.k = b.k"), catalog)
    batches: list[dict[str, Any]] = [{"st"[ordinal]: [{"ts": ts, "k": 0}]} for ordinal, ts in seen]
    position = Position.beginning(2)
    found = [position.watermark(delays, (None, None))]
    for ordinal, ts in seen:
        position.streams[ordinal].see(ts)
        position = resumed(position)
        found.append(position.watermark(delays, (None, None)))
    assert found == streaming.watermark_history(query, batches, range(len(batches)))
    assert position.latest == max((ts for _, ts in seen), default=None)


@given(st.builds(Position, st.lists(stream_positions, min_size=2, max_size=2), st.none() | int64, st.none() | int64))
def test_a_position_is_known_by_the_names_of_its_streams(position: Position) -> None:
    again = resumed(position)
    assert again.facts(NAMES) == position.facts(NAMES)
    assert all(stream.occupied.dtype == np.int64 for stream in again.streams)
    other = resumed(position, ("b", "a"))
    assert other.facts(("b", "a")) == position.facts(NAMES)
    assert [stream.largest for stream in other.streams] == [stream.largest for stream in reversed(position.streams)]


def test_a_position_travels() -> None:
    position = Position([StreamPosition(4, np.array([1, 2]), 1, 2, 3, 4), StreamPosition()], 3, 2)
    assert pickle.loads(pickle.dumps(position)).facts(NAMES) == position.facts(NAMES)


def test_streams_share_nothing_in_the_beginning() -> None:
    first, second = Position.beginning(2).streams
    assert first.occupied is not second.occupied
