"""A plain join by window ids, in process. Result windows share pairs of sub-windows, or share nothing.

A window has five sub-windows and slides by one. A result window joins 25 pairs of sub-windows. The result window before
has already joined 16 of them:

    b   5 │ N N N N N
        4 │ o o o o N          N  new: joined when the later of the two enters
        3 │ o o o o N          o  known from an earlier result window
        2 │ o o o o N
        1 │ o o o o N
          └──────────
            1 2 3 4 5   a

A list compares every pair of rows, so the number of compared pairs shows how much is shared. With the usual index the
time is measured. It includes work that sharing cannot save: each row is read and inserted, and every match is written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
import pyarrow as pa

from joinfold.inprocess import InProcess
from joinfold.planner.forcing import SHARED, Plan
from joinfold.session import Session
from joinfold.workloads.arrival import START_US
from joinfold_bench.engines.rates import Spread
from joinfold_bench.environment import Say
from joinfold_bench.plans.courses import FILLING_SLIDES, SEED, STREAMS

SUBWINDOWS = 5


@dataclass(frozen=True, slots=True)
class ShareRun:
    """A run over several result windows. For each: members that the structures visited, and seconds of FOLD."""

    share: str
    index: str
    rows: int
    matches: int
    touched: tuple[int, ...]
    slide_seconds: tuple[float, ...]
    answers: pa.Table = field(repr=False)

    @property
    def compared(self) -> float:
        """The mean number of members visited per result window. With lists, most visits compare a pair of rows."""
        return fmean(self.touched)

    @property
    def seconds(self) -> Spread:
        """Seconds per result window: the mean, the fastest and the slowest."""
        return Spread(fmean(self.slide_seconds), min(self.slide_seconds), max(self.slide_seconds))


@dataclass(frozen=True, slots=True)
class ShareCase:
    """Windows of ``rows`` rows of each stream. A row has one match on average, so 1 / rows of all pairs match."""

    rows: int
    measured: int

    def __post_init__(self) -> None:
        assert self.rows % SUBWINDOWS == 0

    @property
    def slide(self) -> int:
        """The number of rows in a sub-window."""
        return self.rows // SUBWINDOWS

    @property
    def text(self) -> str:
        """The query."""
        window = f"[ROWS {self.rows} SLIDE {self.slide}]"
        inputs = ", ".join(f"{name} {window}" for name in STREAMS)
        return f"SELECT a.v AS v, b.v AS w FROM {inputs} WHERE a.key = b.key SYNC ON WINDOW ID"

    def streams(self) -> Mapping[str, pa.Table]:
        """Rows of both streams, enough for all measured result windows. The column ``v`` is different in every row."""
        count = self.rows + (FILLING_SLIDES + self.measured) * self.slide
        times = pa.array(START_US + np.arange(count), pa.timestamp("us", tz="UTC"))
        draws = [np.random.default_rng((SEED, number)) for number in range(len(STREAMS))]
        values = np.arange(count)
        tables = [pa.table({"ts": times, "key": draw.integers(0, self.rows, count), "v": values}) for draw in draws]
        return dict(zip(STREAMS, tables, strict=True))

    def run(self, share: str, index: str | None, say: Say) -> ShareRun:
        """Fills the windows, then measures one result window after another."""
        assert share in SHARED
        data, session = self.streams(), Session()
        for name, table in data.items():
            session.stream(name, table, time="ts")
        indexes = {} if index is None else dict.fromkeys(STREAMS, index)
        machine = InProcess(session.sql(self.text, Plan(share=share, index=indexes)).plan, by_row=True)
        fed = self.rows + FILLING_SLIDES * self.slide
        machine.feed({name: table.slice(0, fed) for name, table in data.items()})
        machine.answer()
        touched, seconds, answers = [], [], []
        for _ in range(self.measured):
            measures = machine.measures
            before = (measures.touched, measures.fold_seconds)
            machine.feed({name: table.slice(fed, self.slide) for name, table in data.items()})
            answers.append(machine.answer())
            touched.append(measures.touched - before[0])
            seconds.append(measures.fold_seconds - before[1])
            fed += self.slide
        rows = pa.concat_tables(answers)
        ordered = rows.sort_by([(name, "ascending") for name in ("wid", "v", "w")]).combine_chunks()
        matches = rows.num_rows // self.measured
        done = ShareRun(share, index or "usual", self.rows, matches, tuple(touched), tuple(seconds), ordered)
        cost = f"{done.compared:,.0f} members visited and {1e3 * done.seconds.middle:,.1f} ms per result window"
        say(f"windows of {self.rows:,} rows, {done.index} index, share {share}: {cost}")
        return done
