"""Rooms have normal readings without a fire, and the alarm query sees fires start and end."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from joinfold.workloads import batches

WINDOW_US = 600_000_000


def tables(**arguments: object) -> dict[str, pa.Table]:
    steps = list(batches("sensors", **{"seed": 7, **arguments}))
    return {stream: pa.concat_tables([step[stream] for step in steps]) for stream in steps[0]}


def alarms(streams: dict[str, pa.Table], end_us: int) -> dict[str, int]:
    """Pairs per room in the ten minutes before ``end_us``: COUNT(*) of the README's query."""
    found = []
    for stream, column, threshold in (("temperature", "celsius", 40), ("smoke", "strength", 0.6)):
        table = streams[stream]
        times_us = table["ts"].cast(pa.int64()).to_numpy()
        rows = (times_us >= end_us - WINDOW_US) & (times_us < end_us) & (table[column].to_numpy() > threshold)
        counts = table["location"].filter(pa.array(rows)).value_counts().to_pylist()
        found.append({count["values"]: count["counts"] for count in counts})
    hot, smoky = found
    return {room: hot[room] * smoky[room] for room in hot.keys() & smoky.keys() if hot[room] * smoky[room] > 5}


def test_the_alarm_query_has_answers_that_change() -> None:
    streams = tables(rows=20_000)
    start_us = streams["smoke"]["ts"].cast(pa.int64())[0].as_py()
    answers = [alarms(streams, start_us + minute * 60_000_000) for minute in range(1, 33)]
    assert answers[0] == {}
    assert len({tuple(sorted(answer.items())) for answer in answers}) > 15
    assert len({room for answer in answers for room in answer}) >= 3
    assert any(earlier.keys() - later.keys() for earlier, later in itertools.pairwise(answers))


@pytest.mark.parametrize("seed", range(5))
def test_every_seed_burns(seed: int) -> None:
    streams = tables(rows=10_000, seed=seed)
    hot = set(streams["temperature"].filter(pc.field("celsius") >= 40)["location"].to_pylist())
    smoky = set(streams["smoke"].filter(pc.field("strength") > 0.6)["location"].to_pylist())
    assert hot & smoky
    assert len(hot | smoky) <= 4, "two fires in each quarter of an hour"


def test_without_fires_nothing_is_alarming() -> None:
    streams = tables(rows=600_000, fires=0)
    celsius = streams["temperature"]["celsius"].to_numpy()
    assert 10 < celsius.min() < celsius.max() < 30
    assert streams["smoke"]["strength"].to_numpy().max() < 0.1


def test_days_are_warmer_than_nights() -> None:
    table = tables(rows=900_000, fires=0)["temperature"]
    hours = (table["ts"].cast(pa.int64()).to_numpy() // 3_600_000_000) % 24
    celsius = table["celsius"].to_numpy()
    assert celsius[hours == 16].mean() - celsius[hours == 4].mean() == pytest.approx(6, abs=0.2)


def test_every_room_reports_once_per_period() -> None:
    streams = tables(rows=2 * 7 * 100, rooms=7, report_seconds=5)
    for table in streams.values():
        times_us = table["ts"].cast(pa.int64()).to_numpy()
        rounds = ((times_us - times_us[0]) // 5_000_000).max()
        assert rounds in (98, 99)
        counts = table["location"].value_counts().to_pylist()
        assert sorted(count["counts"] for count in counts) == [100] * 7


def test_a_fire_swells_and_dies_down() -> None:
    """One room with a fire in every period: the hottest reading lies between two normal ones."""
    table = tables(rows=20_000, rooms=1, report_seconds=1, fires=1)["temperature"]
    celsius = table["celsius"].to_numpy()
    assert len(celsius) == 10_000
    for period in range(10_000 // 900):
        reading = celsius[period * 900 : (period + 1) * 900]
        assert reading.max() > 45
        burning = np.flatnonzero(reading > 40)
        assert (np.diff(burning) == 1).all()
        assert 0.6 * 180 * 0.8 < len(burning) < 480
