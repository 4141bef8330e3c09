"""The rooms in alarm, kept up to date from the changes that a query emits."""

import threading
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa

REMEMBERED = 8


@dataclass(frozen=True, slots=True)
class Alarm:
    """A room that is hot and smoky: since when, how many combinations say so, and the strongest smoke."""

    room: str
    since: datetime
    combinations: int
    smoke: float


@dataclass(frozen=True, slots=True)
class News:
    """A room that came into alarm or left it."""

    instant: datetime
    alarm: Alarm
    is_raised: bool

    def __str__(self) -> str:
        alarm = self.alarm
        if self.is_raised:
            told = f"alarm, {alarm.combinations:,} hot and smoky pairs, smoke up to {alarm.smoke:.2f}"
        else:
            minutes = (self.instant - alarm.since).total_seconds() / 60
            told = f"clear after {minutes:.0f} minutes"
        return f"{self.instant:%H:%M:%S}  {alarm.room}  {told}"


@dataclass(slots=True)
class Alarms:
    """What the changes so far amount to; a query's thread writes it, a screen reads it."""

    rooms: dict[str, Alarm] = field(default_factory=dict)
    latest: deque[News] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    untold: list[News] = field(default_factory=list)
    raised: int = 0
    cleared: int = 0
    most_combinations: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, changes: pa.Table, batch: int) -> None:
        """The changes of a micro-batch."""
        with self._lock:
            for change in changes.sort_by("instant").to_pylist():
                self._apply(change["instant"], change["change"], change)

    def tell(self) -> list[News]:
        """What has happened since this was last asked."""
        with self._lock:
            untold, self.untold = self.untold, []
            return untold

    def active(self) -> list[Alarm]:
        """The rooms in alarm, the worst first."""
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
