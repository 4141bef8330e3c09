"""A shifting stream, in process: the time of FOLD if the plan follows the data, and under each fixed plan.

At first the stream has many groups and few matches, then few groups and many matches. A plan that is good for one phase
is bad for the other. On Spark a micro-batch takes about a second under any plan; here only the plan counts.
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
from joinfold_bench.data import STREAMS, set_file_order
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
VALUES, POSITIONS = 100, 100_000  # distinct values of the columns v and x
ROUNDS = 2  # the first round also allocates memory, which later rounds reuse
HOPELESS = 4.0  # a fixed plan is stopped after this many times the seconds of the adaptive run


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the shifting stream with constant properties."""

    seconds: int
    rows_per_second: int
    keys: int
    groups: int


@dataclass(frozen=True, slots=True)
class Shift:
    """A shifting stream: phases one after another, in files of ``seconds_per_file`` seconds."""

    phases: tuple[Phase, ...] = (Phase(60, 5_000, 10, 5_000), Phase(60, 10_000, 2, 2))
    seconds_per_file: int = 5

    def write(self, directory: Path) -> None:
        """Writes a folder for each stream, and sets the order in which its files are read."""
        for stream_number, stream in enumerate(STREAMS):
            (directory / stream).mkdir(parents=True)
            for number, table in enumerate(self.tables(stream_number)):
                file = directory / stream / f"part-{number:05d}.parquet"
                parquet.write_table(table, file)
                set_file_order(file, number)

    def tables(self, stream_number: int) -> list[pa.Table]:
        """The rows of each file of a stream."""
        draw, tables, first = np.random.default_rng((5, stream_number)), [], 0
        for phase in self.phases:
            for start in range(first, first + phase.seconds, self.seconds_per_file):
                rows, span = phase.rows_per_second * self.seconds_per_file, self.seconds_per_file * SECOND_US
                times = START_US + start * SECOND_US + np.sort(draw.integers(0, span, rows))
                tables.append(
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
        return tables


@dataclass(frozen=True, slots=True)
class ShiftRun:
    """A plan on the shifting stream.

    ``seconds`` is the time of FOLD. If the run was stopped (not ``is_whole``), the plan would have taken longer.
    ``changes`` counts the changes of plan.
    """

    plan: str
    seconds: float
    changes: int
    is_whole: bool


def run_shift(shift: Shift, differences: list[str], say: Say) -> list[ShiftRun]:
    """Runs the plan that follows the data, then every forced plan. Returns the faster of the rounds of each."""
    tables = {name: shift.tables(number) for number, name in enumerate(STREAMS)}
    runs: dict[str, ShiftRun] = {}
    first: pa.Table | None = None
    for name in ROUNDS * (ADAPTIVE, *FORCED):
        before, patience = runs.get(name), inf if name == ADAPTIVE else HOPELESS * runs[ADAPTIVE].seconds
        if before is not None and not before.is_whole:
            continue
        session = Session()
        for stream, parts in tables.items():
            session.stream(stream, parts[0].schema, time="ts")
        try:
            plan = session.sql(SHIFTING, None if name == ADAPTIVE else Plan.parse(name)).plan
        except QueryError:  # not every plan can run the query
            continue
        run, answers = _run(name, plan, tables, patience)
        if before is None or (run.is_whole and run.seconds < before.seconds):
            runs[name] = run
        say(f"shifting in process, {name}: {run.seconds:.1f} s{'' if run.is_whole else ', stopped'}")
        first = answers if first is None else first
        difference = f"shifting in process, {name} and {ADAPTIVE}"
        if run.is_whole and difference not in differences and not answers.equals(first):
            differences.append(difference)
    return list(runs.values())


def _run(
    name: str, plan: PlannedQuery, tables: dict[str, list[pa.Table]], patience: float
) -> tuple[ShiftRun, pa.Table]:
    """Runs one plan until the stream ends, or FOLD has taken ``patience`` seconds. Also returns the answers."""
    machine, answers = InProcess(plan), []
    for step in zip(*tables.values(), strict=True):
        machine.feed(dict(zip(tables, step, strict=True)))
        answers.append(machine.answer())
        if machine.measures.fold_seconds > patience:
            break
    is_whole = len(answers) == len(tables[STREAMS[0]])
    ordered = pa.concat_tables(answers).sort_by([("instant", "ascending"), ("g", "ascending")])
    return ShiftRun(name, machine.measures.fold_seconds, len(machine.changes), is_whole), ordered
