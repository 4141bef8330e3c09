"""The rooms in alarm, maintained from the changes that the query of the demo emits."""

import threading
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa

REMEMBERED = 8


@dataclass(frozen=True, slots=True)
class Alarm:
    """A room that is hot and smoky: since when, in how many combinations, and the strongest smoke."""

    room: str
    since: datetime
    combinations: int
    smoke: float


@dataclass(frozen=True, slots=True)
class News:
    """An alarm that was raised or cleared."""

    instant: datetime
    alarm: Alarm
    is_raised: bool

    def __str__(self) -> str:
        alarm = self.alarm
        if self.is_raised:
            text = f"alarm, {alarm.combinations:,} hot and smoky pairs, smoke up to {alarm.smoke:.2f}"
        else:
            minutes = (self.instant - alarm.since).total_seconds() / 60
            text = f"clear after {minutes:.0f} minutes"
        return f"{self.instant:%H:%M:%S}  {alarm.room}  {text}"


@dataclass(slots=True)
class Alarms:
    """The alarms after all changes so far. The thread of the query writes them, and a screen reads them.

    ``latest`` has the last news, ``untold`` those that `tell` has not returned yet.
    """

    rooms: dict[str, Alarm] = field(default_factory=dict)
    latest: deque[News] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    untold: list[News] = field(default_factory=list)
    raised: int = 0
    cleared: int = 0
    most_combinations: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, changes: pa.Table, batch: int) -> None:
        """Applies the changes of a micro-batch."""
        with self._lock:
            for change in changes.sort_by("instant").to_pylist():
                self._apply(change["instant"], change["change"], change)

    def tell(self) -> list[News]:
        """The news since the last call."""
        with self._lock:
            untold, self.untold = self.untold, []
            return untold

    def active(self) -> list[Alarm]:
        """The rooms in alarm, those with the most combinations first."""
        with self._lock:
            return sorted(self.rooms.values(), key=lambda alarm: -alarm.combinations)

    def _apply(self, instant: datetime, change: str, row: dict[str, object]) -> None:
        room, combinations, smoke = str(row["location"]), row["alarms"], row["smoke"]
        assert isinstance(combinations, int) and isinstance(smoke, float)
        before = self.rooms.pop(room, None)
        alarm = Alarm(room, before.since if before else instant, combinations, smoke)
        self.most_combinations = max(self.most_combinations, combinations)
        if change == "delete":
            self.cleared += 1
            self._note(News(instant, alarm, False))
            return
        self.rooms[room] = alarm
        if change == "insert":
            self.raised += 1
            self._note(News(instant, alarm, True))

    def _note(self, news: News) -> None:
        self.latest.append(news)
        self.untold.append(news)
