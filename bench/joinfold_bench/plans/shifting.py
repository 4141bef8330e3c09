"""A stream that shifts, in process: what FOLD takes if the plan follows the data, and if it stays with one plan.

It has many groups and few matches at first, then few groups and many matches: the plan that is good for the one is bad
for the other. On Spark a micro-batch costs about a second whatever the plan; here there is nothing but the plan.
"""

from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from joinfold.errors import QueryError
from joinfold.inprocess import InProcess
from joinfold.planner.forcing import Plan
from joinfold.planner.planned_query import PlannedQuery
from joinfold.session import Session
from joinfold.workloads.arrival import SECOND_US, START_US
from joinfold_bench.data import STREAMS, set_place
from joinfold_bench.environment import Say

SHORT = "[10 SECOND SLIDE 1 SECOND]"
SHIFTING = (
    f"SELECT a.g, COUNT(*) AS n, SUM(b.v) AS s FROM a {SHORT}, b {SHORT} "
    "WHERE a.key = b.key AND a.x BETWEEN b.x - 100 AND b.x + 100 GROUP BY a.g"
)
SHIFTING_COLUMNS = "ts TIMESTAMP, key BIGINT, g BIGINT, x BIGINT, v BIGINT"
ADAPTIVE = "following the data"
FORCED = (
    "method=tc; early=none; index=a hash, b hash",
    "method=ic; early=none; index=a hash, b hash",
    "method=ic; early=a, b; index=a hash, b hash",
    "method=tc; early=none; index=a btree, b btree",
    "method=ic; early=none; index=a btree, b btree",
    "method=ic; early=a, b; index=a btree, b btree",
    "index=a sums, b sums",
)
VALUES, POSITIONS = 100, 100_000  # of the columns v and x
ROUNDS = 2  # in the first one memory is asked for that later ones find
HOPELESS = 4.0  # times what the run takes that follows


@dataclass(frozen=True, slots=True)
class Phase:
    """Part of a stream that shifts."""

    seconds: int
    rows_per_second: int
    keys: int
    groups: int


@dataclass(frozen=True, slots=True)
class Shift:
    """A stream of two phases, in files of some seconds each."""

    phases: tuple[Phase, ...] = (Phase(60, 5_000, 10, 5_000), Phase(60, 10_000, 2, 2))
    seconds_per_file: int = 5

    def write(self, directory: Path) -> None:
        """A folder for each stream."""
        for place, stream in enumerate(STREAMS):
            (directory / stream).mkdir(parents=True)
            for number, table in enumerate(self.tables(place)):
                file = directory / stream / f"part-{number:05d}.parquet"
                parquet.write_table(table, file)
                set_place(file, number)

    def tables(self, place: int) -> list[pa.Table]:
        """The files of a stream."""
        draw, found, first = np.random.default_rng((5, place)), [], 0
        for phase in self.phases:
            for start in range(first, first + phase.seconds, self.seconds_per_file):
                rows, span = phase.rows_per_second * self.seconds_per_file, self.seconds_per_file * SECOND_US
                times = START_US + start * SECOND_US + np.sort(draw.integers(0, span, rows))
                found.append(
                    pa.table(
                        {
                            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                            "key": draw.integers(0, phase.keys, rows),
                            "g": draw.integers(0, phase.groups, rows),
                            "x": draw.integers(0, POSITIONS, rows),
                            "v": draw.integers(0, VALUES, rows),
                        }
                    )
                )
            first += phase.seconds
        return found


@dataclass(frozen=True, slots=True)
class ShiftRun:
    """A plan on the whole stream: seconds of FOLD's CPU, or more where it was given up; how often it was changed."""

    plan: str
    seconds: float
    changes: int
    is_whole: bool


def run_shift(shift: Shift, differences: list[str], say: Say) -> list[ShiftRun]:
    """The run that follows the data first, then every plan that can be forced; the better of some rounds of each."""
    tables = {name: shift.tables(place) for place, name in enumerate(STREAMS)}
    found: dict[str, ShiftRun] = {}
    first: pa.Table | None = None
    for told in ROUNDS * (ADAPTIVE, *FORCED):
        before, patience = found.get(told), inf if told == ADAPTIVE else HOPELESS * found[ADAPTIVE].seconds
        if before is not None and not before.is_whole:
            continue
        session = Session()
        for name, parts in tables.items():
            session.stream(name, parts[0].schema, time="ts")
        try:
            plan = session.sql(SHIFTING, None if told == ADAPTIVE else Plan.parse(told)).plan
        except QueryError:  # not every plan can do it
            continue
        run, answers = _run(told, plan, tables, patience)
        if before is None or (run.is_whole and run.seconds < before.seconds):
            found[told] = run
        say(f"shifting in process, {told}: {run.seconds:.1f} s{'' if run.is_whole else ', given up'}")
        first = answers if first is None else first
        difference = f"shifting in process, {told} and {ADAPTIVE}"
        if run.is_whole and difference not in differences and not answers.equals(first):
            differences.append(difference)
    return list(found.values())


def _run(
    told: str, plan: PlannedQuery, tables: dict[str, list[pa.Table]], patience: float
) -> tuple[ShiftRun, pa.Table]:
    """One plan on the whole stream, or until it has taken too long; and its answers."""
    machine, answers = InProcess(plan), []
    for step in zip(*tables.values(), strict=True):
        machine.feed(dict(zip(tables, step, strict=True)))
        answers.append(machine.answer())
        if machine.measures.fold_seconds > patience:
            break
    is_whole = len(answers) == len(tables[STREAMS[0]])
    given = pa.concat_tables(answers).sort_by([("instant", "ascending"), ("g", "ascending")])
    return ShiftRun(told, machine.measures.fold_seconds, len(machine.changes), is_whole), given
