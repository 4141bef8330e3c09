"""The rooms in alarm, kept up to date from changes."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa

from joinfold.live.alarms import Alarms

MIDNIGHT = datetime(2025, 1, 1, tzinfo=UTC)


def changes(*rows: tuple[int, str, str, int, float]) -> pa.Table:
    names = ("instant", "change", "location", "alarms", "smoke")
    return pa.Table.from_pylist(
        [dict(zip(names, (MIDNIGHT + timedelta(minutes=minute), *row), strict=True)) for minute, *row in rows]
    )


def test_rooms_come_and_go() -> None:
    alarms = Alarms()
    alarms.take(
        changes((2, "update", "attic", 90, 0.8), (1, "insert", "attic", 6, 0.7), (2, "insert", "hall", 9, 0.9)), 0
    )
    assert [(alarm.room, alarm.combinations, alarm.since.minute) for alarm in alarms.active()] == [
        ("attic", 90, 1),
        ("hall", 9, 2),
    ]
    alarms.take(changes((4, "delete", "attic", 90, 0.8)), 1)
    assert [alarm.room for alarm in alarms.active()] == ["hall"]
    assert (alarms.raised, alarms.cleared, alarms.most_combinations) == (2, 1, 90)
    assert [str(news) for news in alarms.tell()] == [
        "00:01:00  attic  alarm, 6 hot and smoky pairs, smoke up to 0.70",
        "00:02:00  hall  alarm, 9 hot and smoky pairs, smoke up to 0.90",
        "00:04:00  attic  clear after 3 minutes",
    ]
    assert alarms.tell() == []
