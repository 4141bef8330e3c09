"""A building whose rooms report temperature and smoke. From time to time a room burns.

A room has a base temperature, a variation over the day and some noise, which together stay below 30 °C. Its smoke stays
below 0.1. In each period some fires start in random rooms at random times. A fire grows, burns and goes out within its
period. In its middle, the temperature is above 40 °C and the smoke above 0.6. So the alarm query of the README has
groups that appear, grow, shrink and vanish::

    celsius    60 |          ________
               40 |- - - - -/- - - - \\- - - - - -      celsius = normal + rise · shape
               20 |________/          \\__________      smoke   = haze   + peak · shape
                  0        start     end        period

The fires are a function of (seed, period), so any block of rows can be made without the blocks before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from joinfold.errors import UsageError
from joinfold.workloads.arrival import SECOND_US, START_US, Clock
from joinfold.workloads.checks import require_positive, require_whole_number
from joinfold.workloads.draws import ROWS_PER_BLOCK, Block, Real, Whole, blocks, seeded_generator, share_out
from joinfold.workloads.tables import TIMESTAMP, pick, stream_schema, table_of

DAY_US = 86_400 * SECOND_US
MINUTE_US = 60 * SECOND_US
ROOMS_PER_FLOOR = 20
SWELL_SHARE = 0.2
"""The share of a fire's duration in which it grows; in an equal share at the end it goes out."""

SCHEMAS = {
    "temperature": stream_schema(location=pa.string(), ts=TIMESTAMP, celsius=pa.float64()),
    "smoke": stream_schema(location=pa.string(), ts=TIMESTAMP, strength=pa.float64()),
}


@dataclass(frozen=True, slots=True)
class SensorParameters:
    """The parameters of the building and its fires.

    ``report_seconds``: the time between two reports of a room to the same stream.
    ``fires``: the number of fires that start in each ``fire_period_minutes``. A fire ends in the period of its start.
    """

    rooms: int = 50
    report_seconds: float = 10.0
    fires: int = 2
    fire_period_minutes: float = 15.0
    shortest_fire_minutes: float = 3.0
    longest_fire_minutes: float = 8.0
    start_us: int = START_US

    def __post_init__(self) -> None:
        require_whole_number("rooms", self.rooms)
        require_positive("report_seconds", self.report_seconds)
        require_whole_number("fires", self.fires, minimum=0)
        require_positive("fire_period_minutes", self.fire_period_minutes)
        require_positive("shortest_fire_minutes", self.shortest_fire_minutes)
        require_positive("longest_fire_minutes", self.longest_fire_minutes)
        require_whole_number("start_us", self.start_us, minimum=0)
        if not self.shortest_fire_minutes <= self.longest_fire_minutes <= self.fire_period_minutes:
            raise UsageError(
                "shortest_fire_minutes ≤ longest_fire_minutes ≤ fire_period_minutes must hold, but they are "
                f"{self.shortest_fire_minutes}, {self.longest_fire_minutes}, {self.fire_period_minutes}"
            )

    @property
    def locations(self) -> pa.Array:
        """The names of the rooms: floor-1/room-01, …"""
        rooms = (divmod(room, ROOMS_PER_FLOOR) for room in range(self.rooms))
        return pa.array([f"floor-{floor + 1}/room-{door + 1:02d}" for floor, door in rooms], pa.string())

    @property
    def clock(self) -> Clock:
        """The clock of each of the two streams."""
        return Clock((self.rooms / self.report_seconds,), self.start_us)

    @property
    def period_us(self) -> int:
        """The length of a period, in which ``fires`` fires start."""
        return round(self.fire_period_minutes * MINUTE_US)


@dataclass(frozen=True, slots=True)
class Fires:
    """The fires of consecutive periods: every array has a row per period and a column per fire in the period."""

    first_period: int
    room: Whole
    start_us: Whole
    end_us: Whole
    rise_celsius: Real
    peak_strength: Real

    def intensity(self, rooms: Whole, elapsed_us: Whole, period_us: int) -> tuple[Real, Real]:
        """The heat (°C above normal) and smoke that fires add in ``rooms`` at the times ``elapsed_us``."""
        periods, within_us = np.divmod(elapsed_us, period_us)
        at = periods - self.first_period
        heat, smoke = np.zeros(len(rooms)), np.zeros(len(rooms))
        for fire in range(self.room.shape[1]):
            start_us, end_us = self.start_us[at, fire], self.end_us[at, fire]
            swell_us = (end_us - start_us) * SWELL_SHARE
            to_edge_us = np.minimum(within_us - start_us, end_us - within_us)
            shape = np.clip(to_edge_us / swell_us, 0.0, 1.0) * (self.room[at, fire] == rooms)
            heat = np.maximum(heat, shape * self.rise_celsius[at, fire])
            smoke = np.maximum(smoke, shape * self.peak_strength[at, fire])
        return heat, smoke


def fires_between(seed: int, first_period: int, last_period: int, parameters: SensorParameters) -> Fires:
    """The fires of periods ``first_period`` to ``last_period``, both included."""
    drawn = np.stack(
        [
            seeded_generator(seed, "building", period, "fires").random((parameters.fires, 5))
            for period in range(first_period, last_period + 1)
        ]
    )
    room, start, length, rise, peak = np.moveaxis(drawn, 2, 0)
    longest_us = parameters.longest_fire_minutes * MINUTE_US
    shortest_us = parameters.shortest_fire_minutes * MINUTE_US
    length_us = (shortest_us + length * (longest_us - shortest_us)).astype(np.int64)
    start_us = (start * (parameters.period_us - length_us)).astype(np.int64)
    return Fires(
        first_period,
        room=(room * parameters.rooms).astype(np.int64),
        start_us=start_us,
        end_us=start_us + length_us,
        rise_celsius=35 + 30 * rise,
        peak_strength=0.75 + 0.2 * peak,
    )


def sensor_schemas(parameters: SensorParameters) -> dict[str, pa.Schema]:
    """The schemas of temperature and smoke."""
    return dict(SCHEMAS)


def sensor_tables(rows: int, seed: int, parameters: SensorParameters) -> Iterator[dict[str, pa.Table]]:
    """The rows of both streams, block by block, in the order of event time."""
    counts = share_out(rows, dict.fromkeys(SCHEMAS, 1.0))
    locations = parameters.locations
    base_celsius = 18 + 5 * seeded_generator(seed, "building", 0, "base").random(parameters.rooms)
    for step in blocks(seed, counts, dict.fromkeys(SCHEMAS, ROWS_PER_BLOCK // 2)):
        tables = {}
        for stream, block in step.items():
            times_us = parameters.clock.scattered_us(block)
            rooms = block.row_numbers % parameters.rooms
            heat, smoke = _fire_effects(seed, rooms, times_us, parameters)
            if stream == "temperature":
                reading = _celsius(block, base_celsius[rooms], times_us) + heat
            else:
                reading = np.minimum(0.08 * block.uniform("haze") + smoke, 1.0)
            columns = {
                "location": pick(locations, rooms),
                "ts": times_us,
                SCHEMAS[stream].names[-1]: np.round(reading, 3),
            }
            tables[stream] = table_of(SCHEMAS[stream], **columns)
        yield tables


def _celsius(block: Block, base_celsius: Real, times_us: Whole) -> Real:
    """Temperatures without fire: lowest at 04:00, highest at 16:00."""
    share_of_day = (times_us % DAY_US) / DAY_US
    drift: Real = 3 * np.sin(2 * np.pi * (share_of_day - 10 / 24))
    return base_celsius + drift + 0.3 * block.normal("noise")


def _fire_effects(seed: int, rooms: Whole, times_us: Whole, parameters: SensorParameters) -> tuple[Real, Real]:
    if len(rooms) == 0 or parameters.fires == 0:
        return np.zeros(len(rooms)), np.zeros(len(rooms))
    elapsed_us = times_us - parameters.start_us
    first, last = int(elapsed_us[0]) // parameters.period_us, int(elapsed_us[-1]) // parameters.period_us
    fires = fires_between(seed, first, last, parameters)
    return fires.intensity(rooms, elapsed_us, parameters.period_us)
