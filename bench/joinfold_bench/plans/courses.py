"""Runs one plan over streams, in process and row by row, as the papers measure methods.

The windows fill up and then slide. Only slides with full windows are measured:

    rows       ├──────── fill ────────┤├ slide ┤├ slide ┤├ slide ┤
    windows            ├─────── full ──────────┤
                                ├─────── full ──────────┤
                                         ├─────── full ──────────┤

Rows are evenly spaced in time, so a full window stays full.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from joinfold.inprocess import InProcess
from joinfold.planner.forcing import Plan
from joinfold.session import Session
from joinfold.timetext import duration_text
from joinfold.workloads.arrival import SECOND_US, START_US
from joinfold_bench.engines.rates import Spread
from joinfold_bench.environment import Say

SEED = 7
STREAMS = ("a", "b")
SIZE_US = 10 * SECOND_US
FILLING_SLIDES = 2  # after the window is full: the first completes its instant, in the second rows leave
VALUES = 1_000_000  # distinct values of the column that a band compares
LARGEST = 100  # summed values are below this


@dataclass(frozen=True, slots=True)
class Streams:
    """A query and its streams. A full window holds ``rows`` rows of its stream and slides by ``slide_rows``."""

    name: str
    text: str
    data: Mapping[str, pa.Table]
    rows: int
    slide_rows: int

    @property
    def slide_us(self) -> int:
        """The slide of the windows in microseconds."""
        return SIZE_US * self.slide_rows // self.rows


@dataclass(frozen=True, slots=True)
class PlanRun:
    """One plan on one query.

    ``row_seconds`` has the seconds per row, one value for each measured slide. ``pairs`` is the number of combinations
    and ``bytes_held`` the memory, both with full windows.
    """

    query: str
    plan: str
    rows: int
    slide_us: int
    pairs: int
    row_seconds: tuple[float, ...]
    bytes_held: int
    answers: pa.Table = field(repr=False)

    @property
    def seconds(self) -> Spread:
        """Seconds per row: the mean of all slides, the fastest and the slowest slide.

        It is the mean and not the median, because work that is rarely done must count.
        """
        return Spread(fmean(self.row_seconds), min(self.row_seconds), max(self.row_seconds))

    def agrees(self, other: "PlanRun") -> bool:
        """Whether the answers are equal up to the last instant that both have reached."""
        last = min(pc.max(run.answers.column("instant")).as_py() for run in (self, other))
        ours, theirs = (run.answers.filter(pc.field("instant") <= last) for run in (self, other))
        return bool(ours.equals(theirs))


class Course:
    """One plan that runs over streams, slide by slide. It measures the time of FOLD, and with ``with_pack`` of PACK."""

    def __init__(self, streams: Streams, name: str, plan: Plan | None, with_pack: bool = False) -> None:
        session = Session()
        for stream, table in streams.data.items():
            session.stream(stream, table, time="ts")
        self.streams = streams
        self.name = name
        self.with_pack = with_pack
        self.machine = InProcess(session.sql(streams.text, plan).plan, by_row=True)
        self.fed = 0
        self.answers: list[pa.Table] = []
        self.row_seconds: list[float] = []

    def fill(self) -> None:
        """Feeds rows until the windows are full and have begun to slide."""
        self._feed(self.streams.rows + FILLING_SLIDES * self.streams.slide_rows)

    def slide(self) -> None:
        """Feeds the rows of one slide, and measures them."""
        before = self._spent()
        self._feed(self.streams.slide_rows)
        self.row_seconds.append((self._spent() - before) / (len(self.streams.data) * self.streams.slide_rows))

    def done(self) -> PlanRun:
        """The measurements."""
        streams, answers = self.streams, in_order(pa.concat_tables(self.answers))
        last = answers.filter(pc.field("instant") == pc.max(answers.column("instant")))
        return PlanRun(
            streams.name,
            self.name,
            streams.rows,
            streams.slide_us,
            pc.sum(last.column("n")).as_py(),
            tuple(self.row_seconds),
            self.machine.measures.bytes_held,
            answers,
        )

    def _spent(self) -> float:
        measures = self.machine.measures
        return measures.fold_seconds + (measures.pack_seconds if self.with_pack else 0.0)

    def _feed(self, rows: int) -> None:
        self.machine.feed({name: table.slice(self.fed, rows) for name, table in self.streams.data.items()})
        self.fed += rows
        self.answers.append(self.machine.answer())


def run_course(
    streams: Streams, name: str, plan: Plan | None, measured: int, say: Say, with_pack: bool = False
) -> PlanRun:
    """Runs one plan from beginning to end. Plans that take turns would push each other out of the CPU cache."""
    say(f"{streams.name}, {name}: filling windows of {streams.rows:,} rows")
    course = Course(streams, name, plan, with_pack)
    course.fill()
    for _ in range(measured):
        course.slide()
    run = course.done()
    held, micros = run.bytes_held / 1e6, 1e6 * run.seconds.middle
    say(f"{run.query}, {run.plan}: {micros:,.1f} µs/row, {held:,.1f} MB held, {run.pairs:,} matches")
    return run


def equality(rows: int, slides: int, measured: int, keys: int, groups: int) -> Streams:
    """A join by equality. A full window has the same number of rows of every key: exactly rows² / keys pairs."""
    text = "SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s FROM a {window}, b {window} WHERE a.key = b.key GROUP BY a.g"
    count = _rows_for(rows, slides, measured)
    columns = [
        {"key": np.arange(count) % keys, "g": draw.integers(0, groups, count), "v": draw.integers(0, LARGEST, count)}
        for draw in _draws()
    ]
    return _streams("equality", text, STREAMS, columns, rows, rows // slides)


def band(rows: int, slides: int, measured: int, share: float) -> Streams:
    """A band join without groups. The band holds ``share`` of all values."""
    reach = round(VALUES * share / 2)
    condition = f"a.x BETWEEN b.x - {reach} AND b.x + {reach}"
    text = f"SELECT COUNT(*) AS n, SUM(b.v) AS s FROM a {{window}}, b {{window}} WHERE {condition}"
    count = _rows_for(rows, slides, measured)
    columns = [{"x": draw.integers(0, VALUES, count), "v": draw.integers(0, LARGEST, count)} for draw in _draws()]
    return _streams("band", text, STREAMS, columns, rows, rows // slides)


def common_key(rows: int, slides: int, measured: int, keys: int, names: tuple[str, ...]) -> Streams:
    """A join of several streams by one key, without groups. It sums values of the last stream.

    A full window has rows / keys rows of every key, so there are keys · (rows / keys) ^ streams combinations.
    """
    inputs, last = ", ".join(f"{name} {{window}}" for name in names), names[-1]
    conditions = " AND ".join(f"{name}.key = {other}.key" for name, other in pairwise(names))
    text = f"SELECT COUNT(*) AS n, SUM({last}.v) AS s FROM {inputs} WHERE {conditions}"
    count = _rows_for(rows, slides, measured)
    columns = [{"key": np.arange(count) % keys, "v": draw.integers(0, LARGEST, count)} for draw in _draws(len(names))]
    return _streams("common key", text, names, columns, rows, rows // slides)


def in_order(answers: pa.Table) -> pa.Table:
    """The answers sorted by instant, and by group if there is one."""
    columns = [name for name in ("instant", "g") if name in answers.schema.names]
    return answers.sort_by([(name, "ascending") for name in columns]).combine_chunks()


def _rows_for(rows: int, slides: int, measured: int) -> int:
    assert rows % slides == 0 and SIZE_US % rows == 0
    return rows + (FILLING_SLIDES + measured) * (rows // slides)


def _draws(streams: int = len(STREAMS)) -> list[np.random.Generator]:
    """A random generator for each stream."""
    return [np.random.default_rng((SEED, number)) for number in range(streams)]


def _streams(
    name: str,
    text: str,
    names: Sequence[str],
    columns: Sequence[dict[str, NDArray[np.int64]]],
    rows: int,
    slide_rows: int,
) -> Streams:
    data = {}
    for stream, arrays in zip(names, columns, strict=True):
        times = START_US + np.arange(len(arrays["v"])) * (SIZE_US // rows)
        data[stream] = pa.table({"ts": pa.array(times, pa.timestamp("us", tz="UTC")), **arrays})
    window = f"[{duration_text(SIZE_US)} SLIDE {duration_text(SIZE_US * slide_rows // rows)}]"
    return Streams(name, text.format(window=window), data, rows, slide_rows)
